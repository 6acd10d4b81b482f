//! A chart as shapes on a page of pixels, not yet drawn by anybody.
//!
//! So tests see that no text lies on another, and SVG and PNG are the same picture.

use super::palette::Ink;

/// Point of a text that its position names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    Middle,
    /// Its right end.
    End,
}

/// One shape. Coordinates are pixels from the upper left corner.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A filled rectangle.
    Rect {
        /// x, y, width, height.
        at: [f64; 4],
        ink: Ink,
    },
    /// A line through points.
    Line {
        /// Corners, at least two.
        points: Vec<(f64, f64)>,
        ink: Ink,
        width: u32,
    },
    /// A filled circle.
    Dot {
        at: (f64, f64),
        radius: f64,
        ink: Ink,
    },
    /// A line of text, its middle at the height of `at`.
    Text {
        /// Place of its anchor.
        at: (f64, f64),
        /// The text itself.
        text: String,
        ink: Ink,
        /// Point of it that stands at `at`.
        anchor: Anchor,
        /// Height of its letters, pixels.
        size: f64,
    },
}

/// Text of a place, shown when it is pointed at.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// x, y, width, height.
    pub at: [f64; 4],
    pub text: String,
}

/// A chart as shapes, the later ones above the earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    pub width: f64,
    pub height: f64,
    /// Said to those who cannot see it, and above it.
    pub title: String,
    pub items: Vec<Item>,
    /// Places that tell something.
    pub marks: Vec<Mark>,
}

/// Letters of labels.
pub const SMALL: f64 = 11.0;
/// Most places of a chart that tell something.
pub const MAX_MARKS: usize = 600;

impl Scene {
    /// An empty page.
    pub fn new(title: &str, width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            title: trueno_model::width::printable(title).into_owned(),
            ..Self::default()
        }
    }

    /// Adds a rectangle.
    pub fn rect(&mut self, at: [f64; 4], ink: Ink) {
        self.items.push(Item::Rect { at, ink });
    }

    /// Adds a line.
    pub fn line(&mut self, points: Vec<(f64, f64)>, ink: Ink, width: u32) {
        if points.len() > 1 {
            self.items.push(Item::Line { points, ink, width });
        }
    }

    /// Adds a circle.
    pub fn dot(&mut self, at: (f64, f64), radius: f64, ink: Ink) {
        self.items.push(Item::Dot { at, radius, ink });
    }

    /// Adds a text; one that is empty is not there.
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

    /// Adds what a place tells, as long as there are not too many.
    pub fn mark(&mut self, at: [f64; 4], text: String) {
        if self.marks.len() < MAX_MARKS {
            // A place of less than a few pixels is not hit.
            let [x, y, w, h] = at;
            let (more_w, more_h) = ((6.0 - w).max(0.0), (6.0 - h).max(0.0));
            let at = [x - more_w / 2.0, y - more_h / 2.0, w + more_w, h + more_h];
            self.marks.push(Mark { at, text });
        }
    }

    /// The rectangle a text takes, or `None` for other shapes.
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

/// Tells whether two rectangles share a point.
pub fn overlap(a: [f64; 4], b: [f64; 4]) -> bool {
    a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3]
}
