//! First lines of a page: the answer, where the run comes from, devices, kernels, threads.

use trueno_model::{Report, width};
use trueno_plugin::Table;

use super::table::{self as fitted, Absent};
use super::{INDENT, Out};
use crate::form::Detail;
use crate::header_text::{self, Trust};
use crate::opening::{Device, Kind, Opening, PLUGIN};
use crate::style::Meaning;
use crate::view::View;

const KERNELS: usize = 6;
const THREADS: usize = 4;
const MAX_BAR: usize = 72;
/// With more devices, each gets one line on a brief page.
const MANY: usize = 4;
const MAX_BLOCKS: usize = 32;
/// Limit on devices with one line each.
const MAX_LINES: usize = 16;

pub fn failed(report: &Report, out: &mut Out<'_>) {
    if let Some(text) = header_text::failed(report) {
        out.hanging(0, ("FAILED", Meaning::Error), &text, None);
        out.blank();
    }
}

pub fn sentence(report: &Report, out: &mut Out<'_>) {
    let warning = header_text::warning(report);
    let sentence = Opening::new(report).and_then(|opening| opening.sentence());
    if let Some(warning) = &warning {
        out.hanging(0, ("", Meaning::Error), warning, Some(Meaning::Error));
    }
    if let Some(sentence) = sentence {
        let text = width::printable(sentence);
        out.hanging(0, ("", Meaning::Heading), &text, Some(Meaning::Heading));
    }
    if warning.is_some() || sentence.is_some() {
        out.blank();
    }
}

pub fn origin(report: &Report, out: &mut Out<'_>) {
    for (name, text) in header_text::origin(report) {
        // Command lines and names of machines may be long; what we say ourselves is not cut.
        let text = match name {
            "wall" | "rank" | "ranks" | "window" => text,
            _ => width::shorten(&text, out.page.width - 10).into_owned(),
        };
        let name = width::pad(name, 9, false);
        out.hanging(0, (&name, Meaning::Faint), &text, None);
    }
    let Trust {
        is_sound,
        is_complete,
        text,
    } = header_text::trust(report);
    let (name, meaning) = match (is_sound, is_complete) {
        (Some(true), _) => ("recorded", Meaning::Good),
        (None, _) => ("recorded", Meaning::Faint),
        (Some(false), Some(false)) => ("recorded", Meaning::Error),
        (Some(false), _) => ("DOUBTFUL", Meaning::Error),
    };
    let name = width::pad(name, 9, false);
    let lead = match is_sound {
        Some(false) => meaning,
        _ => Meaning::Faint,
    };
    out.hanging(0, (&name, lead), &text, None);
}

pub fn devices(report: &Report, out: &mut Out<'_>) {
    let Some(opening) = Opening::new(report) else {
        return;
    };
    let devices = opening.devices();
    if !devices.is_empty() {
        out.blank();
        bars(&devices, out);
    }
    let kernels = opening.kernels();
    if let Some(kernels) = kernels.filter(|_| out.page.detail == Detail::Brief) {
        let title = ("kernels", "by time on devices");
        let rest = opening.all_kernels(KERNELS);
        first_rows(title, &kernels, (KERNELS, rest), out);
    }
}

pub fn threads(report: &Report, out: &mut Out<'_>) {
    let opening = Opening::new(report);
    if let Some((opening, threads)) = opening.and_then(|of| Some((of, of.threads()?))) {
        let rest = opening.all_threads(THREADS);
        first_rows(("host threads", "by work"), threads, (THREADS, rest), out);
    }
}

fn bars(devices: &[Device], out: &mut Out<'_>) {
    let is_brief = out.page.detail != Detail::Full;
    let most_blocks = if is_brief { MANY } else { MAX_BLOCKS };
    let (lines, blocks) = if devices.len() > most_blocks {
        (devices, [].as_slice())
    } else {
        ([].as_slice(), devices)
    };
    if !lines.is_empty() {
        one_line_each(lines, out);
    }
    for device in blocks {
        let title = width::printable(&device.title).into_owned();
        out.hanging(0, ("", Meaning::Heading), &title, None);
        let columns = MAX_BAR.min(out.page.width - INDENT);
        let bar = bar(&device.parts, columns);
        let bar = out.paint(Meaning::Bar, &bar);
        out.line(&format!("{}{bar}", " ".repeat(INDENT)));
        legend(&device.words, out);
    }
}

