//! Self time by stack, one line each: `lane;outer;inner ns`.
//!
//! Sorted, so that the same run gives the same bytes. In names `%`, `;`, blanks
//! and control characters are percent-encoded, because they would end a frame or a line.

use std::fmt::Write as _;
use std::io::Write;
use trueno_engine::run::Run;

use super::error::ExportError;
use super::exporter::{Exporter, Written};
use super::rows::Source;
use super::stacks::{self, ROOT, Stacks};

/// Self time by stack, one line each.
#[derive(Debug)]
pub(super) struct Folded;

impl Exporter for Folded {
    fn name(&self) -> &'static str {
        "folded"
    }

    fn about(&self) -> &'static str {
        "Self time in nanoseconds by stack, one line each"
    }

    fn write(&self, run: &Run, to: &mut dyn Write) -> Result<Written, ExportError> {
        let stacks = stacks::stacks(&Source::open(run)?)?;
        write(&stacks, to)?;
        Ok(Written {
            deeper: stacks.deeper,
        })
    }
}

/// Writes all stacks with self time.
pub(super) fn write(stacks: &Stacks, to: &mut dyn Write) -> Result<(), ExportError> {
    let names: Vec<String> = stacks.names.iter().map(|name| escaped(name)).collect();
    let mut lines = Vec::new();
    for (at, node) in stacks.nodes.iter().enumerate() {
        if node.self_ns > 0 {
            let mut frames = Vec::new();
            let mut at = at;
            while at != ROOT {
                frames.push(names[stacks.nodes[at].name].as_str());
                at = stacks.nodes[at].parent;
            }
            frames.reverse();
            lines.push(format!("{} {}\n", frames.join(";"), node.self_ns));
        }
    }
    lines.sort_unstable();
    for line in lines {
        to.write_all(line.as_bytes())?;
    }
    Ok(())
}

fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if c == '%' || c == ';' || c.is_whitespace() || c.is_control() {
            for byte in c.to_string().bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_would_end_a_frame_or_a_line_is_encoded() {
        assert_eq!(escaped("a;b c\n100%"), "a%3Bb%20c%0A100%25");
        assert_eq!(escaped("Größe::<T>"), "Größe::<T>");
    }
}
