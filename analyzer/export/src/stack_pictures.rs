//! Stacks of a sampled program as pictures for a page: CPU time, which samples estimate, and time waited, which is measured.

use trueno_engine::run::Run;
use trueno_model::timeline::{Frame, StackPicture};

use super::rows::Source;
use super::sampled_stacks;
use super::stacks::{ROOT, Stacks, has_work};
use crate::error::ExportError;

/// Limit on frames; the widest are kept.
const MAX_FRAMES: usize = 3_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StackPictures {
    pub pictures: Vec<StackPicture>,
    /// True if the run has no other rows of work, whose stacks would make another flame graph.
    pub are_all: bool,
}

/// Flame graphs of a run's samples and of its threads' waits, if there are any.
///
/// # Errors
/// A table cannot be read.
pub fn stack_pictures(run: &Run) -> Result<StackPictures, ExportError> {
    let source = Source::open(run)?;
    let (samples, waits) = (
        sampled_stacks::stacks(&source),
        sampled_stacks::waits(&source),
    );
    let made = [
        (
            "stacks-samples",
            "CPU time by stack, estimated from samples: a root for each thread",
            samples,
        ),
        (
            "stacks-waits",
            "Time in which threads did not run, by stack, measured: a root for each thread; this is not work",
            waits,
        ),
    ];
    let mut out = StackPictures::default();
    for (name, title, stacks) in made {
        match stacks {
            Ok(stacks) => out.pictures.push(StackPicture {
                name,
                title,
                frames: frames(&stacks),
            }),
            Err(ExportError::Lacking(_)) => {}
            Err(error) => return Err(error),
        }
    }
    out.are_all = !out.pictures.is_empty() && !has_work(&source)?;
    Ok(out)
}

/// The widest frames with their positions. Children lie within their parent, sorted by name.
fn frames(stacks: &Stacks) -> Vec<Frame> {
    let totals = stacks.totals();
    let mut frames = Vec::new();
    let mut open = vec![(ROOT, 0_usize, 0_i64)];
    while let Some((at, depth, at_ns)) = open.pop() {
        let node = &stacks.nodes[at];
        if at != ROOT && totals[at] > 0 {
            frames.push(Frame {
                name: stacks.names[node.name].clone(),
                depth: depth - 1,
                at_ns,
                total_ns: totals[at],
                self_ns: node.self_ns,
            });
        }
        let mut children: Vec<usize> = node.children.values().copied().collect();
        if at != ROOT {
            children.sort_by_key(|&child| &stacks.names[stacks.nodes[child].name]);
        }
        let mut child_ns = at_ns;
        for child in children {
            open.push((child, depth + 1, child_ns));
            child_ns = child_ns.saturating_add(totals[child]);
        }
    }
    let order = |frame: &Frame| (std::cmp::Reverse(frame.total_ns), frame.depth, frame.at_ns);
    frames.sort_by_key(order);
    frames.truncate(MAX_FRAMES);
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_lie_within_their_callers_and_side_by_side() {
        let mut stacks = Stacks::empty();
        let names = ["thread", "b", "a"].map(|name| stacks.number(name));
        let thread = stacks.child(ROOT, names[0]);
        let b = stacks.child(thread, names[1]);
        let a = stacks.child(thread, names[2]);
        let below = stacks.child(b, names[2]);
        for (node, ns) in [(a, 5), (b, 2), (below, 4)] {
            stacks.nodes[node].self_ns = ns;
        }
        let found = frames(&stacks);
        let found: Vec<_> = found
            .iter()
            .map(|of| {
                (
                    of.name.as_str(),
                    of.depth,
                    of.at_ns,
                    of.total_ns,
                    of.self_ns,
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("thread", 0, 0, 11, 0),
                ("b", 1, 5, 6, 2),
                ("a", 1, 0, 5, 5),
                ("a", 2, 5, 4, 4),
            ]
        );
    }
}