fn first_rows(
    (title, words): (&str, &str),
    table: &Table,
    (rows, rest): (usize, Option<String>),
    out: &mut Out<'_>,
) {
    out.blank();
    out.titled(title, words);
    let mut view = View::new(table, rows);
    view.rest = rest.or(view.rest);
    let room = out.page.width - 2 * INDENT;
    for line in fitted::lines(&view, room, Absent::Unsaid, out.page.palette) {
        out.line(&format!("{}{line}", " ".repeat(2 * INDENT)));
    }
}

/// One line per device: its bar and the share of each kind of time.
fn one_line_each(devices: &[Device], out: &mut Out<'_>) {
    let shown = &devices[..devices.len().min(MAX_LINES)];
    let has = |kind: &Kind| shown.iter().any(|device| device.share(*kind) > 0.0);
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(has).collect();
    let words = kinds
        .iter()
        .copied()
        .map(|kind| format!("{} {}", glyph(kind), kind.name()));
    let legend = words.collect::<Vec<_>>().join("  ");
    let title = format!("{} devices", devices.len());
    out.hanging(0, (&title, Meaning::Heading), &legend, Some(Meaning::Faint));
    let names: Vec<_> = shown
        .iter()
        .map(|device| width::printable(&device.place))
        .collect();
    let widths = names.iter().map(|name| width::measure(name));
    let name_width = widths.max().unwrap_or(0);
    let taken = INDENT + name_width + 1 + SHARE_WIDTH * kinds.len();
    let columns = MAX_BAR.min(out.page.width.saturating_sub(taken));
    for (device, name) in shown.iter().zip(names) {
        let name = width::pad(&name, name_width, false);
        let bar = width::pad(&bar(&device.parts, columns), columns, false);
        let bar = out.paint(Meaning::Bar, &bar);
        let shares = kinds.iter().map(|kind| percent(device.share(*kind)));
        let shares: String = shares.collect();
        out.line(&format!("{}{name} {bar}{shares}", " ".repeat(INDENT)));
    }
    if devices.len() > shown.len() {
        let more = devices.len() - shown.len();
        let text = format!("… and {more} more");
        out.hanging(INDENT, ("", Meaning::Faint), &text, Some(Meaning::Faint));
        let command = out.page.commands.rows(PLUGIN, "devices", devices.len());
        out.command("all devices", &command);
    }
}

const SHARE_WIDTH: usize = 6;

fn percent(share: f64) -> String {
    match share {
        s if s > 0.0 && s < 0.005 => "  <1 %".to_owned(),
        s => format!("{:>4.0} %", s * 100.0),
    }
}

fn glyph(kind: Kind) -> char {
    match kind {
        Kind::Computation => '█',
        Kind::Communication => '▓',
        Kind::Copy => '▒',
        Kind::Idle => '░',
        Kind::Outside => '·',
        Kind::Unrecorded => '?',
    }
}

/// Between two parts of a legend that share a line.
const APART: &str = "  ";

/// A legend on as few lines as hold its parts whole. Only a part that is wider than a line is broken.
fn legend(words: &[(Kind, String)], out: &mut Out<'_>) {
    let room = out.page.width.saturating_sub(INDENT);
    let mut lines: Vec<String> = Vec::new();
    for (kind, words) in words {
        let part = format!("{} {}", glyph(*kind), width::printable(words));
        let longer = lines.last().map(|line| format!("{line}{APART}{part}"));
        match (lines.last_mut(), longer) {
            (Some(last), Some(longer)) if width::measure(&longer) <= room => *last = longer,
            _ => lines.push(part),
        }
    }
    let faint = Some(Meaning::Faint);
    for line in lines {
        match line.split_once(' ') {
            // What is broken goes on below its words, not below its mark.
            Some((mark, words)) if width::measure(&line) > room => {
                out.hanging(INDENT, (mark, Meaning::Faint), words, faint);
            }
            _ => {
                let line = out.paint(Meaning::Faint, &line);
                out.line(&format!("{}{line}", " ".repeat(INDENT)));
            }
        }
    }
}

