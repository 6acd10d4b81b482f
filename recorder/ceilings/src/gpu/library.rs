//! cuBLAS, where no instruction of ours reaches the peak of a device: a ceiling of that library, named so.

use std::ffi::{c_int, c_void};
use std::path::Path;

use trueno_cupti::library::Library;

/// The newest first.
const NAMES: [&str; 4] = [
    "libcublas.so.13",
    "libcublas.so.12",
    "libcublas.so.11",
    "libcublas.so",
];

type Create = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type OnHandle = unsafe extern "C" fn(*mut c_void) -> c_int;
type SetStream = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
/// `cublasGemmEx` with `cublasComputeType_t`, as since CUDA 11.
pub type Gemm = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    u64,
    c_int,
    c_int,
    u64,
    c_int,
    c_int,
    *const c_void,
    u64,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

/// Functions of cuBLAS.
#[derive(Clone, Copy, Debug)]
pub struct Blas {
    /// `cublasCreate_v2`.
    pub create: Create,
    /// `cublasDestroy_v2`.
    pub destroy: OnHandle,
    /// `cublasSetStream_v2`.
    pub set_stream: SetStream,
    /// `cublasGemmEx`.
    pub gemm: Gemm,
}

impl Blas {
    /// Opens the library by name: it must lie on the loader's path.
    ///
    /// # Errors
    /// What the loader says of the first name, or which function is missing.
    pub fn open() -> Result<Self, String> {
        let mut why = None;
        let library = NAMES.iter().find_map(|name| {
            Library::open(Path::new(name))
                .map_err(|error| why.get_or_insert(error.to_string()).clone())
                .ok()
        });
        let library = library.ok_or_else(|| why.unwrap_or_default())?;
        let find = |name: &std::ffi::CStr| {
            let missing = || format!("it has no {}", name.to_string_lossy());
            library
                .find(name)
                .map(|found| found.as_ptr())
                .ok_or_else(missing)
        };
        // SAFETY: cuBLAS has functions of these names and types since CUDA 11; a function and a pointer are of one size.
        unsafe {
            Ok(Self {
                create: std::mem::transmute::<*mut c_void, Create>(find(c"cublasCreate_v2")?),
                destroy: std::mem::transmute::<*mut c_void, OnHandle>(find(c"cublasDestroy_v2")?),
                set_stream: std::mem::transmute::<*mut c_void, SetStream>(find(
                    c"cublasSetStream_v2",
                )?),
                gemm: std::mem::transmute::<*mut c_void, Gemm>(find(c"cublasGemmEx")?),
            })
        }
    }
}

/// A product of two square matrices of one type.
#[derive(Clone, Copy, Debug)]
pub struct Matrices {
    pub precision: &'static str,
    /// Bytes of an element of A and B; of one of C.
    pub bytes: (u64, u64),
    /// `cudaDataType` of A and B, and of C.
    pub types: (c_int, c_int),
    /// `cublasComputeType_t`.
    pub compute: c_int,
    /// Elements that are 1 and 2.
    pub values: (u64, u64),
}

/// FP8 is not among them: `cublasGemmEx` has none.
pub const MATRICES: [Matrices; 5] = [
    Matrices {
        precision: "bf16",
        bytes: (2, 4),
        types: (14, 0),
        compute: 68,
        values: (0x3f80, 0x4000),
    },
    Matrices {
        precision: "f16",
        bytes: (2, 4),
        types: (2, 0),
        compute: 68,
        values: (0x3c00, 0x4000),
    },
    Matrices {
        precision: "tf32",
        bytes: (4, 4),
        types: (0, 0),
        compute: 77,
        values: (0x3f80_0000, 0x4000_0000),
    },
    Matrices {
        precision: "i8",
        bytes: (1, 4),
        types: (3, 10),
        compute: 72,
        values: (1, 2),
    },
    Matrices {
        precision: "f64",
        bytes: (8, 8),
        types: (1, 1),
        compute: 70,
        values: (0x3ff0_0000_0000_0000, 0x4000_0000_0000_0000),
    },
];

impl Matrices {
    /// Rows and columns of matrices that fit this many bytes; `None` if they would be too small to measure.
    pub fn side(&self, array_bytes: u64) -> Option<u64> {
        let each = self.bytes.0.max(self.bytes.1);
        [8192, 4096, 2048, 1024]
            .into_iter()
            .find(|side| side * side * each <= array_bytes)
    }

    /// A matrix whose element at column `x` and row `y` of columns is `of(x, y)`.
    pub fn fill(&self, side: u64, is_two: impl Fn(u64, u64) -> bool) -> Vec<u8> {
        let mut bytes = Vec::with_capacity((side * side * self.bytes.0) as usize);
        for column in 0..side {
            for row in 0..side {
                let value = if is_two(column, row) {
                    self.values.1
                } else {
                    self.values.0
                };
                bytes.extend_from_slice(&value.to_le_bytes()[..self.bytes.0 as usize]);
            }
        }
        bytes
    }

    /// One of the product's elements, of words of 64 bits.
    pub fn element(&self, words: &[u64], nth: u64) -> f64 {
        if self.bytes.1 == 8 {
            return f64::from_bits(words[nth as usize]);
        }
        let half = (words[nth as usize / 2] >> (32 * (nth % 2))) as u32;
        match self.types.1 {
            10 => f64::from(half.cast_signed()),
            _ => f64::from(f32::from_bits(half)),
        }
    }
}
