//! Gauges of NVIDIA GPUs, by the library that comes with the driver (`libnvidia-ml.so.1`), which is looked for and never
//! linked. Nothing is started on a device by it.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;

use crate::library::Library;

/// The name by which the driver's package installs it.
pub const LIBRARY: &str = "libnvidia-ml.so.1";
const NAME_BYTES: usize = 96;

/// One device at a moment. What the device does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct GpuGauge {
    /// Number of the device, as NVML counts: all of the machine.
    pub device: u32,
    pub name: Option<String>,
    /// Share of the last sample period, a sixth of a second to a second, in which a kernel ran.
    pub busy_share: Option<f64>,
    /// Memory in use, of all programs.
    pub memory_used_bytes: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// Power that it draws.
    pub power_watts: Option<f64>,
}

/// Reasons why there are no gauges.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NvmlError {
    #[error("no NVIDIA driver: {LIBRARY} is not found")]
    NotFound,
    #[error("{0}")]
    NotLoaded(String),
    #[error("{LIBRARY} has no {0}")]
    NoFunction(String),
    #[error("{function}: NVML error {code}")]
    Refused { function: &'static str, code: i32 },
    #[error("the NVIDIA driver has no device")]
    NoDevice,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

type Device = *mut c_void;
type Call = unsafe extern "C" fn() -> c_int;
type Count = unsafe extern "C" fn(*mut c_uint) -> c_int;
type Handle = unsafe extern "C" fn(c_uint, *mut Device) -> c_int;
type Name = unsafe extern "C" fn(Device, *mut c_char, c_uint) -> c_int;
type Rates = unsafe extern "C" fn(Device, *mut Utilization) -> c_int;
type MemoryInfo = unsafe extern "C" fn(Device, *mut Memory) -> c_int;
type Power = unsafe extern "C" fn(Device, *mut c_uint) -> c_int;

/// The library, and the devices that it told of.
pub struct Nvml {
    devices: Vec<Device>,
    name: Name,
    rates: Rates,
    memory: MemoryInfo,
    power: Power,
}

// SAFETY: handles of devices may be used from any thread.
unsafe impl Send for Nvml {}

macro_rules! function {
    ($library:expr, $name:literal, $type:ty) => {{
        let name: &CStr = $name;
        let address = $library
            .find(name)
            .ok_or_else(|| NvmlError::NoFunction(name.to_string_lossy().into_owned()))?;
        // SAFETY: NVML has this function of this type, in all versions of its API since the suffix of its name.
        unsafe { std::mem::transmute::<*mut c_void, $type>(address.as_ptr()) }
    }};
}

fn done(function: &'static str, code: c_int) -> Result<(), NvmlError> {
    match code {
        0 => Ok(()),
        code => Err(NvmlError::Refused { function, code }),
    }
}

impl Nvml {
    /// Finds the library and its devices.
    ///
    /// # Errors
    /// See [`NvmlError`].
    pub fn open() -> Result<Self, NvmlError> {
        let library = Library::open(Path::new(LIBRARY)).map_err(|error| {
            let words = error.to_string();
            if words.contains("cannot open shared object file: No such file") {
                NvmlError::NotFound
            } else {
                NvmlError::NotLoaded(words)
            }
        })?;
        let init = function!(library, c"nvmlInit_v2", Call);
        let count = function!(library, c"nvmlDeviceGetCount_v2", Count);
        let handle = function!(library, c"nvmlDeviceGetHandleByIndex_v2", Handle);
        let name = function!(library, c"nvmlDeviceGetName", Name);
        let rates = function!(library, c"nvmlDeviceGetUtilizationRates", Rates);
        let memory = function!(library, c"nvmlDeviceGetMemoryInfo", MemoryInfo);
        let power = function!(library, c"nvmlDeviceGetPowerUsage", Power);
        // SAFETY: takes nothing.
        done("nvmlInit_v2", unsafe { init() })?;
        let mut number = 0;
        // SAFETY: valid for the write.
        done("nvmlDeviceGetCount_v2", unsafe { count(&mut number) })?;
        let of = |index| {
            let mut device: Device = std::ptr::null_mut();
            // SAFETY: valid for the write.
            let code = unsafe { handle(index, &mut device) };
            done("nvmlDeviceGetHandleByIndex_v2", code).map(|()| device)
        };
        let devices: Vec<Device> = (0..number).map(of).collect::<Result<_, _>>()?;
        if devices.is_empty() {
            return Err(NvmlError::NoDevice);
        }
        Ok(Self {
            devices,
            name,
            rates,
            memory,
            power,
        })
    }

    /// Reads the gauges of all devices.
    pub fn read(&self) -> Vec<GpuGauge> {
        let gauges = self.devices.iter().enumerate();
        gauges.map(|(at, device)| self.gauge(at, *device)).collect()
    }

    fn gauge(&self, at: usize, device: Device) -> GpuGauge {
        let mut text = [0 as c_char; NAME_BYTES];
        let (mut rates, mut memory, mut milliwatts) =
            (Utilization::default(), Memory::default(), 0);
        // SAFETY: a handle that the library gave, and memory of the length that is said, valid for the writes.
        let codes = unsafe {
            [
                (self.name)(device, text.as_mut_ptr(), NAME_BYTES as c_uint),
                (self.rates)(device, &mut rates),
                (self.memory)(device, &mut memory),
                (self.power)(device, &mut milliwatts),
            ]
        };
        let [has_name, has_rates, has_memory, has_power] = codes.map(|code| code == 0);
        text[NAME_BYTES - 1] = 0;
        // SAFETY: it ends with a null byte.
        let name = unsafe { CStr::from_ptr(text.as_ptr()) };
        GpuGauge {
            device: at as u32,
            name: has_name.then(|| name.to_string_lossy().into_owned()),
            busy_share: has_rates.then(|| f64::from(rates.gpu.min(100)) / 100.0),
            memory_used_bytes: has_memory.then_some(memory.used),
            memory_bytes: has_memory.then_some(memory.total),
            power_watts: has_power.then(|| f64::from(milliwatts) / 1000.0),
        }
    }
}
