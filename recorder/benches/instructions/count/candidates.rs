//! Spans to count, and less than a span beside them.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trueno_format::journal::chunk_hash;
use trueno_recorder::{BrickId, Name, Operand, Recorder, Signature, TileLevel};
use trueno_testing::ticks;

use super::writer::Writer;

pub const NAMES: [&str; 28] = [
    "the loop alone",
    "floor: two clock readings, 64 bytes stored",
    "bare span: thread-local, parent, head",
    "bare span, off",
    "brick",
    "brick with elements, flops, bytes",
    "brick around a call",
    "kernel",
    "kernel with elements, flops, bytes",
    "kernel with these, grid and block",
    "tile",
    "brick, recorder disabled",
    "brick with metrics, recorder disabled",
    "brick kept in memory, recorder disabled",
    "brick with metrics, tiles sampled",
    "kernel with metrics, tiles sampled",
    "tile, all kept, those of another level sampled",
    "brick with a signature",
    "brick with shapes, looked up",
    "brick with an attribute, a number",
    "brick with an attribute, a text looked up",
    "brick with an attribute, key and text interned",
    "brick with an attribute, recorder disabled",
    "instant",
    "writer: records to rows, one by one",
    "writer: records to rows, together",
    "writer: likewise, and rows to a batch",
    "writer: likewise, and its hash",
];

/// Prefix of the candidates that run on the writer thread.
pub const OF_WRITER: &str = "writer: ";

const LINES: usize = 4096;

const OPERAND: Operand<'static> = Operand::new(&[16, 4096], "f32");

#[derive(Clone, Copy, Default)]
#[repr(align(64))]
#[expect(dead_code, reason = "stored, and read by nobody")]
struct Line([u64; 8]);

/// Passes `measure` a function that makes the given number of spans.
pub fn run(name: &str, measure: impl FnOnce(&dyn Fn(u64))) -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("trueno-instructions-{}", std::process::id()));
    let builder = Recorder::builder(&folder);
    let on = if name.ends_with("sampled") {
        builder.tiles_every(TileLevel::Macro, 10).create()?
    } else {
        builder.create()?
    };
    let off = Recorder::disabled();
    let gemv = Name::new("gemv");
    let at = NAMES.iter().position(|other| *other == name);
    let at = at.ok_or_else(|| format!("no candidate {name}"))?;
    match at {
        0 => measure(&|spans| each(spans, |_| ())),
        1 => measure(&floor),
        2 | 3 => {
            BARE_ON.store(at == 2, Ordering::Relaxed);
            let mut lane = Bare::default();
            BARE.set(&mut lane);
            measure(&|spans| each(spans, bare));
            BARE.set(ptr::null_mut());
        }
        4 => measure(&|spans| each(spans, |_| drop(on.brick(BrickId::QkvProjection)))),
        5 | 14 => measure(&|spans| each(spans, |i| brick(&on, i))),
        6 => measure(&|spans| {
            each(spans, |i| {
                let _brick = on.brick(BrickId::QkvProjection);
                work(i);
            });
        }),
        7 => measure(&|spans| each(spans, |_| drop(on.kernel(gemv)))),
        8 | 15 => measure(&|spans| {
            each(spans, |i| {
                let mut kernel = on.kernel(gemv);
                kernel.elements(i).flops(i << 1).bytes(i << 2);
            });
        }),
        9 => measure(&|spans| {
            each(spans, |i| {
                let mut kernel = on.kernel(gemv);
                kernel.elements(i).flops(i << 1).bytes(i << 2);
                kernel.grid(i as u32, 1, 1).block(64, 1, 1);
            });
        }),
        10 | 16 => measure(&|spans| {
            each(spans, |i| drop(on.tile(TileLevel::Micro, i as u32, 0)));
        }),
        11 => measure(&|spans| each(spans, |_| drop(off.brick(BrickId::QkvProjection)))),
        12 => measure(&|spans| each(spans, |i| brick(&off, i))),
        13 => measure(&|spans| {
            each(spans, |_| {
                drop(black_box(off.brick(BrickId::QkvProjection)))
            });
        }),
        17 => {
            let shapes = Signature::new(&[OPERAND; 2]);
            measure(&|spans| {
                each(spans, |_| {
                    on.brick(BrickId::QkvProjection).shapes(shapes);
                });
            });
        }
        18 => measure(&|spans| {
            each(spans, |_| {
                on.brick(BrickId::QkvProjection)
                    .shapes(&black_box([OPERAND; 2]));
            });
        }),
        19 => measure(&|spans| {
            each(spans, |i| {
                on.brick(BrickId::QkvProjection).set(gemv, i);
            });
        }),
        20 => measure(&|spans| {
            each(spans, |_| {
                on.brick(BrickId::QkvProjection).set("batch", "tiny");
            });
        }),
        21 => measure(&|spans| {
            each(spans, |_| {
                on.brick(BrickId::QkvProjection).set(gemv, gemv);
            });
        }),
        22 => measure(&|spans| {
            each(spans, |i| {
                off.brick(BrickId::QkvProjection).set("batch", i);
            });
        }),
        23 => measure(&|spans| each(spans, |_| on.instant(gemv))),
        step => {
            let writer = RefCell::new(Writer::new());
            measure(&|spans| write(&mut writer.borrow_mut(), spans, step - 24));
        }
    }
    drop(on);
    // What is left there is of no use to anyone.
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

