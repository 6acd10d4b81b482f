//! Chart specifications: which columns of an emitted table mean what.
//!
//! A chart is data. The host draws it, as SVG, as text or not at all.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Kind of a chart, with the columns it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartKind {
    /// A bar per row: `x` names it and `y` is its length. With `series`, bars are side by side.
    Bar,
    /// One bar per `x`, stacked from pieces `y`, one per `series`.
    StackedBar,
    /// Lines through (`x`, `y`), one per `series` if given. Rows with a `label` are highlighted.
    Line,
    /// Points at (`x`, `y`), coloured by `series`, labelled by `label`, with an area proportional to `size`.
    Scatter,
    /// Bars on a time axis: on lane `y`, starting at `x`, of length `width`, coloured by `series`, labelled by
    /// `label`.
    Gantt,
    /// Cells at (`x`, `y`), coloured by `value`.
    Heatmap,
    /// Estimates with intervals: row `y`, estimate `x`, from `low` to `high`, next to the line `reference`.
    Forest,
}

/// Scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// A linear scale.
    #[default]
    Linear,
    /// A logarithmic scale of base ten. Rows at or below zero cannot be drawn.
    Log,
}

/// A chart of one emitted table. The constructors ask for what each kind needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[must_use = "a chart is seen only when it is emitted"]
pub struct Chart {
    /// Kind of the chart.
    pub kind: ChartKind,
    /// Title, one line above it.
    pub title: String,
    /// The emitted table, without the plugin's id.
    pub table: String,
    /// Column; see [`ChartKind`] for its meaning here and below.
    pub x: String,
    /// Column.
    pub y: String,
    /// Column that splits or colours.
    #[serde(default)]
    pub series: Option<String>,
    /// Column that names single marks.
    #[serde(default)]
    pub label: Option<String>,
    /// Column with the length of a gantt bar, in the unit of `x`.
    #[serde(default)]
    pub width: Option<String>,
    /// Column that the areas of points follow.
    #[serde(default)]
    pub size: Option<String>,
    /// Column that colours the cells of a heat map.
    #[serde(default)]
    pub value: Option<String>,
    /// Column with the lower end of an interval.
    #[serde(default)]
    pub low: Option<String>,
    /// Column with the upper end of an interval.
    #[serde(default)]
    pub high: Option<String>,
    /// Value on the `x` axis at which a forest chart draws "no difference".
    #[serde(default)]
    pub reference: Option<f64>,
    /// Lines drawn behind the marks, from another emitted table.
    #[serde(default)]
    pub lines: Option<Lines>,
    /// Title of the axis; the column's name when null.
    #[serde(default)]
    pub x_title: Option<String>,
    /// Title of the axis; the column's name when null.
    #[serde(default)]
    pub y_title: Option<String>,
    /// Scale of the axis.
    #[serde(default)]
    pub x_scale: Scale,
    /// Scale of the axis.
    #[serde(default)]
    pub y_scale: Scale,
}

/// Lines behind the marks, such as the roofs of a roofline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lines {
    /// The emitted table.
    pub table: String,
    /// Column.
    pub x: String,
    /// Column.
    pub y: String,
    /// Column; one line for each of its texts.
    #[serde(default)]
    pub series: Option<String>,
}

impl Chart {
    fn new(kind: ChartKind, [title, table, x, y]: [&str; 4]) -> Self {
        Self {
            kind,
            title: title.to_owned(),
            table: table.to_owned(),
            x: x.to_owned(),
            y: y.to_owned(),
            series: None,
            label: None,
            width: None,
            size: None,
            value: None,
            low: None,
            high: None,
            reference: None,
            lines: None,
            x_title: None,
            y_title: None,
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
        }
    }

    /// A bar for each row: `x` is its name, `y` its length.
    pub fn bar(title: &str, table: &str, x: &str, y: &str) -> Self {
        Self::new(ChartKind::Bar, [title, table, x, y])
    }

    /// Bars made of pieces.
    pub fn stacked_bar(title: &str, table: &str, x: &str, y: &str, series: &str) -> Self {
        Self::new(ChartKind::StackedBar, [title, table, x, y]).series(series)
    }

    /// A line through the rows in their order.
    pub fn line(title: &str, table: &str, x: &str, y: &str) -> Self {
        Self::new(ChartKind::Line, [title, table, x, y])
    }

    /// A point for each row.
    pub fn scatter(title: &str, table: &str, x: &str, y: &str) -> Self {
        Self::new(ChartKind::Scatter, [title, table, x, y])
    }

    /// A bar on a time axis for each row.
    pub fn gantt(title: &str, table: &str, lane: &str, start: &str, width: &str) -> Self {
        Self {
            width: Some(width.to_owned()),
            ..Self::new(ChartKind::Gantt, [title, table, start, lane])
        }
    }

