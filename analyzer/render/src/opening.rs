//! Opening of a report: the tables of plugin `summary` as the forms show them.

use trueno_model::units::{self, Unit};
use trueno_model::{Cell, Report};
use trueno_plugin::{Column, Table, counted};

pub const PLUGIN: &str = "summary";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Kernels other than communication.
    Computation,
    /// Communication without concurrent computation.
    Communication,
    /// Copies without concurrent computation or communication.
    Copy,
    /// Nothing, between the first and the last work.
    Idle,
    /// Before the first and after the last work.
    Outside,
    /// No recorded work, where some launched work was not recorded: idle or not.
    Unrecorded,
}

impl Kind {
    pub const ALL: [Self; 6] = [
        Self::Computation,
        Self::Communication,
        Self::Copy,
        Self::Idle,
        Self::Outside,
        Self::Unrecorded,
    ];

    /// Columns of the table `devices` that it is the sum of. `is_idle_known`: all launched work was recorded.
    fn columns(self, is_idle_known: bool) -> &'static [&'static str] {
        match self {
            Self::Computation => &["computation_ns"],
            Self::Communication => &["communication_ns"],
            Self::Copy => &["copy_ns"],
            Self::Idle if is_idle_known => &["idle_ns"],
            Self::Outside if is_idle_known => &["outside_ns"],
            Self::Unrecorded if !is_idle_known => &["idle_ns", "outside_ns"],
            Self::Idle | Self::Outside | Self::Unrecorded => &[],
        }
    }

    pub fn class(self) -> &'static str {
        match self {
            Self::Computation => "computation",
            Self::Communication => "communication",
            Self::Copy => "copy",
            Self::Idle => "idle",
            Self::Outside => "outside",
            Self::Unrecorded => "unrecorded",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Computation => "computation",
            Self::Communication => "exposed communication",
            Self::Copy => "exposed copies",
            Self::Idle => "idle",
            Self::Outside => "before and after its work",
            Self::Unrecorded => "no recorded work",
        }
    }
}

/// Causes of idle time: column of the table `devices`, and description.
const CAUSES: [(&str, &str); 4] = [
    ("not_queued_ns", "no work queued"),
    ("launching_ns", "being launched"),
    ("not_started_ns", "queued but not started"),
    ("not_known_ns", "cause not known"),
];

/// Smaller shares appear only in the bar.
const MIN_TOLD: f64 = 0.0005;

#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// `gpu0 · NVIDIA H100 · 1,312 kernels, 294 ms · 279 copies and fills, 225 MB, 9.4 ms · stream 7 · peak 2 GB of 85 GB`.
    pub title: String,
    pub place: String,
    /// Shares of the run, which add up to 1.
    pub parts: Vec<(Kind, f64)>,
    /// Descriptions of the parts with their times, idle time with its causes: `idle 3.6 ms, 73.9 %`. The smallest parts
    /// are left out.
    pub words: Vec<(Kind, String)>,
}

impl Device {
    pub fn share(&self, of: Kind) -> f64 {
        let parts = self.parts.iter().filter(|(kind, _)| *kind == of);
        parts.fold(0.0, |sum, (_, share)| sum + share)
    }

    pub fn legend(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|(_, words)| words.as_str()).collect();
        words.join(" · ")
    }
}

const KERNEL_COLUMNS: [&str; 7] = [
    "kernel",
    "dur_ns",
    "share",
    "calls",
    "mean_ns",
    "launched_by",
    "occupancy",
];

#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    tables: &'a [Table],
}

impl<'a> Opening<'a> {
    /// The section, if its plugin ran and returned a sentence.
    pub fn new(report: &'a Report) -> Option<Self> {
        let section = report.sections.iter().find(|one| one.plugin == PLUGIN)?;
        let opening = Self {
            tables: &section.tables,
        };
        opening.sentence().map(|_| opening)
    }

