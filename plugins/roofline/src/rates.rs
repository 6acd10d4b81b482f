//! Rates of rows with FLOPs or bytes, but not both: they have no intensity and no place below a roof.

use std::cmp::Reverse;

use trueno_analysis::roofline::model::Reason;

use crate::label::OneFigure;
use crate::sums::{Sum, Sums};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub of: OneFigure,
    pub sum: Sum,
}

impl Rate {
    /// `None`: not recorded.
    pub fn flops(&self) -> Option<f64> {
        (self.of.reason != Reason::NoFlops).then_some(self.sum.flops as f64)
    }

    /// `None`: not recorded.
    pub fn bytes(&self) -> Option<f64> {
        (self.of.reason != Reason::NoBytes).then_some(self.sum.bytes as f64)
    }

    /// A figure divided by the time; `None` if it is zero or missing.
    pub fn per_s(&self, figure: Option<f64>) -> Option<f64> {
        let figure = figure.filter(|figure| figure.is_finite() && *figure > 0.0)?;
        (self.sum.dur_ns > 0).then(|| figure / (self.sum.dur_ns as f64 / 1e9))
    }
}

/// Rates sorted by time, longest first. Rows whose time is not that of their work are left out.
pub fn rates(sums: &Sums) -> Vec<Rate> {
    let all = sums.one_figure.iter();
    let mut out: Vec<Rate> = all.map(|(of, sum)| Rate { of: *of, sum: *sum }).collect();
    let text = |number: Option<u32>| number.map(|number| sums.texts.text(number));
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
