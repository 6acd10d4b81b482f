//! Tables of slack.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::lanes::Lanes;
use trueno_analysis::quantiles::lower_median;
use trueno_plugin::{Table, TableBuilder};

use crate::infer::host_waits::is_inferred;
use crate::path::smallest_rows::Least;
use crate::predict::slack::settle_covered;

/// Tables `slack`, `slack_by_name` and, if `is_by_id`, `slack_by_id`; also the number of all intervals. Slack is by
/// how much an interval may begin later without moving the last end. `slack` lists the `limit` smallest; ties go to
/// the longer interval. `slack_by_name` has the number of rows and their least and median slack (the lower of two
/// in the middle) by name and kind, least median first. `least` is the least slack of every interval's segments,
/// lane by lane ([`least_of_spans`](crate::predict::slack::least_of_spans)).
pub fn slack(
    run: &Lanes,
    least: Vec<Vec<i64>>,
    limit: usize,
    is_by_id: bool,
) -> (TableBuilder, TableBuilder, Option<TableBuilder>, usize) {
    let mut rows = Least::new(limit);
    let mut all = 0;
    let mut of_all: Vec<(u64, i64)> = Vec::new();
    let labels = run.labels.all().len();
    let mut rows_of_label = vec![0; labels];
    for span in run.lanes.iter().flat_map(|lane| &lane.spans) {
        rows_of_label[span.label as usize] += 1;
    }
    let room = rows_of_label.into_iter().map(Vec::with_capacity);
    let mut by_label: Vec<Vec<i64>> = room.collect();
    for ((lane, of_lane), mut least) in run.lanes.iter().enumerate().zip(least) {
        settle_covered(&of_lane.spans, &mut least);
        all += of_lane.spans.len();
        for (span, slack_ns) in of_lane.spans.iter().zip(least) {
            if is_inferred(span.id) {
                all -= 1;
                continue;
            }
            by_label[span.label as usize].push(slack_ns);
            if is_by_id {
                of_all.push((span.id, slack_ns));
            }
            let dur_ns = Reverse(span.dur_ns());
            rows.add((slack_ns, dur_ns, span.id, lane as u32, span.label));
        }
    }
    let mut rows = rows.into_rows();
    rows.sort_unstable();
    let name = |label: u32| run.texts.text(run.labels.get(label).name);
    let table = Table::build("slack")
        .u64("id", rows.iter().map(|row| row.2))
        .text("name", rows.iter().map(|row| name(row.4)))
        .text(
            "lane",
            rows.iter().map(|row| &run.lanes[row.3 as usize].name),
        )
        .i64("slack_ns", rows.iter().map(|row| row.0));
    let by_id = is_by_id.then(|| {
        Table::build("slack_by_id")
            .u64("id", of_all.iter().map(|row| row.0))
            .i64("slack_ns", of_all.iter().map(|row| row.1))
    });
    (table, by_name(run, by_label), by_id, all)
}

fn by_name(run: &Lanes, by_label: Vec<Vec<i64>>) -> TableBuilder {
    let mut sums: BTreeMap<(&str, &str), Vec<i64>> = BTreeMap::new();
    let some = by_label.into_iter().zip(run.labels.all());
    for (slack_ns, label) in some.filter(|(slack_ns, _)| !slack_ns.is_empty()) {
        let key = (run.texts.text(label.name), run.texts.text(label.kind));
        let sum = sums.entry(key).or_default();
        if sum.is_empty() {
            *sum = slack_ns;
        } else {
            sum.extend(slack_ns);
        }
    }
    let mut rows: Vec<(i64, i64, &str, &str, u64)> = sums
        .into_iter()
        .map(|((name, kind), mut slack_ns)| {
            let least = slack_ns.iter().copied().min().unwrap_or(0);
            let median = lower_median(&mut slack_ns).unwrap_or(0);
            (median, least, name, kind, slack_ns.len() as u64)
        })
        .collect();
    rows.sort_unstable();
    Table::build("slack_by_name")
        .text("name", rows.iter().map(|row| row.2))
        .text("kind", rows.iter().map(|row| row.3))
        .u64("rows", rows.iter().map(|row| row.4))
        .i64("min_slack_ns", rows.iter().map(|row| row.1))
        .i64("median_slack_ns", rows.iter().map(|row| row.0))
}
