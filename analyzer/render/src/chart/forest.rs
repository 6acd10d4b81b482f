//! Estimates with their intervals, a row each, beside the line of no difference.

use trueno_model::units::Unit;

use super::axis::Axis;
use super::data::{Data, show};
use super::palette::Ink;
use super::scene::{Anchor, SMALL, Scene};
use super::{WIDTH, font};

const MAX_ROWS: usize = 40;
const ROW: f64 = 22.0;

/// Rows whose interval does not contain the reference are highlighted.
pub fn scene(data: &Data<'_>) -> Option<Scene> {
    let chart = data.chart;
    let (names, xs) = (data.texts(&chart.y), data.numbers(&chart.x));
    let (lows, highs) = (
        data.numbers(chart.low.as_deref()?),
        data.numbers(chart.high.as_deref()?),
    );
    let unit = Unit::from_column(&chart.x);
    let mut rows: Vec<usize> = (0..xs.len()).filter(|row| xs[*row].is_some()).collect();
    if rows.is_empty() {
        return None;
    }
    let far = |row: &usize| (xs[*row].unwrap_or(0.0) - chart.reference.unwrap_or(0.0)).abs();
    rows.sort_by(|a, b| far(b).total_cmp(&far(a)).then(a.cmp(b)));
    let left_out = rows.split_off(rows.len().min(MAX_ROWS)).len();
    rows.sort_unstable();

    let bottom = 12.0 + rows.len() as f64 * ROW;
    let mut scene = Scene::new(&chart.title, WIDTH, bottom + 46.0);
    let (left, right) = (200.0, WIDTH - 80.0);
    let over = rows
        .iter()
        .flat_map(|row| [xs[*row], lows[*row], highs[*row]])
        .flatten();
    let x = Axis::over(
        over.chain(chart.reference),
        chart.x_scale,
        unit,
        [left, right],
    )?
    .roomy();
    x.draw_below(&mut scene, 8.0, bottom, &data.x_title());
    if let Some(at) = chart.reference.and_then(|value| x.px(value)) {
        scene.line(vec![(at, 8.0), (at, bottom)], Ink::Text, 1);
    }
    for (i, row) in rows.iter().enumerate() {
        let y = 12.0 + (i as f64 + 0.5) * ROW;
        let Some(at) = xs[*row].and_then(|value| x.px_within(value)) else {
            continue;
        };
        let name = font::fit(&names[*row], SMALL, left - 20.0);
        scene.text((left - 10.0, y), &name, Anchor::End, Ink::Text);
        let ends = lows[*row].zip(highs[*row]);
        let is_off = ends
            .zip(chart.reference)
            .is_some_and(|((low, high), reference)| low > reference || high < reference);
        let ink = if is_off { Ink::Alarm } else { Ink::Series(0) };
        let estimate = show(xs[*row].unwrap_or(0.0), unit);
        let mut text = format!("{}\n{estimate}", names[*row]);
        if let Some((low, high)) = ends
            && let (Some(from), Some(to)) = (x.px_within(low), x.px_within(high))
        {
            scene.line(vec![(from, y), (to, y)], ink, 2);
            for end in [from, to] {
                scene.line(vec![(end, y - 4.0), (end, y + 4.0)], ink, 2);
            }
            text.push_str(&format!(
                ", from {} to {}",
                show(low, unit),
                show(high, unit)
            ));
        }
        scene.rect([at - 4.0, y - 4.0, 8.0, 8.0], ink);
        scene.text((right + 8.0, y), &estimate, Anchor::Start, Ink::Text);
        scene.mark([left, y - ROW / 2.0, right - left, ROW], text);
    }
    if left_out > 0 {
        let text = format!("{left_out} nearer to it are left out");
        scene.text((8.0, bottom + 29.0), &text, Anchor::Start, Ink::Faint);
    }
    Some(scene)
}
