//! Sums of Triton's Proton: a tree in the JSON of hatchet, which `proton.finalize()` writes (`*.hatchet`).
//!
//! Each node with metrics becomes counters `sum: PATH count`, `sum: PATH time (ns)` and so on, and the devices behind the
//! tree become devices. No node has a time of its own, so the run has no length.
//!
//! Stacks of Python are deeper than a reader of nested JSON should recurse: the file is read without recursion. In memory
//! is the file.
//!
//! Tried on `third_party/proton/test/examples/cuda.json` and `triton.json` of github.com/triton-lang/triton at c7d2be0b and
//! 3f5197ce.

mod tree;

use std::io::Read;

use trueno_format::schema::DeviceRow;

use crate::Error;
use crate::importer::{Head, Import, Importer};
use tree::{Node, Problem, Reader};

/// Limit for a path; of a longer one the innermost part is kept.
const MAX_PATH_BYTES: usize = 512;

/// Hatchet JSON, written by Triton's Proton.
pub const IMPORTER: Importer = Importer {
    name: "proton-hatchet",
    description: "Triton's Proton: sums as a tree (hatchet JSON)",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let is_tree = |key: &str| {
        let rest = head.behind(&["[", "{", key, ":"]);
        rest.is_some_and(|rest| rest.contains("\"frame\"") || rest.contains("\"metrics\""))
    };
    is_tree("\"children\"") || is_tree("\"frame\"")
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let mut source = import.open()?;
    let mut bytes = Vec::new();
    if let Err(error) = source.read_to_end(&mut bytes) {
        return Err(source.refusal(format!("byte {}", bytes.len()), error));
    }
    source.end(import.notes);
    match Reader::new(&bytes).read(&mut |node| write(node, &mut import)) {
        Ok(()) => {}
        Err(Problem::Run(error)) => return Err(error),
        Err(Problem::Json { at, expected }) => {
            let place = format!("byte {at}");
            if !import.options.partial || import.notes.kept.is_empty() {
                let problem = format!(
                    "expected {expected} in the JSON of Proton; write it again with proton.finalize()"
                );
                return Err(import.damaged(place, problem));
            }
            import.problem(format!(
                "was imported up to {place} only: expected {expected}"
            ));
        }
    }
    if import.notes.kept.is_empty() {
        return Err(import.refused(
            "expected a tree with metrics, found none; profile with proton.start() and proton.finalize()",
        ));
    }
    import.problem(
        "the file has sums only, no time of anything: they are counters, and when a kernel ran is not known \
         (hint: proton.start(\"name\", data=\"trace\") writes the times)",
    );
    Ok(None)
}

fn write(node: &Node<'_>, import: &mut Import<'_>) -> Result<(), Error> {
    match node {
        Node::Frame { path, metrics } => {
            if metrics.numbers().next().is_some() {
                import.notes.read("node");
            }
            let device = metrics.device();
            let path = path_of(path, device);
            for (name, value) in metrics.numbers() {
                // What a node sums is measured; the rest was stated by the program.
                let kind = match name {
                    "count" => ("calls", "measured"),
                    "time (ns)" => ("ns", "measured"),
                    _ => ("", "declared"),
                };
                import.sum(0, &format!("sum: {path} {name}"), value, kind)?;
            }
        }
        Node::Device {
            vendor,
            number,
            metrics,
        } => {
            import.notes.read("device");
            let units = metrics.number("num_sms").filter(|units| *units >= 0.0);
            let name = match metrics.text("arch") {
                Some(arch) => format!("{vendor} {arch}"),
                None => (*vendor).to_owned(),
            };
            let row = DeviceRow {
                device: import.text(&format!("gpu:{number}")),
                name: Some(import.text(&name)),
                memory_bytes: None,
                multiprocessors: units.map(|units| units as u32),
                ..DeviceRow::default()
            };
            import.add(&row)?;
        }
    }
    Ok(())
}

fn path_of(names: &[&str], device: Option<&str>) -> String {
    let mut bytes = 0;
    let short = names.iter().rev().take_while(|name| {
        bytes += name.len() + 1;
        bytes <= MAX_PATH_BYTES
    });
    let count = short.count().max(1).min(names.len());
    let inner = names[names.len() - count..].join("/");
    let before = if count < names.len() { "…/" } else { "" };
    let device = device.map_or_else(String::new, |device| format!(" (gpu {device})"));
    format!("{before}{inner}{device}")
}

#[cfg(test)]
mod tests;
