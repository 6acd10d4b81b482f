//! Rows of tables, one by one.

use std::collections::{BTreeMap, HashSet};

use super::columns::{Column, Row, Table, Unit};
use super::{ascend, smi, sums};
use crate::chrome::feed::{COUNTED_ALONE, Feed, Kind, NO_BYTES, NO_COUNTER, NO_TIMES, Slice};
use crate::cuda::cupti_enums::Direction;
use crate::{Error, Notes};

pub struct Rows<'a> {
    feed: Feed<'a>,
    /// A kernel trace is among the files.
    has_kernels: bool,
    /// Kernels that rows of counters gave.
    counted: HashSet<u64>,
    table: Table,
    units: BTreeMap<usize, Unit>,
    has_times: bool,
    /// `nvidia-smi` samples and sums have no other times.
    pub(super) sums: sums::Sums,
}

impl<'a> Rows<'a> {
    pub fn new(feed: Feed<'a>, has_kernels: bool) -> Self {
        Self {
            feed,
            has_kernels,
            counted: HashSet::new(),
            table: Table::Kernels,
            units: BTreeMap::new(),
            has_times: false,
            sums: sums::Sums::default(),
        }
    }

    pub fn begin(&mut self, table: Table) {
        self.table = table;
        self.has_times |= table.has_times();
        self.units.clear();
    }

    pub fn notes(&mut self) -> &mut Notes {
        self.feed.notes()
    }

    pub fn problem(&mut self, text: String) {
        self.feed.import().problem(text);
    }

    pub fn finish(mut self, hash: u64) -> Result<Option<i64>, Error> {
        self.sums.write(&mut self.feed)?;
        let wall_ns = self.feed.finish_as(hash)?;
        Ok(wall_ns.filter(|_| self.has_times))
    }

    fn time_ns(&self, row: Row<'_>, column: Column) -> Option<i64> {
        let cell = row.text(column)?;
        let place = row.columns.place(column)?;
        let unit = self.units.get(&place).copied().or(row.columns.unit(column));
        match unit {
            None | Some(Unit(1.0)) => cell.parse::<i64>().ok().or_else(|| {
                let whole = cell.parse::<f64>().ok().filter(|ns| ns.abs() < 1e18)?;
                Some(whole.round() as i64)
            }),
            Some(Unit(factor)) => scaled(cell, factor),
        }
    }

    fn times_ns(&self, row: Row<'_>) -> Option<(i64, i64)> {
        let start_ns = self.time_ns(row, Column::Start)?;
        let end_ns = self.time_ns(row, Column::End).or_else(|| {
            let dur_ns = self.time_ns(row, Column::Duration)?;
            start_ns.checked_add(dur_ns)
        })?;
        Some((start_ns, end_ns))
    }

    pub fn row(&mut self, row: Row<'_>, place: u64) -> Result<(), Error> {
        if place == 1 && self.is_row_of_units(row) {
            return Ok(());
        }
        match self.table {
            Table::Smi => return smi::row(&mut self.feed, row),
            Table::Sums => {
                self.sums.row(row, self.feed.notes());
                return Ok(());
            }
            Table::Agents => return self.agent(row),
            _ => {}
        }
        let Some(times_ns) = self.times_ns(row) else {
            return self.feed.leave_out(match self.table {
                Table::Counters => "counter of a kernel without times: no time to put it at",
                _ => NO_TIMES,
            });
        };
        match self.table {
            Table::Kernels => self.work(row, times_ns),
            Table::Copies => self.copy(row, times_ns),
            Table::Calls | Table::Markers => self.call(row, times_ns),
            Table::Counters => self.counter(row, times_ns),
            Table::Allocations => self.allocation(row, times_ns),
            Table::Agents | Table::Sums | Table::Smi => Ok(()),
        }
    }

    /// nvprof states units in a row below the header.
    fn is_row_of_units(&mut self, row: Row<'_>) -> bool {
        let start = row
            .columns
            .place(Column::Start)
            .and_then(|place| row.record.get(place));
        let start = start.and_then(|cell| std::str::from_utf8(cell).ok());
        if start.and_then(Unit::of_word).is_none() {
            return false;
        }
        for (place, cell) in row.record.iter().enumerate() {
            if let Some(unit) = std::str::from_utf8(cell).ok().and_then(Unit::of_word) {
                self.units.insert(place, unit);
            }
        }
        true
    }

    fn place<'s>(&self, row: Row<'_>, mut slice: Slice<'s>) -> Slice<'s> {
        slice.process = row.number(Column::Process).unwrap_or(0);
        slice.thread = row.number(Column::Thread).unwrap_or(0);
        // rocprofv3 writes 0 where nothing is known.
        slice.correlation = row.number(Column::Correlation).filter(|id| *id != 0);
        slice
    }

