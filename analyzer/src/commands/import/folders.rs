//! Folders whose files are one recording: tables of an export, traces of one program.

use std::path::{Path, PathBuf};

use trueno_import::{Error, Import, device_csv};

use super::nsys_parquet;

pub(in crate::commands) enum Folder {
    /// `nsys export --type parquetdir`.
    NsysParquet,
    /// CSV files of one program, as rocprofv3 writes them.
    DeviceCsv(Vec<PathBuf>),
}

impl Folder {
    /// `None` if the folder is something else.
    pub(in crate::commands) fn of(path: &Path) -> Option<Self> {
        if nsys_parquet::recognises(path) {
            return Some(Self::NsysParquet);
        }
        device_csv::set_in(path).map(Self::DeviceCsv)
    }

    pub(in crate::commands) fn format(&self) -> &'static str {
        match self {
            Self::NsysParquet => nsys_parquet::NAME,
            Self::DeviceCsv(_) => device_csv::IMPORTER.name,
        }
    }

    pub(in crate::commands) fn import(&self, import: Import<'_>) -> Result<Option<i64>, Error> {
        match self {
            Self::NsysParquet => nsys_parquet::import(import),
            Self::DeviceCsv(files) => device_csv::import_set(files, import),
        }
    }
}

pub(in crate::commands) fn recognises(path: &Path) -> bool {
    Folder::of(path).is_some()
}