/// Parts of one bar, with boundaries rounded to the nearest column.
fn bar(parts: &[(Kind, f64)], columns: usize) -> String {
    let (mut sum, mut at, mut text) = (0.0, 0, String::new());
    for (kind, share) in parts {
        sum += share;
        let end = ((sum * columns as f64).round() as usize).min(columns);
        text.extend(std::iter::repeat_n(glyph(*kind), end.saturating_sub(at)));
        at = end.max(at);
    }
    text
}

#[cfg(test)]
mod tests {
    use trueno_plugin::Table;

    use super::*;
    use crate::commands::Commands;
    use crate::style::Palette;
    use crate::terminal::{Page, render};
    use crate::testing;

    #[test]
    fn many_devices_have_a_line_each() {
        let devices = 20;
        let headline = Table::build("headline").text("sentence", ["fine"]);
        let all = 0..devices;
        let places: Vec<String> = all.clone().map(|n| format!("rank {n} gpu0")).collect();
        let table = Table::build("devices")
            .text("place", &places)
            .i64("computation_ns", all.clone().map(|n| 600 - n))
            .i64("communication_ns", all.clone().map(|_| 2))
            .i64("idle_ns", all.map(|n| 398 + n));
        let tables = [headline, table].map(|table| table.finish().unwrap());
        let section = testing::section("summary", tables.into());
        let report = testing::report(vec![section]);
        let page = Page {
            width: 80,
            top: 10,
            detail: Detail::Brief,
            palette: Palette::new(false),
            commands: &Commands::default(),
        };
        let text = render(&report, page);
        let lines: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.contains("20 devices"))
            .collect();
        assert_eq!(
            lines[..3],
            [
                "20 devices █ computation ▓ exposed communication ░ idle",
                "  rank 0 gpu0  ████████████████████████████░░░░░░░░░░░░░░░░░░░  60 %  <1 %  40 %",
                "  rank 1 gpu0  ████████████████████████████░░░░░░░░░░░░░░░░░░░  60 %  <1 %  40 %",
            ],
            "{text}"
        );
        assert_eq!(
            lines[17..19],
            [
                "  … and 4 more",
                "  all devices     trueno-analyze query RUN 'SELECT * FROM summary.devices' \\",
            ],
            "{text}"
        );
    }

    #[test]
    fn a_legend_keeps_each_part_with_its_time_on_one_line() {
        let headline = Table::build("headline").text("sentence", ["fine"]);
        let table = Table::build("devices")
            .text("place", ["gpu0"])
            .i64("computation_ns", [595_000_000])
            .i64("copy_ns", [11_800_000])
            .i64("idle_ns", [395_000_000])
            .i64("not_queued_ns", [365_000_000])
            .i64("launching_ns", [30_000_000])
            .i64("outside_ns", [69_600_000]);
        let tables = [headline, table].map(|table| table.finish().unwrap());
        let report = testing::report(vec![testing::section("summary", tables.into())]);
        let page = Page {
            width: 80,
            top: 10,
            detail: Detail::Brief,
            palette: Palette::new(false),
            commands: &Commands::default(),
        };
        let text = render(&report, page);
        let lines = text.lines().skip_while(|line| !line.starts_with("gpu0"));
        let lines: Vec<&str> = lines.skip(2).take(4).collect();
        assert_eq!(
            lines,
            [
                "  █ computation 595 ms, 55.5 %  ▒ exposed copies 11.8 ms, 1.1 %",
                "  ░ idle 395 ms, 36.9 % (no work queued 365 ms, 34.1 %; being launched 30 ms,",
                "    2.8 %)",
                "  · before and after its work 69.6 ms, 6.5 %",
            ],
            "{text}"
        );
    }

    #[test]
    fn a_bar_is_as_long_as_its_parts_together() {
        let parts = [
            (Kind::Computation, 0.5),
            (Kind::Copy, 0.004),
            (Kind::Idle, 0.496),
        ];
        assert_eq!(bar(&parts, 10), "█████░░░░░");
        assert_eq!(bar(&[(Kind::Outside, 1.0)], 3), "···");
        assert_eq!(bar(&[], 3), "");
    }
}