    fn table(&self, name: &str) -> Option<&'a Table> {
        self.tables.iter().find(|table| table.name() == name)
    }

    /// A cell of the table `headline`, which has one row.
    pub fn headline(&self, column: &str) -> Cell<'a> {
        self.table("headline")
            .map_or(Cell::Null, |table| cell(table, column, 0))
    }

    /// `None` if not measured.
    pub fn shown(&self, column: &str) -> Option<String> {
        match self.headline(column) {
            Cell::Null => None,
            cell => Some(units::show(cell, Unit::from_column(column))),
        }
    }

    pub fn sentence(&self) -> Option<&'a str> {
        match self.headline("sentence") {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn kernels(&self) -> Option<Table> {
        let table = self.table("kernels").filter(|table| table.rows() > 0)?;
        let columns = KERNEL_COLUMNS.into_iter();
        let is_shown =
            |name: &str, column: &Column| name != "occupancy" || column.null_count() < column.len();
        let columns = columns.filter_map(|name| {
            let column = table.column(name).ok()?;
            is_shown(name, column).then(|| (name.to_owned(), column.clone()))
        });
        Table::from_columns(table.name(), columns.collect()).ok()
    }

    /// Host threads by work.
    pub fn threads(&self) -> Option<&'a Table> {
        self.table("threads").filter(|table| table.rows() > 0)
    }

    /// `12 host threads in all`, if there are more than `shown`.
    pub fn all_threads(&self, shown: usize) -> Option<String> {
        let threads = self.headline("threads").number()? as u64;
        (threads > shown as u64).then(|| format!("{threads} host threads in all"))
    }

    pub fn devices(&self) -> Vec<Device> {
        let Some(table) = self.table("devices") else {
            return Vec::new();
        };
        let is_idle_known = !self.is_busy_at_least();
        let rows = 0..table.rows();
        rows.map(|row| device(table, row, is_idle_known)).collect()
    }

    /// Whether some launched work was not recorded. Devices were then busy for at least the known share.
    pub fn is_busy_at_least(&self) -> bool {
        matches!(self.headline("busy_at_least"), Cell::Bool(true))
    }

    /// `20 kernel names in all, 1,312 launches, 294 ms`, if more names than `shown` were recorded.
    pub fn all_kernels(&self, shown: usize) -> Option<String> {
        let count = |column: &str| self.headline(column).number().map(|count| count as u64);
        let names = count("kernel_names").filter(|names| *names > shown as u64)?;
        let launches = counted(count("kernels")?, "launch", "launches");
        let time = self.shown("kernels_ns")?;
        let names = units::show(Cell::U64(names), Unit::None);
        Some(format!("{names} kernel names in all, {launches}, {time}"))
    }
}

fn cell<'a>(table: &'a Table, column: &str, row: usize) -> Cell<'a> {
    match table.column(column) {
        Ok(column) if row < table.rows() => Cell::at(column, row),
        _ => Cell::Null,
    }
}

fn text<'a>(table: &'a Table, column: &str, row: usize) -> Option<&'a str> {
    match cell(table, column, row) {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}

/// Recorded work of a device: `1,312 kernels, 294 ms`, and `279 copies and fills, 225 MB, 9.4 ms`.
fn work(table: &Table, row: usize) -> Vec<String> {
    let number = |column: &str| cell(table, column, row).number();
    let count = |column: &str| number(column).map(|count| count as u64);
    let some = |column: &str| count(column).filter(|count| *count > 0);
    let time = |column: &str| number(column).map(units::duration);
    let mut parts = Vec::new();
    if let (Some(kernels), Some(time)) = (some("kernels"), time("kernels_ns")) {
        parts.push(format!("{}, {time}", counted(kernels, "kernel", "kernels")));
    }
    if let (Some(copies), Some(time)) = (some("copies"), time("copies_ns")) {
        let of = counted(copies, "copy or fill", "copies and fills");
        let bytes = number("copies_bytes").map(|bytes| units::scaled(bytes, "B"));
        let bytes = match (bytes, count("copies_stated")) {
            (Some(bytes), Some(stated)) if stated == copies => format!("{bytes}, "),
            (Some(bytes), Some(stated)) => {
                let stated = units::show(Cell::U64(stated), Unit::None);
                format!("{bytes} (bytes of {stated} stated), ")
            }
            _ => String::new(),
        };
        parts.push(format!("{of}, {bytes}{time}"));
    }
    parts
}

/// `stream 7`, `streams 7, 20` or `12 streams`.
fn streams(table: &Table, row: usize) -> Option<String> {
    let streams = cell(table, "streams", row).number()? as u64;
    Some(match text(table, "stream_numbers", row) {
        Some(number) if streams == 1 => format!("stream {number}"),
        Some(numbers) => format!("streams {numbers}"),
        None => counted(streams, "stream", "streams"),
    })
}

