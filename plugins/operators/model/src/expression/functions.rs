//! Functions that formulas call: facts of the signature, and roundings.
//!
//! Operands count from 0; dimensions count from 0, or from the end when negative. Of a list of tensors `numel` and
//! `bytes` are the sums over it.
//!
//! | function | value |
//! |---|---|
//! | `is_present(i)` | operand `i` was given |
//! | `is_tensor(i)`, `is_list(i)`, `is_known_list(i)` | it is a tensor, a list of tensors, one whose dims are recorded |
//! | `is_number(i)`, `is_text(i)` | it is a recorded number, a recorded text |
//! | `operator()`, `operands()` | name of the operator, number of its operands |
//! | `rank(i)`, `dim(i, d)`, `product(i, from, to)` | dimensions of a tensor, one of them, the product of some |
//! | `numel(i)`, `count(i)` | elements; tensors of a list |
//! | `stored(i)`, `bytes(i)` | elements and bytes that lie apart in memory: a stride of 0 is held once |
//! | `given_bytes(i, …)` | bytes of those operands that are tensors or lists of them |
//! | `code_bytes(n)` | bytes of an element of the type that PyTorch numbers `n` |
//! | `element_bytes(i)`, `packed(i)` | bytes of an element; numbers that it holds (two of 4 bits, else one) |
//! | `is_floating(i)`, `type(i)` | its elements are floats; the arithmetic of its elements, as in `"bf16"` |
//! | `broadcast(i, …)` | elements of the shape to which the tensors among the operands broadcast |
//! | `promoted_bytes(i, …)` | bytes of an element of what results from mixing the operands |
//! | `float_bytes(i, …)` | the same, of an operator whose result of whole numbers is a float |
//! | `reduced(i, dims)` | elements left of operand `i` when these dimensions are reduced; all if none are named |
//! | `known(i)`, `concrete(i)`, `concrete(i, other)` | the value of a scalar or list is recorded; it; or another if absent |
//! | `length(list)`, `entry(list, k)` | entries; entry `k`, or the only one |
//! | `contains(list, value)` | one of the entries is that value |
//! | `is_result_known()`, `result_product(from, to)` | another operator states the dims of the result; the product of some |
//! | `refuse(reason)` | none: the call is not modelled, for this reason |
//! | `min`, `max`, `floor_divide`, `ceiling_divide` | as named |

use super::Value;
use super::facts::{Facts, dimension, operand_index, product_of};
use crate::element_type::{ElementType, NumberKind, Precision};
use crate::signature::{Signature, Tensor};

