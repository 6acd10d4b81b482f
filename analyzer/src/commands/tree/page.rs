//! A tree for people. No line is wider than the page; numbers are never shortened:
//! names give way first, then whole columns, which are named.

use std::fmt::Write;

use trueno_display_names::DisplayNames;
use trueno_execution_graph::{Graph, Totals};
use trueno_model::units::{NOT_MEASURED, Unit, duration, percent, scaled, show};
use trueno_model::{Cell, width};
use trueno_plugin::{agreeing, counted};
use trueno_render::style::{Meaning, Palette};

use super::{Item, Tree};
use crate::commands::graph_input::GraphInput;

const GAP: usize = 2;
const MIN_NAME: usize = 26;
/// Widest name column for deep rows, so that other columns have room.
const MAX_NAME: usize = 40;
/// From this depth on, each level is indented by one column, not two.
const DEEP: u32 = 10;
/// Levels with guides, counted upwards from a row: more than fit on a page. Drawing all for every row would take
/// time quadratic in the depth.
const GUIDES: usize = 256;
const MAX_ATTRIBUTES: usize = 200;
const SHAPES: usize = 3;

struct Column {
    heading: &'static str,
    /// The column with the lowest value is dropped first on a narrow page.
    worth: u8,
    is_text: bool,
    cells: Vec<String>,
}

pub(super) fn page(
    look: &GraphInput,
    tree: &Tree,
    merged: bool,
    room: usize,
    palette: Palette,
) -> String {
    let mut out = String::new();
    let graph = &look.graph;
    for line in head(look) {
        for line in width::wrap(&line, room) {
            let _ = writeln!(out, "{}", palette.paint(Meaning::Faint, &line));
        }
    }
    let groups = tree.items.iter().filter_map(|item| item.group.as_ref());
    let shown = DisplayNames::new(groups.map(|group| graph.names[group.name as usize].as_str()));
    let names: Vec<(String, String)> = (0..tree.items.len())
        .map(|at| (guides(tree, at), label(graph, &shown, tree, at)))
        .collect();
    let mut columns = columns(look, tree, merged);
    let mut left_out = Vec::new();
    let used = |columns: &[Column]| columns.iter().map(|c| GAP + wide(c)).sum::<usize>();
    let deepest = names.iter().map(|(guides, _)| width::measure(guides)).max();
    let least = (deepest.unwrap_or(0) + MIN_NAME / 2).clamp(MIN_NAME, MAX_NAME);
    while used(&columns) + least > room {
        let Some(least) = (0..columns.len()).min_by_key(|at| columns[*at].worth) else {
            break;
        };
        left_out.insert(0, columns.remove(least).heading);
    }
    let widths: Vec<usize> = columns.iter().map(wide).collect();
    let longest = names
        .iter()
        .map(|(guides, name)| width::measure(guides) + width::measure(name));
    let name_width = longest.max().unwrap_or(0).max(4).min(room - used(&columns));

    let mut heading = width::pad("name", name_width, false);
    for (column, width) in columns.iter().zip(&widths) {
        let _ = write!(
            heading,
            "  {}",
            width::pad(column.heading, *width, !column.is_text)
        );
    }
    let _ = writeln!(
        out,
        "{}",
        palette.paint(Meaning::Heading, heading.trim_end())
    );
    for (at, item) in tree.items.iter().enumerate() {
        let (guides, name) = &names[at];
        // Very deep rows keep some room for their names: the guides give way at their left.
        let least = width::measure(name).min(MIN_NAME / 2);
        let guides = keep_right(guides, name_width.saturating_sub(least));
        let name = width::shorten(name, name_width.saturating_sub(width::measure(&guides)));
        let pad = name_width.saturating_sub(width::measure(&guides) + width::measure(&name));
        let meaning = match &item.group {
            None => Some(Meaning::Faint),
            Some(_) if item.totals.path_self_ns > 0 => Some(Meaning::Warning),
            Some(_) if item.depth == 1 => Some(Meaning::Heading),
            Some(_) => None,
        };
        let name =
            meaning.map_or_else(|| name.to_string(), |meaning| palette.paint(meaning, &name));
        let mut line = format!(
            "{}{name}{}",
            palette.paint(Meaning::Faint, &guides),
            " ".repeat(pad)
        );
        for (column, width) in columns.iter().zip(&widths) {
            let cell = width::pad(&column.cells[at], *width, !column.is_text);
            let meaning = match column.heading {
                "what" => Some(Meaning::Faint),
                "path" if item.totals.path_self_ns > 0 => Some(Meaning::Warning),
                _ => None,
            };
            let cell =
                meaning.map_or_else(|| cell.clone(), |meaning| palette.paint(meaning, &cell));
            let _ = write!(line, "  {cell}");
        }
        let _ = writeln!(out, "{}", line.trim_end());
        for line in below(graph, tree, at, room) {
            let _ = writeln!(out, "{}", palette.paint(Meaning::Faint, &line));
        }
    }
    let mut note = |text: String| {
        for line in width::wrap(&text, room) {
            let _ = writeln!(out, "{}", palette.paint(Meaning::Faint, &line));
        }
    };
    if tree.items.is_empty() {
        note("no rows".to_owned());
    }
    if tree.is_cut {
        note(format!(
            "there is more below level {} (hint: --depth {})",
            tree.depth,
            tree.depth + 1
        ));
    }
    if !left_out.is_empty() {
        note(format!("too wide for here: {}", left_out.join(", ")));
    }
    out
}