    /// Bytes of a cell in the unit of its column. A zero that may be a small number, rounded, is none.
    fn bytes(&mut self, row: Row<'_>, column: Column) -> Option<u64> {
        let cell = row.text(column)?;
        let place = row.columns.place(column)?;
        let unit = self.units.get(&place).copied().or(row.columns.unit(column));
        let factor = unit.map_or(1.0, |unit| unit.0);
        let value = cell.replace(',', "").parse::<f64>().ok()? * factor;
        let decimals = cell.split_once('.').map_or(0, |(_, part)| part.len());
        let step_bytes = factor / 10_f64.powi(i32::try_from(decimals).ok()?);
        if step_bytes > 1.0 {
            let title = row.columns.titles.get(place).map_or("", String::as_str);
            self.feed.notes().warn(format!(
                "{title} of the file is rounded to {step_bytes:.0} bytes; where it says 0, the size is not recorded"
            ));
            if value == 0.0 {
                return None;
            }
        }
        (0.0..1e18).contains(&value).then_some(value.round() as u64)
    }

    fn work(&mut self, row: Row<'_>, times_ns: (i64, i64)) -> Result<(), Error> {
        // Tasks of Ascend that are no kernel have a type only.
        let name = row.text(Column::Name).filter(|name| *name != "N/A");
        let Some(name) = name.or(row.text(Column::Core)) else {
            return self.feed.leave_out("row without a name");
        };
        if name.starts_with("PROFILING_") {
            self.feed.notes().skip("task of the profiler itself");
            return Ok(());
        }
        let operator = match row.text(Column::Core) {
            Some(_) => ascend::without_instance(row, name),
            None => name,
        };
        let instance = (operator != name).then_some(("instance", name));
        let name = operator;
        let within = |start: &str| name.strip_prefix(start)?.strip_suffix(']');
        let of_unified = within("[Unified Memory ");
        if of_unified.is_some_and(|name| !name.starts_with("Memcpy")) {
            return self
                .feed
                .leave_out("page fault or thrashing of unified memory: no work of a stream");
        }
        let name = of_unified.or(within("[CUDA ")).unwrap_or(name);
        let ends = [Column::SourceMemory, Column::TargetMemory].map(|end| row.text(end));
        let with_ends = match ends {
            [Some(from), Some(to)] => Some(format!("{name} ({from} -> {to})")),
            _ => None,
        };
        let name = with_ends.as_deref().unwrap_or(name);
        let mut attributes = Vec::new();
        let mut counters = Vec::new();
        if let Some(core) = row.text(Column::Core) {
            attributes.push(("accelerator core", core));
            attributes.extend(instance);
            ascend::unread(row, &mut attributes, &mut counters);
        } else {
            self.count_unread(row);
        }
        let counters: Vec<_> = counters
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        let block = row
            .axes([Column::BlockX, Column::BlockY, Column::BlockZ])
            .or_else(|| Some([row.small(Column::Block)?, 1, 1]));
        let grid = row
            .axes([Column::GridX, Column::GridY, Column::GridZ])
            .or_else(|| Some([row.small(Column::Grid)?, 1, 1]));
        // AMD counts work items, where CUDA counts blocks.
        let is_of_amd = row.columns.place(Column::Queue).is_some();
        let grid = match (grid, block) {
            (Some(grid), Some(block)) if is_of_amd => Some(in_blocks(grid, block)),
            (grid, _) => grid,
        };
        let [fixed, asked, bytes] = [Column::StaticShared, Column::DynamicShared, Column::Bytes]
            .map(|column| self.bytes(row, column));
        let shared = match (fixed, asked) {
            (None, None) => row.number(Column::Shared),
            (fixed, asked) => Some(fixed.unwrap_or(0) + asked.unwrap_or(0)),
        };
        let stream = row.small(Column::Stream);
        // rocprofv3 states 0 for work of no stream; queues tell it apart then.
        let queue = row.small(Column::Queue);
        let slice = Slice {
            device: row.small(Column::Device),
            stream: stream
                .filter(|stream| *stream != 0 || queue.is_none())
                .or(queue),
            grid,
            block,
            registers: row.number(Column::Registers),
            shared_memory_bytes: shared,
            bytes,
            attributes: &attributes,
            key: row.dispatch_key(),
            counters: &counters,
            ..Slice::new(Kind::Work, name, times_ns)
        };
        let slice = self.place(row, slice);
        self.feed.slice(&slice)
    }

    /// Counts the columns that no row has a place for.
    fn count_unread(&mut self, row: Row<'_>) {
        if self.table == Table::Counters {
            return;
        }
        for (title, cell) in row.unread() {
            if !cell.is_empty() {
                let left_out = &mut self.feed.notes().arguments_left_out;
                *left_out.entry(title.to_owned()).or_default() += 1;
            }
        }
    }

    fn copy(&mut self, row: Row<'_>, times_ns: (i64, i64)) -> Result<(), Error> {
        let name = row.text(Column::Direction).unwrap_or("copy");
        // A copy lies with the device: with the one it comes from where that is its end.
        let of = if Direction::from_words(name) == Some(Direction::DeviceToHost) {
            Column::Source
        } else {
            Column::Target
        };
        let slice = Slice {
            device: row.small(of),
            stream: row.small(Column::Stream),
            bytes: row.number(Column::Bytes),
            ..Slice::new(Kind::Copy, name, times_ns)
        };
        let slice = self.place(row, slice);
        self.feed.slice(&slice)
    }

