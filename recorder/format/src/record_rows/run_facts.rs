//! Rows that do not come through rings: the recorder's own, and rare facts of the program.

use crate::ceiling::Ceiling;
use crate::kernel_source::PtxHash;
use crate::live::LoggedThread;
use crate::schema::{CeilingRow, ClockPairRow, DiagnosticRow, PtxRow, SignatureRow, ThreadRow};
use crate::text::{Text, Texts};
use crate::timeline::ClockReading;

/// The row of a thread that recorded.
pub fn thread(texts: &mut dyn Texts, thread: &LoggedThread, start_ns: i64) -> ThreadRow {
    ThreadRow {
        thread: thread.index,
        name: thread.name.as_deref().map(|name| texts.intern(name)),
        os_id: Some(thread.os_id),
        start_ns: Some(start_ns),
        dropped: Some(thread.dropped),
        ..ThreadRow::default()
    }
}

/// The row of a reading of the clocks; `device`: its number and its clock at the same moment.
pub fn clock_pair(reading: ClockReading, host_ns: i64, device: Option<(u32, u64)>) -> ClockPairRow {
    ClockPairRow {
        ticks: reading.ticks,
        host_ns,
        realtime_ns: reading.realtime_ns,
        device: device.map(|(number, _)| number),
        device_ns: device.map(|(_, device_ns)| device_ns.cast_signed()),
    }
}

/// A warning without a time.
pub fn warning(texts: &mut dyn Texts, code: &str, text: &str, count: u64) -> DiagnosticRow {
    DiagnosticRow {
        time_ns: None,
        severity: texts.intern("warning"),
        code: texts.intern(code),
        text: texts.intern(text),
        count,
    }
}

/// The text of the warning that rows were dropped.
pub fn dropped_text(rows: u64, table: &str) -> String {
    if table == "signatures" {
        return format!(
            "{rows} bricks lack their shapes: longer than 64 KiB, or more than 64 MiB of different ones"
        );
    }
    let too_long = match table {
        "attributes" | "annotations" => {
            ", or a text of theirs longer than 64 KiB, or beyond 64 MiB of different ones"
        }
        _ => "",
    };
    format!(
        "{rows} rows of {table} were dropped: their thread's ring was full{too_long} (hint: more \
         `growth_bytes` or `ring_records`, or overflow `Block`)"
    )
}

/// The row of an operator's shapes, of the number of their text: dimensions, element types and strides as JSON, a line
/// each; an empty one is not stated.
pub fn signature(texts: &mut dyn Texts, id: u32, text: u32) -> SignatureRow {
    let text = texts.get(Text::from_number(text)).unwrap_or_default();
    let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let mut lists = lines.iter().map(|list| match list.as_str() {
        "" => None,
        list => Some(texts.intern(list)),
    });
    let mut next = || lists.next().flatten();
    SignatureRow {
        id: u64::from(id),
        input_dims: next(),
        input_types: next(),
        input_strides: next(),
        concrete_inputs: None,
    }
}

/// The row of a kernel source; its name may be empty.
pub fn ptx(texts: &mut dyn Texts, hash: u64, name: &str, source_bytes: u64) -> PtxRow {
    PtxRow {
        hash: texts.intern(&PtxHash::from_number(hash).to_string()),
        name: (!name.is_empty()).then(|| texts.intern(name)),
        source_bytes,
    }
}

impl Ceiling {
    /// Its row.
    pub fn row(&self, texts: &mut dyn Texts) -> CeilingRow {
        let device = texts.intern(&self.device);
        let [kind, unit, source] =
            [self.kind.name(), self.unit(), self.source.name()].map(|text| texts.intern(text));
        let [level, precision, operation] = [&self.level, &self.precision, &self.operation]
            .map(|text| text.as_deref().map(|text| texts.intern(text)));
        CeilingRow {
            device,
            kind,
            level,
            precision,
            threads: self.threads,
            value: self.value,
            unit,
            source,
            operation,
            median: self.median,
            spread: self.spread,
            repetitions: self.repetitions,
            settled: self.settled,
            earlier: self.earlier,
        }
    }
}