/// Functions by name, with the smallest and largest number of arguments.
const TABLE: [(&str, Function, usize, usize); 37] = [
    ("is_present", Function::IsPresent, 1, 1),
    ("is_tensor", Function::IsTensor, 1, 1),
    ("is_list", Function::IsList, 1, 1),
    ("rank", Function::Rank, 1, 1),
    ("dim", Function::Dim, 2, 2),
    ("product", Function::Product, 3, 3),
    ("numel", Function::Numel, 1, 1),
    ("count", Function::Count, 1, 1),
    ("stored", Function::Stored, 1, 1),
    ("bytes", Function::Bytes, 1, 1),
    ("element_bytes", Function::ElementBytes, 1, 1),
    ("packed", Function::Packed, 1, 1),
    ("is_floating", Function::IsFloating, 1, 1),
    ("type", Function::Type, 1, 1),
    ("broadcast", Function::Broadcast, 1, usize::MAX),
    ("promoted_bytes", Function::PromotedBytes, 1, usize::MAX),
    ("float_bytes", Function::FloatBytes, 1, usize::MAX),
    ("reduced", Function::Reduced, 2, 2),
    ("known", Function::Known, 1, 1),
    ("concrete", Function::Concrete, 1, 2),
    ("length", Function::Length, 1, 1),
    ("entry", Function::Entry, 2, 2),
    ("contains", Function::Contains, 2, 2),
    ("min", Function::Min, 1, usize::MAX),
    ("max", Function::Max, 1, usize::MAX),
    ("floor_divide", Function::FloorDivide, 2, 2),
    ("ceiling_divide", Function::CeilingDivide, 2, 2),
    ("operands", Function::Operands, 0, 0),
    ("operator", Function::Operator, 0, 0),
    ("refuse", Function::Refuse, 1, 1),
    ("given_bytes", Function::GivenBytes, 1, usize::MAX),
    ("code_bytes", Function::CodeBytes, 1, 1),
    ("is_number", Function::IsNumber, 1, 1),
    ("is_text", Function::IsText, 1, 1),
    ("is_known_list", Function::IsKnownList, 1, 1),
    ("is_result_known", Function::IsResultKnown, 0, 0),
    ("result_product", Function::ResultProduct, 2, 2),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    IsPresent,
    IsTensor,
    IsList,
    Rank,
    Dim,
    Product,
    Numel,
    Count,
    Stored,
    Bytes,
    ElementBytes,
    Packed,
    IsFloating,
    Type,
    Broadcast,
    PromotedBytes,
    FloatBytes,
    Reduced,
    Known,
    Concrete,
    Length,
    Entry,
    Contains,
    Min,
    Max,
    FloorDivide,
    CeilingDivide,
    Operands,
    Operator,
    Refuse,
    GivenBytes,
    CodeBytes,
    IsNumber,
    IsText,
    IsKnownList,
    IsResultKnown,
    ResultProduct,
}

impl Function {
    pub(super) fn named(name: &str) -> Option<Self> {
        let entry = TABLE.iter().find(|(known, ..)| *known == name)?;
        Some(entry.1)
    }

    pub(super) fn arity(self) -> (usize, usize) {
        let entry = TABLE.iter().find(|(_, function, ..)| *function == self);
        entry.map_or((0, 0), |&(_, _, least, most)| (least, most))
    }
}

