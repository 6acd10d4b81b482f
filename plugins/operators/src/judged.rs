//! Operators of one run, with their work, time and places below the roof.

use std::cmp::Reverse;

use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run};

use crate::Options;
use crate::calls::{Calls, NONE};
use crate::device_time::DeviceTime;
use crate::groups::{self, TimedOn};
use crate::inputs::Side;
use crate::operations::Operations;
use crate::roofs::Roofs;
use crate::rows::Row;
use crate::work::Works;

/// The operators of a run.
#[derive(Debug)]
pub struct Judged {
    /// Rows of bricks.
    pub calls: Calls,
    /// Kernels and copies.
    pub operations: Operations,
    /// Their time by call.
    pub device: DeviceTime,
    /// The clock of all times; `None`: device work is there, and none of it has times.
    pub on: Option<TimedOn>,
    /// Ceilings.
    pub roofs: Roofs,
    /// By operator and signature, those first that most of the counted time is of.
    pub rows: Vec<Row>,
    /// True if some shape has a model.
    pub is_any_known: bool,
}

impl Judged {
    /// Reads the inputs of a run, whose calls are read already.
    ///
    /// # Errors
    /// An option is wrong, or an input lacks a column or has it in another type.
    pub fn load(
        run: &mut Run,
        side: Side,
        calls: Calls,
        window: Option<Window>,
        options: &Options,
    ) -> Result<Self> {
        run.check_cancelled()?;
        let operations = Operations::load(run, side, &calls, window)?;
        run.check_cancelled()?;
        let works = Works::new(&calls, &operations, &options.rules)?;
        let is_modelled = |place: u32| {
            let call = &calls.rows[place as usize];
            call.signature != NONE && works.of((call.name, call.signature)).is_ok()
        };
        let device = DeviceTime::new(&operations, &calls, &is_modelled);
        run.check_cancelled()?;
        let on = match device.count {
            0 if device.left_out == 0 => Some(TimedOn::Host),
            0 => None,
            _ => Some(TimedOn::Device),
        };
        let roofs = Roofs::read(run, side, options.nominal, options.achievable_share)?;
        let sums = groups::by_shape(&calls, &device, on, &works);
        let mut rows: Vec<Row> = sums
            .into_iter()
            .map(|(shape, sums)| Row {
                shape,
                sums,
                work: works.of(shape).cloned().map_err(str::to_owned),
                place: None,
            })
            .collect();
        if let Some(on) = on {
            rows.iter_mut()
                .for_each(|row| row.judge(on, &roofs.ceilings));
        }
        // By name and number where they are equal: the sort is stable.
        rows.sort_by_key(|row| {
            let sums = &row.sums;
            Reverse((sums.counted_ns, sums.device_ns, sums.host_ns))
        });
        let is_any_known = works.is_any_known();
        Ok(Self {
            calls,
            operations,
            device,
            on,
            roofs,
            rows,
            is_any_known,
        })
    }
}
