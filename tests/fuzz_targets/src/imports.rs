//! Files of other profilers, imported.

mod kernels;
mod nsys_rows;

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use trueno_format::journal::chunk_hash;
use trueno_format::run_json::RunJson;
use trueno_format::run_writer::RunWriter;
use trueno_import::{
    Error, Import, Importer, Notes, Options, axonml, brick_profiler, cgp, chrome, device_csv,
    firefox, flight_recorder, ncu, nsys, nvprof, otlp, perf_script, perfetto, proton, renacer,
    rocpd, rocprof_json, speedscope, strace, tensorrt, torch_memory, xplane,
};

use crate::scratch;
use nsys_rows::Rows;

/// Number of imports into one run. Creating a run costs more than most inputs.
const MAX_USES: u32 = 64;
/// Maximum number of rows per input byte, plus a constant.
const MAX_ROWS: (u64, u64) = (4, 64);

/// A run that inputs are imported into, and the input file.
struct Place {
    folder: TempDir,
    into: Option<RunWriter>,
    uses: u32,
    runs: u32,
}

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
}

impl Place {
    fn new() -> Self {
        Self {
            folder: scratch::folder(),
            into: None,
            uses: 0,
            runs: 0,
        }
    }

    fn writer(&mut self) -> RunWriter {
        if let Some(into) = self.into.take().filter(|_| self.uses < MAX_USES) {
            return into;
        }
        let path = |run: u32| self.folder.path().join(format!("{run}.run"));
        let _ = std::fs::remove_dir_all(path(self.runs));
        self.runs += 1;
        self.uses = 0;
        RunWriter::create(&path(self.runs), RunJson::default()).expect("a run")
    }
}

/// Writes the bytes to a file and imports it. True if it became rows.
fn imported(
    bytes: &[u8],
    import: impl FnOnce(&Path, &mut RunWriter, &mut Notes) -> Result<Option<i64>, Error>,
) -> bool {
    imported_as(bytes, bytes.len(), import)
}

/// As [`imported`], for a file whose unpacked content has this length.
fn imported_as(
    bytes: &[u8],
    length: usize,
    import: impl FnOnce(&Path, &mut RunWriter, &mut Notes) -> Result<Option<i64>, Error>,
) -> bool {
    // Taken, and put back in the end: what a panic leaves is not used again.
    let mut place = PLACE.take().unwrap_or_else(Place::new);
    let file: PathBuf = place.folder.path().join("input");
    std::fs::write(&file, bytes).expect("room for the input");
    let mut into = place.writer();
    let mut notes = Notes::default();
    let result = import(&file, &mut into, &mut notes);
    let kept: u64 = notes.kept.values().sum();
    let (of_a_byte, of_nothing) = MAX_ROWS;
    let most = of_a_byte * length as u64 + of_nothing;
    assert!(kept <= most, "{kept} rows of {length} bytes");
    let texts = notes
        .read
        .keys()
        .chain(notes.left_out.keys())
        .map(String::len);
    let texts: usize = texts.chain(notes.warnings.iter().map(String::len)).sum();
    assert!(texts <= 64 * length + (64 << 10), "{texts} bytes of notes");
    if let Ok(wall_ns) = result {
        assert!(wall_ns.is_none_or(|ns| ns >= 0), "a run of {wall_ns:?} ns");
        if chunk_hash(bytes).ends_with('0') {
            drop(into.finish(wall_ns).expect("a run that ends"))
        } else {
            place.into = Some(into)
        }
    }
    place.uses += 1;
    PLACE.set(Some(place));
    result.is_ok() && kept > 0
}

/// Inputs of even length are imported with `partial`, which keeps what comes before damage.
fn by_length(bytes: &[u8]) -> Options {
    Options {
        partial: bytes.len().is_multiple_of(2),
        ..Options::default()
    }
}

