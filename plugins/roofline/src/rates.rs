//! Rates of rows with FLOPs or bytes, but not both: they have no intensity and no place below a roof.

use std::cmp::Reverse;

use trueno_analysis::roofline::model::Reason;

use crate::label::OneFigure;
use crate::nesting::Standing;
use crate::points::Sum;
use crate::rows::Rows;

/// Rows that are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Their label.
    pub of: OneFigure,
    /// Sums over them.
    pub sum: Sum,
}

impl Rate {
    /// Their FLOPs; `None`: not recorded.
    pub fn flops(&self) -> Option<f64> {
        (self.of.reason != Reason::NoFlops).then_some(self.sum.flops)
    }

    /// Their bytes; `None`: not recorded.
    pub fn bytes(&self) -> Option<f64> {
        (self.of.reason != Reason::NoBytes).then_some(self.sum.bytes)
    }

    /// A figure of theirs over their time; `None` where it is zero or missing.
    pub fn per_s(&self, figure: Option<f64>) -> Option<f64> {
        let figure = figure.filter(|figure| figure.is_finite() && *figure > 0.0)?;
        (self.sum.dur_ns > 0).then(|| figure / (self.sum.dur_ns as f64 / 1e9))
    }
}

/// The most time first. Rows whose time is not that of their work are left out.
pub fn rates(rows: &Rows, standing: &[Vec<Standing>]) -> Vec<Rate> {
    let mut sums = vec![Sum::default(); rows.one_figure.all().len()];
    let lanes = rows.lanes.values().zip(standing);
    for (lane, standing) in lanes.take_while(|_| !rows.one_figure.all().is_empty()) {
        for (row, standing) in lane.work.iter().zip(standing) {
            if rows.has_one_figure(row) && !matches!(standing, Standing::Excluded(_)) {
                let dur_ns = row.end_ns - row.start_ns;
                let work = &rows.declared[row.declared as usize];
                sums[work.group as usize].add(dur_ns, work.flops, work.bytes);
            }
        }
    }
    let all = rows.one_figure.all().iter().zip(sums);
    let mut out: Vec<Rate> = all
        .map(|(of, sum)| Rate { of: *of, sum })
        .filter(|rate| rate.sum.calls > 0)
        .collect();
    let text = |number: Option<u32>| number.map(|number| rows.texts.text(number));
    out.sort_by_key(|rate| {
        let of = rate.of;
        let names = (text(Some(of.name)), text(of.backend));
        (
            Reverse(rate.sum.dur_ns),
            names,
            of.source,
            of.device,
            of.provenance,
            of.reason,
        )
    });
    out
}
