//! Facts of a signature, each with the reason where it has none.

use super::Value;
use crate::element_type::ElementType;
use crate::signature::{Concrete, Operand, Signature, Tensor};

pub(super) fn too_large() -> String {
    "a number beyond 2^127".to_owned()
}

pub(super) fn operand_index(value: &Value) -> Result<usize, String> {
    let number = value.integer()?;
    usize::try_from(number).map_err(|_| format!("there is no operand {number}"))
}

/// Converts a number to a dimension index; negative numbers count from the end.
pub(super) fn dimension(tensor: &Tensor, number: i128) -> Result<usize, String> {
    let rank = tensor.dims.len();
    let at = if number < 0 {
        number.saturating_add(rank as i128)
    } else {
        number
    };
    usize::try_from(at)
        .ok()
        .filter(|at| *at < rank)
        .ok_or_else(|| format!("a tensor of {rank} dimensions has no dimension {number}"))
}

pub(super) struct Facts<'a>(pub(super) &'a Signature);

/// Product of the dimensions `from..to`.
pub(super) fn product_of(dims: &[u64], from: i128, to: i128) -> Result<i128, String> {
    let rank = dims.len();
    let bound = |number: i128| {
        let bound = if number < 0 {
            number.saturating_add(rank as i128)
        } else {
            number
        };
        usize::try_from(bound).ok().filter(|bound| *bound <= rank)
    };
    match (bound(from), bound(to)) {
        (Some(from), Some(to)) if from <= to => Tensor::dense(dims[from..to].to_vec()).elements(),
        _ => Err(format!("of {rank} dimensions has none from {from} to {to}")),
    }
}