fn head(look: &GraphInput) -> Vec<String> {
    let number = |value: u64| show(Cell::U64(value), Unit::None);
    let time = |ns: i64| duration(ns as f64);
    let lanes = look.graph.lanes.len() as u64;
    let mut lines = vec![format!(
        "wall {}, {} {} on {} {}{}",
        look.graph
            .wall_ns
            .map_or_else(|| NOT_MEASURED.to_owned(), time),
        number(look.graph.rows() as u64),
        agreeing(look.graph.rows(), "row", "rows"),
        number(lanes),
        agreeing(lanes, "lane", "lanes"),
        look.completeness(),
    )];
    if let Some(critical) = look.critical {
        lines.push(format!(
            "critical path {}: {} in the rows marked * (column path, with what is below), {} in gaps{}",
            time(critical.path_ns),
            time(critical.marked_ns),
            time(critical.gap_ns),
            match critical.path_ns - critical.marked_ns - critical.gap_ns {
                0 => String::new(),
                ns => format!(", {} in waits that were inferred", time(ns)),
            }
        ));
    }
    if look.can_find_path() {
        lines.push(
            "critical path not searched for: more than 4 million rows (hint: --path)".to_owned(),
        );
    }
    lines.extend(look.untimed());
    lines
}

fn wide(column: &Column) -> usize {
    let cells = column.cells.iter().map(|cell| width::measure(cell));
    cells.max().unwrap_or(0).max(width::measure(column.heading))
}

