//! `tables.json`: the tables of a job in a folder for databases, and the job that they are of.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use trueno_engine::run::TABLES_JSON;

use super::named;
use crate::error::ExportError;

/// Name of the layout.
const FORMAT: &str = "trueno-tables";
/// Version of the layout: readers refuse others.
const VERSION: u32 = 1;

/// Tables of a job, table by table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFolder {
    format: String,
    version: u32,
    /// Hash of the files of the job, in hexadecimal digits.
    pub hash_of_job: String,
    /// The tables that have rows, by name.
    pub tables: BTreeMap<String, StoredTable>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTable {
    /// Its columns in order, as they lie in the files; `rank`, which the folders tell, is not among them.
    pub columns: Vec<StoredColumn>,
    /// Rows of each rank that has some.
    pub rows_of_rank: BTreeMap<u32, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredColumn {
    pub name: String,
    /// Its type, as `trueno-analyze tables` says it.
    #[serde(rename = "type")]
    pub ty: String,
}

impl TableFolder {
    /// No tables yet, of the job with that hash.
    pub(super) fn new(hash_of_job: u128) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            hash_of_job: hash_in_file(hash_of_job),
            tables: BTreeMap::new(),
        }
    }

    /// True if the tables are of the job with that hash.
    pub fn is_of(&self, hash_of_job: u128) -> bool {
        self.hash_of_job == hash_in_file(hash_of_job)
    }

    /// Reads what a folder says of its tables.
    ///
    /// # Errors
    /// It cannot be read, or is not of this layout.
    pub fn read(folder: &Path) -> Result<Self, ExportError> {
        let file = folder.join(TABLES_JSON);
        let bytes = fs::read(&file).map_err(|error| named(&file, error))?;
        let found: serde_json::Result<Self> = serde_json::from_slice(&bytes);
        let found = found.map_err(|error| named(&file, error.into()))?;
        if (found.format.as_str(), found.version) != (FORMAT, VERSION) {
            return Err(ExportError::Lacking(format!(
                "{}: {} {} is not known here (hint: this program reads and writes {FORMAT} {VERSION})",
                file.display(),
                found.format,
                found.version
            )));
        }
        Ok(found)
    }
}

fn hash_in_file(hash: u128) -> String {
    format!("{hash:032x}")
}
