//! A stream that waits for another.

use trueno_recorder::SyncMode;

use crate::fake::{self, Rig};
use trueno_testing::{folder, table};

on_fake!(
    what_comes_behind_a_wait_depends_on_what_was_waited_for,
    [],
    {
        let (_folder, path) = folder();
        let mut rig = Rig::new(&path, SyncMode::Deferred);
        let second = rig.cuda.new_stream().unwrap();
        rig.spin(1_000);
        let producer = rig.spin(30_000_000);
        let event = rig.stream.record().unwrap();
        let waits = fake::calls("cuStreamWaitEvent");
        rig.nothing(&second);
        assert_eq!(
            fake::calls("cuStreamWaitEvent"),
            waits,
            "it waits for nothing"
        );
        second.wait(&event).unwrap();
        let consumer = rig.nothing(&second);
        let after = rig.nothing(&second);
        second.synchronize().unwrap();
        rig.rec.finish().unwrap();

        let edges = table(&path, "edges");
        let depends: Vec<(i128, i128)> = (0..edges.rows)
            .filter(|row| edges.texts("kind")[*row] == Some("depends_on"))
            .map(|row| {
                (
                    edges.number("from", row).unwrap(),
                    edges.number("to", row).unwrap(),
                )
            })
            .collect();
        let number = |id: trueno_recorder::SpanId| i128::from(id.get());
        assert_eq!(depends, [(number(producer), number(consumer))]);

        let kernels = table(&path, "kernels");
        let at = |id| {
            let row = kernels
                .numbers("id")
                .iter()
                .position(|of| *of == Some(number(id)));
            let start = kernels.number("start_ns", row.unwrap()).unwrap();
            (
                start,
                start + kernels.number("dur_ns", row.unwrap()).unwrap(),
            )
        };
        assert!(at(consumer).0 + 500 >= at(producer).1);
        assert!(at(after).0 + 500 >= at(consumer).1);
        let syncs = table(&path, "syncs");
        assert_eq!(syncs.texts("name")[0], Some("cuStreamSynchronize"));
    }
);

on_fake!(
    memory_of_another_stream_is_waited_for_before_the_row_begins,
    [],
    {
        let (_folder, path) = folder();
        let mut rig = Rig::new(&path, SyncMode::Deferred);
        let second = rig.cuda.new_stream().unwrap();
        let ns = 50_000_000u64;
        rig.spin(ns);
        // Uses the same memory: cudarc lets the second stream wait.
        let mut launch = second.launch(&rig.spin, crate::fake::ONE);
        let short = 1000u64;
        launch.write(&mut *rig.out).value(&short);
        // SAFETY: two words and a number, as the kernel takes them.
        let id = unsafe { launch.submit() }.unwrap();
        rig.rec.finish().unwrap();
        let kernels = table(&path, "kernels");
        let row = kernels
            .numbers("id")
            .iter()
            .position(|of| *of == Some(i128::from(id.get())))
            .unwrap();
        let first = 1 - row;
        let dur = kernels.number("dur_ns", row).unwrap();
        assert!(
            dur < i128::from(ns / 2),
            "the wait is none of its time: {dur} ns"
        );
        let end =
            kernels.number("start_ns", first).unwrap() + kernels.number("dur_ns", first).unwrap();
        assert!(kernels.number("start_ns", row).unwrap() + 500 >= end);
    }
);
