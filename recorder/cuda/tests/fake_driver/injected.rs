//! A program that `trueno-record run` records, and that records itself: the times are CUPTI's.

use std::path::{Path, PathBuf};
use std::process::Command;

use trueno_format::RecordedCeilings;
use trueno_import::cuda::spool::collect;

use crate::examples::example;
use crate::fake;
use trueno_testing::{compile, folder, run_json, table};

fn cupti(into: &Path) {
    let options = ["-shared", "-fPIC", "-Wl,-soname,libcupti.so.13"];
    compile("cupti.c", &options, &into.join("libcupti.so.13"), &[]);
}

/// The injected library from this build.
fn inject() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().join("libtrueno_inject.so");
    assert!(path.is_file(), "{} was not built", path.display());
    path
}

#[test]
fn bricks_are_ranges_and_events_are_left_to_cupti() {
    let Some(drivers) = fake::drivers() else {
        return;
    };
    let (own, path) = folder();
    let spool = own.path().join("spool");
    std::fs::create_dir(&spool).unwrap();
    cupti(own.path());
    let libraries = [drivers.join("new"), own.path().to_owned()];
    let done = Command::new(example("two_streams"))
        .arg(&path)
        .arg("40")
        .env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap())
        .env("CUDA_INJECTION64_PATH", inject())
        .env("TRUENO_CAPTURE", &spool)
        .env("TRUENO_CUPTI", own.path().join("libcupti.so.13"))
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );

    // The injected recording: every kernel, in its brick, with CUPTI's times.
    let injected = own.path().join("injected.run");
    collect(&spool, &injected, true, &|_, _| RecordedCeilings::default()).unwrap();
    let (kernels, bricks) = (table(&injected, "kernels"), table(&injected, "bricks"));
    assert_eq!(kernels.rows, 81);
    assert_eq!(kernels.texts("timing"), vec![Some("device"); 81]);
    let mut names = bricks.texts("name");
    names.sort_unstable();
    assert_eq!(names, [Some("consume"), Some("produce")]);
    let of = |name| {
        let id = bricks.number("id", bricks.named(name));
        kernels
            .numbers("brick")
            .into_iter()
            .filter(|brick| *brick == id)
            .count()
    };
    assert_eq!((of("produce"), of("consume")), (40, 41));

    // The program's own: what it states, and no times of events.
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.texts("timing"), vec![Some("bound"); 81]);
    assert_eq!(table(&path, "bricks").rows, 2);
    let source = &run_json(&path).values["device.0.time_source"];
    assert!(source.contains("CUPTI"), "{source}");
}
