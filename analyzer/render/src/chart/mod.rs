//! Charts: what a plugin asks for, laid out as shapes once, and drawn by plotters as SVG or PNG.
//!
//! A kind of chart is a file that makes a [`Scene`] and a line of [`scene_of`], which the compiler misses when it is
//! not there; nothing but [`render`](Scene::svg_file) knows how
//! shapes are drawn. Text is measured and, for PNG, drawn with a font that comes along.

mod axis;
mod bars;
pub mod data;
pub mod flame;
pub(crate) mod font;
mod forest;
mod gantt;
mod heatmap;
mod labels;
mod legend;
mod line;
mod palette;
mod png;
mod render;
mod scatter;
mod scene;
mod stacked;
#[cfg(test)]
mod tests;

pub use data::Data;
pub use palette::{Ink, OTHER, SERIES};
pub use render::escaped;
pub use render::{DrawError, dark_rules};
pub use scene::{Anchor, Item, Mark, Scene, overlap};

use trueno_model::Section;
use trueno_plugin::{Chart, ChartKind, Table};

pub const WIDTH: f64 = 760.0;

/// Lays out a chart of a section; `None` if no row can be drawn.
pub fn scene(chart: &Chart, section: &Section) -> Option<Scene> {
    scene_of(chart, &section.tables)
}

pub fn scene_of(chart: &Chart, tables: &[Table]) -> Option<Scene> {
    let data = Data::find(chart, tables)?;
    match chart.kind {
        ChartKind::Bar => bars::scene(&data),
        ChartKind::StackedBar => stacked::scene(&data),
        ChartKind::Line => line::scene(&data),
        ChartKind::Scatter => scatter::scene(&data),
        ChartKind::Gantt => gantt::scene(&data),
        ChartKind::Heatmap => heatmap::scene(&data),
        ChartKind::Forest => forest::scene(&data),
    }
}
