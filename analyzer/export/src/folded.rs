//! Self time by stack, one line each: `lane;outer;inner ns`.
//!
//! Sorted, so that the same run gives the same bytes. Names stand as they are, with blanks: the last blank of a line is
//! that before the time. What would end a frame or a line cannot: of `;` it is `:`, of control characters a blank.

use std::io::Write;
use trueno_engine::run::Run;
use trueno_model::width::is_hidden;

use super::error::ExportError;
use super::exporter::{Exporter, Written};
use super::rows::Source;
use super::sampled_stacks;
use super::stacks::{self, ROOT, Stacks};

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

#[derive(Debug)]
pub(super) struct FoldedSamples;

impl Exporter for FoldedSamples {
    fn name(&self) -> &'static str {
        "folded-samples"
    }

    fn about(&self) -> &'static str {
        "CPU time of functions by stack, as samples estimate it"
    }

    fn write(&self, run: &Run, to: &mut dyn Write) -> Result<Written, ExportError> {
        let stacks = sampled_stacks::stacks(&Source::open(run)?)?;
        write(&stacks, to)?;
        Ok(Written {
            deeper: stacks.deeper,
        })
    }
}

#[derive(Debug)]
pub(super) struct FoldedWaits;

impl Exporter for FoldedWaits {
    fn name(&self) -> &'static str {
        "folded-waits"
    }

    fn about(&self) -> &'static str {
        "Time that threads of a sampled program waited, by stack"
    }

    fn write(&self, run: &Run, to: &mut dyn Write) -> Result<Written, ExportError> {
        let stacks = sampled_stacks::waits(&Source::open(run)?)?;
        write(&stacks, to)?;
        Ok(Written {
            deeper: stacks.deeper,
        })
    }
}

pub(super) fn write(stacks: &Stacks, to: &mut dyn Write) -> Result<(), ExportError> {
    let names: Vec<String> = stacks.names.iter().map(|name| frame(name)).collect();
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

fn frame(name: &str) -> String {
    let as_it_can = |c: char| match c {
        ';' => ':',
        c if is_hidden(c) => ' ',
        c => c,
    };
    name.chars().map(as_it_can).collect()
}

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn names_stand_as_they_are_but_for_what_ends_a_frame_or_a_line() {
        let kernel = "void at::native::add<float, 4>(float*) 100%";
        assert_eq!(frame(kernel), kernel);
        assert_eq!(frame("a;b\nc\td"), "a:b c d");
    }
}
