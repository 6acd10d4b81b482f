//! The NVIDIA driver of this machine. Nothing is linked.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;

use trueno_cupti::library::Library;

/// Its library.
pub const NAME: &str = "libcuda.so.1";

/// What the driver says.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Driver {
    /// Where it was loaded from.
    pub path: Option<String>,
    /// 13000 is 13.0.
    pub version: Option<u32>,
    pub devices: Vec<Device>,
    /// Why there is none, or it does not work.
    pub problem: Option<String>,
}

/// A device.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Device {
    pub number: u32,
    pub name: String,
    pub compute_capability: Option<String>,
    pub memory_bytes: Option<u64>,
}

/// Whether the driver's library can be loaded; it is not initialised.
pub fn is_there() -> Result<Library, String> {
    Library::open(Path::new(NAME)).map_err(|error| error.to_string())
}

/// Asks the driver. It is initialised, in this process, and no context is made.
pub fn ask() -> Driver {
    let mut driver = Driver::default();
    let library = match is_there() {
        Ok(library) => library,
        Err(problem) => {
            driver.problem = Some(format!(
                "no NVIDIA driver library ({NAME}) was found: {problem}"
            ));
            return driver;
        }
    };
    driver.path = library.find(c"cuInit").and_then(Library::path_of);
    if let Err(problem) = fill(library, &mut driver) {
        driver.problem = Some(problem);
    }
    driver
}

fn fill(library: Library, driver: &mut Driver) -> Result<(), String> {
    type Init = unsafe extern "C" fn(u32) -> c_int;
    type Out = unsafe extern "C" fn(*mut c_int) -> c_int;
    type OutAt = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
    type OutOf = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
    type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
    type Bytes = unsafe extern "C" fn(*mut usize, c_int) -> c_int;
    let find = |name: &CStr| -> Result<*mut c_void, String> {
        let address = library.find(name).map(std::ptr::NonNull::as_ptr);
        address.ok_or_else(|| format!("the driver has no {}", name.to_string_lossy()))
    };
    let done = |code: c_int, what: &str| match code {
        0 => Ok(()),
        100 => Err("the driver sees no device".to_owned()),
        code => Err(format!("{what}: the driver says {code}")),
    };
    const MAJOR: c_int = 75;
    const MINOR: c_int = 76;
    // SAFETY: functions of the driver's API, of these types since its first versions; all pointers are valid
    // for the calls.
    unsafe {
        let mut number = 0;
        let version: Out = std::mem::transmute(find(c"cuDriverGetVersion")?);
        if version(&mut number) == 0 {
            driver.version = u32::try_from(number).ok();
        }
        let init: Init = std::mem::transmute(find(c"cuInit")?);
        done(init(0), "cuInit")?;
        let count: Out = std::mem::transmute(find(c"cuDeviceGetCount")?);
        done(count(&mut number), "cuDeviceGetCount")?;
        let get: OutAt = std::mem::transmute(find(c"cuDeviceGet")?);
        let name: Name = std::mem::transmute(find(c"cuDeviceGetName")?);
        let attribute: OutOf = std::mem::transmute(find(c"cuDeviceGetAttribute")?);
        let memory: Bytes = std::mem::transmute(find(c"cuDeviceTotalMem_v2")?);
        for ordinal in 0..number {
            let mut device = 0;
            done(get(&mut device, ordinal), "cuDeviceGet")?;
            let mut text = [0 as c_char; 256];
            done(name(text.as_mut_ptr(), 255, device), "cuDeviceGetName")?;
            let part = |which| {
                let mut value = 0;
                (attribute(&mut value, which, device) == 0).then_some(value)
            };
            let capability = part(MAJOR).zip(part(MINOR));
            let mut bytes = 0;
            let has_bytes = memory(&mut bytes, device) == 0;
            driver.devices.push(Device {
                number: ordinal as u32,
                name: CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned(),
                compute_capability: capability.map(|(major, minor)| format!("{major}.{minor}")),
                memory_bytes: has_bytes.then_some(bytes as u64),
            });
        }
    }
    if driver.devices.is_empty() {
        return Err("the driver sees no device".to_owned());
    }
    Ok(())
}
