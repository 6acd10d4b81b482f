//! One row for what was done, with what is known about it.

use trueno_recorder::SyncMode;
use trueno_recorder_wgpu::{Error, WgpuDevice};
use trueno_testing::{Cell, folder, run_json, table};

use crate::rig::{BYTES, FLOATS, GROUPS, Rig, interval, stamping_device};

#[test]
fn an_adapter_that_is_not_there_is_an_error() {
    let error = WgpuDevice::open(10_000).err();
    assert!(
        matches!(error, Some(Error::NoAdapter { number: 10_000, .. })),
        "{error:?}"
    );
}

#[test]
fn each_dispatch_and_copy_is_a_row_with_its_own_times() {
    let Some(device) = stamping_device() else {
        return;
    };
    let (_folder, path) = folder();
    let rig = Rig::new(&path, &device, SyncMode::Deferred);
    // More than the slots of a first batch.
    const DISPATCHES: u64 = 100;
    let brick = rig.rec.brick("step");
    let brick_id = brick.id();
    rig.gpu.write_buffer(&rig.x, 0, &[0; 16]);
    let mut encoder = rig.gpu.encoder("step");
    encoder.write_buffer(&rig.x, 4, &[1; 32]);
    encoder.clear_buffer(&rig.x, 0, None);
    rig.increments(&mut encoder, DISPATCHES);
    encoder.copy_buffer_to_buffer(&rig.x, 8, &rig.readable, 0, 1024);
    encoder.copy_buffer_to_buffer(&rig.x, 0, &rig.readable, 0, None);
    let mut another = rig.gpu.encoder("another");
    rig.increments(&mut another, 1);
    rig.gpu.submit([encoder, another]);
    drop(brick);
    assert_eq!(rig.read(), vec![DISPATCHES as f32; FLOATS as usize]);
    let rec = rig.rec.clone();
    drop(rig);
    let summary = rec.finish().unwrap();
    assert_eq!(summary.dropped, 0);

    let kernels = table(&path, "kernels");
    assert_eq!(kernels.rows as u64, DISPATCHES + 1);
    assert_eq!(kernels.texts("timing"), vec![Some("device"); kernels.rows]);
    let mut flops: Vec<_> = kernels.numbers("flops").into_iter().flatten().collect();
    flops.sort_unstable();
    let stated = (0..DISPATCHES).chain([0]).map(i128::from);
    let mut stated: Vec<i128> = stated.collect();
    stated.sort_unstable();
    assert_eq!(flops, stated, "each dispatch once");
    for (column, value) in [
        ("grid_x", u64::from(GROUPS)),
        ("grid_y", 1),
        ("grid_z", 1),
        ("block_x", 64),
        ("elements", FLOATS),
        ("bytes", 2 * BYTES),
        ("device", 3),
        ("stream", 1),
        ("brick", brick_id.get()),
    ] {
        assert_eq!(
            kernels.numbers(column),
            vec![Some(i128::from(value)); kernels.rows],
            "{column}"
        );
    }
    assert_eq!(kernels.texts("name"), vec![Some("increment"); kernels.rows]);
    assert_eq!(kernels.texts("backend"), vec![Some("wgpu"); kernels.rows]);

    let transfers = table(&path, "transfers");
    let mut copies: Vec<_> = (0..transfers.rows)
        .map(|row| {
            let text = |column| transfers.texts(column)[row].unwrap().to_owned();
            (
                text("direction"),
                transfers.number("bytes", row).unwrap(),
                text("timing"),
            )
        })
        .collect();
    copies.sort();
    let copy = |direction: &str, bytes, timing: &str| {
        (direction.to_owned(), i128::from(bytes), timing.to_owned())
    };
    let expected = [
        copy("d2h", 1024, "device"),
        copy("d2h", BYTES, "device"),
        copy("h2d", 16, "bound"),
        copy("h2d", 32, "device"),
        copy("memset", BYTES, "device"),
    ];
    assert_eq!(copies, expected);
}

