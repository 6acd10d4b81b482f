//! Operators of one run, with their work, time and places below the roof.

use std::cmp::Reverse;

use crate::device_time::Totals;
use crate::groups::TimedOn;
use crate::roofs::Roofs;
use crate::rows::Row;
use crate::run_sums::RunSums;

#[derive(Debug)]
pub struct Judged {
    pub device: Totals,
    /// What all times are measured by; `None`: there is device work, but none of it has valid times.
    pub on: Option<TimedOn>,
    pub roofs: Roofs,
    /// One row per operator and signature, most counted time first.
    pub rows: Vec<Row>,
}

impl Judged {
    pub fn new(sums: RunSums, roofs: Roofs) -> Self {
        let sums = sums.by_device_class(&roofs.classes);
        let device = sums.facts.device;
        let on = match device.count {
            0 if device.left_out == 0 => Some(TimedOn::Host),
            0 => None,
            _ => Some(TimedOn::Device),
        };
        let rows = sums.operators.into_iter().map(|(key, mut of)| {
            of.sums.count_on(on);
            let mut row = Row {
                name: key.name,
                recorded: key.recorded,
                sums: of.sums,
                kernels: of.kernels,
                work: key.work,
                place: None,
            };
            if let Some(on) = on {
                row.judge(on, &roofs.ceilings);
            }
            row
        });
        let mut rows: Vec<Row> = rows.collect();
        // By name and signature where they are equal: the sort is stable.
        rows.sort_by_key(|row| {
            let sums = &row.sums;
            Reverse((sums.counted_ns, sums.device_ns, sums.host_ns))
        });
        Self {
            device,
            on,
            roofs,
            rows,
        }
    }
}
