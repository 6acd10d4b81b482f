mod annotations;
mod attributes;
mod build_tools;
mod collectives;
mod devices;
mod hostile;
mod kineto_versions;
mod memory;
mod odd;
mod reimport;
mod shapes;
mod traces;

use std::path::PathBuf;

use super::IMPORTER;
use crate::Options;
use crate::read_back::{self, Imported, of_bytes};

fn import(content: impl AsRef<[u8]>) -> Result<Imported, String> {
    import_with(content, Options::default())
}

fn partial(content: impl AsRef<[u8]>) -> Result<Imported, String> {
    import_with(content, read_back::partial())
}

fn import_with(content: impl AsRef<[u8]>, options: Options) -> Result<Imported, String> {
    let run = of_bytes(&IMPORTER, content, &options).map_err(|error| error.to_string())?;
    let lanes = PathBuf::from("import.lanes");
    assert!(run.files().iter().all(|(file, _)| *file != lanes));
    Ok(run)
}
