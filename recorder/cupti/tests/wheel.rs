//! NVIDIA's own library, without a driver: what works there of `nvidia-cuda-cupti` 13.0.85.
//!
//! `TRUENO_TEST_CUPTI=…/libcupti.so.13 cargo test -p trueno-cupti --test wheel`

use std::path::PathBuf;
use std::ptr;

use trueno_cupti::kind::KINDS;
use trueno_cupti::library::{Cupti, MIN_VERSION, record_sizes};
use trueno_cupti::walk::{Sizes, records};

fn library() -> Option<Cupti> {
    let Some(path) = std::env::var_os("TRUENO_TEST_CUPTI").map(PathBuf::from) else {
        eprintln!("skipped: TRUENO_TEST_CUPTI does not name a libcupti");
        return None;
    };
    let cupti = Cupti::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    match cupti.version() {
        Ok(_) => Some(cupti),
        Err(refused) => {
            eprintln!(
                "skipped: {} says nothing without a driver: {refused}",
                path.display()
            );
            None
        }
    }
}

#[test]
fn its_records_are_as_long_as_we_think() {
    let Some(cupti) = library() else { return };
    let version = cupti.version().unwrap();
    assert!(version >= MIN_VERSION, "{version}");
    let sizes = record_sizes(&cupti).unwrap();
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

/// It steps over a buffer of many kinds exactly as we do.
#[test]
fn it_walks_a_buffer_as_we_do() {
    let Some(cupti) = library() else { return };
    let sizes = record_sizes(&cupti).unwrap();
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
    let Some(cupti) = library() else { return };
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
