//! One span of each system around some work, as its documentation has it.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use fastrace::local::{LocalCollector, LocalSpan};
use measureme::{EventId, Profiler, StringId};
use tracing::Dispatch;
use tracing_subscriber::prelude::*;
use trueno::brick::{BrickId as ProfiledBrick, BrickProfiler};
use trueno_recorder::tracing::RecorderLayer;
use trueno_recorder::{BrickId, Recorder};

/// Spans per collection or frame, in systems that have them.
pub const CHUNK: u32 = 1000;

#[inline(always)]
pub fn brick(rec: &Recorder, i: u64, work: impl FnOnce()) {
    let mut brick = rec.brick(BrickId::QkvProjection);
    brick.elements(i).flops(i << 1).bytes(i << 2, i);
    work();
}

#[inline(always)]
pub fn profiled(profiler: &mut BrickProfiler, i: u64, work: impl FnOnce()) {
    let timer = profiler.start_brick(ProfiledBrick::QkvProjection);
    work();
    profiler.stop_brick(timer, i + 1);
}

/// `measureme` with its file, and one interned event.
pub struct Measured {
    profiler: Profiler,
    kind: StringId,
    event: EventId,
}

impl Measured {
    pub fn new(path: &Path) -> Result<Self, Box<dyn Error>> {
        let profiler = Profiler::new(path).map_err(|error| error.to_string())?;
        let kind = profiler.alloc_string("brick");
        let event = EventId::from_label(profiler.alloc_string("qkv"));
        Ok(Self {
            profiler,
            kind,
            event,
        })
    }

    #[inline(always)]
    pub fn span(&self, thread: u32, work: impl FnOnce()) {
        let _guard = self
            .profiler
            .start_recording_interval_event(self.kind, self.event, thread);
        work();
    }
}

/// Spans collected on the thread, then discarded.
pub fn fastrace(calls: u32) {
    for _ in 0..calls / CHUNK {
        let collector = LocalCollector::start();
        for _ in 0..CHUNK {
            let _span = LocalSpan::enter_with_local_parent("qkv");
        }
        std::hint::black_box(collector.collect());
    }
}

/// Scopes of one frame, then discarded.
pub fn puffin(calls: u32) {
    for _ in 0..calls / CHUNK {
        {
            puffin::profile_scope!("layer");
            for _ in 0..CHUNK {
                puffin::profile_scope!("qkv");
            }
        }
        puffin::GlobalProfiler::lock().new_frame();
    }
}

#[inline(always)]
pub fn traced(work: impl FnOnce()) {
    let _span = tracing::info_span!("qkv").entered();
    work();
}

/// A subscriber that writes JSON. The guard flushes it when dropped.
pub fn chrome(path: &Path) -> Result<(Dispatch, tracing_chrome::FlushGuard), Box<dyn Error>> {
    let (layer, guard) = tracing_chrome::ChromeLayerBuilder::new()
        .writer(BufWriter::new(File::create(path)?))
        .build();
    let subscriber = tracing_subscriber::registry().with(layer);
    Ok((Dispatch::new(subscriber), guard))
}

pub fn layer(rec: &Recorder) -> Dispatch {
    Dispatch::new(tracing_subscriber::registry().with(RecorderLayer::new(rec.clone())))
}
