//! Values of formulas for one signature.

use std::cmp::Ordering;

use super::Value;
use super::functions::call;
use super::parse::{Expression, Fold, Operator};
use crate::signature::Signature;

/// Limit of evaluation steps per signature, mainly for nested ranges.
const MAX_STEPS: u32 = 200_000;

pub(crate) struct Evaluation<'a> {
    signature: &'a Signature,
    values: Vec<Value>,
    steps: u32,
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(signature: &'a Signature) -> Self {
        Self {
            signature,
            values: Vec::new(),
            steps: 0,
        }
    }

    pub(crate) fn define(&mut self, value: Value) {
        self.values.push(value);
    }

    /// Evaluates a formula.
    ///
    /// # Errors
    /// The reason why it has none.
    pub(crate) fn value(&mut self, expression: &Expression) -> Result<Value, String> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(format!("more than {MAX_STEPS} steps"));
        }
        match expression {
            Expression::Integer(number) => Ok(Value::Integer(*number)),
            Expression::Text(text) => Ok(Value::Text(text.clone())),
            Expression::Bool(truth) => Ok(Value::Bool(*truth)),
            Expression::List(list) => Ok(Value::List(self.all(list)?)),
            Expression::Named(place) => self
                .values
                .get(*place)
                .cloned()
                .ok_or_else(|| "a name without a value".to_owned()),
            Expression::Negate(inner) => {
                let number = self.value(inner)?.integer()?;
                checked(number.checked_neg())
            }
            Expression::Not(inner) => Ok(Value::Bool(!self.value(inner)?.truth()?)),
            Expression::Binary(operator, left, right) => self.binary(*operator, left, right),
            Expression::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                if self.value(condition)?.truth()? {
                    self.value(then)
                } else {
                    self.value(otherwise)
                }
            }
            Expression::Call(function, arguments) => {
                let arguments = self.all(arguments)?;
                call(*function, &arguments, self.signature)
            }
            Expression::Over(fold, parts) => self.over(*fold, parts),
        }
    }

    fn all(&mut self, expressions: &[Expression]) -> Result<Vec<Value>, String> {
        expressions
            .iter()
            .map(|expression| self.value(expression))
            .collect()
    }

    fn binary(
        &mut self,
        operator: Operator,
        left: &Expression,
        right: &Expression,
    ) -> Result<Value, String> {
        let left = self.value(left)?;
        match operator {
            // The right side may make sense only if the left one is as it is.
            Operator::And if !left.truth()? => return Ok(Value::Bool(false)),
            Operator::Or if left.truth()? => return Ok(Value::Bool(true)),
            _ => {}
        }
        let right = self.value(right)?;
        let order = |fits: fn(Ordering) -> bool| {
            let order = left.compare(&right)?;
            let ordered = matches!(left, Value::Integer(_) | Value::Real(_));
            if !ordered {
                return Err(format!("{} has no order", left.kind()));
            }
            Ok(Value::Bool(order.is_some_and(fits)))
        };
        match operator {
            Operator::And | Operator::Or => Ok(Value::Bool(right.truth()?)),
            Operator::Equal => Ok(Value::Bool(left.compare(&right)? == Some(Ordering::Equal))),
            Operator::Unequal => Ok(Value::Bool(left.compare(&right)? != Some(Ordering::Equal))),
            Operator::Less => order(Ordering::is_lt),
            Operator::LessOrEqual => order(Ordering::is_le),
            Operator::Greater => order(Ordering::is_gt),
            Operator::GreaterOrEqual => order(Ordering::is_ge),
            Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide => {
                arithmetic(operator, left.integer()?, right.integer()?)
            }
        }
    }

    fn over(&mut self, fold: Fold, parts: &[Expression; 3]) -> Result<Value, String> {
        let [from, to, body] = parts;
        let from = self.value(from)?.integer()?;
        let to = self.value(to)?.integer()?;
        let (mut folded, operator) = match fold {
            Fold::Sum => (Value::Integer(0), Operator::Add),
            Fold::Product => (Value::Integer(1), Operator::Multiply),
        };
        let mut number = from;
        while number < to {
            self.values.push(Value::Integer(number));
            let value = self.value(body);
            self.values.pop();
            folded = arithmetic(operator, folded.integer()?, value?.integer()?)?;
            number += 1;
        }
        Ok(folded)
    }
}

fn checked(number: Option<i128>) -> Result<Value, String> {
    number
        .map(Value::Integer)
        .ok_or_else(|| "a number beyond 2^127".to_owned())
}

fn arithmetic(operator: Operator, left: i128, right: i128) -> Result<Value, String> {
    checked(match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        _ if right == 0 => return Err(format!("{left} divided by 0")),
        _ if left.checked_rem(right) != Some(0) => {
            return Err(format!("{left} is not a multiple of {right}"));
        }
        _ => left.checked_div(right),
    })
}
