//! The catalog of a job: what is known of all ranks once they were opened, for tasks that open a few of them.
//!
//! The first line of the file says which build wrote it, and has the hash of the rest.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use trueno_engine::run::JobCatalog;
use trueno_format::regular_file;
use trueno_model::Window;

use crate::name_tables::RunNames;
use crate::part_cache::{build, hash_of, replace};
use crate::request::Request;
use crate::rows::Rows;
use crate::window::WindowSpec;

const FORMAT: u32 = 1;
const AGAIN: &str = "hint: `trueno-analyze rank-task --write-catalog` writes it";

#[derive(Serialize, Deserialize)]
struct Head {
    trueno_catalog: u32,
    build: u128,
    hash: String,
}

/// What tasks need of a job beside their own ranks.
#[derive(Serialize, Deserialize)]
pub struct Catalog {
    pub job: JobCatalog,
    pub lookups: Lookups,
}

/// What a report looks up in the rows of all ranks.
#[derive(Serialize, Deserialize)]
pub struct Lookups {
    pub(crate) names: RunNames,
    window: Option<(WindowSpec, Window)>,
}

impl Catalog {
    /// Gathers what is known of the request's run, and looks up its window.
    ///
    /// # Errors
    /// The run is not a folder of ranks; the window is not there; rows cannot be read. The text says why.
    pub fn of(request: &Request<'_>) -> Result<Self, String> {
        let run = request.run;
        let job = run.catalog().map_err(|error| error.to_string())?;
        let rows = Rows::Ranks(run, run.rank_numbers());
        let window = request.window.clone().map(|spec| {
            let window = spec.find(&rows, run.facts().wall_ns);
            window
                .map(|window| (spec, window))
                .map_err(|error| error.to_string())
        });
        let lookups = Lookups {
            names: RunNames::read(&rows)?,
            window: window.transpose()?,
        };
        Ok(Self { job, lookups })
    }

    /// # Errors
    /// The file cannot be written; the text names it.
    pub fn write(&self, file: &Path) -> Result<(), String> {
        let failed = |error: String| format!("{}: {error}", file.display());
        let rest = serde_json::to_vec(self).map_err(|error| failed(error.to_string()))?;
        let head = Head {
            trueno_catalog: FORMAT,
            build: build().map_err(|error| failed(error.to_string()))?,
            hash: hash_of(&rest),
        };
        let mut text = serde_json::to_vec(&head).map_err(|error| failed(error.to_string()))?;
        text.push(b'\n');
        text.extend(rest);
        replace(file, &text)
    }

    /// # Errors
    /// The file cannot be read, is damaged, or was written by another build. The text names it and says what to do.
    pub fn read(file: &Path) -> Result<Self, String> {
        let failed = |error: &str| format!("{}: {error} ({AGAIN})", file.display());
        let text = regular_file::read(file).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed("there is no such catalog"),
            _ => failed(&error.to_string()),
        })?;
        let end = text.iter().position(|byte| *byte == b'\n');
        let (head, rest) = text.split_at(end.unwrap_or(text.len()));
        let rest = rest.get(1..).unwrap_or_default();
        let head: Head = serde_json::from_slice(head).map_err(|_| failed("it is not a catalog"))?;
        let own = build().map_err(|error| failed(&error.to_string()))?;
        if (head.trueno_catalog, head.build) != (FORMAT, own) {
            return Err(format!(
                "{}: another build of trueno-analyze wrote it (hint: all machines need the same build)",
                file.display()
            ));
        }
        if hash_of(rest) != head.hash {
            return Err(failed("its bytes have changed since it was written"));
        }
        serde_json::from_slice(rest).map_err(|error| failed(&format!("it is damaged: {error}")))
    }
}

impl Lookups {
    pub(crate) fn window(&self, wanted: &WindowSpec) -> Option<Window> {
        let (spec, window) = self.window.as_ref()?;
        (spec == wanted).then(|| window.clone())
    }
}
