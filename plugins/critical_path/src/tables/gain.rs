//! Tables of predictions.

use trueno_analysis::share;
use trueno_plugin::{Table, TableBuilder};

use crate::predict::at_roof::Gain;
use crate::predict::opportunity::Opportunity;
use crate::predict::without::Without;

/// Table `opportunity`: what less time would buy end to end, most first.
///
/// `name` as `--what-if` takes it; `path_ns` its time on the path with all that belongs to it;
/// `gain_10pct_ns`, `gain_50pct_ns`, `gain_100pct_ns` how much shorter the window would be with 10 %, 50 %
/// and 100 % less of it, null where that was not computed, or where a lane that nothing connects with the path leaves no
/// telling; `gain_100pct_share` of the window.
/// Gains do not add up.
pub fn opportunity(rows: &[Opportunity], wall_ns: i64) -> TableBuilder {
    let gain = |k: usize| {
        rows.iter()
            .map(move |row| row.gains_ns.map(|gains| gains[k]))
    };
    Table::build("opportunity")
        .text("name", rows.iter().map(|row| &row.name))
        .i64("path_ns", rows.iter().map(|row| row.path_ns))
        .i64("gain_10pct_ns", gain(0))
        .i64("gain_50pct_ns", gain(1))
        .i64("gain_100pct_ns", gain(2))
        .f64(
            "gain_100pct_share",
            gain(2).map(|gain| gain.and_then(|gain| share(gain, wall_ns))),
        )
}

/// Table `without`: how much shorter the window would be without something altogether, which bounds what any fix of it saves.
///
/// `target`: a `category:`, or `host` (recorded work of hosts), `waits` (of hosts), `copies` (and the calls that make them), `before
/// devices` (work of hosts before a device first works); `gain_ns`, null where a lane that nothing connects with the path leaves
/// it open; `gain_share` of the window.
pub fn without(rows: &[Without], wall_ns: i64) -> TableBuilder {
    Table::build("without")
        .text("target", rows.iter().map(|row| &row.target))
        .i64("gain_ns", rows.iter().map(|row| row.gain_ns))
        .f64(
            "gain_share",
            rows.iter()
                .map(|row| row.gain_ns.and_then(|gain| share(gain, wall_ns))),
        )
}

/// Table `at_roof`: what it would buy end to end if names reached their roofs (plugin `roofline`), most first.
///
/// `source`, `name`: as `roofline.at_roof` has them, and `everything` at once; `path_ns`: time on the path
/// with all that belongs to it; `gain_ns`: how much shorter the window would be, null where that was not
/// computed; `gain_share` of the window. Gains do not add up.
pub fn at_roof(rows: &[Gain], wall_ns: i64) -> TableBuilder {
    Table::build("at_roof")
        .text("source", rows.iter().map(|row| row.source))
        .text("name", rows.iter().map(|row| &row.name))
        .i64("path_ns", rows.iter().map(|row| row.path_ns))
        .i64("gain_ns", rows.iter().map(|row| row.gain_ns))
        .f64(
            "gain_share",
            rows.iter()
                .map(|row| row.gain_ns.and_then(|gain| share(gain, wall_ns))),
        )
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The rule, or all of them.
    pub assumption: String,
    /// Intervals that a rule is about; those that belong to them are not counted.
    pub matched: u64,
    /// Length the window would have; `None` when the rules are about nothing that is there.
    pub predicted_ns: Option<i64>,
}

/// Table `what_if`: for each rule alone, and for all together, `matched` intervals, the measured
/// window `wall_ns`, `predicted_ns`, `gain_ns` (negative: a loss) and `gain_share` of the window.
pub fn what_if(rows: &[Prediction], wall_ns: i64) -> TableBuilder {
    let gain = |row: &Prediction| row.predicted_ns.map(|ns| wall_ns - ns);
    Table::build("what_if")
        .text("assumption", rows.iter().map(|row| &row.assumption))
        .u64("matched", rows.iter().map(|row| row.matched))
        .i64("wall_ns", rows.iter().map(|_| wall_ns))
        .i64("predicted_ns", rows.iter().map(|row| row.predicted_ns))
        .i64("gain_ns", rows.iter().map(gain))
        .f64(
            "gain_share",
            rows.iter()
                .map(|row| gain(row).and_then(|gain| share(gain, wall_ns))),
        )
}