fn read(
    importer: &Importer,
    path: &Path,
    options: &Options,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Result<Option<i64>, Error> {
    importer.import(Import {
        path,
        options,
        into,
        notes,
        progress: &mut |_| (),
    })
}

fn with(importer: &Importer, bytes: &[u8]) -> bool {
    imported(bytes, |file, into, notes| {
        read(importer, file, &by_length(bytes), into, notes)
    })
}

pub fn chrome(bytes: &[u8]) -> bool {
    with(&chrome::IMPORTER, bytes)
}

pub fn nsys_sqlite(bytes: &[u8]) -> bool {
    with(&nsys::IMPORTER, bytes)
}

/// Tables of Nsight Systems in any form, see `Rows`.
pub fn nsys_rows(bytes: &[u8]) -> bool {
    let mut rows = Rows::parse(&String::from_utf8_lossy(bytes));
    imported(bytes, |file, into, notes| {
        let length = bytes.len() as u64;
        let options = Options::default();
        let import = Import {
            path: file,
            options: &options,
            into,
            notes,
            progress: &mut |_| (),
        };
        nsys::import_source(&mut rows, length, import)
    })
}

/// Text of strace. Every call is a row or counted, and so is every line.
pub fn strace(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let lines = text
        .split('\n')
        .filter(|line| !line.trim().is_empty())
        .count() as u64;
    imported(bytes, |file, into, notes| {
        let result = read(&strace::IMPORTER, file, &Options::default(), into, notes);
        if result.is_ok() {
            let read = |kind: &str| notes.read.get(kind).copied().unwrap_or(0);
            let left_out = |reason: &str| notes.left_out.get(reason).copied().unwrap_or(0);
            let is_none =
                left_out("line that is not a call") + left_out("message of strace itself");
            assert_eq!(is_none + notes.read.values().sum::<u64>(), lines, "lines");
            let kept = |table: &str| notes.kept.get(table).copied().unwrap_or(0);
            let rows = kept("calls") + kept("annotations");
            assert_eq!(
                rows + left_out("unfinished call"),
                read("call") + read("begun call") + read("signal or exit"),
                "rows"
            );
        }
        result
    })
}

/// JSON of renacer. Every call is a row or counted.
pub fn renacer(bytes: &[u8]) -> bool {
    imported(bytes, |file, into, notes| {
        let result = read(&renacer::IMPORTER, file, &Options::default(), into, notes);
        if result.is_ok() {
            let read: u64 = notes.read.values().sum();
            let kept = |table: &str| notes.kept.get(table).copied().unwrap_or(0);
            let rows = kept("calls") + kept("annotations");
            assert!(rows >= read, "{rows} rows of {read} calls");
        }
        result
    })
}

/// JSON of axonml-profile. Every event is a row, part of one, or counted; every sum is a row.
pub fn axonml(bytes: &[u8]) -> bool {
    let partial = Options {
        partial: true,
        ..Options::default()
    };
    imported(bytes, |file, into, notes| {
        let result = read(&axonml::IMPORTER, file, &partial, into, notes);
        if result.is_ok() {
            let read: u64 = notes.read.values().sum();
            let left_out: u64 = notes.left_out.values().sum();
            let kept = |table: &str| notes.kept.get(table).copied().unwrap_or(0);
            let rows = kept("annotations") + kept("counters");
            assert!(rows + kept("bricks") + left_out <= read, "rows");
            assert!(rows + 2 * kept("bricks") + 2 * left_out >= read, "events");
        }
        result
    })
}

/// JSON of BrickProfiler. A brick or a level of tiles becomes at most ten rows.
pub fn brick_profiler(bytes: &[u8]) -> bool {
    imported(bytes, |file, into, notes| {
        let result = read(
            &brick_profiler::IMPORTER,
            file,
            &by_length(bytes),
            into,
            notes,
        );
        let kept = |table: &str| notes.kept.get(table).copied().unwrap_or(0);
        let records: u64 = notes.read.values().sum();
        let rows = kept("counters") + kept("annotations");
        assert!(rows <= 10 * records + 2, "{rows} rows of {records} sums");
        result
    })
}

/// A profile of aprender-cgp. Every metric is a row or counted.
pub fn cgp(bytes: &[u8]) -> bool {
    imported(bytes, |file, into, notes| {
        let result = read(&cgp::IMPORTER, file, &by_length(bytes), into, notes);
        let kept = notes.kept.get("counters").copied().unwrap_or(0);
        assert_eq!(kept, notes.read.values().sum::<u64>(), "metrics");
        result
    })
}

/// OTLP/JSON. Every span is a row or counted.
pub fn otlp(bytes: &[u8]) -> bool {
    let partial = Options {
        partial: true,
        ..Options::default()
    };
    imported(bytes, |file, into, notes| {
        let result = read(&otlp::IMPORTER, file, &partial, into, notes);
        if result.is_ok() {
            let read: u64 = notes.read.values().sum();
            let bricks = notes.kept.get("bricks").copied().unwrap_or(0);
            let left_out: u64 = notes.left_out.values().sum();
            assert!(bricks <= read && bricks + left_out >= read);
        }
        result
    })
}

/// Perfetto packets. Every event is a row, half a row, or counted.
pub fn perfetto(bytes: &[u8]) -> bool {
    let partial = Options {
        partial: true,
        ..Options::default()
    };
    imported(bytes, |file, into, notes| {
        let result = read(&perfetto::IMPORTER, file, &partial, into, notes);
        if result.is_ok() {
            let read: u64 = notes.read.values().sum();
            let left_out: u64 = notes.left_out.values().sum();
            let kept = |table: &str| notes.kept.get(table).copied().unwrap_or(0);
            let points = kept("annotations") + kept("counters");
            assert!(2 * kept("bricks") + points + left_out >= read, "events");
            assert!(kept("bricks") + kept("annotations") <= read, "rows");
        }
        result
    })
}

/// Profiles of XLA. Every event is a row or counted.
pub fn xplane(bytes: &[u8]) -> bool {
    imported(bytes, |file, into, notes| {
        let result = read(&xplane::IMPORTER, file, &by_length(bytes), into, notes);
        if result.is_ok() {
            let read: u64 = notes.read.values().sum();
            let left_out: u64 = notes.left_out.values().sum();
            let kept = |table: &str| notes.kept.get(table).copied().unwrap_or(0);
            let work = kept("bricks") + kept("kernels") + kept("transfers") + kept("calls");
            assert!(work <= read, "rows");
            let points = kept("annotations") + kept("counters");
            assert!(work + points + left_out >= read, "events");
        }
        result
    })
}

/// Tables of device work in CSV. There are no more rows than the lines allow.
pub fn device_csv(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).count() as u64;
    imported(bytes, |file, into, notes| {
        let result = read(&device_csv::IMPORTER, file, &by_length(bytes), into, notes);
        let kept = |table: &str| notes.kept.get(table).copied().unwrap_or(0);
        let rows = kept("kernels") + kept("transfers") + kept("calls") + kept("bricks");
        assert!(rows <= lines, "rows");
        result
    })
}

