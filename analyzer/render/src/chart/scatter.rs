//! Points, sized and named, before lines: a roofline when the lines are roofs.

use trueno_model::units::Unit;
use trueno_plugin::Scale;

use super::axis::Axis;
use super::data::{self, Data, kinds, show};
use super::labels::{self, Label};
use super::palette::Ink;
use super::scene::{Anchor, SMALL, Scene, overlap};
use super::{WIDTH, font, legend};
use crate::view::heading;

const HEIGHT: f64 = 380.0;
/// Radius of the largest point in pixels, and of the smallest.
const LARGEST: f64 = 14.0;
const MIN_RADIUS: f64 = 2.5;
const SIZES: f64 = 34.0;
const MAX_POINTS: usize = 1_500;
const MAX_NAMES: usize = 16;
/// Limits on background lines, and on points of one line.
const MAX_LINES: usize = 32;
const MAX_LINE_POINTS: usize = 400;
/// Lines with more points than a roofline are curves without a ridge point.
const MAX_BENDS: usize = 8;

pub fn scene(data: &Data<'_>) -> Option<Scene> {
    let chart = data.chart;
    let (xs, ys) = (data.numbers(&chart.x), data.numbers(&chart.y));
    let sizes = chart.size.as_deref().map(|column| data.numbers(column));
    let series = data
        .texts_of(&chart.series)
        .unwrap_or_else(|| vec![String::new(); xs.len()]);
    let labels = data.texts_of(&chart.label);
    let (x_unit, y_unit) = (Unit::from_column(&chart.x), Unit::from_column(&chart.y));
    let size = |row: usize| sizes.as_ref().and_then(|sizes| sizes[row]).unwrap_or(0.0);

    let drawable = |value: Option<f64>, scale: Scale| {
        value.is_some_and(|value| scale == Scale::Linear || value > 0.0)
    };
    let mut rows: Vec<usize> = (0..xs.len())
        .filter(|row| drawable(xs[*row], chart.x_scale) && drawable(ys[*row], chart.y_scale))
        .collect();
    if rows.is_empty() {
        return None;
    }
    rows.sort_by(|a, b| size(*b).total_cmp(&size(*a)).then(a.cmp(b)));
    rows.truncate(MAX_POINTS);
    let largest = rows.first().map_or(0.0, |row| size(*row));
    let (series, of) = kinds(&series);
    let has_legend = series.len() > 1;
    let below = if has_legend {
        legend::height(&series, WIDTH - 16.0) + 6.0
    } else {
        0.0
    };

    let has_sizes = chart.size.is_some() && largest > 0.0;
    let sizes_below = if has_sizes { SIZES } else { 0.0 };
    let height = HEIGHT + 74.0 + below + sizes_below;
    let mut scene = Scene::new(&chart.title, WIDTH, height);
    let (left, right, top, bottom) = (84.0, WIDTH - 18.0, 28.0, HEIGHT + 28.0);
    let lines = lines(data);
    let (lx, ly) = (
        lines.iter().flat_map(|l| &l.1).map(|p| p.0),
        lines.iter().flat_map(|l| &l.1).map(|p| p.1),
    );
    let over = rows.iter().filter_map(|row| xs[*row]).chain(lx);
    let x = Axis::over(over, chart.x_scale, x_unit, [left, right])?.roomy();
    let over = rows.iter().filter_map(|row| ys[*row]).chain(ly);
    let y = Axis::over(over, chart.y_scale, y_unit, [bottom, top])?.roomy();
    x.draw_below(&mut scene, top, bottom, &data.x_title());
    y.draw_beside(&mut scene, left, right, &data.y_title());

    let place = |at: &(f64, f64)| Some((x.px_within(at.0)?, y.px_within(at.1)?));
    for (name, points) in &lines {
        let drawn: Vec<(f64, f64)> = points.iter().filter_map(place).collect();
        // Where a roof bends, memory and arithmetic allow the same: the ridge.
        for (at, point) in points
            .iter()
            .zip(&drawn)
            .skip(1)
            .take(if points.len() > MAX_BENDS {
                0
            } else {
                points.len().saturating_sub(2)
            })
        {
            scene.dot(*point, 3.0, Ink::Faint);
            let text = format!(
                "ridge of {name}\n{} {}\n{}",
                show(at.0, x_unit),
                data.x_title(),
                show(at.1, y_unit)
            );
            scene.mark([point.0, point.1, 0.0, 0.0], text);
        }
        scene.line(drawn, Ink::Faint, 1);
    }
    let radius = |row: usize| {
        if has_sizes {
            radius_of(size(row) / largest)
        } else {
            4.0
        }
    };
    let mut named = Vec::new();
    for row in &rows {
        let Some(at) = xs[*row].zip(ys[*row]).as_ref().and_then(place) else {
            continue;
        };
        let reach = radius(*row);
        scene.dot(at, reach + 1.0, Ink::Paper);
        scene.dot(at, reach, Ink::Series(of[*row]));
        let name = labels
            .as_ref()
            .map_or(String::new(), |labels| labels[*row].clone());
        let mut text = format!("{name} {}", series[of[*row]]).trim().to_owned();
        let (vx, vy) = (xs[*row].unwrap_or(0.0), ys[*row].unwrap_or(0.0));
        text.push_str(&format!(
            "\n{}: {}\n{}: {}",
            data.x_title(),
            show(vx, x_unit),
            data.y_title(),
            show(vy, y_unit)
        ));
        if let Some(column) = &chart.size {
            text.push_str(&format!(
                "\n{}: {}",
                heading(column),
                show(size(*row), Unit::from_column(column))
            ));
        }
        scene.mark([at.0 - reach, at.1 - reach, 2.0 * reach, 2.0 * reach], text);
        named.push(Label {
            name,
            at,
            reach,
            above: false,
        });
    }
    roof_names(
        &mut scene,
        &lines,
        place,
        [left, top, right, bottom],
        &named,
    );
    labels::write_on(&mut scene, &named, [left, top, right, bottom], MAX_NAMES);
    if has_legend {
        legend::draw(&mut scene, &series, [8.0, bottom + 42.0]);
    }
    if let (true, Some(column)) = (has_sizes, &chart.size) {
        let unit = Unit::from_column(column);
        let middle = bottom + 42.0 + below + SIZES / 2.0;
        size_legend(&mut scene, &heading(column), middle, |share| {
            show(largest * share, unit)
        });
    }
    Some(scene)
}

