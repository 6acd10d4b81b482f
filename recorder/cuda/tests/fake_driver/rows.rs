//! One row for what was done, with what is known about it.

use trueno_recorder::{PtxHash, SyncMode};
use trueno_recorder_cuda::cudarc::driver::LaunchConfig;

use crate::fake::{self, PTX, Rig};
use trueno_testing::{Cell, folder, run_json, table};

on_fake!(a_launch_is_a_row_with_all_that_is_known_of_it, [], {
    let (_folder, path) = folder();
    let mut rig = Rig::new(&path, SyncMode::Deferred);
    let ns = 20_000u64;
    let brick = rig.rec.brick("spinning");
    let brick_id = brick.id();
    let config = LaunchConfig {
        grid_dim: (3, 4, 5),
        block_dim: (32, 2, 1),
        shared_mem_bytes: 512,
    };
    let mut launch = rig.stream.launch(&rig.spin, config);
    launch.write(&mut *rig.out).value(&ns);
    launch.flops(64).bytes(128).elements(2);
    // SAFETY: two words and a number, as the kernel takes them.
    let id = unsafe { launch.submit() }.unwrap();
    drop(brick);
    rig.rec.finish().unwrap();

    let kernels = table(&path, "kernels");
    assert_eq!(kernels.rows, 1);
    for (column, value) in [
        ("grid_x", 3),
        ("grid_y", 4),
        ("grid_z", 5),
        ("block_x", 32),
        ("block_y", 2),
        ("block_z", 1),
        ("smem_dynamic", 512),
        ("smem_static", 48),
        ("registers", 40),
        ("flops", 64),
        ("bytes", 128),
        ("elements", 2),
        ("device", 0),
        ("stream", 1),
        ("id", i128::from(id.get())),
        ("brick", i128::from(brick_id.get())),
    ] {
        assert_eq!(kernels.number(column, 0), Some(value), "{column}");
    }
    for (column, value) in [
        ("name", "spin"),
        ("backend", "cuda"),
        ("timing", "device"),
        ("work_source", "declared"),
        ("ptx_hash", PtxHash::from_source(PTX).to_string().as_str()),
    ] {
        assert_eq!(kernels.texts(column), [Some(value)], "{column}");
    }
    assert_eq!(kernels.cell("valid", 0), &Cell::B(true));
    let kept = path.join(format!("ptx/{}.ptx", PtxHash::from_source(PTX)));
    assert_eq!(std::fs::read_to_string(kept).unwrap(), PTX);
    let run = run_json(&path);
    assert_eq!(run.values["device.0"], "Fake H100");
    assert_eq!(run.values["device.0.time_source"], "cuda_event");
    assert_eq!(run.values["device.0.resolution_ns"], "500");
    assert_eq!(run.values["device.0.driver"], "CUDA 13.0");
    assert_eq!(run.problems, Vec::<String>::new());
});

on_fake!(as_many_kernels_as_launches_from_many_threads, [], {
    let (_folder, path) = folder();
    let rig = Rig::new(&path, SyncMode::Deferred);
    const THREADS: usize = 4;
    const LAUNCHES: usize = 1500;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let (cuda, kernel) = (rig.cuda.clone(), rig.nothing.clone());
            scope.spawn(move || {
                let stream = cuda.new_stream().unwrap();
                for _ in 0..LAUNCHES {
                    // SAFETY: it takes nothing.
                    unsafe { stream.launch(&kernel, fake::ONE).submit() }.unwrap();
                }
            });
        }
    });
    let summary = rig.rec.finish().unwrap();
    assert_eq!(summary.dropped, 0);
    assert_eq!(fake::calls("cuLaunchKernel"), (THREADS * LAUNCHES) as u64);
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.rows, THREADS * LAUNCHES);
    assert_eq!(kernels.texts("timing"), vec![Some("device"); kernels.rows]);
    let mut ids = kernels.numbers("id");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), kernels.rows, "each row has an id of its own");
    let mut streams = kernels.numbers("stream");
    streams.sort_unstable();
    streams.dedup();
    assert_eq!(streams.len(), THREADS);
    // One stream does one thing at a time.
    for stream in streams {
        let mut times: Vec<(i128, i128)> = (0..kernels.rows)
            .filter(|row| kernels.number("stream", *row) == stream)
            .map(|row| {
                let start = kernels.number("start_ns", row).unwrap();
                (start, start + kernels.number("dur_ns", row).unwrap())
            })
            .collect();
        times.sort_unstable();
        let step = 500;
        assert!(times.windows(2).all(|two| two[0].1 <= two[1].0 + step));
    }
});

