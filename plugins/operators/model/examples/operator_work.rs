//! Work of signatures from standard input: a line each, name, `Input Dims`, `Input type`, `Input Strides`, `Concrete
//! Inputs` and optionally the element type of lists, or the name of a kernel that states it, parted by tabs. Prints
//! family, FLOPs, bytes, precision, unit, container or leaf, and rule; or `not modelled` and the reason. An argument is
//! a file of rules of one's own.

use std::io::{BufRead, Write};

use trueno_operator_model::{ElementType, Models, RecordedTexts, Signature};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let models = match std::env::args().nth(1) {
        Some(file) => Models::with_rules(&std::fs::read_to_string(&file)?, &file)?,
        None => Models::standard(),
    };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let mut parts = line.split('\t');
        let mut part = || parts.next().unwrap_or_default();
        let name = part();
        let texts = RecordedTexts {
            dims: part(),
            types: part(),
            strides: part(),
            concrete: part(),
        };
        let list = part();
        let element_type =
            ElementType::from_name(list).or_else(|| ElementType::from_kernel_name(list));
        let signature = Signature::parse(name, texts)
            .map(|signature| signature.with_list_element_type(element_type));
        let work = match &signature {
            Ok(signature) => models.work(signature).map_err(|error| error.reason),
            Err(error) => Err(error.to_string()),
        };
        match work {
            Ok(work) => {
                let precision = work.precision.map_or("", |precision| precision.name());
                let container = if work.is_container() {
                    "container"
                } else {
                    "leaf"
                };
                writeln!(
                    out,
                    "{}\t{}\t{}\t{precision}\t{}\t{container}\t{}",
                    work.family,
                    work.flops,
                    work.moved_bytes,
                    work.unit.name(),
                    work.rule
                )?;
            }
            Err(reason) => writeln!(out, "not modelled\t{reason}")?,
        }
    }
    Ok(())
}
