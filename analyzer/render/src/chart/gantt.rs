//! Bars on a time axis, a row a lane.

use std::collections::BTreeMap;

use trueno_model::units::Unit;
use trueno_plugin::{Scale, counted};

use super::axis::Axis;
use super::data::{Data, kinds, show};
use super::palette::Ink;
use super::scene::{Anchor, SMALL, Scene};
use super::{WIDTH, font, legend};

const MAX_LANES: usize = 24;
const ROW: f64 = 22.0;

struct Piece {
    from: f64,
    to: f64,
    series: usize,
    text: String,
}

pub fn scene(data: &Data<'_>) -> Option<Scene> {
    let chart = data.chart;
    let (starts, widths) = (
        data.numbers(&chart.x),
        data.numbers(chart.width.as_deref()?),
    );
    let (lanes, of_lane) = kinds(&data.texts(&chart.y));
    let series = data
        .texts_of(&chart.series)
        .unwrap_or_else(|| vec![String::new(); starts.len()]);
    let labels = data
        .texts_of(&chart.label)
        .unwrap_or_else(|| series.clone());
    let (series, of_series) = kinds(&series);
    let unit = Unit::from_column(&chart.x);

    let rows: Vec<usize> = (0..starts.len())
        .filter(|row| starts[*row].is_some() && widths[*row].is_some_and(|width| width >= 0.0))
        .collect();
    let span = |row: usize| {
        let start = starts[row].unwrap_or(0.0);
        (start, start + widths[row].unwrap_or(0.0))
    };
    let mut times = vec![0.0; lanes.len()];
    for row in &rows {
        times[of_lane[*row]] += widths[*row].unwrap_or(0.0);
    }
    let mut kept: Vec<usize> = (0..lanes.len()).collect();
    kept.sort_by(|a, b| times[*b].total_cmp(&times[*a]).then(a.cmp(b)));
    let left_out = kept.split_off(kept.len().min(MAX_LANES)).len();
    // By name, numbers in their order: as the other views have them.
    kept.sort_by_key(|lane| (lanes[*lane].len(), lanes[*lane].clone()));

    let has_legend = series.len() > 1;
    let below = if has_legend {
        legend::height(&series, WIDTH - 16.0) + 6.0
    } else {
        0.0
    };
    let bottom = 12.0 + kept.len() as f64 * ROW;
    let mut scene = Scene::new(&chart.title, WIDTH, bottom + 46.0 + below);
    let (left, right) = (160.0, WIDTH - 18.0);
    let over = rows.iter().flat_map(|row| [span(*row).0, span(*row).1]);
    let x = Axis::over(over, Scale::Linear, unit, [left, right])?;
    x.draw_below(&mut scene, 8.0, bottom, &data.x_title());
    for (i, lane) in kept.iter().enumerate() {
        let y = 12.0 + i as f64 * ROW;
        let label = font::fit(
            if lanes[*lane].is_empty() {
                "no lane"
            } else {
                &lanes[*lane]
            },
            SMALL,
            left - 16.0,
        );
        scene.text(
            (left - 8.0, y + ROW / 2.0 - 2.0),
            &label,
            Anchor::End,
            Ink::Text,
        );
        let (labels, series, of_series) = (&labels, &series, &of_series);
        let bars = rows
            .iter()
            .filter(|row| of_lane[**row] == *lane)
            .map(|row| {
                let (from, to) = span(*row);
                let row = *row;
                let text = move || {
                    format!(
                        "{}\n{}\n{} from {}",
                        labels[row],
                        series[of_series[row]],
                        show(to - from, unit),
                        show(from, unit)
                    )
                };
                (
                    x.px_within(from).unwrap_or(left),
                    x.px_within(to).unwrap_or(left),
                    of_series[row],
                    text,
                )
            });
        for piece in pieces(bars) {
            let width = piece.to - piece.from;
            let at = [piece.from, y, width.max(1.0), ROW - 5.0];
            scene.rect(at, Ink::Series(piece.series));
            if width >= 2.0 {
                scene.mark(at, piece.text);
            }
        }
    }
    if left_out > 0 {
        let text = counted(
            left_out,
            "lane with less time is left out",
            "lanes with less time are left out",
        );
        scene.text((8.0, bottom + 29.0), &text, Anchor::Start, Ink::Faint);
    }
    if has_legend {
        legend::draw(&mut scene, &series, [8.0, bottom + 40.0]);
    }
    Some(scene)
}

/// Keeps bars wider than a pixel. Narrower ones are merged: each pixel shows what takes the most of it. A lane thus
/// has at most one piece per pixel, however many bars it has.
fn pieces<F: Fn() -> String>(bars: impl Iterator<Item = (f64, f64, usize, F)>) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut pixels: BTreeMap<i64, BTreeMap<usize, f64>> = BTreeMap::new();
    for (from, to, series, text) in bars {
        if to - from >= 1.0 {
            let text = text();
            out.push(Piece {
                from,
                to,
                series,
                text,
            });
        } else {
            *pixels
                .entry(from as i64)
                .or_default()
                .entry(series)
                .or_default() += to - from;
        }
    }
    for (pixel, of) in pixels {
        let most = of
            .iter()
            .max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        let Some((series, _)) = most else { continue };
        match out.last_mut() {
            // Neighbours of one colour are one shape.
            Some(last)
                if last.text.is_empty() && last.series == *series && last.to == pixel as f64 =>
            {
                last.to += 1.0;
            }
            _ => out.push(Piece {
                from: pixel as f64,
                to: pixel as f64 + 1.0,
                series: *series,
                text: String::new(),
            }),
        }
    }
    for piece in &mut out {
        if piece.text.is_empty() {
            piece.text = "many short pieces".to_owned();
        }
    }
    out
}