impl<'a> Facts<'a> {
    pub(super) fn operand(&self, at: usize) -> Option<&'a Operand> {
        self.0.operands.get(at)
    }

    pub(super) fn is_present(&self, at: usize) -> bool {
        !matches!(self.operand(at), None | Some(Operand::Absent))
    }

    pub(super) fn is_list(&self, at: usize) -> bool {
        matches!(
            self.operand(at),
            Some(Operand::List(_) | Operand::UnknownList)
        )
    }

    pub(super) fn tensor(&self, at: usize) -> Result<&'a Tensor, String> {
        match self.operand(at) {
            Some(Operand::Tensor(tensor)) => Ok(tensor),
            other => Err(format!("operand {at} is {}, not a tensor", describe(other))),
        }
    }

    /// The tensors of a list, or the single tensor.
    pub(super) fn tensors(&self, at: usize) -> Result<&'a [Tensor], String> {
        match self.operand(at) {
            Some(Operand::Tensor(tensor)) => Ok(std::slice::from_ref(tensor)),
            Some(Operand::List(list)) => Ok(list),
            other => Err(format!("operand {at} is {}", describe(other))),
        }
    }

    pub(super) fn sum(
        &self,
        at: usize,
        elements: fn(&Tensor) -> Result<i128, String>,
    ) -> Result<i128, String> {
        self.tensors(at)?.iter().try_fold(0i128, |sum, tensor| {
            let elements = elements(tensor).map_err(|reason| format!("operand {at}: {reason}"))?;
            sum.checked_add(elements).ok_or_else(too_large)
        })
    }

    pub(super) fn element_type(&self, at: usize) -> Result<ElementType, String> {
        match self.operand(at) {
            Some(Operand::Tensor(tensor)) => tensor.element_type.ok_or_else(|| {
                let name = match tensor.type_name.as_str() {
                    "" => "not recorded".to_owned(),
                    name => format!("`{name}`, which is not known"),
                };
                format!("the element type of operand {at} is {name}")
            }),
            Some(Operand::List(_) | Operand::UnknownList) => {
                self.0.list_element_type.ok_or_else(|| {
                    format!("the element type of the tensors in operand {at} is not recorded")
                })
            }
            other => Err(format!("operand {at} is {}, not a tensor", describe(other))),
        }
    }

    pub(super) fn bytes(&self, at: usize) -> Result<i128, String> {
        let elements = self.sum(at, Tensor::stored_elements)?;
        let bytes = i128::from(self.element_type(at)?.bytes());
        elements.checked_mul(bytes).ok_or_else(too_large)
    }

    pub(super) fn given_bytes(&self, arguments: &[Value]) -> Result<i128, String> {
        arguments.iter().try_fold(0i128, |sum, argument| {
            let at = operand_index(argument)?;
            let is_given = self.is_list(at) || self.tensor(at).is_ok();
            let bytes = if is_given { self.bytes(at)? } else { 0 };
            sum.checked_add(bytes).ok_or_else(too_large)
        })
    }

    pub(super) fn is_known_list(&self, at: usize) -> bool {
        matches!(self.operand(at), Some(Operand::List(_)))
    }

    pub(super) fn is_number(&self, at: usize) -> bool {
        let number =
            |concrete: &Concrete| matches!(concrete, Concrete::Integer(_) | Concrete::Real(_));
        matches!(self.operand(at), Some(Operand::Scalar(concrete)) if number(concrete))
    }

    pub(super) fn is_text(&self, at: usize) -> bool {
        matches!(self.operand(at), Some(Operand::Scalar(Concrete::Text(_))))
    }

    pub(super) fn product(&self, at: usize, from: i128, to: i128) -> Result<i128, String> {
        let product = product_of(&self.tensor(at)?.dims, from, to);
        product.map_err(|why| format!("operand {at} {why}"))
    }

    pub(super) fn broadcast(&self, arguments: &[Value]) -> Result<i128, String> {
        let mut shape: Vec<u64> = Vec::new();
        for argument in arguments {
            let at = operand_index(argument)?;
            let dims = match self.operand(at) {
                Some(Operand::Tensor(tensor)) => &tensor.dims,
                Some(Operand::List(_) | Operand::UnknownList) => {
                    return Err(format!("operand {at} is a list of tensors"));
                }
                _ => continue,
            };
            while shape.len() < dims.len() {
                shape.insert(0, 1);
            }
            let offset = shape.len() - dims.len();
            for (known, dim) in shape[offset..].iter_mut().zip(dims) {
                if *known != *dim && *known != 1 && *dim != 1 {
                    return Err(format!("dims of {known} and {dim} do not broadcast"));
                }
                // A dimension of 1 gives way to one of 0, too.
                *known = if *known == 1 { *dim } else { *known };
            }
        }
        Tensor::dense(shape).elements()
    }

    /// Result type of mixed operands, as PyTorch promotes them: tensors with dimensions outrank those without,
    /// which outrank scalars, unless the lower one has a higher kind of number. A `double` without dimensions
    /// is a Python number. Mixed with integers, PyTorch treats it as its default float type.
    pub(super) fn promoted(&self, arguments: &[Value]) -> Result<ElementType, String> {
        let mut by_rank: [Option<ElementType>; 3] = [None; 3];
        for argument in arguments {
            let at = operand_index(argument)?;
            let (standing, element_type) = match self.operand(at) {
                Some(Operand::Tensor(tensor)) if tensor.dims.is_empty() => {
                    (1, self.element_type(at)?)
                }
                Some(Operand::Tensor(_) | Operand::List(_) | Operand::UnknownList) => {
                    (0, self.element_type(at)?)
                }
                Some(Operand::Scalar(Concrete::Real(_))) => (2, ElementType::Float32),
                Some(Operand::Scalar(Concrete::Integer(_))) => (2, ElementType::Int64),
                _ => continue,
            };
            let slot = &mut by_rank[standing];
            *slot = Some(slot.map_or(element_type, |known| known.promote(element_type)));
        }
        let of_tensors = by_rank[0].is_some();
        let mut types = by_rank.into_iter().flatten();
        let first = types.next().ok_or("no operand has an element type")?;
        Ok(
            types.fold(first, |known, lesser| match lesser.kind() > known.kind() {
                true if of_tensors && lesser == ElementType::Float64 => ElementType::Float32,
                true => lesser,
                false => known,
            }),
        )
    }

    pub(super) fn reduced(&self, at: usize, dims: &Value) -> Result<i128, String> {
        let tensor = self.tensor(at)?;
        let one;
        let dims = match dims {
            Value::List(dims) => dims.as_slice(),
            other => {
                one = [other.clone()];
                &one
            }
        };
        if dims.is_empty() {
            return Ok(1);
        }
        let mut left = tensor.dims.clone();
        for dim in dims {
            // A tensor without dimensions may be reduced along its first or last.
            let number = dim.integer()?;
            if !tensor.dims.is_empty() || !(-1..=0).contains(&number) {
                left[dimension(tensor, number)?] = 1;
            }
        }
        Tensor::dense(left).elements()
    }

    pub(super) fn concrete(&self, at: usize) -> Result<Option<Value>, String> {
        match self.operand(at) {
            Some(Operand::Scalar(concrete)) => Ok(Value::from_concrete(concrete)),
            None | Some(Operand::Absent) => Ok(None),
            other => Err(format!("operand {at} is {}, not a value", describe(other))),
        }
    }
}

fn describe(operand: Option<&Operand>) -> &'static str {
    match operand {
        None => "missing",
        Some(Operand::Tensor(_)) => "a tensor",
        Some(Operand::List(_)) => "a list of tensors",
        Some(Operand::UnknownList) => "a list of tensors whose dims are not recorded",
        Some(Operand::Scalar(_)) => "a scalar",
        Some(Operand::Absent) => "absent",
    }
}
