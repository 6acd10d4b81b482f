//! `tables.json`: the tables of a job in a folder for databases, and the job that they are of.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use trueno_engine::run::TABLES_JSON;

use super::named;
use crate::error::ExportError;

const FORMAT: &str = "trueno-tables";
/// Version of the layout. Readers reject others.
const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFolder {
    format: String,
    version: u32,
    pub hash_of_job: String,
    pub tables: BTreeMap<String, StoredTable>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTable {
    /// Columns of the files in order. `rank` is not included: folder names contain it.
    pub columns: Vec<StoredColumn>,
    pub rows_of_rank: BTreeMap<u32, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredColumn {
    pub name: String,
    /// Type, as in `trueno-analyze tables`.
    #[serde(rename = "type")]
    pub ty: String,
}

impl TableFolder {
    pub(super) fn new(hash_of_job: u128) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            hash_of_job: hash_in_file(hash_of_job),
            tables: BTreeMap::new(),
        }
    }

    pub fn is_of(&self, hash_of_job: u128) -> bool {
        self.hash_of_job == hash_in_file(hash_of_job)
    }

    /// Reads the description in a folder.
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
