//! Values of formulas.

use std::cmp::Ordering;

use crate::signature::Concrete;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// An integer; the only type for arithmetic.
    Integer(i128),
    /// A recorded decimal, only for comparisons.
    Real(f64),
    Bool(bool),
    Text(String),
    List(Vec<Value>),
}

impl Value {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Integer(_) => "a whole number",
            Self::Real(_) => "a decimal",
            Self::Bool(_) => "a truth value",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
        }
    }

    /// The value of a recorded argument; `None` if it was not recorded.
    pub(crate) fn from_concrete(concrete: &Concrete) -> Option<Self> {
        Some(match concrete {
            Concrete::Unknown => return None,
            Concrete::Bool(truth) => Self::Bool(*truth),
            Concrete::Integer(number) => Self::Integer(i128::from(*number)),
            Concrete::Real(real) => Self::Real(*real),
            Concrete::Text(text) => Self::Text(text.clone()),
            Concrete::List(list) => Self::List(
                list.iter()
                    .map(Self::from_concrete)
                    .collect::<Option<_>>()?,
            ),
        })
    }

    pub(crate) fn integer(&self) -> Result<i128, String> {
        match self {
            Self::Integer(number) => Ok(*number),
            other => Err(format!("{} where a whole number is needed", other.kind())),
        }
    }

    pub(crate) fn truth(&self) -> Result<bool, String> {
        match self {
            Self::Bool(truth) => Ok(*truth),
            other => Err(format!("{} where a truth value is needed", other.kind())),
        }
    }

    pub(crate) fn list(&self) -> Result<&[Value], String> {
        match self {
            Self::List(list) => Ok(list),
            other => Err(format!("{} where a list is needed", other.kind())),
        }
    }

    /// Compares two numbers, or tests two other values of one type for equality.
    pub(crate) fn compare(&self, other: &Self) -> Result<Option<Ordering>, String> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "scalars of a call are compared, such as a probability with 0"
        )]
        let real = |value: &Self| match value {
            Self::Integer(number) => Some(*number as f64),
            Self::Real(real) => Some(*real),
            _ => None,
        };
        if let (Self::Integer(left), Self::Integer(right)) = (self, other) {
            return Ok(Some(left.cmp(right)));
        }
        if let (Some(left), Some(right)) = (real(self), real(other)) {
            return Ok(left.partial_cmp(&right));
        }
        if self.kind() != other.kind() {
            return Err(format!("{} compared with {}", self.kind(), other.kind()));
        }
        Ok((self == other).then_some(Ordering::Equal))
    }
}
