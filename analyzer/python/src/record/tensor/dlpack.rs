//! DLPack, by which PyTorch, JAX and others lend tensors.

use std::ffi::{CStr, c_void};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::{ElementType, Layout};

const NAME: &CStr = c"dltensor";
/// Device types whose memory the host can read.
const CPU: i32 = 1;
const CUDA_HOST: i32 = 3;

// As in dlpack.h, version 0.8, which every library gives that is not asked for a later one.
#[repr(C)]
struct Device {
    kind: i32,
    id: i32,
}

#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: Device,
    dimensions: i32,
    ty: DataType,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

#[repr(C)]
struct DlManagedTensor {
    tensor: DlTensor,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DlManagedTensor)>,
}

/// A tensor in a capsule, which frees it unless someone consumed it.
pub struct Managed {
    capsule: Py<PyCapsule>,
    at: *const DlManagedTensor,
}

impl Managed {
    /// The tensor of an object with `__dlpack__`.
    ///
    /// # Errors
    /// It does not give it.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        // A tensor with a gradient is lent without it.
        let object = match object.getattr("detach") {
            Ok(detach) => detach.call0()?,
            Err(_) => object.clone(),
        };
        let capsule = object.call_method0("__dlpack__")?;
        let capsule = capsule
            .cast_into::<PyCapsule>()
            .map_err(|_| PyTypeError::new_err("__dlpack__ gave no capsule"))?;
        let at = capsule.pointer_checked(Some(NAME))?;
        Ok(Self {
            at: at.as_ptr().cast_const().cast(),
            capsule: capsule.unbind(),
        })
    }

    /// The elements of the tensor.
    ///
    /// # Errors
    /// They lie on a device, or are of a type that is not fingerprinted.
    pub fn layout(&self) -> PyResult<Layout> {
        let _held = &self.capsule;
        // SAFETY: the capsule, which is held, vouches for a tensor of this version at its pointer.
        let tensor = unsafe { &(*self.at).tensor };
        if ![CPU, CUDA_HOST].contains(&tensor.device.kind) {
            return Err(PyValueError::new_err(
                "the tensor lies on a device (hint: record tensor.cpu())",
            ));
        }
        let DataType { code, bits, lanes } = tensor.ty;
        let ty = element_type(code, bits)
            .filter(|_| lanes == 1)
            .ok_or_else(|| {
                PyValueError::new_err(format!(
                    "elements of DLPack's type {code} with {bits} bits have no fingerprint"
                ))
            })?;
        let dimensions = usize::try_from(tensor.dimensions).unwrap_or(0);
        // SAFETY: lists with a number for each dimension; the second may be null.
        let (shape, strides) = unsafe {
            let list = |at: *const i64| {
                if at.is_null() || dimensions == 0 {
                    &[][..]
                } else {
                    std::slice::from_raw_parts(at, dimensions)
                }
            };
            (list(tensor.shape), list(tensor.strides))
        };
        let shape: Vec<usize> = shape
            .iter()
            .map(|length| usize::try_from(*length).unwrap_or(0))
            .collect();
        let strides = if strides.len() == shape.len() {
            strides.iter().map(|stride| *stride as isize).collect()
        } else {
            super::contiguous(&shape)
                .into_iter()
                .map(usize::cast_signed)
                .collect()
        };
        let offset = usize::try_from(tensor.byte_offset).unwrap_or(0);
        Ok(Layout {
            ty,
            at: tensor.data.cast_const().cast::<u8>().wrapping_add(offset),
            shape,
            strides,
        })
    }
}

/// Element type of a DLPack type code and width.
fn element_type(code: u8, bits: u8) -> Option<ElementType> {
    Some(match (code, bits) {
        (0, 8) => ElementType::I8,
        (0, 16) => ElementType::I16,
        (0, 32) => ElementType::I32,
        (0, 64) => ElementType::I64,
        (1 | 6, 8) => ElementType::U8,
        (1, 16) => ElementType::U16,
        (1, 32) => ElementType::U32,
        (1, 64) => ElementType::U64,
        (2, 16) => ElementType::F16,
        (2, 32) => ElementType::F32,
        (2, 64) => ElementType::F64,
        (4, 16) => ElementType::Bf16,
        _ => return None,
    })
}
