//! The four sync modes wait for the device exactly as often as they say.

use trueno_recorder::SyncMode;

use crate::fake::{self, Rig};
use trueno_testing::{Cell, folder, run_json, table};

const LAYERS: u32 = 3;
const BRICKS: u32 = 4;

/// Runs layers of bricks with a launch in each. Returns how often the device was waited for, and the rows' timing.
fn waits(mode: SyncMode) -> (u64, Vec<String>, usize) {
    let (_folder, path) = folder();
    let mut rig = Rig::new(&path, mode);
    // Opening the device waits, by cudarc, and is no recording.
    let before = fake::calls("cuCtxSynchronize");
    let streams_before = fake::calls("cuStreamSynchronize");
    let rec = rig.rec.clone();
    for layer in 0..LAYERS {
        let _layer = rec.layer(layer);
        for _ in 0..BRICKS {
            let _brick = rec.brick("brick");
            rig.spin(1000);
        }
    }
    rig.rec.finish().unwrap();
    let waited = fake::calls("cuCtxSynchronize") - before;
    assert_eq!(
        fake::calls("cuStreamSynchronize"),
        streams_before,
        "no stream is waited for"
    );
    assert_eq!(run_json(&path).recorder.sync_mode, mode.name());
    let kernels = table(&path, "kernels");
    let timing = kernels.texts("timing").into_iter().flatten();
    let timing = timing.map(str::to_owned).collect();
    (waited, timing, table(&path, "syncs").rows)
}

const LAUNCHES: usize = (LAYERS * BRICKS) as usize;

on_fake!(none_never_waits_and_says_so, [], {
    let (waited, timing, syncs) = waits(SyncMode::None);
    assert_eq!((waited, syncs), (0, 0));
    assert_eq!(timing, vec!["host"; LAUNCHES]);
});

on_fake!(none_puts_no_events, [], {
    let (_folder, path) = folder();
    let mut rig = Rig::new(&path, SyncMode::None);
    let before = fake::calls("cuEventRecord");
    // With two streams, the clock's and the program's, cudarc would put events of its own.
    // SAFETY: all memory is used on one stream.
    unsafe { rig.device.context().disable_event_tracking() };
    for _ in 0..10 {
        rig.spin(10);
    }
    rig.rec.finish().unwrap();
    assert_eq!(fake::calls("cuEventRecord"), before);
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.cell("valid", 0), &Cell::B(false));
    assert!(kernels.texts("reason")[0].unwrap().contains("sync mode"));
});

on_fake!(deferred_waits_once_at_the_end, [], {
    let (waited, timing, syncs) = waits(SyncMode::Deferred);
    assert_eq!((waited, syncs), (1, 1));
    assert_eq!(timing, vec!["device"; LAUNCHES]);
});

on_fake!(per_layer_waits_at_the_end_of_each_layer, [], {
    let (waited, timing, syncs) = waits(SyncMode::PerLayer);
    let expected = LAYERS + 1;
    assert_eq!((waited, syncs), (u64::from(expected), expected as usize));
    assert_eq!(timing, vec!["device"; LAUNCHES]);
});

on_fake!(immediate_waits_before_and_in_each_brick, [], {
    let (waited, timing, syncs) = waits(SyncMode::Immediate);
    let expected = 2 * LAYERS * BRICKS + 1;
    assert_eq!((waited, syncs), (u64::from(expected), expected as usize));
    assert_eq!(timing, vec!["device"; LAUNCHES]);
});
