//! Kernel code, and the kernels in it.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule};
use cudarc::nvrtc::Ptx;
use trueno_recorder::{Name, PtxHash};

use crate::error::Error;
use crate::recorded::Cuda;

/// PTX that was loaded.
#[derive(Clone, Debug)]
pub struct Module {
    module: Arc<CudaModule>,
    hash: PtxHash,
}

impl Module {
    pub(crate) fn load(cuda: &Cuda, name: &str, source: &str) -> Result<Self, Error> {
        // cudarc makes a C text of it, and panics where that cannot be.
        if source.contains('\0') {
            return Err(Error::Text { what: "PTX" });
        }
        let module = cuda
            .device
            .context()
            .load_module(Ptx::from_src(source))
            .map_err(Error::call("cannot load PTX"))?;
        let hash = cuda.rec.ptx(name, source);
        Ok(Self { module, hash })
    }

    /// Names the source in the run.
    pub fn hash(&self) -> PtxHash {
        self.hash
    }

    /// The kernel of that name.
    ///
    /// # Errors
    /// There is none, or what else the driver says; a null byte in the name.
    pub fn function(&self, name: &str) -> Result<Kernel, Error> {
        if name.contains('\0') {
            return Err(Error::Text {
                what: "name of a kernel",
            });
        }
        let function = self
            .module
            .load_function(name)
            .map_err(Error::call("cannot find the kernel"))?;
        // What the driver does not say is null in the run.
        let number = |value: Result<i32, _>| value.ok().and_then(|value| u32::try_from(value).ok());
        Ok(Kernel {
            name: Name::new(name),
            hash: Some(self.hash),
            registers: number(function.num_regs()),
            static_shared_memory: number(function.shared_size_bytes()),
            function,
        })
    }
}

/// A kernel that can be launched.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) function: CudaFunction,
    pub(crate) name: Name,
    pub(crate) hash: Option<PtxHash>,
    pub(crate) registers: Option<u32>,
    pub(crate) static_shared_memory: Option<u32>,
}

impl Kernel {
    /// A function that the program has already; rows have that name and no source.
    pub fn from_function(name: &str, function: CudaFunction) -> Self {
        let number = |value: Result<i32, _>| value.ok().and_then(|value| u32::try_from(value).ok());
        Self {
            name: Name::new(name),
            hash: None,
            registers: number(function.num_regs()),
            static_shared_memory: number(function.shared_size_bytes()),
            function,
        }
    }

    /// The function, as cudarc has it.
    pub fn function(&self) -> &CudaFunction {
        &self.function
    }
}