/// A point's area is proportional to its share of the largest. The smallest ones have a minimum radius.
fn radius_of(share: f64) -> f64 {
    (LARGEST * share.max(0.0).sqrt()).max(MIN_RADIUS)
}

/// Legend of sizes: the largest, a quarter and a sixteenth of it.
fn size_legend(scene: &mut Scene, name: &str, y: f64, show: impl Fn(f64) -> String) {
    let name = font::fit(&format!("area: {name}"), SMALL, 220.0);
    scene.text((8.0, y), &name, Anchor::Start, Ink::Text);
    let mut x = 8.0 + font::width(&name, SMALL) + 16.0;
    for share in [1.0, 0.25, 0.0625] {
        let radius = radius_of(share);
        scene.dot((x + radius, y), radius, Ink::Faint);
        x += 2.0 * radius + 6.0;
        let text = show(share);
        scene.text((x, y), &text, Anchor::Start, Ink::Text);
        x += font::width(&text, SMALL) + 18.0;
    }
}

/// Names of lines, above their right ends where there is room.
fn roof_names(
    scene: &mut Scene,
    lines: &[(String, Vec<(f64, f64)>)],
    place: impl Fn(&(f64, f64)) -> Option<(f64, f64)>,
    [left, top, right, bottom]: [f64; 4],
    points: &[Label],
) {
    let mut taken: Vec<[f64; 4]> = points.iter().map(Label::mark).collect();
    let drawn: Vec<Vec<(f64, f64)>> = lines
        .iter()
        .map(|(_, line)| line.iter().filter_map(&place).collect())
        .collect();
    for (name, line) in lines {
        let Some((x, y)) = line.last().and_then(&place) else {
            continue;
        };
        let text = font::fit(name, SMALL, 260.0);
        let width = font::width(&text, SMALL);
        let free = |crossed: bool| {
            [-9.0, 10.0, -24.0, 25.0].into_iter().find_map(|dy| {
                let bounds = [x.min(right) - width, y + dy - 7.0, width, 14.0];
                let inside = bounds[0] >= left && bounds[1] >= top && bounds[1] + 14.0 <= bottom;
                let is_free = inside && !taken.iter().any(|other| overlap(*other, bounds));
                (is_free && (crossed || !crosses(&drawn, bounds))).then_some(bounds)
            })
        };
        // Rather where no roof runs through it.
        let free = free(false).or_else(|| free(true));
        if let Some(bounds) = free {
            let at = (bounds[0] + width, bounds[1] + 7.0);
            scene.text(at, &text, Anchor::End, Ink::Faint);
            taken.push(bounds);
        }
    }
}

fn crosses(lines: &[Vec<(f64, f64)>], [x, y, width, height]: [f64; 4]) -> bool {
    let inside = |(px, py): (f64, f64)| px > x && px < x + width && py > y && py < y + height;
    lines.iter().flat_map(|line| line.windows(2)).any(|ends| {
        let ((ax, ay), (bx, by)) = (ends[0], ends[1]);
        let steps = ((bx - ax).abs().max((by - ay).abs()) / 3.0)
            .ceil()
            .clamp(1.0, 1_000.0);
        (0..=steps as usize).any(|step| {
            let part = step as f64 / steps;
            inside((ax + (bx - ax) * part, ay + (by - ay) * part))
        })
    })
}

fn lines(data: &Data<'_>) -> Vec<(String, Vec<(f64, f64)>)> {
    let (Some(spec), Some(table)) = (&data.chart.lines, data.lines) else {
        return Vec::new();
    };
    let (xs, ys) = (data::numbers(table, &spec.x), data::numbers(table, &spec.y));
    let names = match &spec.series {
        Some(column) => data::texts(table, column),
        None => vec![String::new(); xs.len()],
    };
    let (names, of) = kinds(&names);
    let names = names.into_iter().take(MAX_LINES);
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = names.map(|name| (name, Vec::new())).collect();
    for (row, of) in of.into_iter().enumerate() {
        if let (Some(line), Some(point)) = (lines.get_mut(of), xs[row].zip(ys[row])) {
            line.1.push(point);
        }
    }
    for (_, points) in &mut lines {
        // Roofs have a handful; of very long lines every so many is enough behind the marks.
        let step = points.len().div_ceil(MAX_LINE_POINTS).max(1);
        *points = points.iter().copied().step_by(step).collect();
    }
    lines
}