/// JSON of rocprofv3. There are no more rows than objects.
pub fn rocprof_json(bytes: &[u8]) -> bool {
    let objects = bytes
        .iter()
        .filter(|byte| matches!(byte, b'{' | b'['))
        .count() as u64;
    imported(bytes, |file, into, notes| {
        let result = read(
            &rocprof_json::IMPORTER,
            file,
            &by_length(bytes),
            into,
            notes,
        );
        let kept = |table: &str| notes.kept.get(table).copied().unwrap_or(0);
        let rows = kept("kernels") + kept("transfers") + kept("calls") + kept("bricks");
        assert!(rows <= objects, "rows");
        result
    })
}

pub fn rocpd(bytes: &[u8]) -> bool {
    imported(bytes, |file, into, notes| {
        read(&rocpd::IMPORTER, file, &by_length(bytes), into, notes)
    })
}

/// Memory snapshots of PyTorch. There are no more allocations than bytes.
pub fn torch_memory(bytes: &[u8]) -> bool {
    imported(bytes, |file, into, notes| {
        let result = read(
            &torch_memory::IMPORTER,
            file,
            &by_length(bytes),
            into,
            notes,
        );
        let kept = notes.kept.get("allocations").copied().unwrap_or(0);
        assert!(kept <= bytes.len() as u64, "allocations");
        result
    })
}

