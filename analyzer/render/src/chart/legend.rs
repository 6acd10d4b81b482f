//! Legends: the meaning of colours, in lines of as many entries as fit.

use super::font;
use super::palette::{Ink, SERIES};
use super::scene::{Anchor, SMALL, Scene};

const LINE: f64 = 18.0;

/// Time that no recorded row accounts for. It has a neutral colour.
pub const UNACCOUNTED: &str = "unaccounted";

/// Time before the first and after the last row of a lane. With many short-lived threads it is nearly all of their
/// wall time, and would hide everything else.
pub const NOT_ALIVE: &str = "not alive";

pub fn height(names: &[String], width: f64) -> f64 {
    let entries = shown(names);
    let names: Vec<String> = entries.into_iter().map(|(name, _)| name).collect();
    places(&names, width).last().map_or(0.0, |at| at.1 + LINE)
}

pub fn draw(scene: &mut Scene, names: &[String], [left, top]: [f64; 2]) {
    let entries = shown(names);
    let names: Vec<String> = entries.iter().map(|(name, _)| name.clone()).collect();
    let places = places(&names, scene.width - left);
    for ((name, ink), (x, y)) in entries.iter().zip(places) {
        let (x, y) = (left + x, top + y + LINE / 2.0);
        scene.rect([x, y - 5.0, 10.0, 10.0], *ink);
        scene.text((x + 15.0, y), name, Anchor::Start, Ink::Text);
    }
}

/// Names with a colour of their own, one entry for all others, and unaccounted time last.
fn shown(names: &[String]) -> Vec<(String, Ink)> {
    let fit = |name: &str| font::fit(if name.is_empty() { "–" } else { name }, SMALL, 220.0);
    let (nothing, named): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| *name == UNACCOUNTED);
    let coloured = named.iter().take(SERIES.len()).enumerate();
    let mut shown: Vec<(String, Ink)> = coloured
        .map(|(at, name)| (fit(name), Ink::Series(at)))
        .collect();
    let other = Ink::Series(SERIES.len());
    match named.len().saturating_sub(SERIES.len()) {
        0 => {}
        1 => shown.push((fit(named[SERIES.len()]), other)),
        more => shown.push((format!("{more} others"), other)),
    }
    shown.extend(nothing.first().map(|name| (fit(name), Ink::Unaccounted)));
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
