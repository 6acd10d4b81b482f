//! Self time by stack as a picture, in SVG that needs nothing else: opened by itself it zooms and searches, in a document
//! it is a picture.
//!
//! Widths are nanoseconds; lanes stand side by side and are not added up to
//! anything. A frame's colour comes from its name alone. Each frame tells its
//! name and times when pointed at.

use std::fmt::Write as _;
use std::io::Write;

use trueno_engine::run::Run;
use trueno_model::RunFacts;
use trueno_model::width::is_hidden;
use xxhash_rust::xxh3::xxh3_64;

use super::error::ExportError;
use super::exporter::{Exporter, Written};
use super::rows::Source;
use super::sampled_stacks;
use super::stacks::{self, Measure, ROOT, Stacks};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
const FRAME_HEIGHT: f64 = 17.0;
const HEAD: f64 = 36.0;
/// Average width of a character in pixels.
const CHARACTER: f64 = 6.6;
/// Narrower frames are invisible until a reader zooms.
const NARROWEST: f64 = 0.1;
const MAX_FRAMES: usize = 20_000;
const SCRIPT: &str = include_str!("../assets/flamegraph.js");

#[derive(Debug)]
pub(super) struct Flamegraph;

impl Exporter for Flamegraph {
    fn name(&self) -> &'static str {
        "flamegraph"
    }

    fn about(&self) -> &'static str {
        "Self time by stack as a picture, in SVG"
    }

    fn write(&self, run: &Run, to: &mut dyn Write) -> Result<Written, ExportError> {
        let stacks = stacks::stacks(&Source::open(run)?)?;
        write(&stacks, run.facts(), to)?;
        Ok(Written {
            deeper: stacks.deeper,
        })
    }
}

#[derive(Debug)]
pub(super) struct FlamegraphOfSamples;

impl Exporter for FlamegraphOfSamples {
    fn name(&self) -> &'static str {
        "flamegraph-samples"
    }

    fn about(&self) -> &'static str {
        "CPU time of functions as a picture, in SVG, as samples estimate it"
    }

    fn write(&self, run: &Run, to: &mut dyn Write) -> Result<Written, ExportError> {
        let stacks = sampled_stacks::stacks(&Source::open(run)?)?;
        write(&stacks, run.facts(), to)?;
        Ok(Written {
            deeper: stacks.deeper,
        })
    }
}

#[derive(Debug)]
pub(super) struct FlamegraphOfWaits;

impl Exporter for FlamegraphOfWaits {
    fn name(&self) -> &'static str {
        "flamegraph-waits"
    }

    fn about(&self) -> &'static str {
        "Time that threads of a sampled program waited as a picture, in SVG"
    }

    fn write(&self, run: &Run, to: &mut dyn Write) -> Result<Written, ExportError> {
        let stacks = sampled_stacks::waits(&Source::open(run)?)?;
        write(&stacks, run.facts(), to)?;
        Ok(Written {
            deeper: stacks.deeper,
        })
    }
}

fn write(stacks: &Stacks, facts: &RunFacts, to: &mut dyn Write) -> Result<(), ExportError> {
    let totals = stacks.totals();
    let mut frames: Vec<(usize, usize, f64)> = Vec::new(); // node, depth, x in ns
    let mut open = vec![(ROOT, 0_usize, 0.0_f64)];
    while let Some((at, depth, x_ns)) = open.pop() {
        if at != ROOT {
            frames.push((at, depth - 1, x_ns));
        }
        let mut children: Vec<usize> = stacks.nodes[at].children.values().copied().collect();
        if at != ROOT {
            children.sort_by_key(|&child| &stacks.names[stacks.nodes[child].name]);
        }
        let mut x_ns = x_ns;
        for child in children {
            open.push((child, depth + 1, x_ns));
            x_ns += totals[child] as f64;
        }
    }
    let deepest = frames
        .iter()
        .map(|(_, depth, _)| depth + 1)
        .max()
        .unwrap_or(0);
    let height = HEAD + FRAME_HEIGHT * deepest as f64 + MARGIN;
    let scale = (WIDTH - 2.0 * MARGIN) / (totals[ROOT].max(1) as f64);
    let mut widest: Vec<f64> = (frames.iter())
        .map(|(at, ..)| totals[*at] as f64 * scale)
        .collect();
    widest.sort_by(|a, b| b.total_cmp(a));
    let narrowest = widest.get(MAX_FRAMES).map_or(0.0, |of| of.min(NARROWEST));
    let title = facts.title();

    let mut out = String::new();
    let what = match stacks.measure {
        Measure::EstimatedCpuTime => {
            "CPU time by stack, estimated from samples, a root for each thread"
        }
        Measure::Waits => "time waited by stack, measured, a root for each thread",
        Measure::OwnTime => "self time by stack, a root for each lane",
    };
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"monospace\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"20\" font-size=\"14\">{}: {what}</text>\n\
         <text class=\"found\" x=\"{}\" y=\"20\" text-anchor=\"end\"></text>\n\
         <text class=\"search\" x=\"{}\" y=\"20\" text-anchor=\"end\" style=\"display:none;cursor:pointer\">search</text>\n",
        escaped(title),
        WIDTH - MARGIN - 60.0,
        WIDTH - MARGIN
    );
    for (at, depth, x_ns) in frames {
        let width = totals[at] as f64 * scale;
        if width < narrowest || width <= 0.0 {
            continue;
        }
        let (x, y) = (MARGIN + x_ns * scale, HEAD + FRAME_HEIGHT * depth as f64);
        let name = &stacks.names[stacks.nodes[at].name];
        let _ = write!(
            out,
            "<g><title>{}: {} ns, of its own {} ns</title><rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" \
             height=\"{:.1}\" fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.4\"/>",
            escaped(name),
            totals[at],
            stacks.nodes[at].self_ns,
            FRAME_HEIGHT - 1.0,
            colour(name)
        );
        let room = ((width - 6.0) / CHARACTER).max(0.0) as usize;
        if room >= 3 {
            let (tx, ty) = (x + 3.0, y + 12.0);
            let _ = write!(
                out,
                "<text x=\"{tx:.2}\" y=\"{ty:.1}\">{}</text>",
                escaped(&cut(name, room))
            );
        }
        out.push_str("</g>\n");
        to.write_all(out.as_bytes())?;
        out.clear();
    }
    let _ = write!(out, "<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n");
    to.write_all(out.as_bytes())?;
    Ok(())
}

fn colour(name: &str) -> String {
    let hash = xxh3_64(name.as_bytes());
    let part = |shift: u32, range: u64| (hash >> shift) % range;
    format!(
        "#{:02x}{:02x}{:02x}",
        215 + part(0, 40),
        110 + part(16, 120),
        50 + part(32, 70)
    )
}

fn cut(name: &str, room: usize) -> String {
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room - 1).chain(['…']).collect()
}

/// Escapes text for XML. Control characters, which XML cannot hold, become `?`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if is_hidden(c) || ('\u{fffe}'..='\u{ffff}').contains(&c) => out.push('?'),
            c => out.push(c),
        }
    }
    out
}
