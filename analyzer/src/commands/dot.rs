//! `trueno-analyze export dot`: the execution graph for Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write;

use trueno_execution_graph::{Class, Graph, Group, Limits};
use trueno_model::units::{Unit, duration, percent, show};
use trueno_model::width::{printable, shorten};
use trueno_model::{Cell, exit};
use trueno_plugin::{agreeing, counted};

use super::graph_input::{GraphInput, Want};
use super::output::Output;
use super::runs::Runs;
use super::stderr::Stderr;
use super::tree::{Item, Tree, TreeOptions};
use crate::cli::DotArgs;

/// Longest name in a node; the tooltip has the full name.
const NAME: usize = 48;
const FIT_NODES: usize = 150;
const SHAPES: usize = 2;
const CRITICAL: &str = "#c2410c";
const QUIET: &str = "#94a3b8";

pub fn dot(args: &DotArgs, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    let to = Output::open(args.output.as_deref())?;
    let look = GraphInput::open(
        &args.graph,
        Want {
            edges: true,
            slack: false,
            path_later: false,
        },
        runs,
        stderr,
    )?;
    let filter = look.filter(args.only.as_deref())?;
    let tree = Tree::grow(
        &look.graph,
        &TreeOptions {
            limits: Limits {
                top: args.top,
                min_share: 0.0,
            },
            depth: args.depth,
            fit_rows: FIT_NODES,
            merge: !args.each,
            filter: filter.as_ref(),
        },
    );
    to.text(&text(&look, &tree), stderr)?;
    if look.graph.rows() == 0 {
        stderr.warn("the run holds no row with a time");
        return Ok(exit::NOT_MEASURABLE);
    }
    Ok(exit::FINE)
}

/// Edges between shown nodes: (from, to, kind) to their number.
type Edges = BTreeMap<(usize, usize, u32), u64>;

fn text(look: &GraphInput, tree: &Tree) -> String {
    let graph = &look.graph;
    let (edges, unseen) = edges(graph, tree);
    let mut out = String::from("digraph run {\n");
    let _ = writeln!(
        out,
        "  graph [rankdir=LR, labelloc=t, fontname=\"Helvetica\", label={}];",
        quoted(&head(look, tree, unseen))
    );
    out.push_str("  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize=10];\n");
    let _ = writeln!(
        out,
        "  edge [color=\"{QUIET}\", fontname=\"Helvetica\", fontsize=9];"
    );
    for (at, item) in tree.items.iter().enumerate() {
        let _ = writeln!(out, "  n{at} [{}];", node(graph, item));
    }
    for (at, item) in tree.items.iter().enumerate() {
        if let Some(parent) = item.parent {
            let colour = if item.totals.path_ns > 0 {
                CRITICAL
            } else {
                QUIET
            };
            let _ = writeln!(out, "  n{parent} -> n{at} [color=\"{colour}\"];");
        }
    }
    for ((from, to, kind), count) in edges {
        let kind = printable(&graph.names[kind as usize]);
        let label = match count {
            1 => kind.to_string(),
            count => format!("{kind} ×{count}"),
        };
        // A launch or a dependency does not say what contains what: it moves no node.
        let _ = writeln!(
            out,
            "  n{from} -> n{to} [style={}, constraint=false, color=\"#2563eb\", label={}];",
            if kind == "launches" {
                "dotted"
            } else {
                "dashed"
            },
            quoted(&label)
        );
    }
    out.push_str("}\n");
    out
}

fn head(look: &GraphInput, tree: &Tree, unseen: u64) -> String {
    let graph = &look.graph;
    let wall = graph
        .wall_ns
        .map_or_else(|| "–".to_owned(), |ns| duration(ns as f64));
    let mut lines = vec![format!(
        "wall {wall}, {} {}{}",
        show(Cell::U64(graph.rows() as u64), Unit::None),
        agreeing(graph.rows(), "row", "rows"),
        look.completeness()
    )];
    if let Some(critical) = look.critical {
        lines.push(format!(
            "critical path in colour: {} in rows, {} in gaps",
            duration(critical.marked_ns as f64),
            duration(critical.gap_ns as f64)
        ));
    }
    let left_out: usize = tree.items.iter().map(|item| item.left_out).sum();
    if left_out > 0 {
        lines.push(format!(
            "{} summed up (hint: --top)",
            counted(left_out, "node", "nodes")
        ));
    }
    if tree.is_cut {
        lines.push(format!(
            "there is more below level {} (hint: --depth)",
            tree.depth
        ));
    }
    if unseen > 0 {
        lines.push(format!(
            "{unseen} launches and dependencies of rows that are not shown"
        ));
    }
    lines.extend(look.untimed());
    lines.join("\n")
}