fn write(writer: &mut Writer, spans: u64, last_step: usize) {
    writer.take(spans, last_step > 0);
    if last_step > 1 {
        let bytes = writer.encode();
        if last_step > 2 {
            black_box(chunk_hash(bytes));
        }
    }
}

#[inline(always)]
fn each(spans: u64, mut span: impl FnMut(u64)) {
    for i in 0..spans {
        span(black_box(i));
    }
}

#[inline(always)]
fn brick(recorder: &Recorder, i: u64) {
    let mut brick = recorder.brick(BrickId::QkvProjection);
    brick.elements(i).flops(i << 1).bytes(i << 2, i);
}

/// The caller must assume that this can unwind.
#[inline(never)]
fn work(i: u64) {
    assert!(black_box(i) < u64::MAX);
}

fn floor(spans: u64) {
    let mut ring = vec![Line::default(); LINES];
    each(spans, |i| {
        let start = ticks();
        let end = ticks();
        ring[i as usize % LINES] = Line([start, end, i, 7, i << 2, i << 1, 3, 9]);
        black_box(&ring);
    });
}

/// The minimum that a span of a multi-threaded recorder needs: an on/off check, a ring in a thread-local, an
/// enclosing span, and a head that a reader may see.
struct Bare {
    ring: Vec<Line>,
    at: u64,
    head: AtomicU64,
    parent: u64,
    spans: u64,
}

impl Default for Bare {
    fn default() -> Self {
        Self {
            ring: vec![Line::default(); LINES],
            at: 0,
            head: AtomicU64::new(0),
            parent: 0,
            spans: 0,
        }
    }
}

static BARE_ON: AtomicBool = AtomicBool::new(false);

thread_local! {
    static BARE: Cell<*mut Bare> = const { Cell::new(ptr::null_mut()) };
}

#[inline(always)]
fn bare(i: u64) {
    if !BARE_ON.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: null, or set by `run` to what lives as long; this thread's alone.
    let Some(lane) = (unsafe { BARE.get().as_mut() }) else {
        return;
    };
    let outer = lane.parent;
    lane.spans += 1;
    let id = lane.spans;
    lane.parent = id;
    let start = ticks();
    // As the work would: what the thread-local says may have changed.
    black_box(&mut *lane);
    let end = ticks();
    lane.parent = outer;
    let line = Line([start, end, id, outer, i, i << 1, i << 2, 3]);
    lane.ring[lane.at as usize % LINES] = line;
    lane.at += 1;
    lane.head.store(lane.at, Ordering::Release);
}
