//! Missing functions and failures are reported, and nothing panics.

use std::process::Command;

use trueno_recorder::{Recorder, SyncMode};
use trueno_recorder_cuda::driver::{self, DriverError};
use trueno_recorder_cuda::{Cuda, CudaDevice, Error};

use crate::fake::{self, ONE, PTX, Rig};
use trueno_testing::{folder, run_json, table};

/// The error of opening a device. A helper because `Device` has no useful `Debug`.
fn refused(number: usize) -> Error {
    match CudaDevice::open(number) {
        Ok(_) => panic!("there is a device {number}"),
        Err(error) => error,
    }
}

#[test]
fn without_a_driver_the_error_names_what_was_looked_for() {
    if driver::find().is_ok() {
        eprintln!("skipped: this machine has a driver");
        return;
    }
    let error = refused(0);
    assert!(
        matches!(error, Error::Driver(DriverError::NoLibrary { .. })),
        "{error}"
    );
    let said = error.to_string();
    assert!(
        said.starts_with("no NVIDIA driver library was found"),
        "{said}"
    );
    assert!(said.contains("libcuda.so.1"), "{said}");
}

#[test]
fn a_driver_that_is_too_old_is_refused_by_the_function_it_lacks() {
    let test = concat!(
        module_path!(),
        "::a_driver_that_is_too_old_is_refused_by_the_function_it_lacks"
    );
    fake::on_fake(test, "ancient", &[], || {
        let said = refused(0).to_string();
        assert!(said.contains("cuMemAllocAsync"), "{said}");
        assert!(said.contains("libcuda.so"), "{said}");
    });
}

/// The driver of CUDA 12.0 has no `cuEventElapsedTime_v2`, which cudarc calls when built for 13.0 or later.
#[test]
fn an_older_driver_gives_times_whatever_version_was_chosen() {
    let test = concat!(
        module_path!(),
        "::an_older_driver_gives_times_whatever_version_was_chosen"
    );
    fake::on_fake(test, "old", &[], || {
        let (_folder, path) = folder();
        let mut rig = Rig::new(&path, SyncMode::Deferred);
        rig.spin(200_000);
        rig.rec.clone().finish().unwrap();
        let kernels = table(&path, "kernels");
        assert_eq!(kernels.texts("timing"), [Some("device")]);
        assert!(kernels.number("dur_ns", 0) >= Some(200_000));
        assert_eq!(fake::calls("cuEventElapsedTime_v2"), 0);
        assert!(fake::calls("cuEventElapsedTime") > 0);
    });
}

on_fake!(a_device_that_is_not_there_is_refused_by_its_number, [], {
    assert_eq!(
        refused(3),
        Error::Driver(DriverError::NoSuchDevice { asked: 3, found: 1 })
    );
});

on_fake!(
    a_driver_without_a_device_is_no_panic,
    [("FAKE_NO_DEVICE", "1")],
    {
        assert_eq!(refused(0), Error::Driver(DriverError::NoDevice));
    }
);

on_fake!(
    a_context_that_cannot_be_had_is_said,
    [("FAKE_FAILS", "cuDevicePrimaryCtxRetain")],
    {
        assert_eq!(
            refused(0).to_string(),
            "cannot open the device: unspecified launch failure (error 719)"
        );
    }
);

on_fake!(
    a_launch_that_fails_is_no_row,
    [("FAKE_FAILS", "cuLaunchKernel,cuMemcpyHtoDAsync_v2")],
    {
        let (_folder, path) = folder();
        let mut rig = Rig::new(&path, SyncMode::Deferred);
        for _ in 0..3 {
            // SAFETY: it takes nothing.
            let error = unsafe { rig.stream.launch(&rig.nothing, ONE).submit() }.unwrap_err();
            assert!(
                error.to_string().starts_with("cannot launch the kernel: "),
                "{error}"
            );
        }
        let error = rig
            .stream
            .copy_to_device(&[1u64, 2], &mut *rig.out)
            .unwrap_err();
        assert!(
            error.to_string().starts_with("cannot copy to the device: "),
            "{error}"
        );
        rig.rec.finish().unwrap();
        assert_eq!(table(&path, "kernels").rows, 0);
        assert_eq!(
            table(&path, "transfers").rows,
            1,
            "the fill of the beginning"
        );
        assert_eq!(table(&path, "edges").texts("kind"), [Some("joins")]);
    }
);

on_fake!(
    a_wait_that_fails_is_reported_in_the_run,
    [("FAKE_FAILS", "cuCtxSynchronize")],
    {
        let (_folder, path) = folder();
        // Opening a device waits for it too, if cudarc is to track events.
        let context = trueno_recorder_cuda::cudarc::driver::CudaContext::new(0).unwrap();
        // SAFETY: one stream has all the memory.
        unsafe { context.disable_event_tracking() };
        let device = CudaDevice::from_context(context).unwrap();
        let rec = Recorder::builder(&path)
            .device(device.clone())
            .sync_mode(SyncMode::Deferred)
            .create()
            .unwrap();
        let cuda = Cuda::new(&rec, &device);
        let stream = cuda.new_stream().unwrap();
        let nothing = cuda
            .load_ptx("launches", PTX)
            .unwrap()
            .function("nothing")
            .unwrap();
        // SAFETY: it takes nothing.
        unsafe { stream.launch(&nothing, ONE).submit() }.unwrap();
        rec.finish().unwrap();
        let problems = run_json(&path).problems;
        assert!(
            problems
                .iter()
                .any(|p| p.contains("unspecified launch failure")),
            "{problems:?}"
        );
        assert_eq!(table(&path, "kernels").rows, 1, "the launch took place");
    }
);

on_fake!(ptx_and_kernels_that_are_none_are_refused, [], {
    let (_folder, path) = folder();
    let rig = Rig::new(&path, SyncMode::None);
    let error = rig.cuda.load_ptx("bad", "not PTX").unwrap_err();
    assert!(
        error.to_string().starts_with("cannot load PTX: "),
        "{error}"
    );
    assert_eq!(
        rig.cuda.load_ptx("bad", "a\0b").unwrap_err(),
        Error::Text { what: "PTX" }
    );
    let module = rig.cuda.load_ptx("good", PTX).unwrap();
    let error = module.function("other").unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot find the kernel: named symbol not found (error 500)"
    );
    assert!(module.function("a\0b").is_err());
    rig.rec.finish().unwrap();
    let ptx = table(&path, "ptx");
    assert_eq!(
        ptx.texts("name"),
        [Some("launches"), Some("good")],
        "what could not be loaded is not kept"
    );
    let files = std::fs::read_dir(path.join("ptx")).unwrap();
    let is_source = |path: std::path::PathBuf| path.extension().is_some_and(|of| of == "ptx");
    let files = files
        .filter(|file| is_source(file.as_ref().unwrap().path()))
        .count();
    assert_eq!(files, 1, "the same source is kept once");
});

#[test]
fn an_example_without_a_driver_ends_with_one_sentence() {
    if driver::find().is_ok() {
        eprintln!("skipped: this machine has a driver");
        return;
    }
    let (_folder, path) = folder();
    let done = Command::new(crate::examples::example("two_streams"))
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(3));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        said.contains("no NVIDIA driver library was found") && !said.contains("panicked"),
        "{said}"
    );
    assert!(!path.exists(), "no run was begun");
}
