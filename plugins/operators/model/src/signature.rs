//! Signatures of operators, as the profiler of PyTorch records them.

use serde_json::Value as Json;

use crate::element_type::ElementType;

/// Limit of operands per call: real operators have dozens.
const MAX_OPERANDS: usize = 4096;
/// Limit of dimensions per tensor; PyTorch allows 64.
const MAX_RANK: usize = 64;
const MAX_TENSORS: usize = 1 << 20;

/// Limit of entries in a list of numbers: formulas use one entry per dimension.
const MAX_ENTRIES: usize = 256;

#[derive(Clone, Debug, PartialEq, Default)]
pub struct Signature {
    /// Name as recorded, as in `aten::mm`.
    pub name: String,
    /// Operands in the order of the operator's schema.
    pub operands: Vec<Operand>,
    /// Element type of tensors in lists, which traces do not record: see [`ElementType::from_kernel_name`].
    pub list_element_type: Option<ElementType>,
    /// Dims of the result, if another operator of the run records them.
    pub result_dims: Option<Vec<u64>>,
}

/// A signature as Kineto records it: the JSON text of each event argument, empty if the event has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordedTexts<'a> {
    /// `Input Dims`.
    pub dims: &'a str,
    /// `Input type`.
    pub types: &'a str,
    /// `Input Strides`.
    pub strides: &'a str,
    /// `Concrete Inputs`.
    pub concrete: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    Tensor(Tensor),
    /// A list of tensors with known dims.
    List(Vec<Tensor>),
    /// A list of tensors whose dims were not recorded.
    UnknownList,
    /// A number, a text or a list of them, with its value if recorded.
    Scalar(Concrete),
    /// An optional operand that was not passed.
    Absent,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub dims: Vec<u64>,
    /// Stride of each dimension in elements; `None`: not recorded, taken as dense.
    pub strides: Option<Vec<u64>>,
    /// `None`: not recorded or unknown; then `type_name` has the recorded text.
    pub element_type: Option<ElementType>,
    pub type_name: String,
}

/// Value of an operand that is not a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Concrete {
    Unknown,
    Bool(bool),
    Integer(i64),
    Real(f64),
    /// A list such as `[1, 1]`.
    List(Vec<Concrete>),
    Text(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("the trace records no input dims")]
    NoDims,
    /// A text that is not JSON or does not have the expected form.
    #[error("{field}: {reason}")]
    Malformed {
        /// Name of the event argument.
        field: &'static str,
        reason: String,
    },
    #[error("operand {operand}: {reason}")]
    Operand {
        /// Counted from 0.
        operand: usize,
        reason: String,
    },
}

impl Signature {
    /// Parses the arguments of an event.
    ///
    /// # Errors
    /// See [`SignatureError`].
    pub fn parse(name: &str, texts: RecordedTexts<'_>) -> Result<Self, SignatureError> {
        if texts.dims.trim().is_empty() {
            return Err(SignatureError::NoDims);
        }
        let dims = list("Input Dims", texts.dims)?;
        let types = list("Input type", texts.types)?;
        let strides = list("Input Strides", texts.strides)?;
        let concrete = list("Concrete Inputs", texts.concrete)?;
        let mut operands = Vec::with_capacity(dims.len());
        for (at, dims) in dims.iter().enumerate() {
            let type_name = types.get(at).and_then(Json::as_str).unwrap_or_default();
            let value = concrete.get(at).and_then(Json::as_str).unwrap_or_default();
            let operand = operand(dims, strides.get(at), type_name, value);
            operands.push(operand.map_err(|reason| SignatureError::Operand {
                operand: at,
                reason,
            })?);
        }
        Ok(Self {
            name: name.to_owned(),
            operands,
            list_element_type: None,
            result_dims: None,
        })
    }

    /// The signature of a collective, from the numbers of sent and received elements and the name of their
    /// type, which `record_param_comms` records besides the dims.
    pub fn collective(name: &str, in_elements: u64, out_elements: u64, type_name: &str) -> Self {
        let tensor = |elements| {
            Operand::Tensor(Tensor {
                dims: vec![elements],
                strides: None,
                element_type: ElementType::from_name(type_name),
                type_name: type_name.to_owned(),
            })
        };
        Self {
            name: name.to_owned(),
            operands: vec![tensor(in_elements), tensor(out_elements)],
            list_element_type: None,
            result_dims: None,
        }
    }

    /// Sets the element type of its lists.
    #[must_use]
    pub fn with_list_element_type(mut self, element_type: Option<ElementType>) -> Self {
        self.list_element_type = element_type;
        self
    }

    /// Sets the dims of its result, which traces without concrete inputs do not record.
    #[must_use]
    pub fn with_result_dims(mut self, dims: Option<Vec<u64>>) -> Self {
        self.result_dims = dims;
        self
    }
}

/// Parses a JSON list; an empty text is an empty list.
fn list(field: &'static str, text: &str) -> Result<Vec<Json>, SignatureError> {
    let wrong = |reason: String| SignatureError::Malformed { field, reason };
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let json: Json = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let Json::Array(list) = json else {
        return Err(wrong("not a list".to_owned()));
    };
    if list.len() > MAX_OPERANDS {
        return Err(wrong(format!("{} operands", list.len())));
    }
    Ok(list)
}

