//! A state as a picture of the terminal.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Wrap};
use trueno_model::units::{NOT_MEASURED, duration, percent};
use trueno_model::width;

use super::detail::detail;
use super::lane_strip::strip;
use super::state::{Cover, Model, Row, State};

/// From this width on, the detail is shown next to the tree.
const WIDE: u16 = 110;
const STRIP: u16 = 5;
const DETAIL: u16 = 7;
const LANE: usize = 18;

pub const HELP: &[(&str, &str)] = &[
    ("↑ ↓  k j", "the row above or below"),
    ("PgUp PgDn", "a page up or down"),
    ("Home End  g G", "the first or last row"),
    ("→  l", "open a row; again: go into it"),
    ("←  h", "close a row; again: go to its parent"),
    ("Enter", "open or close a row"),
    ("*", "open all below a row"),
    ("-", "close all"),
    ("s", "order: inclusive time, self time, slack, start"),
    ("m", "one row per name, or each row separately"),
    (
        "/",
        "show only matches: a lane (thread 1, gpu0), or part of a name",
    ),
    ("p", "the source of a kernel"),
    ("c", "find the critical path and slack, if the run is large"),
    ("?", "this help"),
    ("Esc", "one step back; from the tree: quit"),
    ("q  Ctrl-C", "quit"),
    ("", ""),
    (
        "host, self",
        "time on host threads; self: without rows below",
    ),
    (
        "device",
        "time on device streams, of the row and of all below",
    ),
    (
        "path",
        "time on the critical path, of the row and of all below",
    ),
    ("*", "before a name: itself on the critical path"),
    ("–", "not measured"),
];

#[derive(Clone, Copy)]
pub struct Looks {
    pub coloured: bool,
}

impl Looks {
    fn colour(self, colour: Color) -> Style {
        if self.coloured {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }
}

struct Areas {
    head: Rect,
    tree: Rect,
    detail: Rect,
    strip: Rect,
    foot: Rect,
}

fn areas(area: Rect) -> Areas {
    let wide = area.width >= WIDE;
    let detail = if wide { 0 } else { DETAIL.min(area.height / 4) };
    let strip = STRIP.min(area.height / 4);
    let [head, main, low, strip, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(detail),
        Constraint::Length(strip),
        Constraint::Length(1),
    ])
    .areas(area);
    let [tree, side] = Layout::horizontal([
        Constraint::Min(1),
        Constraint::Length(if wide { area.width / 3 } else { 0 }),
    ])
    .areas(main);
    Areas {
        head,
        tree,
        detail: if wide { side } else { low },
        strip,
        foot,
    }
}

/// Lines for the tree, without its heading, on a terminal of that size.
pub fn tree_lines(size: (u16, u16)) -> usize {
    usize::from(
        areas(Rect::new(0, 0, size.0, size.1))
            .tree
            .height
            .saturating_sub(1),
    )
}

pub fn draw(frame: &mut Frame<'_>, state: &State, model: &Model<'_>, looks: Looks) {
    let areas = areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(head(state, model)).style(bold), areas.head);
    tree(frame, areas.tree, state, model, looks);
    let selected = state.selected();
    let block = |title: String| Block::new().borders(Borders::TOP).title(title);
    let side = if areas.detail.x > 0 {
        Borders::LEFT | Borders::TOP
    } else {
        Borders::TOP
    };
    let lines: Vec<Line<'_>> = selected
        .map_or(Vec::new(), |row| detail(model, row))
        .into_iter()
        .map(|(text, is_heading)| Line::styled(text, if is_heading { bold } else { Style::new() }))
        .collect();
    let text = Paragraph::new(lines).wrap(Wrap { trim: false });
    frame.render_widget(
        text.block(block(" selected ".to_owned()).borders(side)),
        areas.detail,
    );
    timeline(frame, areas.strip, selected, model, looks);
    frame.render_widget(Paragraph::new(foot(state)), areas.foot);
    if let Some(cover) = &state.cover {
        over(frame, cover, state.scroll, bold);
    }
}

fn head(state: &State, model: &Model<'_>) -> String {
    let mut text = format!("{}  by {}", model.title, state.sort.word());
    text.push_str(if state.merge {
        ", one row per name"
    } else {
        ", each row"
    });
    if let Some((looked_for, _)) = &state.filter {
        text.push_str(&format!(", only {}", width::printable(looked_for)));
    }
    text
}

