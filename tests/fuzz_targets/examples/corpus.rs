//! Corpora as folders and as packed files: `corpus pack FOLDER PACK`, `corpus unpack PACK FOLDER`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use trueno_fuzz_targets::{pack, unpack};

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["pack", folder, packed] => {
            let entries = fs::read_dir(folder)?;
            let inputs: io::Result<Vec<Vec<u8>>> =
                entries.map(|entry| fs::read(entry?.path())).collect();
            let mut inputs = inputs?;
            // Alike inputs side by side, and the same bytes each time.
            inputs.sort();
            fs::write(packed, pack(&inputs))?;
        }
        ["unpack", packed, folder] => {
            fs::create_dir_all(folder)?;
            for (nth, input) in unpack(&fs::read(packed)?).iter().enumerate() {
                fs::write(Path::new(folder).join(format!("{nth:05}")), input)?;
            }
        }
        _ => {
            eprintln!("expected pack FOLDER PACK, or unpack PACK FOLDER");
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}
