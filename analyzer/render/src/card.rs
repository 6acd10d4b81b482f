//! The head of a report as a picture, in the size that chats and pull requests show.

use std::io::{self, Write};

use trueno_model::{Report, width};

use crate::chart::{Anchor, Ink, Item, Scene, font};
use crate::form::{Layout, ReportForm};
use crate::header_text;
use crate::opening::{Kind, Opening};
use crate::top::Top;

/// The size of previews of links (Open Graph).
const SIZE: [f64; 2] = [1200.0, 630.0];
const MARGIN: f64 = 48.0;
const ROOM: f64 = SIZE[0] - 2.0 * MARGIN;
/// Letters of the answer: the largest in which it takes at most [`ANSWER_LINES`] lines.
const ANSWER_SIZES: [f64; 4] = [36.0, 32.0, 28.0, 24.0];
const ANSWER_LINES: usize = 4;
const DEVICES: usize = 2;

/// The form for chats.
#[derive(Debug)]
pub(crate) struct Card;

impl ReportForm for Card {
    fn name(&self) -> &'static str {
        "card"
    }

    fn about(&self) -> &'static str {
        "For a chat: the head of the report as a picture (PNG)"
    }

    fn is_binary(&self) -> bool {
        true
    }

    fn write(&self, report: &Report, _: &Layout<'_>, to: &mut dyn Write) -> io::Result<()> {
        let png = scene(report).bare_png().map_err(io::Error::other)?;
        to.write_all(&png)
    }
}

fn scene(report: &Report) -> Scene {
    let title = report.header.facts.title();
    let mut card = Page {
        scene: Scene::new(title, SIZE[0], SIZE[1]),
        y: MARGIN,
    };
    card.line(title, 20.0, Ink::Faint);
    card.y += 10.0;
    let opening = Opening::new(report);
    let warning = header_text::failed(report).or_else(|| header_text::warning(report));
    if let Some(warning) = &warning {
        card.wrapped(warning, 20.0, 2, Ink::Alarm);
    }
    if let Some(sentence) = opening.and_then(|opening| opening.sentence()) {
        let fits = |size: &f64| wrap(sentence, *size, ROOM).len() <= ANSWER_LINES;
        let [.., least] = ANSWER_SIZES;
        let size = ANSWER_SIZES.into_iter().find(fits).unwrap_or(least);
        card.wrapped(sentence, size, ANSWER_LINES, Ink::Text);
    }
    card.y += 12.0;
    let devices = opening.map(|opening| opening.devices()).unwrap_or_default();
    for device in devices.iter().take(DEVICES) {
        card.line(&device.title, 18.0, Ink::Text);
        card.bar(&device.parts);
        card.line(&device.legend(), 15.0, Ink::Faint);
        card.y += 8.0;
    }
    if devices.len() > DEVICES {
        let more = format!("and {} more devices", devices.len() - DEVICES);
        card.line(&more, 15.0, Ink::Faint);
    }
    if Top::is_asked(report) {
        card.top(&Top::from_report(report));
    }
    let trust = format!("Recorded {}", header_text::trust(report).text);
    card.y = SIZE[1] - MARGIN;
    card.line(&format!("{trust} · trueno-analyze"), 14.0, Ink::Faint);
    card.scene
}

/// A picture that is filled from the top; `y` is the middle of the next line.
struct Page {
    scene: Scene,
    y: f64,
}

impl Page {
    fn has_room(&self, height: f64) -> bool {
        self.y + height < SIZE[1] - 1.5 * MARGIN
    }

    fn text(&mut self, x: f64, text: String, size: f64, ink: Ink) {
        self.scene.items.push(Item::Text {
            at: (x, self.y),
            text,
            ink,
            anchor: Anchor::Start,
            size,
        });
    }

    fn line(&mut self, text: &str, size: f64, ink: Ink) {
        let text = font::fit(text, size, ROOM);
        self.text(MARGIN, text, size, ink);
        self.y += size * 1.4;
    }

