//! The doctor's findings about the NVIDIA driver.

use trueno_cupti::driver::{self, Listed};

#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Driver {
    pub path: Option<String>,
    /// 13000 is 13.0.
    pub version: Option<u32>,
    pub devices: Vec<Listed>,
    pub problem: Option<String>,
}

/// Queries the driver. This initializes it in this process, but creates no context.
pub fn ask() -> Driver {
    let found = match driver::Driver::find() {
        Ok(found) => found,
        Err(problem) => {
            return Driver {
                problem: Some(problem.to_string()),
                ..Driver::default()
            };
        }
    };
    let (devices, problem) = match found.list() {
        Ok(devices) => (devices, None),
        Err(problem) => (Vec::new(), Some(problem.to_string())),
    };
    Driver {
        path: found.path(),
        version: found.version(),
        devices,
        problem,
    }
}