fn operand(
    dims: &Json,
    strides: Option<&Json>,
    type_name: &str,
    concrete: &str,
) -> Result<Operand, String> {
    let dims = dims.as_array().ok_or("its dims are not a list")?;
    let strides = strides.and_then(Json::as_array).map(Vec::as_slice);
    if dims.first().is_some_and(Json::is_array) {
        if dims.len() > MAX_TENSORS {
            return Err(format!("a list of {} tensors", dims.len()));
        }
        let tensors = dims.iter().enumerate().map(|(at, dims)| {
            let dims = dims
                .as_array()
                .ok_or("numbers and lists are mixed in its dims")?;
            let own = strides
                .and_then(|strides| strides.get(at))
                .and_then(Json::as_array);
            tensor(dims, own.map(Vec::as_slice), "")
        });
        return tensors.collect::<Result<_, _>>().map(Operand::List);
    }
    if !dims.is_empty() {
        return tensor(dims, strides, type_name).map(Operand::Tensor);
    }
    // Without dims a tensor has one element. Capitals are the kinds of values, as in `Int` and `Scalar`.
    let is_value = type_name.starts_with(|letter: char| letter.is_ascii_uppercase());
    if !is_value && ElementType::from_name(type_name).is_some() {
        return tensor(dims, strides, type_name).map(Operand::Tensor);
    }
    let value = Concrete::parse(concrete);
    match type_name {
        "TensorList" | "OptionalTensorList" => Ok(Operand::UnknownList),
        "" | "None" if value == Concrete::Unknown => Ok(Operand::Absent),
        _ => Ok(Operand::Scalar(value)),
    }
}

fn tensor(dims: &[Json], strides: Option<&[Json]>, type_name: &str) -> Result<Tensor, String> {
    if dims.len() > MAX_RANK {
        return Err(format!("{} dimensions", dims.len()));
    }
    let dims: Vec<u64> = dims.iter().map(length).collect::<Result<_, _>>()?;
    // Views of other storage have strides of the same rank; anything else is not theirs.
    let strides = strides.filter(|strides| strides.len() == dims.len());
    let strides = match strides {
        Some(strides) => Some(strides.iter().map(length).collect::<Result<_, _>>()?),
        None => None,
    };
    Ok(Tensor {
        dims,
        strides,
        element_type: ElementType::from_name(type_name),
        type_name: type_name.to_owned(),
    })
}

fn length(json: &Json) -> Result<u64, String> {
    json.as_u64()
        .filter(|length| i64::try_from(*length).is_ok())
        .ok_or_else(|| format!("{json} is not a length"))
}

impl Concrete {
    /// Parses an entry of `Concrete Inputs`.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some(inner) = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'))
        {
            // Lists in lists and long ones are of no use to any model, and stay texts.
            let entries = 1 + inner.matches(',').count();
            if entries <= MAX_ENTRIES && !inner.contains(['[', ']']) {
                let parts = inner.split(',').filter(|part| !part.trim().is_empty());
                return Self::List(parts.map(Self::parse).collect());
            }
        }
        match text {
            "" | "None" => Self::Unknown,
            "True" | "true" => Self::Bool(true),
            "False" | "false" => Self::Bool(false),
            _ => text.parse().map(Self::Integer).unwrap_or_else(|_| {
                let real = text.parse().ok().filter(|real: &f64| real.is_finite());
                real.map_or_else(|| Self::Text(text.to_owned()), Self::Real)
            }),
        }
    }
}

impl Tensor {
    /// A dense shape without a type.
    pub(crate) fn dense(dims: Vec<u64>) -> Self {
        Self {
            dims,
            strides: None,
            element_type: None,
            type_name: String::new(),
        }
    }

    /// Number of elements by the dims.
    ///
    /// # Errors
    /// Their product exceeds 2^63 − 1.
    pub(crate) fn elements(&self) -> Result<i128, String> {
        product(self.dims.iter().copied())
    }

    /// Number of distinct elements in memory: a dimension with stride 0 is stored once, and overlapping windows
    /// share elements.
    ///
    /// # Errors
    /// Their product exceeds 2^63 − 1.
    pub(crate) fn stored_elements(&self) -> Result<i128, String> {
        let elements = self.elements()?;
        let Some(strides) = &self.strides else {
            return Ok(elements);
        };
        if elements == 0 {
            return Ok(0);
        }
        let held = self.dims.iter().zip(strides);
        let held = product(
            held.filter(|(_, stride)| **stride != 0)
                .map(|(dim, _)| *dim),
        )?;
        let span = self
            .dims
            .iter()
            .zip(strides)
            .fold(1i128, |span, (dim, stride)| {
                span.saturating_add((i128::from(*dim) - 1).saturating_mul(i128::from(*stride)))
            });
        Ok(held.min(span))
    }
}

/// Product of lengths; 0 if any of them is 0, even if the others would overflow.
fn product(lengths: impl Iterator<Item = u64> + Clone) -> Result<i128, String> {
    if lengths.clone().any(|length| length == 0) {
        return Ok(0);
    }
    lengths
        .map(i128::from)
        .try_fold(1i128, |product, length| {
            product
                .checked_mul(length)
                .filter(|product| *product <= i128::from(i64::MAX))
        })
        .ok_or_else(|| "its dims multiply to more than 2^63 - 1".to_owned())
}