fn foot(state: &State) -> String {
    match (&state.typing, &state.message) {
        (Some(text), _) => format!("/{}▏ Enter: search, Esc: cancel", width::printable(text)),
        (None, Some(message)) => width::printable(message).into_owned(),
        _ => "? help  ↑↓ move  →← open, close  s order  m merge  / filter  p source  q quit"
            .to_owned(),
    }
}

fn tree(frame: &mut Frame<'_>, area: Rect, state: &State, model: &Model<'_>, looks: Looks) {
    let room = usize::from(area.width);
    let lanes = 0..model.graph.lanes.len() as u32;
    let has_device = lanes
        .map(|lane| model.graph.node(lane))
        .any(|lane| lane.has_device || lane.has_untimed_device);
    let mut headings = vec!["host", "self"];
    if has_device {
        headings.push("device");
    }
    headings.push("share");
    if model.critical.is_some() {
        headings.push("path");
    }
    if model.critical.is_some() && (state.sort == super::state::Sort::Slack || room >= 90) {
        headings.push("slack");
    }
    let numbers: usize = headings.len() * 9;
    let bar = if room >= numbers + 46 { 10 } else { 0 };
    let name = room
        .saturating_sub(numbers + if bar > 0 { bar + 1 } else { 0 })
        .max(8);
    let mut lines = Vec::new();
    let heading: String = headings
        .iter()
        .map(|heading| format!(" {heading:>8}"))
        .collect();
    lines.push(Line::styled(
        format!("{}{heading}", width::pad("name", name, false)),
        Style::new().add_modifier(Modifier::UNDERLINED),
    ));
    let shown = usize::from(area.height).saturating_sub(1);
    for (at, row) in state.rows.iter().enumerate().skip(state.first).take(shown) {
        let line = tree_line(row, model, &headings, (name, bar), looks);
        lines.push(if at == state.selected {
            line.patch_style(Style::new().add_modifier(Modifier::REVERSED))
        } else {
            line
        });
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn tree_line<'l>(
    row: &Row,
    model: &Model<'_>,
    headings: &[&str],
    (name_width, bar): (usize, usize),
    looks: Looks,
) -> Line<'l> {
    let totals = &row.totals;
    let graph = model.graph;
    let share = graph.share(totals.host_ns.or(totals.device_ns));
    let critical = totals.path_self_ns > 0;
    // However deep a row is, a part of its name is there.
    let indent = (row.depth * 2).min(name_width.saturating_sub(14));
    let mark = match (row.has_below, row.is_open) {
        (false, _) => "  ",
        (true, false) => "▸ ",
        (true, true) => "▾ ",
    };
    let mut name = match &row.group {
        None => format!("… {} more", row.left_out),
        Some(group) => {
            width::printable(model.names.shown(&graph.names[group.name as usize])).into_owned()
        }
    };
    if let Some(group) = &row.group {
        let suffix = graph.suffix(&group.members);
        if !name.ends_with(suffix.trim_start()) {
            name.push_str(&suffix);
        }
        if group.members.len() > 1 {
            name.push_str(&format!(" ×{}", totals.count));
        }
        let words = ["bound", "not valid", "impossible"];
        for (count, word) in totals.untimed.iter().zip(words) {
            match *count {
                0 => {}
                1 if totals.count == 1 => name.push_str(&format!(" [{word}]")),
                count => name.push_str(&format!(" [{count} {word}]")),
            }
        }
    }
    if critical {
        name.insert_str(0, "* ");
    }
    let lead = format!("{}{mark}", " ".repeat(indent));
    let name = width::shorten(&name, name_width.saturating_sub(width::measure(&lead)));
    let name = width::pad(&format!("{lead}{name}"), name_width, false);
    let mut spans = vec![Span::styled(
        name,
        if critical {
            looks.colour(Color::Yellow)
        } else {
            Style::new()
        },
    )];
    let time = |ns: Option<i64>| ns.map_or(String::new(), |ns| duration(ns as f64));
    let untimed = |text: String, lacks: bool| {
        if text.is_empty() && lacks {
            NOT_MEASURED.to_owned()
        } else {
            text
        }
    };
    let is_device = row
        .group
        .as_ref()
        .is_some_and(|group| graph.lane(group.members[0]).is_device);
    for heading in headings {
        let (cell, style) = match *heading {
            "host" => (
                untimed(time(totals.host_ns), !is_device && row.group.is_some()),
                Style::new(),
            ),
            "self" => (time(totals.self_ns), Style::new()),
            "device" => (
                untimed(time(totals.device_ns), totals.lacks_device),
                looks.colour(Color::Green),
            ),
            "share" => (share.map_or(String::new(), percent), Style::new()),
            "path" => (
                time(Some(totals.path_ns).filter(|ns| *ns > 0)),
                looks.colour(Color::Yellow),
            ),
            _ => (time(totals.slack_ns), Style::new()),
        };
        spans.push(Span::styled(
            format!(" {}", width::pad(&cell, 8, true)),
            style,
        ));
    }
    if bar > 0 {
        spans.push(Span::raw(" "));
        spans.push(Span::styled(
            width::bar(share, bar),
            looks.colour(Color::Cyan),
        ));
    }
    Line::from(spans)
}

