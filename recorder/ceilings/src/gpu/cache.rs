//! Ceilings of GPUs kept between programs: one JSON file a device in the user's cache folder.

use std::path::{Path, PathBuf};

use super::GpuCeilings;
use crate::CacheError;
use crate::cache::{cache_folder, read_found, replace_found};
use trueno_format::Error;

/// Raised when the kernels, or the calculation from their times, change.
pub(super) const CODE_VERSION: u32 = 2;

impl GpuCeilings {
    /// File of a device's ceilings, in `$XDG_CACHE_HOME/trueno-record`, else `~/.cache/trueno-record`.
    ///
    /// # Errors
    /// [`CacheError::NoFolder`].
    pub fn file(uuid: &str) -> Result<PathBuf, CacheError> {
        Ok(cache_folder()?.join(format!("peaks-{uuid}.json")))
    }

    /// Those that are kept for a device.
    ///
    /// # Errors
    /// Nothing is, other code measured it, or it cannot be read.
    pub fn cached(uuid: &str) -> Result<Self, CacheError> {
        Self::read(&Self::file(uuid)?, uuid)
    }

    fn read(file: &Path, uuid: &str) -> Result<Self, CacheError> {
        let file = file.to_owned();
        let unreadable = |problem: String| CacheError::Unreadable {
            file: file.clone(),
            problem,
        };
        let text = read_found(&file)?;
        let measured: Self =
            serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
        let is_rate = |value: f64| value.is_finite() && value > 0.0;
        if !measured
            .ceilings
            .iter()
            .all(|ceiling| is_rate(ceiling.value))
        {
            return Err(unreadable("a ceiling is not positive".to_owned()));
        }
        let what = match () {
            () if measured.code_version != CODE_VERSION => "the measuring code",
            () if measured.gpu.uuid != uuid => "the device",
            () => return Ok(measured),
        };
        Err(CacheError::Stale { file, what })
    }

    /// Keeps them for their device, in place of others; runs of `trueno-record run` on it have them from then on.
    ///
    /// # Errors
    /// There is no folder, or the file cannot be made.
    pub fn save(&self) -> Result<PathBuf, String> {
        let file = Self::file(&self.gpu.uuid).map_err(|problem| problem.to_string())?;
        self.write(&file).map_err(|error| error.to_string())?;
        Ok(file)
    }

    fn write(&self, file: &Path) -> Result<(), Error> {
        replace_found(file, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Gpu;
    use trueno_format::{Ceiling, CeilingKind, Source};

    fn measured() -> GpuCeilings {
        let rate = Ceiling::new("gpu:0", CeilingKind::Bandwidth, 3e12, Source::Measured);
        GpuCeilings {
            code_version: CODE_VERSION,
            gpu: Gpu {
                number: 0,
                name: "a device".to_owned(),
                uuid: "GPU-1".to_owned(),
                compute_capability: None,
                multiprocessors: None,
                l2_bytes: None,
                memory_bytes: None,
                highest_clock_hz: None,
            },
            measured_at_s: 7,
            clock_hz: None,
            notes: Vec::new(),
            ceilings: vec![rate],
        }
    }

    #[test]
    fn what_is_kept_is_read_back_and_what_is_stale_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join("peaks.json");
        let read = |uuid| GpuCeilings::read(&file, uuid);
        assert!(matches!(read("GPU-1"), Err(CacheError::Missing { .. })));
        measured().write(&file).unwrap();
        assert_eq!(read("GPU-1"), Ok(measured()));
        let stale = |found| match found {
            Err(CacheError::Stale { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(stale(read("GPU-2")), "the device");
        let mut old = measured();
        old.code_version = 0;
        old.write(&file).unwrap();
        assert_eq!(stale(read("GPU-1")), "the measuring code");
        let mut wrong = measured();
        wrong.ceilings[0].value = 0.0;
        wrong.write(&file).unwrap();
        assert!(matches!(read("GPU-1"), Err(CacheError::Unreadable { .. })));
    }
}
