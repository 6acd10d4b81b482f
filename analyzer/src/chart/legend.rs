//! What the colours mean, in lines of as many entries as fit.

use super::font;
use super::ink::{Ink, SERIES};
use super::scene::{Anchor, SMALL, Scene};

/// Height of a line.
const LINE: f64 = 18.0;

/// How high the legend of these names gets on a page this wide.
pub fn height(names: &[String], width: f64) -> f64 {
    places(&shown(names), width)
        .last()
        .map_or(0.0, |at| at.1 + LINE)
}

/// Draws it from `(left, top)`.
pub fn draw(scene: &mut Scene, names: &[String], [left, top]: [f64; 2]) {
    let names = shown(names);
    let places = places(&names, scene.width - left);
    for (i, (name, (x, y))) in names.iter().zip(places).enumerate() {
        let (x, y) = (left + x, top + y + LINE / 2.0);
        scene.rect([x, y - 5.0, 10.0, 10.0], Ink::Series(i));
        scene.text((x + 15.0, y), name, Anchor::Start, Ink::Text);
    }
}

/// Those with a colour of their own, and one for all others.
fn shown(names: &[String]) -> Vec<String> {
    let mut shown: Vec<String> = names
        .iter()
        .take(SERIES.len())
        .map(|name| font::fit(if name.is_empty() { "–" } else { name }, SMALL, 220.0))
        .collect();
    match names.len().saturating_sub(SERIES.len()) {
        0 => {}
        1 => shown.push(font::fit(&names[SERIES.len()], SMALL, 220.0)),
        more => shown.push(format!("{more} others")),
    }
    shown
}

fn places(names: &[String], width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (0.0, 0.0);
    let mut places = Vec::new();
    for name in names {
        let needs = 15.0 + font::width(name, SMALL) + 18.0;
        if x > 0.0 && x + needs > width {
            (x, y) = (0.0, y + LINE);
        }
        places.push((x, y));
        x += needs;
    }
    places
}
