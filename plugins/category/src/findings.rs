//! Findings: what a reader should know before trusting the split into categories.

use trueno_analysis::lanes::{LaneKind, LeftOut};
use trueno_analysis::share;
use trueno_plugin::{Finding, Severity, counted, percent};

use crate::sums::Sums;
use crate::tables::{CategoryRow, KindTotals, NOT_ALIVE};

/// Above this share of the host's busy time without a category, a finding is emitted.
pub const UNCATEGORISED_SHARE: f64 = 0.2;
/// Above this share of the host lanes' time from first row to last without any interval, a finding is emitted.
pub const UNACCOUNTED_SHARE: f64 = 0.5;
const UNCATEGORISED: &str = "uncategorised";

/// Findings in the order of the thresholds above, then rows that were left out.
pub fn findings<D>(sums: &Sums<D>, kinds: &KindTotals, rows: &[CategoryRow]) -> Vec<Finding> {
    let mut out = Vec::new();
    let Some(sum) = kinds[LaneKind::Host as usize] else {
        return left_out(&sums.left_out, out);
    };
    let row = rows
        .iter()
        .find(|row| row.lane_kind == LaneKind::Host && row.category == UNCATEGORISED);
    if let Some(part) = share(row.map_or(0, |row| row.self_ns), sum.busy_ns)
        && part > UNCATEGORISED_SHARE
    {
        let title = format!("{} of the host's busy time has no category", percent(part));
        out.push(
            Finding::new("uncategorised", Severity::Info, title)
                .suggestion("add a rule for their names (report --categories), or record a category with them")
                .evidence(
                    "SELECT name, COUNT(*) AS calls, SUM(dur_ns) AS dur_ns FROM bricks \
                     WHERE category IS NULL AND kind <> 'run' AND kind <> 'iteration' AND kind <> 'layer' \
                     GROUP BY name ORDER BY dur_ns DESC, name",
                ),
        );
    }
    if let Some(part) = share(sum.alive_ns - sum.busy_ns, sum.alive_ns)
        && part > UNACCOUNTED_SHARE
    {
        let title = format!(
            "nothing was recorded for {} of the time on host threads",
            percent(part)
        );
        let mut detail =
            "a thread has no rows while it sleeps or runs code that records nothing".to_owned();
        if sum.lanes > 1 {
            let wall = if sums.is_part { "window" } else { "wall time" };
            detail.push_str(&format!(
                "; wall shares are of {wall} × {} lanes",
                sum.lanes
            ));
        }
        if let Some(rest) = share(sum.wall_ns - sum.alive_ns, sum.wall_ns)
            && rest > 0.0
        {
            detail.push_str(&format!(
                "; another {} of that is before the first and after the last rows, listed separately as `{NOT_ALIVE}`",
                percent(rest)
            ));
        }
        out.push(
            Finding::new("unaccounted", Severity::Info, title)
                .detail(detail)
                .suggestion("record what runs in between, or use the shares of busy time")
                .evidence("SELECT lane, unaccounted_ns, not_alive_ns, wall_ns FROM category.by_lane ORDER BY unaccounted_ns DESC, lane"),
        );
    }
    left_out(&sums.left_out, out)
}

fn left_out(left: &LeftOut, mut out: Vec<Finding>) -> Vec<Finding> {
    let rows = left.rows();
    if rows > 0 {
        let title = counted(
            rows,
            "row is left out of all times",
            "rows are left out of all times",
        );
        out.push(Finding::new("left_out", Severity::Info, title).detail(left.reasons()).evidence(
            "SELECT lane_kind, kind, name, bound_calls FROM category.by_brick WHERE bound_calls > 0 \
             ORDER BY bound_calls DESC, name",
        ));
    }
    out
}
