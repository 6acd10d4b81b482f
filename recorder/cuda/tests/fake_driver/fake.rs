//! The fake driver, and what it says about itself.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use trueno_cupti::library::Library;
use trueno_recorder::{Recorder, SyncMode};
use trueno_recorder_cuda::cudarc::driver::LaunchConfig;
use trueno_recorder_cuda::{Cuda, CudaDevice, Kernel, Memory, Stream};
use trueno_testing::{compile, has_c_compiler, in_own_process};

const INSIDE: &str = "TRUENO_TEST_INSIDE";

/// The same text as in `acceptance/launches.c`; the fake looks for kernel names in it.
pub const PTX: &str = ".version 7.0\n.target sm_75\n.address_size 64\n\
    .visible .entry spin(.param .u64 out, .param .u64 ns)\n{\n ret;\n}\n\
    .visible .entry nothing()\n{\n ret;\n}\n";

/// Declares a test whose body runs on the fake driver, with additional environment variables.
macro_rules! on_fake {
    ($name:ident, $environment:expr, $body:block) => {
        #[test]
        fn $name() {
            let test = concat!(module_path!(), "::", stringify!($name));
            crate::fake::on_fake(test, "", &$environment, || $body);
        }
    };
}

fn build(folder: &Path, options: &[&str]) {
    std::fs::create_dir_all(folder).unwrap();
    let mut all = vec![
        "-shared",
        "-fPIC",
        "-Wl,-soname,libcuda.so.1",
        "-Wno-unused-function",
    ];
    all.extend(options);
    compile("driver_api.c", &all, &folder.join("libcuda.so.1"), &[]);
    // The name that is tried first: where there is a real driver, it must not come before.
    symlink("libcuda.so.1", folder.join("libcuda.so")).unwrap();
}

/// Folders `new`, `old` and `ancient` with a driver each. `None`, with a message, if there is no C compiler.
pub fn drivers() -> Option<&'static Path> {
    static DRIVERS: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    let built = DRIVERS.get_or_init(|| {
        if !has_c_compiler() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        build(&folder.path().join("new"), &[]);
        build(&folder.path().join("old"), &["-DOLD_DRIVER"]);
        build(&folder.path().join("ancient"), &["-DANCIENT_DRIVER"]);
        Some(folder)
    });
    built.as_ref().map(tempfile::TempDir::path)
}

/// Runs `body` in a child with the driver of that folder (`new` if empty).
pub fn on_fake(test: &str, folder: &str, environment: &[(&str, &str)], body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let Some(drivers) = drivers() else { return };
    let folder = if folder.is_empty() { "new" } else { folder };
    // Without the name of the test binary.
    let (_, test) = test.split_once("::").unwrap();
    in_own_process(test, |again| {
        again
            .env(INSIDE, "1")
            .env("LD_LIBRARY_PATH", drivers.join(folder))
            .env_remove("CUDA_INJECTION64_PATH")
            .envs(environment.iter().copied());
    });
}

fn function(name: &CStr) -> *mut std::ffi::c_void {
    let library = Library::open(Path::new("libcuda.so.1")).unwrap();
    library.find(name).unwrap().as_ptr()
}

pub fn calls(name: &str) -> u64 {
    let name = CString::new(name).unwrap();
    // SAFETY: the fake's own function, of this type.
    unsafe {
        let calls: extern "C" fn(*const c_char) -> u64 =
            std::mem::transmute(function(c"fake_calls"));
        calls(name.as_ptr())
    }
}

#[derive(Clone, Debug)]
pub struct Done {
    pub name: String,
    pub begin_ns: u64,
    pub end_ns: u64,
}

type Work = extern "C" fn(u32, *mut *const c_char, *mut u32, *mut u64, *mut u64) -> c_int;

pub fn done() -> Vec<Done> {
    // SAFETY: the fake's own function, of this type; its names live as long as the process.
    unsafe {
        let work: Work = std::mem::transmute(function(c"fake_work"));
        let mut all = Vec::new();
        let (mut name, mut stream, mut begin_ns, mut end_ns) = (std::ptr::null(), 0, 0, 0);
        while work(
            all.len() as u32,
            &mut name,
            &mut stream,
            &mut begin_ns,
            &mut end_ns,
        ) != 0
        {
            all.push(Done {
                name: CStr::from_ptr(name).to_str().unwrap().to_owned(),
                begin_ns,
                end_ns,
            });
        }
        all
    }
}

pub struct Rig {
    pub rec: Recorder,
    pub device: Arc<CudaDevice>,
    pub cuda: Cuda,
    pub stream: Stream,
    pub spin: Kernel,
    pub nothing: Kernel,
    pub out: Memory<u64>,
}

pub const ONE: LaunchConfig = LaunchConfig {
    grid_dim: (1, 1, 1),
    block_dim: (1, 1, 1),
    shared_mem_bytes: 0,
};

impl Rig {
    pub fn new(path: &Path, mode: SyncMode) -> Self {
        let device = CudaDevice::open(0).unwrap();
        let rec = Recorder::builder(path)
            .device(device.clone())
            .sync_mode(mode)
            .create()
            .unwrap();
        let cuda = Cuda::new(&rec, &device);
        let stream = cuda.new_stream().unwrap();
        let module = cuda.load_ptx("launches", PTX).unwrap();
        let out = stream.alloc_zeros("out", 2).unwrap();
        Self {
            spin: module.function("spin").unwrap(),
            nothing: module.function("nothing").unwrap(),
            rec,
            device,
            cuda,
            stream,
            out,
        }
    }

    pub fn spin(&mut self, ns: u64) -> trueno_recorder::SpanId {
        let mut launch = self.stream.launch(&self.spin, ONE);
        launch.write(&mut *self.out).value(&ns);
        // SAFETY: two words and a number, as the kernel takes them.
        unsafe { launch.submit() }.unwrap()
    }

    pub fn nothing(&self, stream: &Stream) -> trueno_recorder::SpanId {
        // SAFETY: it takes nothing.
        unsafe { stream.launch(&self.nothing, ONE).submit() }.unwrap()
    }
}
