//! First lines of a page: the answer, where the run comes from, devices, kernels.

use trueno_model::{Report, width};

use super::table::{self as fitted, Absent};
use super::{INDENT, Out};
use crate::form::Detail;
use crate::header_text::{self, Trust};
use crate::opening::{Kind, Opening};
use crate::style::Meaning;
use crate::view::View;

/// Kernels of a brief page.
const KERNELS: usize = 6;
/// Columns of a bar.
const MAX_BAR: usize = 72;

/// The sentence, if there is one.
pub fn sentence(report: &Report, out: &mut Out) {
    let Some(opening) = Opening::new(report) else {
        return;
    };
    let text = width::printable(opening.sentence().unwrap_or_default()).into_owned();
    out.hanging(0, ("", Meaning::Heading), &text, Some(Meaning::Heading));
    out.blank();
}

/// Lines on where the run comes from and on how far to trust it.
pub fn origin(report: &Report, out: &mut Out) {
    for (name, text) in header_text::origin(report) {
        // Command lines and names of machines may be long; what we say ourselves is not cut.
        let text = match name {
            "wall" | "ranks" | "window" => text,
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
        (Some(false), Some(false)) => ("INCOMPLETE", Meaning::Error),
        (Some(false), _) => ("DOUBTFUL", Meaning::Error),
    };
    let name = width::pad(name, 9, false);
    let lead = match is_sound {
        Some(false) => meaning,
        _ => Meaning::Faint,
    };
    out.hanging(0, (&name, lead), &text, None);
}

/// Devices and kernels.
pub fn devices(report: &Report, out: &mut Out) {
    let Some(opening) = Opening::new(report) else {
        return;
    };
    let devices = opening.devices();
    if devices.is_empty() {
        return;
    }
    out.blank();
    for device in &devices {
        let title = width::printable(&device.title).into_owned();
        out.hanging(0, ("", Meaning::Heading), &title, None);
        let columns = MAX_BAR.min(out.page.width - INDENT);
        let bar = bar(&device.parts, columns);
        let bar = out.paint(Meaning::Bar, &bar);
        out.line(&format!("{}{bar}", " ".repeat(INDENT)));
        let faint = Some(Meaning::Faint);
        out.hanging(INDENT, ("", Meaning::Faint), &legend(&device.legend), faint);
    }
    let (Some(kernels), true) = (opening.kernels(), out.page.detail == Detail::Brief) else {
        return;
    };
    out.blank();
    out.titled("kernels", "by time on devices");
    let view = View::new(&kernels, KERNELS);
    let room = out.page.width - 2 * INDENT;
    for line in fitted::lines(&view, room, Absent::Unsaid, out.page.palette) {
        out.line(&format!("{}{line}", " ".repeat(2 * INDENT)));
    }
}

/// The glyph of a kind of time.
fn glyph(kind: Kind) -> char {
    match kind {
        Kind::Computation => '█',
        Kind::Communication => '▓',
        Kind::Copy => '▒',
        Kind::Idle => '░',
        Kind::Outside => '·',
    }
}

/// The parts in words, each behind its glyph.
fn legend(text: &str) -> String {
    let part = |part: &str| {
        let kind = Kind::ALL
            .into_iter()
            .find(|kind| part.starts_with(kind.name()));
        match kind {
            Some(kind) => format!("{} {part}", glyph(kind)),
            None => part.to_owned(),
        }
    };
    text.split(" · ").map(part).collect::<Vec<_>>().join("  ")
}

/// Parts of one line: each as long as its share, to the nearest column of its end.
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
    use super::*;

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
