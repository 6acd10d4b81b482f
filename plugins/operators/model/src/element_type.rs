//! Element types of tensors, as PyTorch's profiler names them, and the arithmetic that each stands for.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ElementType {
    Bool,
    /// `unsigned char`, and quantised `c10::quint8`.
    UInt8,
    /// `signed char`, and quantised `c10::qint8`.
    Int8,
    /// `short int`.
    Int16,
    /// `int`, and quantised `c10::qint32`.
    Int32,
    /// `long int`.
    Int64,
    /// Two 4-bit floats in a byte, `c10::Float4_e2m1fn_x2`: one element of the recorded dims is a pair.
    Float4Pair,
    /// All 8-bit floats.
    Float8,
    /// `c10::Half`.
    Float16,
    /// `c10::BFloat16`.
    BFloat16,
    /// `float`.
    Float32,
    /// `double`.
    Float64,
    /// `c10::complex<c10::Half>`.
    Complex32,
    /// `c10::complex<float>`.
    Complex64,
    /// `c10::complex<double>`.
    Complex128,
}

/// Kinds of numbers in PyTorch's promotion order: a mix of two has the later kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NumberKind {
    Bool,
    Integer,
    Float,
    Complex,
}

/// Names in traces: C++ spelling first, then those in collectives and in `torch` itself.
const NAMES: [(&str, ElementType); 68] = [
    ("bool", ElementType::Bool),
    ("unsigned char", ElementType::UInt8),
    ("signed char", ElementType::Int8),
    ("char", ElementType::Int8),
    ("short int", ElementType::Int16),
    ("short", ElementType::Int16),
    ("unsigned short", ElementType::Int16),
    ("unsigned short int", ElementType::Int16),
    ("int", ElementType::Int32),
    ("unsigned int", ElementType::Int32),
    ("long int", ElementType::Int64),
    ("long", ElementType::Int64),
    ("long long", ElementType::Int64),
    ("long long int", ElementType::Int64),
    ("unsigned long", ElementType::Int64),
    ("unsigned long int", ElementType::Int64),
    ("float", ElementType::Float32),
    ("double", ElementType::Float64),
    ("c10::half", ElementType::Float16),
    ("c10::bfloat16", ElementType::BFloat16),
    ("c10::float8_e4m3fn", ElementType::Float8),
    ("c10::float8_e4m3fnuz", ElementType::Float8),
    ("c10::float8_e5m2", ElementType::Float8),
    ("c10::float8_e5m2fnuz", ElementType::Float8),
    ("c10::float8_e8m0fnu", ElementType::Float8),
    ("c10::float4_e2m1fn_x2", ElementType::Float4Pair),
    ("c10::complex<c10::half>", ElementType::Complex32),
    ("c10::complex<float>", ElementType::Complex64),
    ("c10::complex<double>", ElementType::Complex128),
    ("c10::quint8", ElementType::UInt8),
    ("c10::qint8", ElementType::Int8),
    ("c10::qint32", ElementType::Int32),
    ("byte", ElementType::UInt8),
    ("half", ElementType::Float16),
    ("bfloat16", ElementType::BFloat16),
    ("float8_e4m3fn", ElementType::Float8),
    ("float8_e4m3fnuz", ElementType::Float8),
    ("float8_e5m2", ElementType::Float8),
    ("float8_e5m2fnuz", ElementType::Float8),
    ("complexfloat", ElementType::Complex64),
    ("complexdouble", ElementType::Complex128),
    ("i16", ElementType::Int16),
    ("i32", ElementType::Int32),
    ("i64", ElementType::Int64),
    ("u8", ElementType::UInt8),
    ("i8", ElementType::Int8),
    ("f16", ElementType::Float16),
    ("bf16", ElementType::BFloat16),
    ("f32", ElementType::Float32),
    ("f64", ElementType::Float64),
    ("torch.bool", ElementType::Bool),
    ("torch.uint8", ElementType::UInt8),
    ("torch.int8", ElementType::Int8),
    ("torch.int16", ElementType::Int16),
    ("torch.int32", ElementType::Int32),
    ("torch.int64", ElementType::Int64),
    ("torch.float16", ElementType::Float16),
    ("torch.bfloat16", ElementType::BFloat16),
    ("torch.float32", ElementType::Float32),
    ("torch.float64", ElementType::Float64),
    ("torch.float8_e4m3fn", ElementType::Float8),
    ("torch.float8_e4m3fnuz", ElementType::Float8),
    ("torch.float8_e5m2", ElementType::Float8),
    ("torch.float8_e5m2fnuz", ElementType::Float8),
    ("torch.float4_e2m1fn_x2", ElementType::Float4Pair),
    ("torch.complex32", ElementType::Complex32),
    ("torch.complex64", ElementType::Complex64),
    ("torch.complex128", ElementType::Complex128),
];

/// Element types in the template arguments of PyTorch's kernels.
const IN_KERNELS: [(&str, ElementType); 8] = [
    ("c10::BFloat16", ElementType::BFloat16),
    ("c10::Half", ElementType::Float16),
    ("float", ElementType::Float32),
    ("double", ElementType::Float64),
    ("long", ElementType::Int64),
    ("int", ElementType::Int32),
    ("unsigned char", ElementType::UInt8),
    ("bool", ElementType::Bool),
];

