//! Names beside marks, as many as have room without touching each other.

use super::font;
use super::palette::Ink;
use super::scene::{Anchor, SMALL, Scene, overlap};

pub struct Label {
    pub name: String,
    pub at: (f64, f64),
    /// Pixels from the centre to the edge of the mark.
    pub reach: f64,
    /// Prefers a place above the mark, for marks on a line.
    pub above: bool,
}

impl Label {
    /// Bounds of the mark: left, top, width, height.
    pub fn mark(&self) -> [f64; 4] {
        let size = 2.0 * self.reach;
        [self.at.0 - self.reach, self.at.1 - self.reach, size, size]
    }
}

/// Writes names in order, the most important first, right of, left of, above or below their mark, within `[left,
/// top, right, bottom]`. A name that fits nowhere is only in the mark's tooltip. Returns the number of names
/// written.
pub fn write(scene: &mut Scene, names: &[Label], within: [f64; 4], most: usize) -> usize {
    place(scene, names, within, most, false)
}

/// Like [`write`], but names are drawn above background lines, which do not run through the letters.
pub fn write_on(scene: &mut Scene, names: &[Label], within: [f64; 4], most: usize) -> usize {
    place(scene, names, within, most, true)
}

fn place(
    scene: &mut Scene,
    names: &[Label],
    within: [f64; 4],
    most: usize,
    on_paper: bool,
) -> usize {
    let mut taken: Vec<[f64; 4]> = scene.items.iter().filter_map(Scene::bounds).collect();
    let marks: Vec<[f64; 4]> = names.iter().map(Label::mark).collect();
    let mut written = 0;
    for (own, named) in names.iter().enumerate() {
        if written == most {
            break;
        }
        let text = font::fit(&named.name, SMALL, 180.0);
        let width = font::width(&text, SMALL);
        let height = SMALL * 1.2;
        let ((x, y), gap) = (named.at, named.reach + 4.0);
        let mut ways = [
            (x + gap, y, Anchor::Start),
            (x - gap, y, Anchor::End),
            (x, y - gap - height / 2.0, Anchor::Middle),
            (x, y + gap + height / 2.0, Anchor::Middle),
        ];
        if named.above {
            ways.rotate_left(2);
        }
        let free = ways.into_iter().find_map(|(x, y, anchor)| {
            let left = match anchor {
                Anchor::Start => x,
                Anchor::Middle => x - width / 2.0,
                Anchor::End => x - width,
            };
            let bounds = [left, y - height / 2.0, width, height];
            let inside = left >= within[0]
                && left + width <= within[2]
                && bounds[1] >= within[1]
                && bounds[1] + height <= within[3];
            let hits = |other: &[f64; 4]| overlap(*other, bounds);
            let covers = || marks.iter().enumerate().any(|(i, m)| i != own && hits(m));
            let is_free = inside && !taken.iter().any(hits) && !covers();
            is_free.then_some(((x, y), anchor, bounds))
        });
        if let Some((at, anchor, bounds)) = free {
            if on_paper {
                scene.rect(bounds, Ink::Paper);
            }
            scene.text(at, &text, anchor, Ink::Text);
            taken.push(bounds);
            written += 1;
        }
    }
    written
}
