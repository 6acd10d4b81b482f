//! Rows that come from the writer itself, not from rings.

use serde::{Deserialize, Serialize};

use super::columns::Columns;
use crate::ceiling::Ceiling;
use crate::clock::pairs::Pair;
use crate::names::{Name, Texts};
use crate::ptx::PtxHash;

/// A thread that recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ThreadRow {
    pub index: u32,
    pub name: Option<String>,
    pub os_id: u64,
    pub start_ticks: u64,
    /// Rows of all tables.
    pub dropped: u64,
}

pub(crate) fn thread(to: &mut Columns, texts: &mut Texts, thread: &ThreadRow, start_ns: i64) {
    let name = thread.name.as_deref().map(|name| texts.name(name));
    to.own_row(|row| {
        row.put(u64::from(thread.index))
            .text_if(name)
            .put_if(Some(thread.os_id))
            .put_if(Some(start_ns as u64))
            .put(thread.dropped);
    });
}

/// `device`: its number and its clock at the same moment.
pub(crate) fn clock_pair(to: &mut Columns, pair: Pair, host_ns: i64, device: Option<(u32, u64)>) {
    to.own_row(|row| {
        row.put(pair.ticks)
            .signed(host_ns)
            .signed(pair.realtime_ns)
            .put_if(device.map(|(number, _)| u64::from(number)))
            .put_if(device.map(|(_, device_ns)| device_ns));
    });
}

/// A warning without a time.
pub(crate) fn warning(to: &mut Columns, texts: &mut Texts, code: &str, text: &str, count: u64) {
    let [severity, code, text] = ["warning", code, text].map(|text| texts.name(text));
    to.own_row(|row| {
        row.nulls(1).text(severity).text(code).text(text).put(count);
    });
}

pub(crate) fn dropped_text(rows: u64, table: &str) -> String {
    format!(
        "{rows} rows of {table} were dropped: their thread's ring was full (hint: more \
         `ring_records`, or overflow `Block` or `Grow`)"
    )
}

pub(crate) fn ceiling(to: &mut Columns, texts: &mut Texts, ceiling: &Ceiling) {
    let device = texts.name(&ceiling.device);
    let [kind, unit, source] =
        [ceiling.kind.name(), ceiling.unit(), ceiling.source.name()].map(|t| texts.name(t));
    let [level, precision, operation] = [&ceiling.level, &ceiling.precision, &ceiling.operation]
        .map(|text| text.as_deref().map(|t| texts.name(t)));
    to.own_row(|row| {
        row.text(device)
            .text(kind)
            .text_if(level)
            .text_if(precision)
            .put_if(ceiling.threads.map(u64::from))
            .put(ceiling.value.to_bits())
            .text(unit)
            .text(source)
            .text_if(operation)
            .put_if(ceiling.median.map(f64::to_bits))
            .put_if(ceiling.spread.map(f64::to_bits))
            .put_if(ceiling.repetitions.map(u64::from))
            .put_if(ceiling.settled.map(u64::from))
            .put_if(ceiling.earlier.map(f64::to_bits));
    });
}

/// A kernel source; its name may be empty.
pub(crate) fn ptx(to: &mut Columns, texts: &mut Texts, hash: u64, name: &str, bytes: u64) {
    let hash = texts.name(&PtxHash::from_number(hash).to_string());
    let name: Option<Name> = (!name.is_empty()).then(|| texts.name(name));
    to.own_row(|row| {
        row.text(hash).text_if(name).put(bytes);
    });
}
