//! Times of the device on the run's timeline.

use trueno_recorder::SyncMode;

use crate::fake::{self, Done, Rig};
use trueno_testing::{Table, folder, run_json, table};

/// The device's work, and the indices of work that found the stream busy. That work begins where the one before it
/// ended, so the events around it have exactly its times.
fn queued() -> (Vec<Done>, Vec<usize>) {
    let mut done = fake::done();
    done.retain(|done| done.name == "spin");
    let found = |at: &usize| done[*at].begin_ns == done[at - 1].end_ns;
    let queued = (1..done.len()).filter(found).collect();
    (done, queued)
}

/// Recorded durations beside the real ones, for work that found the stream busy.
fn times(kernels: &Table) -> Vec<(i128, Done)> {
    let (done, queued) = queued();
    assert_eq!(done.len(), kernels.rows);
    let time = |at: usize| (kernels.number("dur_ns", at).unwrap(), done[at].clone());
    queued.into_iter().map(time).collect()
}

/// Repeats until a hundred pieces found the stream busy; on a busy machine many may be submitted too late.
fn spins(rig: &mut Rig) {
    while queued().1.len() <= 100 {
        rig.spin(300_000_000);
        for ns in 0..200 {
            rig.spin(1000 * ns);
        }
    }
}

on_fake!(
    durations_are_exact_to_the_stated_resolution,
    [("FAKE_STEP_NS", "500")],
    {
        let (_folder, path) = folder();
        let mut rig = Rig::new(&path, SyncMode::Deferred);
        spins(&mut rig);
        rig.rec.finish().unwrap();
        let kernels = table(&path, "kernels");
        let resolution: i128 = run_json(&path).values["device.0.resolution_ns"]
            .parse()
            .unwrap();
        assert_eq!(resolution, 500);
        for (dur, done) in times(&kernels) {
            let truth = i128::from(done.end_ns - done.begin_ns);
            // Each end is exact to the resolution; the rates of the clocks to a thousandth.
            let off = (dur - truth).abs();
            assert!(off <= 2 * resolution + truth / 500, "{dur} of {truth} ns");
        }
    }
);

on_fake!(
    starts_lie_where_they_were_on_the_hosts_clock,
    [("FAKE_DRIFT_PPM", "200")],
    {
        let (_folder, path) = folder();
        let mut rig = Rig::new(&path, SyncMode::Deferred);
        // Long enough for the clock to need new anchors.
        for _ in 0..9 {
            rig.spin(200_000_000);
            rig.rec.synchronize().unwrap();
        }
        rig.rec.finish().unwrap();
        let origin = i128::from(run_json(&path).clock.origin_realtime_ns);
        let kernels = table(&path, "kernels");
        let done: Vec<Done> = fake::done()
            .into_iter()
            .filter(|d| d.name == "spin")
            .collect();
        assert_eq!(kernels.rows, done.len());
        for (row, done) in done.iter().enumerate() {
            let start = kernels.number("start_ns", row).unwrap() + origin;
            let end = start + kernels.number("dur_ns", row).unwrap();
            // What a busy machine puts between two readings of a clock; the drift left alone would come to 360 µs, and in
            // the wrong direction.
            let apart = (end - i128::from(done.end_ns)).abs();
            assert!(apart < 20_000_000, "{apart} ns at row {row}");
            assert!(end - start >= 199_000_000);
        }
        let pairs = table(&path, "clock_pairs");
        let of_device = pairs.numbers("device").into_iter().flatten().count();
        assert!(of_device >= 9, "clocks are read together with each wait");
    }
);

on_fake!(events_are_used_again, [], {
    let (_folder, path) = folder();
    let mut rig = Rig::new(&path, SyncMode::Deferred);
    // SAFETY: one stream has all the memory; nothing is left to order.
    unsafe { rig.device.context().disable_event_tracking() };
    let before = fake::calls("cuEventCreate");
    for _ in 0..20 {
        for _ in 0..50 {
            rig.spin(0);
        }
        rig.rec.synchronize().unwrap();
    }
    rig.rec.finish().unwrap();
    let made = fake::calls("cuEventCreate") - before;
    // Two a launch between waits, and an anchor each half second.
    assert!(
        (100..400).contains(&made),
        "{made} events for 1000 launches"
    );
    assert_eq!(table(&path, "kernels").rows, 1000);
});
