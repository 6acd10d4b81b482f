//! Fingerprints of tensors on the device, the same bits as `trueno_recorder::fingerprint` gives on the host.
//!
//! [`Checksums`] submits kernels of ours to the program's stream, behind what makes the tensor, and a small copy
//! of their result; rows of `checksums` are written when the copy has come, so nothing waits for a tensor. What a
//! block of 8 KiB contributes is computed in an order that the definition fixes, so the launch shape does not
//! change a bit, and CPU and GPU runs of one model can be compared (`trueno-analyze`'s `divergence`).
//!
//! The kernels are PTX texts in this crate, made from CUDA C beside them; the driver compiles them. No
//! CUDA library but the driver is needed, neither to build nor to run. They were executed on the host, instruction
//! by instruction, and held against the host's fingerprints; on a GPU they are **not verified** yet.
//!
//! A device writes 72 bytes a block; 32 of those become one until few are left, and the host adds these. No atomic
//! and no shared memory plays a part.

mod kernels;
mod pending;
mod result;
mod submit;
mod tensor;

pub use kernels::{FINGERPRINT_PTX, STRIDED_PTX};
pub use result::{HEAD_WORDS, PARTIAL_WORDS, decode};
pub use submit::Checksums;
pub use tensor::{DeviceTensor, MAX_DIMENSIONS, NotInPlace};
