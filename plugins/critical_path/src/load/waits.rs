//! Waits, event records and streams as recorded.

use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::{Class, Lanes};
use trueno_plugin::rank::of_key;
use trueno_plugin::{Input, Result, Run};

use crate::load::device::Legacy;
use crate::load::edges::{Edge, has_device};

/// Waits for a device, a stream or an event, with the start of their call.
pub const WAITS: Input = Input::sql(
    "waits",
    "SELECT s.id, s.kind, s.device, s.stream, s.event, s.start_ns, s.correlation, \
     c.start_ns AS called_ns, c.dur_ns AS call_ns FROM syncs AS s LEFT JOIN calls AS c ON s.correlation = c.correlation WHERE s.kind <> 'join'",
)
.optional();
pub const RECORDED: Input = Input::sql(
    "recorded",
    "SELECT e.id, e.event, e.device, e.stream, e.correlation, c.start_ns AS called_ns \
     FROM device_events AS e JOIN calls AS c ON e.correlation = c.correlation",
)
.optional();
/// Device work that has a correlation id but no recorded launch.
pub const UNLAUNCHED: Input = Input::sql(
    "unlaunched",
    "SELECT k.id, k.correlation FROM kernels AS k LEFT JOIN calls AS c ON k.correlation = c.correlation \
     WHERE c.id IS NULL AND k.correlation IS NOT NULL AND k.device IS NOT NULL \
     UNION ALL SELECT t.id, t.correlation FROM transfers AS t LEFT JOIN calls AS c ON t.correlation = c.correlation \
     WHERE c.id IS NULL AND t.correlation IS NOT NULL AND t.device IS NOT NULL",
)
.optional();
pub const FIRST_CALLS: Input = Input::sql(
    "first_calls",
    "SELECT thread, MIN(correlation) AS correlation, MIN(start_ns) AS start_ns FROM calls \
     WHERE correlation IS NOT NULL GROUP BY thread",
)
.optional();
pub const STREAMS: Input =
    Input::sql("stream_kinds", "SELECT device, stream, kind FROM streams").optional();

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitKind {
    /// The host waits for all streams of a device.
    Device,
    /// The host waits for a stream.
    Stream,
    /// The host waits for an event.
    Event,
    /// A stream waits for an event.
    StreamWait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    /// Start of the host's call; the wait's own start if the call was not recorded.
    pub called_ns: i64,
    pub id: u64,
    pub kind: WaitKind,
    pub device: Option<i64>,
    /// The awaited stream; for [`WaitKind::StreamWait`] the stream that waits.
    pub stream: Option<i64>,
    pub event: Option<u64>,
    pub correlation: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recorded {
    /// Programs reuse events.
    pub event: u64,
    /// Start of the host's call.
    pub called_ns: i64,
    pub device: Option<i64>,
    pub stream: Option<i64>,
    pub correlation: Option<u64>,
    pub id: u64,
}

impl Recorded {
    /// The last record of the wait's event before the wait. `recorded` must be sorted.
    pub fn last_before<'a>(recorded: &'a [Self], wait: &Wait) -> Option<&'a Self> {
        let event = wait.event?;
        let end = recorded.partition_point(|r| (r.event, r.called_ns) < (event, wait.called_ns));
        let before = recorded[..end].iter().rev();
        before
            .take_while(|r| r.event == event)
            .find(|r| r.device.is_none() || wait.device.is_none() || r.device == wait.device)
    }
}

#[derive(Default)]
pub struct Waits {
    pub waits: Vec<Wait>,
    pub recorded: Vec<Recorded>,
    pub legacy: Legacy,
    pub launched: Launched,
}

impl Waits {
    /// Reads only the inputs that the run can have: none in a run without waits, edges and devices.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run, lanes: &Lanes, has_edges: bool) -> Result<Self> {
        let mut out = Self::default();
        let has_waits = lanes
            .labels
            .all()
            .iter()
            .any(|label| label.class == Class::Wait);
        let has_device = has_device(lanes);
        if has_waits {
            out.waits = waits(run, lanes.origin_ns)?;
        }
        if has_waits || has_edges {
            out.recorded = recorded(run, lanes.origin_ns)?;
        }
        if has_device {
            out.legacy = legacy(run)?;
            out.launched = Launched::read(run, lanes.origin_ns, &out.waits, &out.recorded)?;
        }
        Ok(out)
    }
}

/// All waits, sorted and without duplicates, with times relative to `origin_ns`.
///
/// # Errors
/// An input lacks a column or has it in another type.
fn waits(run: &mut Run, origin_ns: i64) -> Result<Vec<Wait>> {
    let table = run.table(WAITS.name())?;
    let (id, kind) = (table.u64("id")?, table.text("kind")?);
    let (device, stream) = (table.i64("device")?, table.i64("stream")?);
    let (event, start) = (table.u64("event")?, table.i64("start_ns")?);
    let (called, correlation) = (table.i64("called_ns")?, table.u64("correlation")?);
    let call = table.i64("call_ns")?;
    let mut out: Vec<(bool, Wait)> = Vec::new();
    for row in 0..table.rows() {
        let kind = match kind.get(row) {
            Some("device") => WaitKind::Device,
            Some("stream") => WaitKind::Stream,
            Some("event") => WaitKind::Event,
            Some("stream_wait") => WaitKind::StreamWait,
            _ => continue,
        };
        let start_ns = start.value(row);
        let called_ns = called.get(row).unwrap_or(start_ns);
        let until_ns = called_ns.saturating_add(call.get(row).unwrap_or(0));
        let is_within = called_ns <= start_ns && start_ns <= until_ns;
        let wait = Wait {
            called_ns: called_ns.saturating_sub(origin_ns),
            id: id.value(row),
            kind,
            device: device.get(row),
            stream: stream.get(row),
            event: event.get(row),
            correlation: correlation.get(row),
        };
        out.push((!is_within, wait));
    }
    // A call and the driver's call within it share a correlation: the outer one began first. Calls of other waits that
    // have the same number are none of its own.
    out.sort_unstable_by_key(|(is_apart, wait)| (wait.id, *is_apart, wait.called_ns));
    out.dedup_by_key(|(_, wait)| wait.id);
    let mut out: Vec<Wait> = out.into_iter().map(|(_, wait)| wait).collect();
    out.sort_unstable();
    Ok(out)
}

