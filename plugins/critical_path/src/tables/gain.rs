//! Tables of predictions.

use trueno_analysis::share;
use trueno_plugin::{Table, TableBuilder};

use crate::predict::at_roof::Gain;
use crate::predict::fusing::Sequence;
use crate::predict::opportunity::Opportunity;
use crate::predict::without::Without;

/// Table `opportunity`: how much shorter the window would be if a name took less time, largest gain first. `name`
/// is as for `--what-if`. `path_ns` includes what belongs to the name. The gains are for 10 %, 50 % and 100 % less
/// time, null if not computed or if a lane that no dependency connects with the path leaves them open. Gains do not
/// add up.
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

/// Table `without`: how much shorter the window would be without something entirely, an upper bound for any fix of
/// it. `target` is a `category:`, or `host` (recorded host work), `waits` (host waits), `copies` (with their calls)
/// or `before devices` (host work before a device first works). `gain_ns` is null if a lane that no dependency
/// connects with the path leaves it open.
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

/// Table `sequences`: kernels that follow one another on a stream, and repeat, largest gain first. `kernels` is the length
/// of the sequence. `dur_ns`, `gap_ns` and `launch_ns` are sums over all repeats: of the kernels, of the time between
/// them, and of the calls that launch the kernels after the first. `gain_ns` is how much shorter the window would be if each
/// repeat were one kernel; null if no launch is recorded, or if a lane that no dependency connects with the path
/// leaves it open. `first_id` is the first kernel of the first repeat. Gains do not add up.
pub fn sequences(rows: &[Sequence], wall_ns: i64) -> TableBuilder {
    let gain = || rows.iter().map(|row| row.gain_ns);
    Table::build("sequences")
        .text("sequence", rows.iter().map(Sequence::text))
        .u64("repeats", rows.iter().map(|row| row.repeats))
        .u64("kernels", rows.iter().map(|row| row.names.len() as u64))
        .i64("dur_ns", rows.iter().map(|row| row.dur_ns))
        .i64("gap_ns", rows.iter().map(|row| row.gap_ns))
        .i64("launch_ns", rows.iter().map(|row| row.launch_ns))
        .i64("gain_ns", gain())
        .f64(
            "gain_share",
            gain().map(|gain| gain.and_then(|gain| share(gain, wall_ns))),
        )
        .u64("first_id", rows.iter().map(|row| row.first_ids[0]))
}

/// Table `at_roof`: how much shorter the window would be if names reached their roofs (plugin `roofline`), largest
/// gain first. `source` and `name` are those of `roofline.at_roof`, with a row `everything` for all at once.
/// `path_ns` includes what belongs to the name. `gain_ns` is null if not computed. Gains do not add up.
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
    pub assumption: String,
    /// Intervals that match the rule themselves, without those that belong to them.
    pub matched: u64,
    /// Predicted length of the window; `None` if the rules match nothing.
    pub predicted_ns: Option<i64>,
}

/// Table `what_if`: the prediction for each rule alone and for all together. `matched` counts intervals, `wall_ns`
/// is the measured window, a negative `gain_ns` is a loss.
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