pub(super) fn call(
    function: Function,
    arguments: &[Value],
    signature: &Signature,
) -> Result<Value, String> {
    let facts = Facts(signature);
    let operand = || arguments.first().map_or(Ok(0), operand_index);
    let number = |at: usize| arguments.get(at).map_or(Ok(0), Value::integer);
    let integer = |value: Result<i128, String>| value.map(Value::Integer);
    let truth = |value: bool| Ok(Value::Bool(value));
    match function {
        Function::IsPresent => truth(facts.is_present(operand()?)),
        Function::IsTensor => truth(facts.tensor(operand()?).is_ok()),
        Function::IsList => truth(facts.is_list(operand()?)),
        Function::Rank => integer(
            facts
                .tensor(operand()?)
                .map(|tensor| tensor.dims.len() as i128),
        ),
        Function::Dim => {
            let tensor = facts.tensor(operand()?)?;
            let at = dimension(tensor, number(1)?)?;
            Ok(Value::Integer(i128::from(tensor.dims[at])))
        }
        Function::Product => integer(facts.product(operand()?, number(1)?, number(2)?)),
        Function::IsResultKnown => truth(signature.result_dims.is_some()),
        Function::ResultProduct => {
            let dims = signature.result_dims.as_deref();
            let dims = dims.ok_or("the dims of the result are not recorded")?;
            integer(
                product_of(dims, number(0)?, number(1)?).map_err(|why| format!("the result {why}")),
            )
        }
        Function::Numel => integer(facts.sum(operand()?, Tensor::elements)),
        Function::Stored => integer(facts.sum(operand()?, Tensor::stored_elements)),
        Function::Count => integer(facts.tensors(operand()?).map(|list| list.len() as i128)),
        Function::Bytes => integer(facts.bytes(operand()?)),
        Function::GivenBytes => integer(facts.given_bytes(arguments)),
        Function::CodeBytes => {
            let code = number(0)?;
            let element_type = ElementType::from_code(code);
            let bytes = element_type.map(|element_type| i128::from(element_type.bytes()));
            integer(bytes.ok_or_else(|| format!("{code} is not the code of an element type")))
        }
        Function::ElementBytes => integer(
            facts
                .element_type(operand()?)
                .map(|kind| i128::from(kind.bytes())),
        ),
        Function::Packed => integer(
            facts
                .element_type(operand()?)
                .map(|kind| i128::from(kind.packed())),
        ),
        Function::IsFloating => {
            let kind = facts.element_type(operand()?)?.kind();
            truth(matches!(kind, NumberKind::Float | NumberKind::Complex))
        }
        Function::Type => {
            let precision = Precision::of_elements(facts.element_type(operand()?)?);
            Ok(Value::Text(precision.name().to_owned()))
        }
        Function::Broadcast => integer(facts.broadcast(arguments)),
        Function::PromotedBytes => integer(
            facts
                .promoted(arguments)
                .map(|kind| i128::from(kind.bytes())),
        ),
        Function::FloatBytes => integer(facts.promoted(arguments).map(|kind| match kind.kind() {
            NumberKind::Bool | NumberKind::Integer => 4,
            _ => i128::from(kind.bytes()),
        })),
        Function::Reduced => integer(facts.reduced(operand()?, &arguments[1])),
        Function::Known => truth(matches!(facts.concrete(operand()?), Ok(Some(_)))),
        Function::Concrete => {
            let at = operand()?;
            let other = arguments.get(1).filter(|_| !facts.is_present(at));
            facts
                .concrete(at)?
                .or_else(|| other.cloned())
                .ok_or_else(|| format!("the value of operand {at} is not recorded"))
        }
        Function::IsNumber => truth(facts.is_number(operand()?)),
        Function::IsText => truth(facts.is_text(operand()?)),
        Function::IsKnownList => truth(facts.is_known_list(operand()?)),
        Function::Operator => Ok(Value::Text(signature.name.clone())),
        Function::Refuse => match &arguments[0] {
            Value::Text(reason) => Err(reason.clone()),
            other => Err(format!("{} where a text is needed", other.kind())),
        },
        Function::Length => integer(arguments[0].list().map(|list| list.len() as i128)),
        Function::Entry => match &arguments[0] {
            // A number stands for all dimensions, as a list of one does.
            only @ Value::Integer(_) => Ok(only.clone()),
            list => entry(list.list()?, number(1)?),
        },
        Function::Contains => truth(arguments[0].list()?.contains(&arguments[1])),
        Function::Min | Function::Max => {
            let numbers: Result<Vec<i128>, String> = arguments.iter().map(Value::integer).collect();
            let numbers = numbers?;
            let chosen = match function {
                Function::Min => numbers.into_iter().min(),
                _ => numbers.into_iter().max(),
            };
            integer(chosen.ok_or_else(|| "no numbers".to_owned()))
        }
        Function::FloorDivide => {
            let (quotient, _) = divide(number(0)?, number(1)?)?;
            Ok(Value::Integer(quotient))
        }
        Function::CeilingDivide => {
            let (quotient, remainder) = divide(number(0)?, number(1)?)?;
            Ok(Value::Integer(quotient + i128::from(remainder != 0)))
        }
        Function::Operands => Ok(Value::Integer(signature.operands.len() as i128)),
    }
}

/// Quotient, rounded down, and remainder of a division by a positive number.
fn divide(left: i128, right: i128) -> Result<(i128, i128), String> {
    if right <= 0 {
        return Err(format!("{left} divided by {right}"));
    }
    Ok((left.div_euclid(right), left.rem_euclid(right)))
}

fn entry(list: &[Value], number: i128) -> Result<Value, String> {
    let found = match list {
        // One entry stands for all dimensions.
        [only] => Some(only),
        _ => usize::try_from(number).ok().and_then(|at| list.get(at)),
    };
    found
        .cloned()
        .ok_or_else(|| format!("a list of {} has no entry {number}", list.len()))
}