/// Dumps of PyTorch's Flight Recorder. Every entry and every process group is a row or counted.
pub fn flight_recorder(bytes: &[u8]) -> bool {
    imported(bytes, |file, into, notes| {
        let result = read(
            &flight_recorder::IMPORTER,
            file,
            &by_length(bytes),
            into,
            notes,
        );
        if result.is_ok() {
            let read: u64 = notes.read.values().sum();
            let left_out: u64 = notes.left_out.values().sum();
            let kept = notes.kept.get("annotations").copied().unwrap_or(0);
            assert_eq!(kept + left_out, read, "instants");
        }
        result
    })
}

pub fn nvprof(bytes: &[u8]) -> bool {
    imported(bytes, |file, into, notes| {
        read(&nvprof::IMPORTER, file, &by_length(bytes), into, notes)
    })
}

const FAR_SAMPLE: &str = "sample with an impossible time";

/// Profiles of speedscope. Every stack is a sample, and every end of a function is a row or counted.
pub fn speedscope(bytes: &[u8]) -> bool {
    imported(bytes, |file, into, notes| {
        let result = read(&speedscope::IMPORTER, file, &by_length(bytes), into, notes);
        let read = |kind: &str| notes.read.get(kind).copied().unwrap_or(0);
        let kept = |table: &str| notes.kept.get(table).copied().unwrap_or(0);
        if result.is_ok() {
            let far = notes.left_out.get(FAR_SAMPLE).copied().unwrap_or(0);
            assert_eq!(kept("samples") + far, read("sample"), "samples");
            let entered = read("function entered");
            assert!(
                kept("bricks") <= entered.min(read("function left")),
                "functions"
            );
        }
        result
    })
}

/// Profiles of the Firefox Profiler. A sample becomes as many rows as its CPU time or weight has: at most 16 on average, and
/// one more in each thread.
pub fn firefox(bytes: &[u8]) -> bool {
    imported(bytes, |file, into, notes| {
        let result = read(&firefox::IMPORTER, file, &by_length(bytes), into, notes);
        let read = notes.read.get("sample").copied().unwrap_or(0);
        let kept = notes.kept.get("samples").copied().unwrap_or(0);
        assert!(kept <= 17 * read, "{kept} rows of {read} samples");
        result
    })
}

/// JSON of `trtexec`. There are at most four rows for an inference and three for a layer.
pub fn tensorrt(bytes: &[u8]) -> bool {
    imported(bytes, |file, into, notes| {
        let result = read(&tensorrt::IMPORTER, file, &by_length(bytes), into, notes);
        let read = |kind: &str| notes.read.get(kind).copied().unwrap_or(0);
        let kept = |table: &str| notes.kept.get(table).copied().unwrap_or(0);
        let work = kept("kernels") + kept("transfers") + kept("calls");
        assert!(work <= 4 * read("inference"), "inferences");
        assert!(kept("counters") <= 3 * read("layer"), "layers");
        result
    })
}

/// Trees of Proton. There are no more counters than values.
pub fn proton(bytes: &[u8]) -> bool {
    let values = bytes.iter().filter(|byte| **byte == b':').count() as u64;
    imported(bytes, |file, into, notes| {
        let result = read(&proton::IMPORTER, file, &by_length(bytes), into, notes);
        let kept = notes.kept.get("counters").copied().unwrap_or(0);
        assert!(kept <= values, "counters");
        result
    })
}

/// Nsight Systems as JSON lines. There are no more rows than objects.
pub fn nsys_json_lines(bytes: &[u8]) -> bool {
    let objects = bytes.iter().filter(|byte| **byte == b'{').count() as u64;
    imported(bytes, |file, into, notes| {
        let result = read(
            &nsys::json_lines::IMPORTER,
            file,
            &by_length(bytes),
            into,
            notes,
        );
        let kept = |table: &str| notes.kept.get(table).copied().unwrap_or(0);
        let rows = kept("kernels") + kept("transfers") + kept("calls") + kept("bricks");
        assert!(rows <= objects, "rows");
        result
    })
}