    fn wrapped(&mut self, text: &str, size: f64, max_lines: usize, ink: Ink) {
        self.y += size * 0.2;
        self.wrapped_from(MARGIN, text, size, max_lines, ink);
    }

    fn wrapped_from(&mut self, x: f64, text: &str, size: f64, max_lines: usize, ink: Ink) {
        let mut lines = wrap(text, size, SIZE[0] - MARGIN - x);
        if lines.len() > max_lines {
            lines.truncate(max_lines);
            if let Some(last) = lines.last_mut() {
                last.push('…');
            }
        }
        for line in lines {
            self.text(x, line, size, ink);
            self.y += size * 1.3;
        }
    }

    fn bar(&mut self, parts: &[(Kind, f64)]) {
        let mut x = MARGIN;
        let top = self.y - 8.0;
        for (kind, share) in parts {
            let width = share * ROOM;
            self.scene.rect([x, top, width, 22.0], ink(*kind));
            x += width;
        }
        self.y += 30.0;
    }

    fn top(&mut self, top: &Top) {
        if top.findings.is_empty() {
            if self.has_room(20.0) {
                self.line(&top.none(), 18.0, Ink::Faint);
            }
            return;
        }
        let size = 18.0;
        for line in &top.findings {
            if !self.has_room(size * 2.6) {
                return;
            }
            let (word, ink) = match line.severity.as_str() {
                severity @ ("critical" | "high") => (severity, Ink::Alarm),
                severity => (severity, Ink::Faint),
            };
            self.text(MARGIN, word.to_uppercase(), 14.0, ink);
            self.wrapped_from(MARGIN + 96.0, &line.sentence, size, 2, Ink::Text);
            self.y += 6.0;
        }
    }
}

/// As on a page.
fn ink(kind: Kind) -> Ink {
    match kind {
        Kind::Computation => Ink::Series(0),
        Kind::Communication => Ink::Series(5),
        Kind::Copy => Ink::Series(1),
        Kind::Idle => Ink::Unaccounted,
        Kind::Outside | Kind::Unrecorded => Ink::Grid,
    }
}

/// Lines no wider than `room` pixels; a word that is wider is shortened.
fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in width::printable(text).split_whitespace() {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match (lines.last_mut(), longer) {
            (Some(last), Some(longer)) if font::width(&longer, size) <= room => *last = longer,
            _ => lines.push(font::fit(word, size, room)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use trueno_plugin::Table;

    use super::*;
    use crate::testing;

    fn card(sentence: &str) -> Scene {
        let headline = Table::build("headline").text("sentence", [sentence]);
        let shares = |ns: i64| [Some(ns)];
        let devices = Table::build("devices")
            .text("place", ["gpu0"])
            .i64("computation_ns", shares(60))
            .i64("communication_ns", shares(10))
            .i64("copy_ns", shares(5))
            .i64("idle_ns", shares(15))
            .i64("outside_ns", shares(10));
        let tables = vec![headline.finish().unwrap(), devices.finish().unwrap()];
        scene(&testing::report(vec![testing::section("summary", tables)]))
    }

    #[test]
    fn texts_stay_on_the_picture_and_off_each_other() {
        for words in [3, 30, 90, 400] {
            let sentence = vec!["communication"; words].join(" ");
            let scene = card(&sentence);
            let bounds: Vec<[f64; 4]> = scene.items.iter().filter_map(Scene::bounds).collect();
            assert!(bounds.len() > 3);
            for [x, y, width, height] in &bounds {
                assert!(
                    x + width <= SIZE[0] && y + height <= SIZE[1],
                    "{words} words"
                );
            }
            for (at, one) in bounds.iter().enumerate() {
                let others = &bounds[at + 1..];
                let overlaps = others
                    .iter()
                    .any(|other| crate::chart::overlap(*one, *other));
                assert!(!overlaps, "{words} words");
            }
        }
    }

    #[test]
    fn it_is_a_picture_of_its_size() {
        let png = card("step 3 ms").bare_png().unwrap();
        assert!(png.starts_with(b"\x89PNG"));
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!([number(16), number(20)], [1200, 630]);
    }
}