/// All event records, sorted.
///
/// # Errors
/// As [`waits`].
fn recorded(run: &mut Run, origin_ns: i64) -> Result<Vec<Recorded>> {
    let table = run.table(RECORDED.name())?;
    let (id, event) = (table.u64("id")?, table.u64("event")?);
    let called = table.i64("called_ns")?;
    let (device, stream) = (table.i64("device")?, table.i64("stream")?);
    let correlation = table.u64("correlation")?;
    let mut out: Vec<Recorded> = (0..table.rows())
        .map(|row| Recorded {
            event: event.value(row),
            called_ns: called.value(row).saturating_sub(origin_ns),
            device: device.get(row),
            stream: stream.get(row),
            correlation: correlation.get(row),
            id: id.value(row),
        })
        .collect();
    out.sort_unstable();
    Ok(out)
}

/// Moves edges from event records to waits out of `edges`; returns the record by wait.
pub fn joined(edges: &mut Vec<Edge>, recorded: &[Recorded]) -> FastMap<u64, Recorded> {
    let by_id: FastMap<u64, Recorded> = recorded.iter().map(|row| (row.id, *row)).collect();
    let mut out = FastMap::default();
    if by_id.is_empty() {
        return out;
    }
    edges.retain(|edge| {
        let record = by_id.get(&edge.from);
        if let Some(record) = record {
            out.insert(edge.to, *record);
        }
        record.is_none()
    });
    out
}

/// Latest possible launch times of work without a recorded launch. The driver increments the correlation id with
/// every call of a process (CUPTI, `CUpti_ActivityAPI`), so work with a lower id than a wait or a record was
/// launched before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launched {
    correlations: FastMap<u64, u64>,
    /// Correlation ids of waits, event records and the first call of each thread, sorted. Each with the
    /// earliest time of this and all later calls.
    calls: Vec<(u64, i64)>,
}

impl Launched {
    fn read(run: &mut Run, origin_ns: i64, waits: &[Wait], recorded: &[Recorded]) -> Result<Self> {
        let table = run.table(UNLAUNCHED.name())?;
        let (id, correlation) = (table.u64("id")?, table.u64("correlation")?);
        let mut out = Self::default();
        for row in 0..table.rows() {
            if let (Some(id), Some(correlation)) = (id.get(row), correlation.get(row)) {
                out.correlations.insert(id, correlation);
            }
        }
        if out.correlations.is_empty() {
            return Ok(out);
        }
        let waits = waits.iter().map(|wait| (wait.correlation, wait.called_ns));
        let records = recorded.iter().map(|row| (row.correlation, row.called_ns));
        let calls = waits.chain(records).filter_map(|(id, ns)| Some((id?, ns)));
        out.calls = calls.collect();
        let table = run.table(FIRST_CALLS.name())?;
        let (correlation, start) = (table.u64("correlation")?, table.i64("start_ns")?);
        for row in 0..table.rows() {
            if let (Some(id), Some(ns)) = (correlation.get(row), start.get(row)) {
                out.calls.push((id, ns.saturating_sub(origin_ns)));
            }
        }
        out.calls.sort_unstable();
        // Each rank counts for itself.
        for at in (1..out.calls.len()).rev() {
            if of_key(out.calls[at - 1].0) == of_key(out.calls[at].0) {
                out.calls[at - 1].1 = out.calls[at - 1].1.min(out.calls[at].1);
            }
        }
        Ok(out)
    }

    /// A time before which the work was launched; `None`: unknown.
    pub fn before_ns(&self, id: u64) -> Option<i64> {
        let correlation = *self.correlations.get(&id)?;
        let after = self.calls.partition_point(|call| call.0 <= correlation);
        let call = self.calls.get(after);
        call.filter(|call| of_key(call.0) == of_key(correlation))
            .map(|call| call.1)
    }
}

/// Streams that are ordered with the legacy default stream.
///
/// # Errors
/// As [`waits`].
fn legacy(run: &mut Run) -> Result<Legacy> {
    let table = run.table(STREAMS.name())?;
    let (device, stream) = (table.i64("device")?, table.i64("stream")?);
    let kind = table.text("kind")?;
    let mut out = Legacy::default();
    for row in 0..table.rows() {
        let key = (device.get(row), stream.value(row));
        match kind.get(row) {
            Some("null") => out.default.push(key),
            Some("blocking") => out.blocking.push(key),
            _ => {}
        }
    }
    Ok(out)
}
