//! Operators whose work follows from their shapes, as `operators` found it: points beside those of bricks and kernels.

use trueno_plugin::{Input, Result, Run};

use crate::roofs::Corner;
use crate::summary::{LaneTotal, Total};

/// Shapes with FLOPs, bytes and time that no nested shape accounts for.
pub const BY_SHAPE: Input = Input::sql(
    "operators",
    "SELECT name, input_dims, device, precision, calls, device_ns, host_ns, flops, moved_bytes, flops_per_byte, flops_per_s, \
     bytes_per_s, efficiency_share, bound_by, roof_source, reason, timed_on \
     FROM operators.by_shape WHERE flops > 0 AND moved_bytes > 0 AND counted_ns > 0",
)
.optional();

pub const BY_CATEGORY: Input = Input::sql(
    "operators_by_category",
    "SELECT calls, counted_ns, flops, moved_bytes FROM operators.by_category WHERE counted_ns > 0",
)
.optional();

pub const PLACED: Input = Input::sql(
    "operators_placed",
    "SELECT calls, counted_ns, efficiency_share FROM operators.by_shape \
     WHERE counted_ns > 0 AND efficiency_share IS NOT NULL",
)
.optional();

pub const ROOFS: Input = Input::sql(
    "operators_roofs",
    "SELECT roof, flops_per_byte, flops_per_s FROM operators.roofs",
)
.optional();

#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    pub name: String,
    pub input_dims: Option<String>,
    /// `cpu` or `gpu:<number>`.
    pub device: String,
    pub precision: Option<String>,
    pub calls: u64,
    pub dur_ns: i64,
    /// FLOPs of the calls that have a time. `bytes` likewise.
    pub flops: f64,
    pub bytes: f64,
    pub flops_per_byte: Option<f64>,
    pub flops_per_s: Option<f64>,
    pub bytes_per_s: Option<f64>,
    pub efficiency: Option<f64>,
    pub bound: Option<String>,
    /// `measured` or `nominal`.
    pub roof_source: Option<String>,
    pub reason: Option<String>,
}

impl Operator {
    pub fn attainable(&self) -> Option<f64> {
        Some(self.flops_per_s? / self.efficiency?)
    }

    /// True below a roof, false above it, `None` without a known roof.
    pub fn is_valid(&self) -> Option<bool> {
        let is_above = || {
            self.reason
                .as_deref()?
                .starts_with("above")
                .then_some(false)
        };
        self.efficiency.map(|_| true).or_else(is_above)
    }

