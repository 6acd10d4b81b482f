//! One bar for each thing, made of pieces.

use std::collections::BTreeMap;

use trueno_model::units::{self, Unit};

use super::data::{Data, kinds, show};
use super::palette::{Ink, SERIES};
use super::scene::{Anchor, SMALL, Scene};
use super::{WIDTH, font, legend};

const MAX_BARS: usize = 16;
const ROW: f64 = 44.0;

/// Bars are drawn from top to bottom, their pieces from left to right: the largest first, unaccounted time last.
/// Each bar is 100 %, without the time before the first and after the last row of a lane.
pub fn scene(data: &Data<'_>) -> Option<Scene> {
    let chart = data.chart;
    let (bars, of_bar) = kinds(&data.texts(&chart.x));
    let (series, of_series) = kinds(&data.texts_of(&chart.series)?);
    let values = data.numbers(&chart.y);
    let mut sums: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let is_part = |of: usize| series[of] != legend::NOT_ALIVE;
    for (row, value) in values.iter().enumerate() {
        let value = value.filter(|value| *value > 0.0);
        if let Some(value) = value.filter(|_| is_part(of_series[row])) {
            *sums.entry((of_bar[row], of_series[row])).or_default() += value;
        }
    }
    if sums.is_empty() {
        return None;
    }
    // Colours by size over all bars.
    let mut totals = vec![0.0; series.len()];
    for ((_, of), value) in &sums {
        totals[*of] += value;
    }
    let mut order: Vec<usize> = (0..series.len()).filter(|n| totals[*n] > 0.0).collect();
    let is_nothing = |of: usize| series[of] == legend::UNACCOUNTED;
    order.sort_by(|a, b| {
        let size = totals[*b].total_cmp(&totals[*a]);
        is_nothing(*a)
            .cmp(&is_nothing(*b))
            .then(size)
            .then(a.cmp(b))
    });
    let names: Vec<String> = order.iter().map(|n| series[*n].clone()).collect();
    let mut colour = vec![SERIES.len(); series.len()];
    for (n, of) in order.iter().enumerate() {
        colour[*of] = n;
    }

    let unit = Unit::from_column(&chart.y);
    let shown = bars.len().min(MAX_BARS);
    let left_out = bars.len() - shown;
    let note = if left_out > 0 { 18.0 } else { 0.0 };
    let below = legend::height(&names, WIDTH - 16.0);
    let mut scene = Scene::new(
        &chart.title,
        WIDTH,
        14.0 + shown as f64 * ROW + below + note + 10.0,
    );
    let (left, right) = (120.0, WIDTH - 90.0);
    for (bar, name) in bars.iter().enumerate().take(shown) {
        let y = 10.0 + bar as f64 * ROW;
        let whole: f64 = sums
            .iter()
            .filter(|(key, _)| key.0 == bar)
            .map(|(_, v)| v)
            .sum();
        let label = font::fit(name, SMALL, left - 20.0);
        scene.text((left - 8.0, y + 16.0), &label, Anchor::End, Ink::Text);
        let is_measured = (0..values.len()).any(|row| of_bar[row] == bar && values[row].is_some());
        if !is_measured {
            let at = (left + 4.0, y + 16.0);
            scene.text(at, "not measured", Anchor::Start, Ink::Faint);
            continue;
        }
        let mut x = left;
        for of in &order {
            let Some(value) = sums.get(&(bar, *of)) else {
                continue;
            };
            let share = value / whole;
            let width = share * (right - left);
            // A gap tells neighbours apart without colours.
            let drawn = if width > 3.0 { width - 1.0 } else { width };
            let (ink, on) = if is_nothing(*of) {
                (Ink::Unaccounted, Ink::Text)
            } else {
                (Ink::Series(colour[*of]), Ink::On(colour[*of]))
            };
            scene.rect([x, y, drawn, 32.0], ink);
            let (text, percent) = (show(*value, unit), units::percent(share));
            if font::width(&percent, SMALL) + 8.0 < width {
                scene.text((x + width / 2.0, y + 16.0), &percent, Anchor::Middle, on);
            }
            let mark = format!("{}: {text}, {percent} of {name}", series[*of]);
            scene.mark([x, y, width, 32.0], mark);
            x += width;
        }
        let text = show(whole, unit);
        scene.text((right + 8.0, y + 16.0), &text, Anchor::Start, Ink::Text);
    }
    legend::draw(&mut scene, &names, [8.0, 14.0 + shown as f64 * ROW]);
    if left_out > 0 {
        let text = format!("{left_out} further ones are left out");
        let at = (8.0, scene.height - 10.0);
        scene.text(at, &text, Anchor::Start, Ink::Faint);
    }
    Some(scene)
}
