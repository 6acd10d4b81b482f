//! Lines through the rows of each series; rows with a label stand out.

use trueno_model::units::Unit;
use trueno_plugin::Scale;

use super::axis::Axis;
use super::data::{Data, kinds, show};
use super::labels::{self, Label};
use super::palette::{Ink, SERIES};
use super::scene::Scene;
use super::{WIDTH, legend};

const HEIGHT: f64 = 250.0;
const MAX_MARKED: usize = 300;
/// Beyond this, a series shows only minimum and maximum per pixel.
const MAX_POINTS: usize = 1_400;

/// Series are sorted by their largest values, so that the most important ones get colours.
pub fn scene(data: &Data<'_>) -> Option<Scene> {
    let chart = data.chart;
    let (xs, ys) = (data.numbers(&chart.x), data.numbers(&chart.y));
    let series = data
        .texts_of(&chart.series)
        .unwrap_or_else(|| vec![String::new(); xs.len()]);
    let labels = data.texts_of(&chart.label);
    let (series, of) = kinds(&series);
    let (x_unit, y_unit) = (Unit::from_column(&chart.x), Unit::from_column(&chart.y));

    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); series.len()];
    for row in 0..xs.len() {
        if let (Some(_), Some(y)) = (xs[row], ys[row])
            && (chart.y_scale == Scale::Linear || y > 0.0)
        {
            rows[of[row]].push(row);
        }
    }
    let most = |rows: &[usize]| rows.iter().filter_map(|r| ys[*r]).fold(f64::MIN, f64::max);
    let mut order: Vec<usize> = (0..series.len()).filter(|n| !rows[*n].is_empty()).collect();
    order.sort_by(|a, b| most(&rows[*b]).total_cmp(&most(&rows[*a])).then(a.cmp(b)));
    let names: Vec<String> = order.iter().map(|n| series[*n].clone()).collect();
    let has_legend = names.len() > 1;
    let below = if has_legend {
        legend::height(&names, WIDTH - 16.0) + 6.0
    } else {
        0.0
    };

    let mut scene = Scene::new(&chart.title, WIDTH, HEIGHT + 74.0 + below);
    let (left, right, top, bottom) = (84.0, WIDTH - 18.0, 28.0, HEIGHT + 28.0);
    let drawn = || order.iter().flat_map(|n| &rows[*n]);
    let x = Axis::over(
        drawn().filter_map(|r| xs[*r]),
        chart.x_scale,
        x_unit,
        [left, right],
    )?;
    // A quantity from zero on shows by its height how much it is.
    let zero = (chart.y_scale == Scale::Linear).then_some(0.0);
    let over = drawn().filter_map(|r| ys[*r]).chain(zero);
    let y = Axis::over(over, chart.y_scale, y_unit, [bottom, top])?.roomy();
    x.draw_below(&mut scene, top, bottom, &data.x_title());
    y.draw_beside(&mut scene, left, right, &data.y_title());

    let at = |row: usize| Some((x.px(xs[row]?)?, y.px_within(ys[row]?)?));
    for (n, of) in order.iter().enumerate().rev() {
        let ink = Ink::Series(n);
        let points: Vec<(f64, f64)> = rows[*of].iter().filter_map(|row| at(*row)).collect();
        if let ([point], true) = (points.as_slice(), n < SERIES.len()) {
            scene.dot(*point, 3.0, ink);
        }
        scene.line(thinned(points), ink, if n < SERIES.len() { 2 } else { 1 });
    }
    let told = |row: usize| {
        let name = if has_legend {
            format!("{}\n", series[of[row]])
        } else {
            String::new()
        };
        let (x, y) = (
            show(xs[row].unwrap_or(0.0), x_unit),
            show(ys[row].unwrap_or(0.0), y_unit),
        );
        format!("{name}{}: {x}\n{}: {y}", data.x_title(), data.y_title())
    };
    let all: Vec<usize> = drawn().copied().collect();
    let marked: Vec<usize> = match &labels {
        Some(labels) => all
            .iter()
            .copied()
            .filter(|row| !labels[*row].is_empty())
            .collect(),
        None => Vec::new(),
    };
    // Of very many, the highest.
    let mut marked = marked;
    marked.sort_by(|a, b| {
        ys[*b]
            .unwrap_or(0.0)
            .total_cmp(&ys[*a].unwrap_or(0.0))
            .then(a.cmp(b))
    });
    marked.truncate(MAX_MARKED);
    let mut named: Vec<Label> = Vec::new();
    for row in &marked {
        let (Some(at), Some(labels)) = (at(*row), &labels) else {
            continue;
        };
        scene.dot(at, 4.0, Ink::Alarm);
        scene.mark(
            [at.0, at.1, 0.0, 0.0],
            format!("{}\n{}", labels[*row], told(*row)),
        );
        named.push(Label {
            name: labels[*row].clone(),
            at,
            reach: 4.0,
            above: true,
        });
    }
    labels::write(&mut scene, &named, [left, top, right, bottom], 12);
    let step = (all.len() / 300).max(1);
    for row in all.iter().step_by(step).filter(|row| !marked.contains(row)) {
        if let Some(at) = at(*row) {
            scene.mark([at.0, at.1, 0.0, 0.0], told(*row));
        }
    }
    if has_legend {
        legend::draw(&mut scene, &names, [8.0, bottom + 42.0]);
    }
    Some(scene)
}

/// Of points within the same pixel column, keeps the first, highest, lowest and last. The line looks as if all were
/// drawn.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= MAX_POINTS {
        return points;
    }
    let mut kept = Vec::new();
    let mut from = 0;
    while from < points.len() {
        let column = points[from].0.floor();
        let same = points[from..]
            .iter()
            .take_while(|p| p.0.floor() == column)
            .count()
            .max(1);
        let part = from..from + same;
        let by = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
        let mut of = vec![
            part.start,
            part.clone().min_by(by).unwrap_or(part.start),
            part.clone().max_by(by).unwrap_or(part.start),
            part.end - 1,
        ];
        of.sort_unstable();
        of.dedup();
        kept.extend(of.into_iter().map(|n| points[n]));
        from += same;
    }
    kept
}