fn timeline(
    frame: &mut Frame<'_>,
    area: Rect,
    selected: Option<&Row>,
    model: &Model<'_>,
    looks: Looks,
) {
    let columns = usize::from(area.width).saturating_sub(LANE + 1);
    let group = selected.and_then(|row| row.group.as_ref());
    let Some(strip) = group.and_then(|group| strip(model.graph, group, columns)) else {
        let block = Block::new()
            .borders(Borders::TOP)
            .title(" when: not measured ");
        frame.render_widget(block, area);
        return;
    };
    let time = |ns: i64| duration(ns as f64);
    let room = usize::from(area.height).saturating_sub(1);
    let mut title = format!(" when: {} to {}", time(strip.from_ns), time(strip.to_ns));
    title.push_str(&format!(
        " ({})",
        time(strip.to_ns.saturating_sub(strip.from_ns))
    ));
    if strip.lanes.len() > room {
        title.push_str(&format!(", {} of {} lanes", room, strip.lanes.len()));
    }
    if strip.is_partial {
        title.push_str(", the outer rows only");
    }
    let lines: Vec<Line<'_>> = strip
        .lanes
        .iter()
        .take(room)
        .map(|lane| {
            let info = &model.graph.lanes[lane.lane as usize];
            let name = width::printable(&info.name).into_owned();
            let name = width::pad(&width::shorten(&name, LANE), LANE + 1, false);
            let colour = if info.is_device {
                Color::Green
            } else {
                Color::Cyan
            };
            let mut spans = vec![Span::raw(name)];
            for (busy, critical) in lane.busy.iter().zip(&lane.critical) {
                let shade = match busy {
                    0 => " ",
                    1..=2 => "░",
                    3..=4 => "▒",
                    5..=6 => "▓",
                    _ => "█",
                };
                let colour = if *critical { Color::Yellow } else { colour };
                spans.push(Span::styled(shade, looks.colour(colour)));
            }
            Line::from(spans)
        })
        .collect();
    let block = Block::new()
        .borders(Borders::TOP)
        .title(format!("{title} "));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn over(frame: &mut Frame<'_>, cover: &Cover, scroll: usize, bold: Style) {
    let area = frame.area();
    let (title, lines): (String, Vec<Line<'_>>) = match cover {
        Cover::Help => {
            let line = |(keys, text): &(&'static str, &'static str)| {
                Line::from(vec![
                    Span::styled(width::pad(keys, 15, false), bold),
                    Span::raw(*text),
                ])
            };
            (" keys ".to_owned(), HELP.iter().map(line).collect())
        }
        Cover::Source(name, text) => {
            let line =
                |line: &str| Line::raw(width::printable(&line.replace('\t', "    ")).into_owned());
            (
                format!(" {} ", width::printable(name)),
                text.lines().map(line).collect(),
            )
        }
    };
    let lines: Vec<Line<'_>> = lines.into_iter().skip(scroll).collect();
    let block = Block::new()
        .borders(Borders::ALL)
        .title(title)
        .title_bottom(" Esc: back ");
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