fn device(table: &Table, row: usize, is_idle_known: bool) -> Device {
    let number = |column: &str| cell(table, column, row).number();
    let place = text(table, "place", row).unwrap_or_default().to_owned();
    let mut title = vec![place.clone()];
    title.extend(text(table, "model", row).map(str::to_owned));
    title.extend(work(table, row));
    title.extend(streams(table, row));
    let bytes = |column: &str| number(column).map(|bytes| units::scaled(bytes, "B"));
    title.extend(bytes("peak_bytes").map(|peak| match bytes("memory_bytes") {
        Some(all) => format!("peak {peak} of {all}"),
        None => format!("peak {peak}"),
    }));
    let column_ns = |column: &&str| number(column).unwrap_or(0.0).max(0.0);
    let ns = |kind: Kind| -> f64 { kind.columns(is_idle_known).iter().map(column_ns).sum() };
    let whole: f64 = Kind::ALL.into_iter().map(ns).sum();
    let share = |ns: f64| if whole > 0.0 { ns / whole } else { 0.0 };
    let timed = |ns: f64| format!("{}, {}", units::duration(ns), units::percent(share(ns)));
    let parts: Vec<_> = Kind::ALL
        .into_iter()
        .map(|kind| (kind, share(ns(kind))))
        .filter(|(_, share)| *share > 0.0)
        .collect();
    let causes = CAUSES.iter().filter_map(|(column, words)| {
        let ns = number(column).filter(|ns| *ns > 0.0)?;
        Some(format!("{words} {}", timed(ns)))
    });
    let causes: Vec<String> = causes.collect();
    let told = parts.iter().filter(|(_, share)| *share >= MIN_TOLD);
    let words = told.map(|(kind, _)| {
        let text = format!("{} {}", kind.name(), timed(ns(*kind)));
        match kind {
            Kind::Idle if !causes.is_empty() => (*kind, format!("{text} ({})", causes.join("; "))),
            _ => (*kind, text),
        }
    });
    Device {
        words: words.collect(),
        title: title.join(" · "),
        place,
        parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn report(at_least: bool) -> Report {
        let headline = Table::build("headline")
            .text("sentence", ["fine"])
            .bool("busy_at_least", [at_least])
            .u64("kernel_names", [20_u64])
            .u64("kernels", [1_312_u64])
            .i64("kernels_ns", [294_000_000]);
        let devices = Table::build("devices")
            .text("place", ["gpu0", "gpu1"])
            .text("model", [Some("NVIDIA A100"), None])
            .i64("computation_ns", [294_000_000, 0])
            .i64("copy_ns", [6_000_000, 0])
            .i64("idle_ns", [200_000_000, 0])
            .i64("not_queued_ns", [Some(150_000_000), None])
            .i64("not_started_ns", [Some(50_000_000), None])
            .i64("outside_ns", [500_000_000, 1_000_000_000])
            .u64("kernels", [1_312_u64, 0])
            .i64("kernels_ns", [294_000_000, 0])
            .u64("streams", [Some(2_u64), None])
            .text("stream_numbers", [Some("7, 20"), None])
            .u64("copies", [279_u64, 1])
            .i64("copies_ns", [9_400_000, 2_000])
            .u64("copies_stated", [279_u64, 0])
            .u64("copies_bytes", [Some(225_000_000_u64), None]);
        let tables = [headline, devices].map(|table| table.finish().unwrap());
        testing::report(vec![testing::section(PLUGIN, tables.into())])
    }

    #[test]
    fn a_device_gives_its_work_and_each_part_with_its_time() {
        let report = report(false);
        let opening = Opening::new(&report).unwrap();
        let devices = opening.devices();
        assert_eq!(
            devices[0].title,
            "gpu0 · NVIDIA A100 · 1,312 kernels, 294 ms · 279 copies and fills, 225 MB, 9.40 ms · streams 7, 20"
        );
        assert_eq!(devices[1].title, "gpu1 · 1 copy or fill, 2 µs");
        assert_eq!(
            devices[0].legend(),
            "computation 294 ms, 29.4 % · exposed copies 6 ms, 0.6 % · idle 200 ms, 20.0 % (no work queued 150 ms, 15.0 %; \
             queued but not started 50 ms, 5.0 %) · before and after its work 500 ms, 50.0 %"
        );
        let all = opening.all_kernels(8);
        let all = all.as_deref();
        assert_eq!(all, Some("20 kernel names in all, 1,312 launches, 294 ms"));
        assert_eq!(opening.all_kernels(20), None, "all are shown");
    }

    #[test]
    fn time_without_recorded_work_is_not_idle_where_launched_work_is_missing() {
        let report = report(true);
        let device = &Opening::new(&report).unwrap().devices()[0];
        assert_eq!(
            device.legend(),
            "computation 294 ms, 29.4 % · exposed copies 6 ms, 0.6 % · no recorded work 700 ms, 70.0 %"
        );
        assert_eq!(device.share(Kind::Idle), 0.0);
    }
}
