//! Kernels and copies, with the row of bricks that began each.

use std::collections::BTreeMap;

use trueno_analysis::interner::Texts;
use trueno_analysis::window::Window;
use trueno_plugin::{Batch, Result, Run};

use crate::calls::{Calls, NONE};
use crate::inputs::Side;
use crate::ranks::Ranks;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    pub start_ns: i64,
    pub end_ns: i64,
    /// Index of the launching row of bricks, or [`NONE`].
    pub begun_in: u32,
    pub device: u32,
    pub rank: u64,
    pub stream: u32,
    /// Index into [`Operations::kernel_names`], or [`NONE`].
    pub kernel: u32,
}

#[derive(Debug, Default)]
pub struct Operations {
    pub rows: Vec<Operation>,
    pub kernel_names: Texts,
    /// By rank: number of rows left out because their times are bounds or invalid.
    pub left_out: BTreeMap<u64, u64>,
}

impl Operations {
    /// Reads the inputs.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(
        run: &mut Run,
        side: Side,
        ranks: Ranks,
        calls: &Calls,
        window: Option<Window>,
    ) -> Result<Self> {
        let mut out = Self::default();
        let names = out
            .kernel_names
            .read_distinct(run, &side.input("kernel_names"))?;
        for input in ["kernels", "transfers"] {
            let mut batches = run.batches(&side.input(input))?;
            while let Some(batch) = batches.next_batch()? {
                out.read(&batch, ranks, calls, window, &|name| {
                    names.get(&name).copied()
                })?;
            }
        }
        out.sort();
        Ok(out)
    }

    /// Sorts by start. Ties are broken by name, because name indexes differ each time the input is read.
    fn sort(&mut self) {
        let mut by_name: Vec<u32> = (0..self.kernel_names.len() as u32).collect();
        by_name.sort_unstable_by_key(|number| self.kernel_names.text(*number));
        let mut places = vec![0; by_name.len()];
        for (place, number) in (0_u32..).zip(by_name) {
            places[number as usize] = place;
        }
        let place = |row: &Operation| places.get(row.kernel as usize).copied().unwrap_or(NONE);
        self.rows.sort_unstable_by_key(|row| {
            let time = (row.start_ns, row.end_ns);
            (time, row.begun_in, row.device, row.stream, place(row))
        });
    }

    fn read(
        &mut self,
        batch: &Batch,
        ranks: Ranks,
        calls: &Calls,
        window: Option<Window>,
        kernel_name: &dyn Fn(i64) -> Option<u32>,
    ) -> Result<()> {
        let (brick, device) = (batch.u64("brick")?, batch.i64("device")?);
        let stream = batch.i64("stream")?;
        let (start, dur) = (batch.i64("start_ns")?, batch.i64("dur_ns")?);
        let is_bound = batch.bool("is_bound")?;
        let valid = batch.has("valid").then(|| batch.bool("valid"));
        let valid = valid.transpose()?;
        let name = batch.has("name_id").then(|| batch.i64("name_id"));
        let name = name.transpose()?;
        for row in 0..batch.rows() {
            let rank = device.get(row).map_or(0, |of| ranks.of_place(of));
            let is_valid = valid.as_ref().and_then(|valid| valid.get(row)) != Some(false);
            let is_exact = is_bound.get(row) != Some(true);
            let dur_ns = dur.get(row).filter(|dur_ns| *dur_ns >= 0);
            let (Some(start_ns), Some(dur_ns), true, true) =
                (start.get(row), dur_ns, is_valid, is_exact)
            else {
                *self.left_out.entry(rank).or_default() += 1;
                continue;
            };
            if window.is_some_and(|window| !window.has(start_ns)) {
                continue;
            }
            let begun_in = brick.get(row).and_then(|id| calls.places.get(id));
            let device = device.get(row).and_then(|of| of.try_into().ok());
            let stream = stream.get(row).and_then(|of| of.try_into().ok());
            let kernel = name.as_ref().and_then(|name| kernel_name(name.get(row)?));
            self.rows.push(Operation {
                start_ns,
                end_ns: start_ns.saturating_add(dur_ns),
                begun_in: begun_in.unwrap_or(NONE),
                device: device.unwrap_or(0),
                rank,
                stream: stream.unwrap_or(NONE),
                kernel: kernel.unwrap_or(NONE),
            });
        }
        Ok(())
    }
}
