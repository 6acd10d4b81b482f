//! A chart as shapes on a page of pixels, not yet drawn by anybody.
//!
//! So tests see that no text lies on another, and SVG and PNG are the same picture.

use super::palette::Ink;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A shape. Coordinates are pixels from the upper left corner.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    Rect {
        /// x, y, width, height.
        at: [f64; 4],
        ink: Ink,
    },
    Line {
        /// At least two.
        points: Vec<(f64, f64)>,
        ink: Ink,
        width: u32,
    },
    Dot {
        at: (f64, f64),
        radius: f64,
        ink: Ink,
    },
    /// A line of text, vertically centred at `at`.
    Text {
        at: (f64, f64),
        text: String,
        ink: Ink,
        /// The part of the text that is at `at`.
        anchor: Anchor,
        size: f64,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// x, y, width, height.
    pub at: [f64; 4],
    pub text: String,
}

/// A chart as shapes; later ones are drawn on top.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    pub width: f64,
    pub height: f64,
    /// Heading, and text for screen readers.
    pub title: String,
    pub items: Vec<Item>,
    pub marks: Vec<Mark>,
}

pub const SMALL: f64 = 11.0;
pub const MAX_MARKS: usize = 600;

impl Scene {
    pub fn new(title: &str, width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            title: trueno_model::width::printable(title).into_owned(),
            ..Self::default()
        }
    }

    pub fn rect(&mut self, at: [f64; 4], ink: Ink) {
        self.items.push(Item::Rect { at, ink });
    }

    pub fn line(&mut self, points: Vec<(f64, f64)>, ink: Ink, width: u32) {
        if points.len() > 1 {
            self.items.push(Item::Line { points, ink, width });
        }
    }

    pub fn dot(&mut self, at: (f64, f64), radius: f64, ink: Ink) {
        self.items.push(Item::Dot { at, radius, ink });
    }

    /// Adds a text, unless it is empty.
    pub fn text(&mut self, at: (f64, f64), text: &str, anchor: Anchor, ink: Ink) {
        let text = trueno_model::width::printable(text).into_owned();
        if !text.is_empty() {
            let size = SMALL;
            self.items.push(Item::Text {
                at,
                text,
                ink,
                anchor,
                size,
            });
        }
    }

    pub fn mark(&mut self, at: [f64; 4], text: String) {
        if self.marks.len() < MAX_MARKS {
            // A place of less than a few pixels is not hit.
            let [x, y, w, h] = at;
            let (more_w, more_h) = ((6.0 - w).max(0.0), (6.0 - h).max(0.0));
            let at = [x - more_w / 2.0, y - more_h / 2.0, w + more_w, h + more_h];
            self.marks.push(Mark { at, text });
        }
    }

    /// Bounds of a text; `None` for other shapes.
    pub fn bounds(item: &Item) -> Option<[f64; 4]> {
        let Item::Text {
            at,
            text,
            anchor,
            size,
            ..
        } = item
        else {
            return None;
        };
        let width = super::font::width(text, *size);
        let x = match anchor {
            Anchor::Start => at.0,
            Anchor::Middle => at.0 - width / 2.0,
            Anchor::End => at.0 - width,
        };
        Some([x, at.1 - size * 0.6, width, size * 1.2])
    }
}

pub fn overlap(a: [f64; 4], b: [f64; 4]) -> bool {
    a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3]
}