fn edges(graph: &Graph, tree: &Tree) -> (Edges, u64) {
    let mut places = vec![usize::MAX; graph.len()];
    for (at, item) in tree.items.iter().enumerate() {
        for member in item.group.iter().flat_map(|group| &group.members) {
            places[*member as usize] = at;
        }
    }
    let (mut edges, mut unseen) = (Edges::new(), graph.edges_left_out);
    for (from, to, kind) in &graph.edges {
        match (places[*from as usize], places[*to as usize]) {
            (usize::MAX, _) | (_, usize::MAX) => unseen += 1,
            (from, to) => *edges.entry((from, to, *kind)).or_default() += 1,
        }
    }
    (edges, unseen)
}

fn node(graph: &Graph, item: &Item) -> String {
    let totals = &item.totals;
    let Some(group) = &item.group else {
        let label = lines(graph, item, format!("… {} more", item.left_out), None);
        return format!("label={}, style=\"rounded,dashed\"", quoted(&label));
    };
    let name = printable(&graph.names[group.name as usize]).into_owned();
    let mut title = shorten(&name, NAME).into_owned();
    if let ([one], true) = (&group.members[..], group.class != Class::Lane) {
        let suffix = graph.suffix(&[*one]);
        if !title.ends_with(suffix.trim_start()) {
            title.push_str(&suffix);
        }
    } else if totals.count > 1 {
        let _ = write!(title, " ×{}", totals.count);
    }
    let mut text = format!(
        "label={}, tooltip={}",
        quoted(&lines(graph, item, title, Some(group))),
        quoted(&name)
    );
    let fill = match group.class {
        Class::Lane => Some("#e2e8f0"),
        Class::Kernel | Class::Transfer | Class::Tile => Some("#dcfce7"),
        Class::Call | Class::Sync => Some("#f1f5f9"),
        _ => None,
    };
    if let Some(fill) = fill {
        let _ = write!(text, ", fillcolor=\"{fill}\"");
    }
    if totals.path_self_ns > 0 {
        let _ = write!(text, ", color=\"{CRITICAL}\", penwidth=2");
    }
    text
}

fn lines(graph: &Graph, item: &Item, title: String, group: Option<&Group>) -> String {
    let totals = &item.totals;
    let time = |ns: i64| duration(ns as f64);
    let mut lines = vec![title];
    let mut times = Vec::new();
    if let Some(group) = group.filter(|group| group.class != Class::Lane) {
        times.push(group.class.word().to_owned());
    }
    if let Some(ns) = totals.host_ns {
        times.push(format!("host {}", time(ns)));
    }
    if let Some(ns) = totals.self_ns {
        times.push(format!("self {}", time(ns)));
    }
    if let Some(ns) = totals.device_ns {
        times.push(format!("device {}", time(ns)));
    }
    times.extend(
        graph
            .share(totals.host_ns.or(totals.device_ns))
            .map(percent),
    );
    lines.push(times.join(" · "));
    if totals.path_ns > 0 {
        lines.push(format!("on the critical path {}", time(totals.path_ns)));
    }
    let words = ["bound", "not valid", "with impossible times"];
    for (count, word) in totals.untimed.iter().zip(words) {
        if *count > 0 {
            lines.push(format!("{count} {word}, in no sum"));
        }
    }
    let launches = group.map_or(Vec::new(), |group| graph.launches(&group.members));
    for (launch, count) in launches.iter().take(SHAPES) {
        let times = if launches.len() > 1 {
            format!("  ×{count}")
        } else {
            String::new()
        };
        lines.push(format!("{}{times}", printable(&launch.text())));
    }
    if launches.len() > SHAPES {
        lines.push(format!("… {} more shapes", launches.len() - SHAPES));
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

/// Quotes a text for Graphviz, so that its own escapes and HTML in names stay plain characters.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '&' => out.push_str("&amp;"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn nothing_in_a_name_ends_its_quotes_or_means_something() {
        assert_eq!(quoted("a\"b\\N&lt;\nc"), "\"a\\\"b\\\\N&amp;lt;\\nc\"");
    }
}
