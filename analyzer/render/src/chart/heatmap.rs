//! Cells of a grid, coloured by a value.

use trueno_model::units::Unit;

use super::WIDTH;
use super::data::{Data, show};
use super::palette::Ink;
use super::scene::{Anchor, Scene};
use crate::view::heading;

/// Cells along an edge that are drawn individually. Beyond it, neighbours are merged to their maximum.
const MAX_CELLS: f64 = 64.0;

/// Columns and rows are integers.
pub fn scene(data: &Data<'_>) -> Option<Scene> {
    let chart = data.chart;
    let value = chart.value.as_deref()?;
    let (xs, ys, values) = (
        data.numbers(&chart.x),
        data.numbers(&chart.y),
        data.numbers(value),
    );
    let cells: Vec<(f64, f64, f64)> = (0..values.len())
        .filter_map(|row| Some((xs[row]?, ys[row]?, values[row]?)))
        .collect();
    let reach = |of: fn(&(f64, f64, f64)) -> f64| {
        let all = cells.iter().map(of);
        all.fold((f64::MAX, f64::MIN), |(low, high), v| {
            (low.min(v), high.max(v))
        })
    };
    let ((x0, x1), (y0, y1), (least, most)) = (reach(|c| c.0), reach(|c| c.1), reach(|c| c.2));
    if cells.is_empty() {
        return None;
    }
    let (columns, rows) = ((x1 - x0 + 1.0).max(1.0), (y1 - y0 + 1.0).max(1.0));
    let (join_x, join_y) = (
        (columns / MAX_CELLS).ceil().max(1.0),
        (rows / MAX_CELLS).ceil().max(1.0),
    );
    let mut grid: std::collections::BTreeMap<(i64, i64), f64> = std::collections::BTreeMap::new();
    for (x, y, v) in &cells {
        let key = (((y - y0) / join_y) as i64, ((x - x0) / join_x) as i64);
        let cell = grid.entry(key).or_insert(*v);
        *cell = cell.max(*v);
    }
    let (across, down) = ((columns / join_x).ceil(), (rows / join_y).ceil());
    let (left, right, top) = (70.0, WIDTH - 120.0, 14.0);
    let size_x = ((right - left) / across).min(60.0);
    let size_y = (300.0 / down).clamp(3.0, 30.0);
    let bottom = top + down * size_y;
    let mut scene = Scene::new(&chart.title, WIDTH, (bottom + 50.0).max(top + 96.0));
    let unit = Unit::from_column(value);
    let share = |v: f64| {
        if most > least {
            (v - least) / (most - least)
        } else {
            1.0
        }
    };
    let gap = |size: f64| if size > 6.0 { 1.0 } else { 0.0 };
    for ((row, column), v) in &grid {
        let at = [
            left + *column as f64 * size_x,
            top + *row as f64 * size_y,
            size_x - gap(size_x),
            size_y - gap(size_y),
        ];
        scene.rect(at, Ink::Scale(share(*v)));
        let (x, y) = (x0 + *column as f64 * join_x, y0 + *row as f64 * join_y);
        let place = format!("{} {x:.0}, {} {y:.0}", heading(&chart.x), heading(&chart.y));
        scene.mark(
            at,
            format!("{place}\n{}: {}", heading(value), show(*v, unit)),
        );
    }
    let ends = [
        (left + size_x / 2.0, x0),
        (left + (across - 0.5) * size_x, x1),
    ];
    for (x, value) in ends.into_iter().take(if across > 1.0 { 2 } else { 1 }) {
        scene.text(
            (x, bottom + 11.0),
            &format!("{value:.0}"),
            Anchor::Middle,
            Ink::Faint,
        );
    }
    let ends = [(top + size_y / 2.0, y0), (top + (down - 0.5) * size_y, y1)];
    for (y, value) in ends
        .into_iter()
        .take(if down > 1.0 && down * size_y > 24.0 {
            2
        } else {
            1
        })
    {
        scene.text(
            (left - 6.0, y),
            &format!("{value:.0}"),
            Anchor::End,
            Ink::Faint,
        );
    }
    scene.text(
        (left, bottom + 29.0),
        &format!("{} →   {} ↓", data.x_title(), data.y_title()),
        Anchor::Start,
        Ink::Faint,
    );
    key(
        &mut scene,
        [right + 16.0, top],
        [(0.0, least), (1.0, most)],
        unit,
        &heading(value),
    );
    Some(scene)
}

fn key(scene: &mut Scene, [x, y]: [f64; 2], ends: [(f64, f64); 2], unit: Unit, name: &str) {
    scene.text((x, y + 6.0), name, Anchor::Start, Ink::Faint);
    for step in 0..9 {
        let at = [x, y + 16.0 + f64::from(8 - step) * 7.0, 12.0, 7.0];
        scene.rect(at, Ink::Scale(f64::from(step) / 8.0));
    }
    for (share, value) in ends {
        let at = (x + 18.0, y + 20.0 + (1.0 - share) * 56.0);
        scene.text(at, &show(value, unit), Anchor::Start, Ink::Text);
    }
}
