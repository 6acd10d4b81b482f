//! Stacks of names as a picture: the wider, the longer.

use trueno_model::units::Unit;

use super::data::show;
use super::palette::{Ink, SERIES};
use super::scene::{Anchor, SMALL, Scene};
use super::{WIDTH, font};
use trueno_model::timeline::Frame;

const ROW: f64 = 18.0;
const DEEPEST: usize = 63;

/// Roots are at the top. Frames too narrow to see are left out.
pub fn scene(title: &str, frames: &[Frame]) -> Option<Scene> {
    let whole = frames.iter().filter(|frame| frame.depth == 0);
    let whole = whole
        .map(|frame| frame.total_ns)
        .fold(0, i64::saturating_add);
    if whole <= 0 {
        return None;
    }
    let (left, right) = (8.0, WIDTH - 8.0);
    let px = |ns: i64| ns as f64 / whole as f64 * (right - left);
    let seen = |frame: &&Frame| px(frame.total_ns) >= 1.0;
    let deepest = frames.iter().filter(seen).map(|frame| frame.depth).max()?;
    let rows = deepest.min(DEEPEST) + 1;
    let note = if deepest > DEEPEST { 20.0 } else { 0.0 };
    let mut scene = Scene::new(title, WIDTH, rows as f64 * ROW + 16.0 + note);
    let show = |ns: i64| show(ns as f64, Unit::Nanoseconds);
    for frame in frames
        .iter()
        .filter(seen)
        .filter(|frame| frame.depth < rows)
    {
        let (x, width) = (left + px(frame.at_ns), px(frame.total_ns));
        let at = [
            x,
            8.0 + frame.depth as f64 * ROW,
            (width - 0.5).max(1.0),
            ROW - 1.0,
        ];
        // The same name has the same colour wherever it stands.
        let hash = xxhash_rust::xxh3::xxh3_64(frame.name.as_bytes());
        let series = (hash % SERIES.len() as u64) as usize;
        let ink = if frame.depth == 0 {
            Ink::Grid
        } else {
            Ink::Series(series)
        };
        scene.rect(at, ink);
        if width > 34.0 {
            let ink = if frame.depth == 0 {
                Ink::Text
            } else {
                Ink::On(series)
            };
            let name = font::fit(&frame.name, SMALL, width - 8.0);
            scene.text(
                (x + 4.0, at[1] + ROW / 2.0 - 1.0),
                &name,
                Anchor::Start,
                ink,
            );
        }
        if width >= 2.0 {
            let share = frame.total_ns as f64 / whole as f64;
            let share = trueno_model::units::percent(share);
            let text = format!(
                "{}\n{} ({share}), self {}",
                frame.name,
                show(frame.total_ns),
                show(frame.self_ns)
            );
            scene.mark(at, text);
        }
    }
    if note > 0.0 {
        let text = format!("deeper than {} frames is left out", DEEPEST + 1);
        let at = (left, scene.height - 10.0);
        scene.text(at, &text, Anchor::Start, Ink::Faint);
    }
    Some(scene)
}