fn keep_right(text: &str, most: usize) -> String {
    let over = width::measure(text).saturating_sub(most);
    if over == 0 {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(over + 1).collect();
    format!("…{kept}")
}

fn guides(tree: &Tree, at: usize) -> String {
    if tree.items[at].parent.is_none() {
        return String::new();
    }
    let mut parts = vec![if tree.items[at].is_last {
        "└ "
    } else {
        "├ "
    }];
    // A deep tree would leave no room for names.
    let (blank, line) = if tree.depth > DEEP {
        (" ", "│")
    } else {
        ("  ", "│ ")
    };
    let mut up = tree.items[at].parent;
    while let Some(above) = up.filter(|above| tree.items[*above].parent.is_some())
        && parts.len() < GUIDES
    {
        parts.push(if tree.items[above].is_last {
            blank
        } else {
            line
        });
        up = tree.items[above].parent;
    }
    parts.iter().rev().copied().collect()
}

fn label(graph: &Graph, shown: &DisplayNames, tree: &Tree, at: usize) -> String {
    let item = &tree.items[at];
    let Some(group) = &item.group else {
        return format!("… {} more", item.left_out);
    };
    let mut text = width::printable(shown.shown(&graph.names[group.name as usize])).into_owned();
    if item.totals.path_self_ns > 0 {
        text.insert_str(0, "* ");
    }
    let suffix = graph.suffix(&group.members);
    // Some names have the number in them.
    if !text.ends_with(suffix.trim_start()) {
        text.push_str(&suffix);
    }
    if let [one] = group.members[..] {
        let above = item
            .parent
            .and_then(|above| tree.items[above].group.as_ref());
        let other =
            above.is_some_and(|above| graph.node(above.members[0]).lane != graph.node(one).lane);
        if other {
            let _ = write!(text, " @ {}", width::printable(&graph.lane(one).name));
        }
    }
    let words = ["bound", "not valid", "impossible times"];
    for (count, word) in item.totals.untimed.iter().zip(words) {
        match *count {
            0 => {}
            _ if item.totals.count == 1 => {
                let _ = write!(text, " [{word}]");
            }
            count => {
                let _ = write!(text, " [{count} {word}]");
            }
        }
    }
    text
}

/// Lines below a name: the launches of a kernel, or the attributes of a single row.
fn below(graph: &Graph, tree: &Tree, at: usize, room: usize) -> Vec<String> {
    let Some(group) = &tree.items[at].group else {
        return Vec::new();
    };
    let launches = graph.launches(&group.members);
    let mut guides = guides(tree, at).replace('├', "│").replace('└', " ");
    guides.push_str("    ");
    let guides = keep_right(&guides, room / 2);
    let mut lines = Vec::new();
    let mut add = |text: &str| {
        let parts = width::wrap(text, room - width::measure(&guides));
        lines.extend(parts.iter().map(|part| format!("{guides}{part}")));
    };
    for (launch, count) in launches.iter().take(SHAPES) {
        let mut text = width::printable(&launch.text()).into_owned();
        if group.members.len() > 1 {
            let _ = write!(text, "  × {count}");
        }
        add(&text);
    }
    if let [one] = group.members[..] {
        let attributes = graph.attributes.text(graph.node(one).id);
        if !attributes.is_empty() {
            let attributes = width::printable(&attributes);
            add(&width::shorten(&attributes, MAX_ATTRIBUTES));
        }
    }
    if launches.len() > SHAPES {
        lines.push(format!(
            "{guides}… {}",
            counted(launches.len() - SHAPES, "more shape", "more shapes")
        ));
    }
    lines
}

fn columns(look: &GraphInput, tree: &Tree, merged: bool) -> Vec<Column> {
    let graph = &look.graph;
    let mut columns = Vec::new();
    let mut add = |heading, worth, cell: &dyn Fn(&Item) -> String| {
        columns.push(Column {
            heading,
            worth,
            is_text: heading == "what",
            cells: tree.items.iter().map(cell).collect(),
        });
    };
    let has = |get: &dyn Fn(&Totals) -> bool| tree.items.iter().any(|item| get(&item.totals));
    let of = |item: &Item, at: usize| time(item.totals.spread_ns.map(|spread| spread[at]));
    add("what", 2, &|item| {
        item.group
            .as_ref()
            .map_or("", |group| group.class.word())
            .to_owned()
    });
    if merged {
        add("count", 8, &|item| match item.totals.count {
            0 => String::new(),
            count => show(Cell::U64(count), Unit::None),
        });
    }
    add("host", 9, &|item| host(graph, item));
    add("self", 5, &|item| {
        item.totals
            .self_ns
            .map_or(String::new(), |ns| time(Some(ns)))
    });
    if has(&|totals| totals.device_ns.is_some() || totals.lacks_device) {
        add("device", 7, &|item| device(graph, item));
    }
    add("share", 6, &|item| {
        let ns = item.totals.host_ns.or(item.totals.device_ns);
        graph.share(ns).map_or(String::new(), percent)
    });
    if look.critical.is_some() {
        add("path", 7, &|item| match item.totals.path_ns {
            0 => String::new(),
            ns => time(Some(ns)),
        });
    }
    if merged {
        add("min", 1, &|item| of(item, 0));
        add("median", 4, &|item| of(item, 1));
        add("max", 3, &|item| of(item, 2));
    }
    if has(&|totals| totals.elements.is_some()) {
        add("elements", 1, &|item| match item.totals.elements {
            None => NOT_MEASURED.to_owned(),
            Some(elements) => scaled(elements as f64, "").trim_end().to_owned(),
        });
    }
    columns
}

fn time(ns: Option<i64>) -> String {
    ns.map_or_else(|| NOT_MEASURED.to_owned(), |ns| duration(ns as f64))
}

/// Host time, blank if no host thread ran it. A bound interval is an upper limit of its work.
fn host(graph: &Graph, item: &Item) -> String {
    let Some(group) = &item.group else {
        return item
            .totals
            .host_ns
            .map_or(String::new(), |ns| time(Some(ns)));
    };
    let is_host = group.members.iter().any(|at| !graph.lane(*at).is_device);
    match item.totals.host_ns {
        Some(ns) => time(Some(ns)),
        None if is_host => untimed(graph, item),
        None => String::new(),
    }
}

fn device(graph: &Graph, item: &Item) -> String {
    match item.totals.device_ns {
        Some(ns) => time(Some(ns)),
        None if item.totals.lacks_device => untimed(graph, item),
        None => String::new(),
    }
}

fn untimed(graph: &Graph, item: &Item) -> String {
    let one = item.group.as_ref().map(|group| &group.members[..]);
    match one {
        Some([one]) if item.totals.untimed[0] == 1 => {
            format!("≤ {}", time(Some(graph.node(*one).dur_ns)))
        }
        _ => NOT_MEASURED.to_owned(),
    }
}