on_fake!(copies_fills_and_memory_are_rows, [], {
    let (_folder, path) = folder();
    let rig = Rig::new(&path, SyncMode::Deferred);
    let stream = &rig.stream;
    let host: Vec<f32> = (0..1000).map(|x| x as f32).collect();
    let mut back = vec![0.0f32; 1200];
    {
        let _brick = rig.rec.brick("moving");
        let mut first = stream.alloc_zeros::<f32>("first", 1000).unwrap();
        let mut second = stream.alloc_zeros::<f32>("second", 1000).unwrap();
        stream.copy_to_device(&host, &mut *first).unwrap();
        stream.copy_on_device(&*first, &mut *second).unwrap();
        stream.copy_to_host(&*second, &mut back).unwrap();
        let mut short = [0.0f32; 10];
        let error = stream.copy_to_host(&*second, &mut short).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a copy of 1000 elements to 10 (expected as many or more)"
        );
    }
    assert_eq!(back[..1000], host[..], "the copies took place");
    let out_address = {
        use trueno_recorder_cuda::cudarc::driver::DevicePtr;
        let (address, _used) = rig.out.device_ptr(stream);
        i128::from(address)
    };
    let rec = rig.rec.clone();
    drop(rig);
    rec.finish().unwrap();

    let transfers = table(&path, "transfers");
    // `out` of the rig was filled first.
    assert_eq!(
        transfers.texts("direction"),
        ["memset", "memset", "memset", "h2d", "d2d", "d2h"].map(Some)
    );
    assert_eq!(
        transfers.numbers("bytes"),
        [16, 4000, 4000, 4000, 4000, 4000].map(Some)
    );
    assert_eq!(transfers.texts("timing"), vec![Some("device"); 6]);
    assert_eq!(transfers.texts("src_kind")[4], Some("device"));
    assert_eq!(transfers.texts("dst_kind")[3], Some("device"));
    assert_eq!(
        transfers.texts("src_kind")[3],
        None,
        "which host memory, nobody says"
    );

    let memory = table(&path, "allocations");
    assert_eq!(memory.rows, 6);
    assert_eq!(memory.numbers("device"), vec![Some(0); 6]);
    assert_eq!(
        memory.numbers("bytes").into_iter().flatten().sum::<i128>(),
        0
    );
    assert_eq!(memory.number("address", 0), Some(out_address));
    let tags: Vec<_> = memory.texts("tag").into_iter().flatten().collect();
    assert_eq!(tags, ["out", "first", "second", "second", "first", "out"]);
    for (taken, given_back) in [(0, 5), (1, 4), (2, 3)] {
        assert_eq!(
            memory.number("address", taken),
            memory.number("address", given_back)
        );
    }
});

on_fake!(a_range_is_one_row_however_much_it_launches, [], {
    let (_folder, path) = folder();
    let rig = Rig::new(&path, SyncMode::Deferred);
    let outcome: Result<u32, String> = rig.stream.range("gemm of a library", |stream| {
        for _ in 0..3 {
            // SAFETY: it takes nothing.
            unsafe {
                stream
                    .launch_builder(rig.nothing.function())
                    .launch(fake::ONE)
            }
            .map_err(|error| error.to_string())?;
        }
        Ok(3)
    });
    assert_eq!(outcome, Ok(3));
    let failed: Result<(), &str> = rig.stream.range("not done", |_| Err("no"));
    assert_eq!(failed, Err("no"));
    rig.rec.finish().unwrap();
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.texts("name"), [Some("gemm of a library")]);
    let of_device: Vec<_> = fake::done()
        .into_iter()
        .filter(|d| d.name == "nothing")
        .collect();
    assert_eq!(of_device.len(), 3);
    let took = (of_device[2].end_ns - of_device[0].begin_ns) as i128;
    assert!(kernels.number("dur_ns", 0).unwrap() + 500 >= took);
});
