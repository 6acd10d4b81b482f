//! A bar a row: its name, its length, its value.

use trueno_model::units::Unit;

use super::data::{Data, show};
use super::palette::Ink;
use super::scene::{Anchor, SMALL, Scene};
use super::{WIDTH, font};

const MAX_BARS: usize = 24;
const ROW: f64 = 24.0;

/// The rows with the longest bars, in the table's order.
pub fn scene(data: &Data<'_>) -> Option<Scene> {
    let chart = data.chart;
    let (names, values) = (data.texts(&chart.x), data.numbers(&chart.y));
    let unit = Unit::from_column(&chart.y);
    let largest = values.iter().flatten().fold(0.0, |a: f64, b| a.max(*b));
    values.iter().flatten().next()?;
    let mut kept: Vec<usize> = (0..values.len()).collect();
    let length = |row: &usize| values[*row].unwrap_or(0.0);
    kept.sort_by(|a, b| length(b).total_cmp(&length(a)).then(a.cmp(b)));
    let left_out = kept.split_off(kept.len().min(MAX_BARS)).len();
    kept.sort_unstable();

    let mut scene = Scene::new(&chart.title, WIDTH, kept.len() as f64 * ROW + 30.0);
    let (left, right) = (190.0, WIDTH - 110.0);
    for (i, row) in kept.into_iter().enumerate() {
        let middle = 10.0 + (i as f64 + 0.5) * ROW;
        let name = font::fit(&names[row], SMALL, left - 20.0);
        scene.text((left - 8.0, middle), &name, Anchor::End, Ink::Text);
        let Some(value) = values[row] else {
            let missing = "not measured";
            scene.text((left + 4.0, middle), missing, Anchor::Start, Ink::Faint);
            continue;
        };
        let share = if largest > 0.0 {
            (value / largest).max(0.0)
        } else {
            0.0
        };
        let length = share * (right - left);
        let at = [
            left,
            middle - 8.0,
            length.max(if value > 0.0 { 1.0 } else { 0.0 }),
            16.0,
        ];
        scene.rect(at, Ink::Series(0));
        let text = show(value, unit);
        scene.text(
            (left + length + 6.0, middle),
            &text,
            Anchor::Start,
            Ink::Text,
        );
        scene.mark(
            [left, middle - 10.0, length, 20.0],
            format!("{}: {text}", names[row]),
        );
    }
    scene.line(
        vec![(left, 8.0), (left, scene.height - 18.0)],
        Ink::Faint,
        1,
    );
    if left_out > 0 {
        let text = format!("{left_out} shorter ones are left out");
        let at = (left, scene.height - 8.0);
        scene.text(at, &text, Anchor::Start, Ink::Faint);
    }
    Some(scene)
}