/// Text of `perf script`. There are no more samples than lines.
pub fn perf_script(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
    imported(bytes, |file, into, notes| {
        let result = read(
            &perf_script::IMPORTER,
            file,
            &Options::default(),
            into,
            notes,
        );
        if result.is_ok() {
            let kept = |table: &str| notes.kept.get(table).copied().unwrap_or(0);
            assert!(kept("samples") + kept("annotations") <= lines, "samples");
        }
        result
    })
}

/// CSV of Nsight Compute, joined to kernels. The first byte says whether only one process is selected.
pub fn ncu_csv(bytes: &[u8]) -> bool {
    let Some((process, csv)) = bytes.split_first() else {
        return false;
    };
    let process = (process % 4 == 3).then_some(7);
    imported(csv, |file, into, notes| {
        ncu::join(file, process, kernels::traced(), into, notes).map(|joined| {
            assert!(
                joined.kernels <= kernels::traced().count() as u64,
                "more kernels than there are"
            );
            None
        })
    })
}

/// A file of any format, packed or encoded according to its first byte. From 6 on the bytes are unchanged.
pub fn packed(bytes: &[u8]) -> bool {
    let Some((how, content)) = bytes.split_first() else {
        return false;
    };
    let text = String::from_utf8_lossy(content);
    let utf16 = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let mark = "\u{feff}".encode_utf16();
        mark.chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    let (first, second) = content.split_at(content.len() / 2);
    let file = match how {
        0 => gzip(content),
        1 => [gzip(first), gzip(second), vec![0; 512]].concat(),
        2 => zstd_frames(content),
        3 => [zstd_frames(first), zstd_frames(second), b"garbage".to_vec()].concat(),
        4 => utf16(u16::to_le_bytes),
        5 => gzip(&utf16(u16::to_be_bytes)),
        _ => content.to_vec(),
    };
    // What is as it is may be packed by itself.
    let length = if *how < 6 {
        content.len()
    } else {
        200 * file.len() + (64 << 10)
    };
    imported_as(&file, length, |file, into, notes| {
        let importer = trueno_import::detect(file)?;
        read(importer, file, &by_length(bytes), into, notes)
    })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    to.write_all(bytes).expect("memory takes all");
    to.finish().expect("memory takes all")
}

/// Zstd frames that store the bytes uncompressed.
fn zstd_frames(bytes: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    for part in bytes.chunks(255) {
        let block = (part.len() as u32) << 3 | 1;
        // One byte for the length of the content, which is one segment.
        frames.extend_from_slice(&[0x28, 0xb5, 0x2f, 0xfd, 0x20, part.len() as u8]);
        frames.extend_from_slice(&block.to_le_bytes()[..3]);
        frames.extend_from_slice(part);
    }
    frames
}

/// A trace with the bytes as an unescaped name. If they contain no quote, the trace must be readable.
pub fn unescaped(bytes: &[u8]) -> bool {
    let before = br#"[{"ph":"X","cat":"cpu_op","name":""#;
    let file = [before, bytes, br#"","pid":1,"tid":1,"ts":1,"dur":2}]"#].concat();
    let is_read = imported(&file, |file, into, notes| {
        let wall_ns = read(&chrome::IMPORTER, file, &Options::default(), into, notes)?;
        Ok(wall_ns)
    });
    assert!(
        is_read || bytes.contains(&b'"'),
        "a name without quotes is read"
    );
    is_read
}

/// Detects the format from the beginning of a file.
pub fn detect(bytes: &[u8]) -> bool {
    let mut is_known = false;
    imported(bytes, |file, _, _| {
        is_known = !trueno_import::detect(file)?.name.is_empty();
        Ok(None)
    });
    is_known
}
