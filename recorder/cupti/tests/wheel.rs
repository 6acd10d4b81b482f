//! NVIDIA's own libraries, without a driver: what works there, of as many versions as `TRUENO_TEST_CUPTI` names, with `:`
//! between them. Each is opened in a process of its own: two of them do not share one, and 13.2 ends it.
//!
//! `TRUENO_TEST_CUPTI=…/libcupti.so.12:…/libcupti.so.13 cargo test -p trueno-cupti --test wheel`

use std::path::Path;
use std::process::Command;
use std::ptr;

use trueno_cupti::kind::KINDS;
use trueno_cupti::library::{Cupti, MIN_VERSION, record_sizes};
use trueno_cupti::walk::{Sizes, records};

/// Environment variable with the library that the child tests.
const INSIDE: &str = "TRUENO_TEST_CUPTI_INSIDE";

/// Runs a test for each library, each in a child process that may crash.
fn with_each(test: &str, body: impl FnOnce(&Cupti)) {
    if let Some(path) = std::env::var_os(INSIDE) {
        let path = Path::new(&path);
        let cupti = Cupti::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        match cupti.version() {
            Ok(_) => body(&cupti),
            Err(refused) => println!("says nothing without a driver: {refused}"),
        }
        return;
    }
    let all = std::env::var_os("TRUENO_TEST_CUPTI").unwrap_or_default();
    let paths: Vec<_> = std::env::split_paths(&all)
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    if paths.is_empty() {
        eprintln!("skipped: TRUENO_TEST_CUPTI names no libcupti");
    }
    for path in paths {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(INSIDE, &path)
            .output()
            .unwrap();
        // Without a code, a signal ended it: the library's own doing.
        let Some(code) = output.status.code() else {
            eprintln!("{}: ends the process: {}", path.display(), output.status);
            continue;
        };
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(code, 0, "{}: {printed}", path.display());
        assert!(printed.contains("1 passed"), "{test} is no test");
    }
}

#[test]
fn its_records_are_as_long_as_we_think() {
    with_each("its_records_are_as_long_as_we_think", records_are_as_long);
}

fn records_are_as_long(cupti: &Cupti) {
    let version = cupti.version().unwrap();
    assert!(version >= MIN_VERSION, "{version}");
    let sizes = record_sizes(cupti).unwrap();
    for kind in KINDS {
        let Some(bytes) = sizes.get(kind.number) else {
            continue;
        };
        assert!(bytes >= kind.least_bytes, "{}: {bytes}", kind.name);
        if version == 130_001 {
            assert_eq!(bytes, kind.bytes, "{}", kind.name);
        }
    }
    if version == 130_001 {
        assert_eq!(sizes, Sizes::default());
    }
}

/// CUPTI's own function steps over a buffer of many kinds exactly as ours does.
#[test]
fn it_walks_a_buffer_as_we_do() {
    with_each("it_walks_a_buffer_as_we_do", walks);
}

fn walks(cupti: &Cupti) {
    let sizes = record_sizes(cupti).unwrap();
    let mut buffer: Vec<u64> = Vec::new();
    for kind in KINDS.iter().chain(KINDS.iter().rev()) {
        let Some(bytes) = sizes.get(kind.number) else {
            continue;
        };
        buffer.push(kind.number.into());
        buffer.extend(vec![0; bytes / 8 - 1]);
    }
    let base = buffer.as_mut_ptr().cast::<u8>();
    let valid = buffer.len() * 8;
    // SAFETY: the buffer is that long.
    let bytes = unsafe { std::slice::from_raw_parts(base, valid) };
    let ours: Vec<usize> = records(bytes, &sizes)
        .map(|r| r.unwrap().as_ptr() as usize)
        .collect();
    let mut theirs = Vec::new();
    let mut record = ptr::null_mut();
    // SAFETY: as above.
    while unsafe { cupti.get_next_record(base, valid, &mut record) }.is_ok() {
        theirs.push(record as usize);
    }
    assert_eq!(ours, theirs);
}

#[test]
fn it_names_functions() {
    with_each("it_names_functions", names);
}

fn names(cupti: &Cupti) {
    assert_eq!(
        cupti.callback_name(1, 307).as_deref(),
        Some("cuLaunchKernel")
    );
    assert_eq!(
        cupti.callback_name(2, 211).as_deref(),
        Some("cudaLaunchKernel_v7000")
    );
    assert_eq!(cupti.callback_name(2, 100_000), None);
}