    /// A coloured cell for each row.
    pub fn heatmap(title: &str, table: &str, x: &str, y: &str, value: &str) -> Self {
        Self {
            value: Some(value.to_owned()),
            ..Self::new(ChartKind::Heatmap, [title, table, x, y])
        }
    }

    /// An estimate with its interval for each row.
    pub fn forest(
        title: &str,
        table: &str,
        row: &str,
        estimate: &str,
        low: &str,
        high: &str,
    ) -> Self {
        Self {
            low: Some(low.to_owned()),
            high: Some(high.to_owned()),
            ..Self::new(ChartKind::Forest, [title, table, estimate, row])
        }
    }

    /// Splits or colours by a column.
    pub fn series(mut self, column: &str) -> Self {
        self.series = Some(column.to_owned());
        self
    }

    /// Names single marks by a column.
    pub fn label(mut self, column: &str) -> Self {
        self.label = Some(column.to_owned());
        self
    }

    /// Makes the areas of points follow a column.
    pub fn size(mut self, column: &str) -> Self {
        self.size = Some(column.to_owned());
        self
    }

    /// Draws a forest chart's line of "no difference" at `x`.
    pub fn reference(mut self, x: f64) -> Self {
        self.reference = Some(x);
        self
    }

    /// Draws lines behind the marks.
    pub fn lines(mut self, table: &str, x: &str, y: &str, series: Option<&str>) -> Self {
        let (table, x, y) = (table.to_owned(), x.to_owned(), y.to_owned());
        self.lines = Some(Lines {
            table,
            x,
            y,
            series: series.map(str::to_owned),
        });
        self
    }

    /// Titles of the axes.
    pub fn axes(mut self, x_title: &str, y_title: &str) -> Self {
        self.x_title = Some(x_title.to_owned());
        self.y_title = Some(y_title.to_owned());
        self
    }

    /// Sets the scales of the axes.
    pub fn scales(mut self, x: Scale, y: Scale) -> Self {
        self.x_scale = x;
        self.y_scale = y;
        self
    }

    /// Checks that every column its kind needs is named.
    ///
    /// # Errors
    /// The first missing column, by the part of the chart.
    pub fn check(&self) -> Result<()> {
        let needs: &[(&str, &Option<String>)] = match self.kind {
            ChartKind::Bar | ChartKind::Line | ChartKind::Scatter => &[],
            ChartKind::StackedBar => &[("series", &self.series)],
            ChartKind::Gantt => &[("width", &self.width)],
            ChartKind::Heatmap => &[("value", &self.value)],
            ChartKind::Forest => &[("low", &self.low), ("high", &self.high)],
        };
        match needs.iter().find(|(_, column)| column.is_none()) {
            Some((part, _)) => Err(Error::failed(format!(
                "chart \"{}\": a {:?} chart needs `{part}`",
                self.title, self.kind
            ))),
            None => Ok(()),
        }
    }

    /// Every column of [`table`](Self::table) that is named, for a host to look up.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        let more = [
            &self.series,
            &self.label,
            &self.width,
            &self.size,
            &self.value,
            &self.low,
            &self.high,
        ];
        [self.x.as_str(), self.y.as_str()]
            .into_iter()
            .chain(more.into_iter().filter_map(|column| column.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_says_what_it_needs() {
        let charts = [
            Chart::bar("t", "a", "x", "y"),
            Chart::stacked_bar("t", "a", "x", "y", "s"),
            Chart::line("t", "a", "x", "y").series("s"),
            Chart::scatter("t", "a", "x", "y")
                .label("l")
                .size("w")
                .scales(Scale::Log, Scale::Log)
                .lines("b", "x", "y", Some("s")),
            Chart::gantt("t", "a", "lane", "start_ns", "dur_ns"),
            Chart::heatmap("t", "a", "col", "row", "v"),
            Chart::forest("t", "a", "name", "ratio", "low", "high")
                .reference(1.0)
                .axes("ratio", ""),
        ];
        for chart in charts {
            chart.check().unwrap();
            let json = serde_json::to_string(&chart).unwrap();
            assert_eq!(
                serde_json::from_str::<Chart>(&json).unwrap(),
                chart,
                "{json}"
            );
        }
    }

    #[test]
    fn a_chart_by_hand_is_five_keys() {
        let json = r#"{"kind":"gantt","title":"t","table":"a","x":"start_ns","y":"lane"}"#;
        let chart: Chart = serde_json::from_str(json).unwrap();
        assert_eq!(
            chart.check().unwrap_err().to_string(),
            "chart \"t\": a Gantt chart needs `width`"
        );
        assert_eq!(
            Chart::gantt("t", "a", "l", "s", "w")
                .label("n")
                .columns()
                .collect::<Vec<_>>(),
            ["s", "l", "n", "w"]
        );
    }
}