    pub fn recoverable_ns(&self) -> Option<f64> {
        Some(self.dur_ns as f64 * (1.0 - self.efficiency?))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Operators {
    pub shapes: Vec<Operator>,
    pub total: Total,
    pub is_on_device: bool,
    pub roofs: Vec<Corner>,
}

impl Operators {
    /// Reads the inputs; empty if `operators` did not run.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run) -> Result<Self> {
        let mut out = Self::default();
        out.read_shapes(run)?;
        let table = run.table(BY_CATEGORY.name())?;
        if !table.is_missing() {
            let figures = &mut out.total.figures;
            let (calls, ns) = (table.u64("calls")?, table.i64("counted_ns")?);
            let (flops, bytes) = (table.f64("flops")?, table.f64("moved_bytes")?);
            for row in 0..table.rows() {
                figures.calls += calls.get(row).unwrap_or(0);
                figures.dur_ns = figures.dur_ns.saturating_add(ns.get(row).unwrap_or(0));
                figures.flops += flops.get(row).unwrap_or(0.0);
                figures.bytes += bytes.get(row).unwrap_or(0.0);
            }
        }
        let table = run.table(ROOFS.name())?;
        if !table.is_missing() {
            let (roof, x, y) = (
                table.text("roof")?,
                table.f64("flops_per_byte")?,
                table.f64("flops_per_s")?,
            );
            let corner = |row| Some((roof.get(row)?.to_owned(), x.get(row)?, y.get(row)?));
            out.roofs.extend((0..table.rows()).filter_map(corner));
        }
        let table = run.table(PLACED.name())?;
        if !table.is_missing() {
            let (calls, ns) = (table.u64("calls")?, table.i64("counted_ns")?);
            let efficiency = table.f64("efficiency_share")?;
            for row in 0..table.rows() {
                let dur_ns = ns.get(row).unwrap_or(0);
                let placed = &mut out.total.placed;
                placed.calls += calls.get(row).unwrap_or(0);
                placed.dur_ns = placed.dur_ns.saturating_add(dur_ns);
                out.total.at_roof_ns += dur_ns as f64 * efficiency.get(row).unwrap_or(0.0);
            }
        }
        Ok(out)
    }

    fn read_shapes(&mut self, run: &mut Run) -> Result<()> {
        let table = run.table(BY_SHAPE.name())?;
        if table.is_missing() {
            return Ok(());
        }
        let (name, dims, device) = (
            table.text("name")?,
            table.text("input_dims")?,
            table.text("device")?,
        );
        let (precision, bound) = (table.text("precision")?, table.text("bound_by")?);
        let (source, reason) = (table.text("roof_source")?, table.text("reason")?);
        let timed_on = table.text("timed_on")?;
        let calls = table.u64("calls")?;
        let (device_ns, host_ns) = (table.i64("device_ns")?, table.i64("host_ns")?);
        let (flops, bytes) = (table.f64("flops")?, table.f64("moved_bytes")?);
        let (intensity, efficiency) =
            (table.f64("flops_per_byte")?, table.f64("efficiency_share")?);
        let (flops_per_s, bytes_per_s) = (table.f64("flops_per_s")?, table.f64("bytes_per_s")?);
        let text = |of: Option<&str>| of.map(str::to_owned);
        for row in 0..table.rows() {
            let is_on_device = timed_on.get(row) == Some("device");
            let dur_ns = if is_on_device { &device_ns } else { &host_ns };
            self.is_on_device |= is_on_device;
            self.shapes.push(Operator {
                name: name.get(row).unwrap_or_default().to_owned(),
                input_dims: text(dims.get(row)),
                device: device.get(row).unwrap_or("cpu").to_owned(),
                precision: text(precision.get(row)),
                calls: calls.get(row).unwrap_or(0),
                dur_ns: dur_ns.get(row).unwrap_or(0),
                flops: flops.get(row).unwrap_or(0.0),
                bytes: bytes.get(row).unwrap_or(0.0),
                flops_per_byte: intensity.get(row),
                flops_per_s: flops_per_s.get(row),
                bytes_per_s: bytes_per_s.get(row),
                efficiency: efficiency.get(row),
                bound: text(bound.get(row)),
                roof_source: text(source.get(row)),
                reason: text(reason.get(row)),
            });
        }
        let order = |one: &Operator| (std::cmp::Reverse(one.dur_ns), one.name.clone());
        // As they came where they are equal: the sort is stable.
        self.shapes.sort_by_cached_key(order);
        Ok(())
    }

    /// The operators' row of the summary: its name, and their sums relative to the busy time of the lanes.
    pub fn lane(&self, lanes: &[Option<LaneTotal>; 2]) -> Option<(&'static str, LaneTotal)> {
        if self.total.figures.dur_ns == 0 {
            return None;
        }
        let (name, at) = if self.is_on_device {
            ("operators on devices", 1)
        } else {
            ("operators on the host", 0)
        };
        let lane = LaneTotal {
            // Operators of several streams may work at once.
            busy_ns: lanes[at].map_or(0, |lane| lane.busy_ns.max(self.total.figures.dur_ns)),
            figures_ns: self.total.figures.dur_ns,
            placed_ns: self.total.placed.dur_ns,
            total: self.total,
        };
        Some((name, lane))
    }
}