#[test]
fn one_queue_does_one_thing_at_a_time_and_within_the_wait_for_it() {
    let Some(device) = stamping_device() else {
        return;
    };
    let (_folder, path) = folder();
    let rig = Rig::new(&path, &device, SyncMode::Deferred);
    for _ in 0..20 {
        let brick = rig.rec.brick("step");
        let mut encoder = rig.gpu.encoder("step");
        rig.increments(&mut encoder, 5);
        rig.gpu.submit([encoder]);
        rig.gpu.synchronize().unwrap();
        drop(brick);
    }
    rig.rec.finish().unwrap();

    let run = run_json(&path);
    let value = |key: &str| run.values[key].parse::<i128>().unwrap();
    let (step, error) = (
        value("device.3.resolution_ns"),
        value("device.3.clock_error_ns"),
    );
    let (kernels, bricks) = (table(&path, "kernels"), table(&path, "bricks"));
    let mut times: Vec<_> = (0..kernels.rows)
        .map(|row| interval(&kernels, row))
        .collect();
    times.sort_unstable();
    assert!(times.windows(2).all(|two| two[0].1 <= two[1].0 + step));
    assert!(times.iter().all(|(start, end)| start < end), "{times:?}");
    for row in 0..kernels.rows {
        let id = kernels.number("brick", row);
        let brick = bricks.numbers("id").iter().position(|of| *of == id);
        let (start, end) = interval(&bricks, brick.unwrap());
        let work = interval(&kernels, row);
        // The clocks' rates are trusted to a thousandth.
        let off = error + 1_000 + end / 1000;
        assert!(
            start - off <= work.0 && work.1 <= end + off,
            "{work:?} in {start}..{end}, clock error {error}"
        );
    }
    let (syncs, edges) = (table(&path, "syncs"), table(&path, "edges"));
    let (waits, names) = (syncs.numbers("id"), syncs.texts("name"));
    let joins = |row: usize| {
        let to = edges.numbers("to").iter().position(|to| *to == waits[row]);
        let from = edges.numbers("from")[to.unwrap()];
        kernels.numbers("id").contains(&from)
    };
    let named: Vec<usize> = (0..syncs.rows)
        .filter(|row| names[*row] == Some("Device::poll"))
        .collect();
    assert_eq!(named.len(), 20);
    assert!(
        named.into_iter().all(joins),
        "work is joined by the wait for it"
    );
}

#[test]
fn work_that_is_not_submitted_has_no_rows() {
    let Some(device) = stamping_device() else {
        return;
    };
    let (_folder, path) = folder();
    let rig = Rig::new(&path, &device, SyncMode::Deferred);
    let mut encoder = rig.gpu.encoder("given up");
    rig.increments(&mut encoder, 3);
    encoder.clear_buffer(&rig.x, 0, None);
    drop(encoder);
    let mut encoder = rig.gpu.encoder("submitted");
    rig.increments(&mut encoder, 2);
    rig.gpu.submit([encoder]);
    rig.rec.finish().unwrap();
    assert_eq!(table(&path, "kernels").rows, 2);
    assert_eq!(table(&path, "transfers").rows, 0);
    let run = run_json(&path);
    assert_eq!(run.problems, Vec::<String>::new());
}

#[test]
fn work_that_others_submit_has_the_times_of_its_brick() {
    let Some(device) = stamping_device() else {
        return;
    };
    let (_folder, path) = folder();
    let rig = Rig::new(&path, &device, SyncMode::PerLayer);
    let layer = rig.rec.layer(0);
    let mut brick = rig.rec.brick("library");
    brick.stream(1);
    let mut encoder = rig.gpu.encoder("not recorded");
    encoder.begin_compute_pass(&Default::default());
    encoder.push_debug_group("by wgpu's own methods");
    encoder.pop_debug_group();
    rig.gpu.submit([encoder]);
    drop(brick);
    drop(layer);
    rig.rec.finish().unwrap();
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.texts("name"), [Some("library")]);
    assert_eq!(kernels.texts("timing"), [Some("device")]);
    assert_eq!(kernels.cell("valid", 0), &Cell::B(true));
}

#[test]
fn buffers_are_allocations_until_they_are_dropped() {
    let Some(device) = stamping_device() else {
        return;
    };
    let (_folder, path) = folder();
    let rig = Rig::new(&path, &device, SyncMode::None);
    let rec = rig.rec.clone();
    drop(rig);
    rec.finish().unwrap();
    let allocations = table(&path, "allocations");
    let bytes = i128::from(BYTES);
    let mut found: Vec<_> = allocations.numbers("bytes").into_iter().flatten().collect();
    found.sort_unstable();
    assert_eq!(found, [-bytes, -bytes, bytes, bytes]);
    assert_eq!(allocations.numbers("device"), [Some(3); 4]);
}