impl ElementType {
    /// Looks up a type by its name in traces, ignoring case; `None` for scalars, lists and unknown names.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.trim();
        NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|&(_, element_type)| element_type)
    }

    /// Looks up a type by PyTorch's `ScalarType` number, as recorded for operands named `dtype`.
    pub(crate) fn from_code(code: i128) -> Option<Self> {
        Some(match code {
            0 | 13 => Self::UInt8,
            1 | 12 => Self::Int8,
            2 | 27 => Self::Int16,
            3 | 14 | 28 => Self::Int32,
            4 | 29 => Self::Int64,
            5 => Self::Float16,
            6 => Self::Float32,
            7 => Self::Float64,
            8 => Self::Complex32,
            9 => Self::Complex64,
            10 => Self::Complex128,
            11 => Self::Bool,
            15 => Self::BFloat16,
            23..=26 | 44 => Self::Float8,
            45 => Self::Float4Pair,
            _ => return None,
        })
    }

    /// Reads the element type from the template arguments of a PyTorch kernel. Traces record no element types
    /// for lists of tensors, but the kernels that work on lists contain theirs: foreach functors as the first
    /// argument, concatenations as the size of an opaque element.
    pub fn from_kernel_name(name: &str) -> Option<Self> {
        if let Some((_, behind)) = name.split_once("OpaqueType<") {
            let digits = behind.split_once(['u', '>'])?.0;
            return match digits {
                "1" => Some(Self::UInt8),
                "2" => Some(Self::BFloat16),
                "4" => Some(Self::Float32),
                "8" => Some(Self::Int64),
                _ => None,
            };
        }
        let (_, functor) = name.split_once("Functor<")?;
        let ends = |text: &str| text.starts_with([',', '>', ' ']);
        IN_KERNELS
            .iter()
            .find(|(known, _)| functor.strip_prefix(known).is_some_and(ends))
            .map(|&(_, element_type)| element_type)
    }

    pub fn bytes(self) -> u64 {
        match self {
            Self::Bool | Self::UInt8 | Self::Int8 | Self::Float4Pair | Self::Float8 => 1,
            Self::Int16 | Self::Float16 | Self::BFloat16 => 2,
            Self::Int32 | Self::Float32 | Self::Complex32 => 4,
            Self::Int64 | Self::Float64 | Self::Complex64 => 8,
            Self::Complex128 => 16,
        }
    }

    /// Numbers in one element of the recorded dims: two for 4-bit types, else one.
    pub(crate) fn packed(self) -> u64 {
        if self == Self::Float4Pair { 2 } else { 1 }
    }

    pub(crate) fn kind(self) -> NumberKind {
        match self {
            Self::Bool => NumberKind::Bool,
            Self::UInt8 | Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64 => {
                NumberKind::Integer
            }
            Self::Complex32 | Self::Complex64 | Self::Complex128 => NumberKind::Complex,
            _ => NumberKind::Float,
        }
    }

    /// Result type of two operands of the same rank in PyTorch's promotion.
    pub(crate) fn promote(self, other: Self) -> Self {
        let (low, high) = if self.kind() <= other.kind() {
            (self, other)
        } else {
            (other, self)
        };
        if low == high {
            return high;
        }
        match (low.kind() == high.kind(), high.kind()) {
            (true, NumberKind::Float) if low.bytes() == high.bytes() => Self::Float32,
            (true, NumberKind::Integer) if low.bytes() == high.bytes() => Self::Int16,
            (true, _) if low.bytes() > high.bytes() => low,
            _ => high,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Precision {
    Fp64,
    Fp32,
    /// FP32 whose products may be rounded to a mantissa of 10 bits, if the operator states that it may.
    Tf32,
    Bf16,
    Fp16,
    Fp8,
    Fp4,
    Int64,
    Int32,
    Int16,
    Int8,
}

impl Precision {
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp64 => "fp64",
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Fp8 => "fp8",
            Self::Fp4 => "fp4",
            Self::Int64 => "int64",
            Self::Int32 => "int32",
            Self::Int16 => "int16",
            Self::Int8 => "int8",
        }
    }

    /// The arithmetic for an element type; for complex numbers that of their parts.
    pub(crate) fn of_elements(element_type: ElementType) -> Self {
        match element_type {
            ElementType::Bool | ElementType::UInt8 | ElementType::Int8 => Self::Int8,
            ElementType::Int16 => Self::Int16,
            ElementType::Int32 => Self::Int32,
            ElementType::Int64 => Self::Int64,
            ElementType::Float4Pair => Self::Fp4,
            ElementType::Float8 => Self::Fp8,
            ElementType::Float16 | ElementType::Complex32 => Self::Fp16,
            ElementType::BFloat16 => Self::Bf16,
            ElementType::Float32 | ElementType::Complex64 => Self::Fp32,
            ElementType::Float64 | ElementType::Complex128 => Self::Fp64,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
