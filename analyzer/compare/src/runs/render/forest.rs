//! Ratios of medians with their intervals, as a chart.

use trueno_plugin::{Chart, Scale, Table};
use trueno_render::chart::{self, Scene};

use crate::runs::Comparison;

/// A forest plot of each name's ratio; above 1 it got slower. `None` if there are no ratios.
pub fn forest(comparison: &Comparison) -> Option<Scene> {
    let rows: Vec<_> = comparison
        .names
        .iter()
        .filter_map(|name| {
            Some((
                format!("{} {}", name.name.kind.word(), name.name.name),
                name.ratio?,
            ))
        })
        .collect();
    let table = Table::build("names")
        .text("name", rows.iter().map(|row| row.0.as_str()))
        .f64("ratio", rows.iter().map(|row| row.1.value))
        .f64("low", rows.iter().map(|row| row.1.low))
        .f64("high", rows.iter().map(|row| row.1.high))
        .finish()
        .ok()?;
    let title = "Ratio of medians, run over base, with its interval";
    let spec = Chart::forest(title, "names", "name", "ratio", "low", "high")
        .reference(1.0)
        .axes("times the base", "")
        .scales(Scale::Log, Scale::Linear);
    chart::scene_of(&spec, &[table])
}
