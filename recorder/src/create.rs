//! From a builder to a recorder: checks first, then the directory, then the writer.

use std::path::PathBuf;

use trueno_format::run_directory::Destination;
use trueno_format::schema;

use crate::builder::Builder;
use crate::checksum::baseline::Baseline;
use crate::device::DeviceWork;
use crate::error::Error;
use crate::recorder::Recorder;
use crate::reentrancy::ReentrancyGuard;
use crate::writer;

impl Builder {
    /// Makes the run directory and starts recording. Takes some milliseconds: the clock is calibrated.
    ///
    /// With the crate's feature `off` it creates nothing and returns [`Recorder::disabled`].
    ///
    /// # Errors
    /// The path exists already, the directory cannot be created or written, a table's name is
    /// unknown, or the sync mode needs a device and none was given.
    pub fn create(self) -> Result<Recorder, Error> {
        if let Some(found) = &self.unknown_table {
            let known: Vec<&str> = schema::TABLES.iter().map(|table| table.name).collect();
            let problem = format!("no table `{found}` (hint: one of {})", known.join(", "));
            return Err(Error::Option {
                option: "without_table",
                problem,
            });
        }
        if cfg!(feature = "off") {
            return Ok(Recorder::disabled());
        }
        let _reentrancy = ReentrancyGuard::enter();
        DeviceWork::check(&self)?;
        self.check_perf()?;
        #[cfg(feature = "alloc")]
        if let Some(which) = self.allocations {
            crate::alloc::check(which)?;
            if self.tables_off.contains(&"allocations") {
                return Err(Error::Option {
                    option: "allocations",
                    problem: "the table `allocations` is left out (hint: one of the two)"
                        .to_owned(),
                });
            }
        }
        let baseline = self.read_baseline()?;
        let new_run = Destination::check(&self.path, self.overwrite)?.make()?;
        // Before the run begins, since it may take seconds.
        let ceilings = self
            .ceilings
            .as_ref()
            .filter(|_| !self.tables_off.contains(&"ceilings"))
            .map(|source| source.recorded());
        let earlier = DeviceWork::before_start(&self);
        let mut recorder = writer::start(&self, new_run, baseline, |tables, shared, session| {
            Recorder::with(tables, shared, Some(session))
        })?;
        if let Some(earlier) = earlier {
            recorder.attach(&self, earlier);
        }
        if let Some(ceilings) = ceilings {
            recorder.recorded_ceilings(ceilings);
        }
        #[cfg(feature = "alloc")]
        if let Some(which) = self.allocations {
            crate::alloc::start(recorder.shared(), which)?;
        }
        if self.control {
            recorder.listen();
        }
        recorder.finish_at_exit();
        Ok(recorder)
    }
}

impl Builder {
    /// Called before anything is created, so that an invalid file leaves existing data untouched.
    fn read_baseline(&self) -> Result<Option<Baseline>, Error> {
        let read = |file: &PathBuf| {
            Baseline::read(file).map_err(|problem| Error::Option {
                option: "checksum_baseline",
                problem,
            })
        };
        self.checksum_baseline.as_ref().map(read).transpose()
    }
}
