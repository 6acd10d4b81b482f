//! NVIDIA's own libraries, asked by `doctor`: whatever one does without a driver, the command stays and says it.
//!
//! `TRUENO_TEST_CUPTI=…/libcupti.so.12:…/libcupti.so.13 cargo test -p trueno-record --test capture wheels -- --nocapture`
//! prints the table of `docs/recording-gpu.md`.

use std::path::Path;
use std::process::Command;

use crate::fakes::{Cupti, command, fakes};

#[test]
fn doctor_says_what_each_library_is_and_outlives_it() {
    let all = std::env::var_os("TRUENO_TEST_CUPTI").unwrap_or_default();
    let paths: Vec<_> = std::env::split_paths(&all)
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    if paths.is_empty() {
        eprintln!("skipped: TRUENO_TEST_CUPTI names no libcupti");
    }
    for path in paths {
        let answer = doctor(&path);
        let cupti = &answer["cupti"];
        let bytes = |kind: &str| {
            answer["record_bytes"]
                .get(kind)
                .map_or("–".to_owned(), ToString::to_string)
        };
        if let Some(version) = cupti["found"]["version"].as_u64() {
            assert!(version >= 18, "{version}");
            let kinds = [
                "concurrent_kernel",
                "memcpy",
                "synchronization",
                "cuda_event",
                "memory",
                "jit",
            ];
            let sizes: Vec<String> = kinds.iter().map(|kind| bytes(kind)).collect();
            println!("{} | {version} | {} |", path.display(), sizes.join(" | "));
        } else {
            let why = cupti["passed_over"][0].as_str().unwrap();
            println!("{} | {why} |", path.display());
        }
    }
}

fn doctor(path: &Path) -> serde_json::Value {
    let output = Command::new(env!("CARGO_BIN_EXE_trueno-record"))
        .args(["doctor", "--format", "json", "--cupti"])
        .arg(path)
        .output()
        .unwrap();
    assert!(
        output.status.code().is_some(),
        "{}: {output:?}",
        path.display()
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_library_that_ends_the_process_is_passed_over() {
    let Some(mut doctor) = command(Cupti::Crashes) else {
        return;
    };
    let old = fakes().unwrap().join("old/libcupti.so.12");
    let output = doctor
        .env("TRUENO_CUPTI_CANDIDATES", &old)
        .args(["doctor", "--format", "json"])
        .output()
        .unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cupti = &answer["cupti"];
    assert_eq!(cupti["found"]["path"], old.to_str().unwrap(), "{answer}");
    let passed_over = cupti["passed_over"].as_array().unwrap();
    let why = "libcupti.so.13: it ends the process with signal 6";
    assert!(
        passed_over
            .iter()
            .any(|said| said.as_str().unwrap().starts_with(why)),
        "{passed_over:?}"
    );
}
