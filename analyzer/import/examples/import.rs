//! Imports a trace without the analyzer around it: `import FILE RUN [--partial]`.

use std::path::Path;
use std::process::ExitCode;

use trueno_format::run_json::RunJson;
use trueno_format::run_writer::RunWriter;
use trueno_import::{Import, Notes, Options, detect};

fn import(file: &Path, run: &Path, partial: bool) -> Result<Notes, Box<dyn std::error::Error>> {
    let mut into = RunWriter::create(run, RunJson::default())?;
    let mut notes = Notes::default();
    let options = Options {
        partial,
        ..Options::default()
    };
    let wall_ns = detect(file)?.import(Import {
        path: file,
        options: &options,
        into: &mut into,
        notes: &mut notes,
        progress: &mut |_| (),
    })?;
    into.finish(wall_ns)?;
    Ok(notes)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(file), Some(run)) = (arguments.first(), arguments.get(1)) else {
        eprintln!("expected FILE RUN [--partial]");
        return ExitCode::from(2);
    };
    let partial = arguments.get(2).is_some_and(|option| option == "--partial");
    match import(Path::new(file), Path::new(run), partial) {
        Ok(notes) => {
            println!("{notes:#?}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