    fn call(&mut self, row: Row<'_>, times_ns: (i64, i64)) -> Result<(), Error> {
        let name = row.text(Column::Function).or(row.text(Column::Name));
        let Some(name) = name else {
            return self.feed.leave_out("row without a name");
        };
        let domain = row.text(Column::Domain).unwrap_or("");
        let is_marker = self.table == Table::Markers
            || domain.starts_with("MARKER")
            || domain.starts_with("ROCTX");
        let kind = if is_marker { Kind::Range } else { Kind::Call };
        let slice = self.place(row, Slice::new(kind, name, times_ns));
        if is_marker && times_ns.0 == times_ns.1 {
            return self
                .feed
                .instant((slice.process, slice.thread), name, times_ns.0);
        }
        self.feed.slice(&slice)
    }

    fn counter(&mut self, row: Row<'_>, times_ns: (i64, i64)) -> Result<(), Error> {
        let name = row.text(Column::CounterName);
        let value = row.text(Column::CounterValue);
        let (Some(name), Some(value)) = (name, value.and_then(|value| value.parse().ok())) else {
            return self.feed.leave_out(NO_COUNTER);
        };
        let Some(key) = row.dispatch_key() else {
            let process = row.number(Column::Process).unwrap_or(0);
            return self.feed.counter(process, name, times_ns.0, value);
        };
        if !self.has_kernels && self.counted.insert(key) {
            self.feed.notes().warn(COUNTED_ALONE);
            self.work(row, times_ns)?;
        }
        self.feed
            .dispatch_counter(Some(key), Some(name), Some(times_ns.0), Some(value))
    }

    fn allocation(&mut self, row: Row<'_>, times_ns: (i64, i64)) -> Result<(), Error> {
        let operation = row.text(Column::Operation).unwrap_or("");
        let is_freed = operation.to_ascii_lowercase().contains("free");
        let bytes = row
            .number(Column::Bytes)
            .and_then(|bytes| i64::try_from(bytes).ok());
        let Some(bytes) = bytes.filter(|bytes| *bytes > 0) else {
            return self.feed.leave_out(NO_BYTES);
        };
        let process = row.number(Column::Process).unwrap_or(0);
        let thread = row.number(Column::Thread).unwrap_or(0);
        self.feed.allocation(
            (process, thread),
            times_ns.1,
            if is_freed { -bytes } else { bytes },
            row.number(Column::Address),
            row.small(Column::Device),
            None,
        )
    }

    fn agent(&mut self, row: Row<'_>) -> Result<(), Error> {
        let is_gpu = row.text(Column::AgentType) == Some("GPU");
        let node = row.small(Column::AgentNode);
        let (true, Some(node)) = (is_gpu, node) else {
            self.feed.notes().skip("agent that is no GPU");
            return Ok(());
        };
        let name = row.text(Column::Product).or(row.text(Column::Name));
        let units = row.small(Column::Units);
        self.feed.device(node, name.unwrap_or("GPU"), units)
    }
}

pub(crate) fn in_blocks(grid: [u32; 3], block: [u32; 3]) -> [u32; 3] {
    let mut blocks = grid;
    for (items, block) in blocks.iter_mut().zip(block) {
        *items = items.div_ceil(block.max(1));
    }
    blocks
}

/// A decimal times a power of ten, exact for up to nine digits after the point.
fn scaled(cell: &str, factor: f64) -> Option<i64> {
    let digits = factor.log10().round();
    let is_power = (factor - 10_f64.powi(digits as i32)).abs() < f64::EPSILON;
    if !is_power {
        let value = cell.parse::<f64>().ok()? * factor;
        return (value.abs() < 9e18).then_some(value.round() as i64);
    }
    let (whole, part) = cell.split_once('.').unwrap_or((cell, ""));
    if !part.bytes().all(|byte| byte.is_ascii_digit()) || whole.contains(['e', 'E']) {
        let value = cell.parse::<f64>().ok()? * factor;
        return (value.abs() < 9e18).then_some(value.round() as i64);
    }
    let digits = digits as usize;
    let mut text = whole.to_owned();
    let mut part = part.to_owned();
    let rounds_up = part
        .as_bytes()
        .get(digits)
        .is_some_and(|digit| *digit >= b'5');
    part.truncate(digits);
    text.push_str(&part);
    text.extend(std::iter::repeat_n('0', digits - part.len()));
    let value: i64 = text.parse().ok()?;
    let sign = if whole.starts_with('-') { -1 } else { 1 };
    value.checked_add(if rounds_up { sign } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_become_nanoseconds_exactly() {
        for (cell, factor, ns) in [
            ("1704161511420289.123", 1e3, Some(1_704_161_511_420_289_123)),
            ("293.5714391", 1e6, Some(293_571_439)),
            ("0.5", 1e9, Some(500_000_000)),
            ("1.0005", 1e3, Some(1_001)),
            ("12", 1e3, Some(12_000)),
            ("1.5e3", 1e3, Some(1_500_000)),
            ("x", 1e3, None),
            ("99999999999999999999", 1e3, None),
        ] {
            assert_eq!(scaled(cell, factor), ns, "{cell}");
        }
    }
}
