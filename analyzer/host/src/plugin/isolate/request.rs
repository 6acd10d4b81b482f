//! The request to the child, in one memory file: the inputs as Arrow IPC streams
//! one behind the other, and the job that says where each lies.
//!
//! The file begins with place and length of the job, two numbers of 8 bytes.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use trueno_engine::closed_types::ClosedRows;

use super::python::interpreter::Interpreter;
use super::tables;
use crate::plugin::descriptor::Stage;

#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    pub task: Task,
    pub file: PathBuf,
    pub linked: Option<String>,
    /// The interpreter that runs a Python plugin. Describing one needs none.
    pub interpreter: Option<Interpreter>,
    pub parent: u32,
    pub memory_bytes: u64,
    pub cpu_seconds: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Task {
    Describe,
    Run {
        stage: Stage,
        options: String,
        /// Byte range of each input in the file; `None` if it is missing.
        inputs: Vec<Option<(u64, u64)>>,
    },
}

/// Bytes before the first input.
const HEAD: u64 = 16;

/// Writes the inputs and returns their ranges. Each part is freed once it is written.
///
/// # Errors
/// There is no room, or a table cannot be written.
pub fn write_inputs(
    file: &File,
    inputs: Vec<Option<ClosedRows>>,
) -> Result<Vec<Option<(u64, u64)>>, String> {
    let text = |error: io::Error| error.to_string();
    let mut to = BufWriter::with_capacity(1 << 18, file);
    to.seek(SeekFrom::Start(HEAD)).map_err(text)?;
    let mut places = Vec::with_capacity(inputs.len());
    for input in inputs {
        let place = match input {
            None => None,
            Some(rows) => {
                let from = to.stream_position().map_err(text)?;
                tables::write(rows, &mut to).map_err(|error| error.to_string())?;
                Some((from, to.stream_position().map_err(text)?))
            }
        };
        places.push(place);
    }
    to.flush().map_err(text)?;
    Ok(places)
}

impl Request {
    /// Writes the request after the inputs.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, file: &File) -> Result<(), String> {
        let json = serde_json::to_vec(self).map_err(|error| error.to_string())?;
        let at = file.metadata().map_err(|e| e.to_string())?.len().max(HEAD);
        let mut head = [0; HEAD as usize];
        head[..8].copy_from_slice(&at.to_le_bytes());
        head[8..].copy_from_slice(&(json.len() as u64).to_le_bytes());
        file.write_all_at(&json, at)
            .and_then(|()| file.write_all_at(&head, 0))
            .map_err(|error| error.to_string())
    }

    /// Reads the request from its file.
    ///
    /// # Errors
    /// The file holds none.
    pub fn read(file: &File) -> Result<Request, String> {
        let mut head = [0; HEAD as usize];
        file.read_exact_at(&mut head, 0)
            .map_err(|error| error.to_string())?;
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&head[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let (at, length) = (number(0), number(8));
        let whole = file.metadata().map_err(|error| error.to_string())?.len();
        if at.checked_add(length).is_none_or(|end| end > whole) {
            return Err("the job is not at the expected position of its file".into());
        }
        let mut json = vec![0; length as usize];
        file.read_exact_at(&mut json, at)
            .map_err(|error| error.to_string())?;
        serde_json::from_slice(&json).map_err(|error| error.to_string())
    }
}
