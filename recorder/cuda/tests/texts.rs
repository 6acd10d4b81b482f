//! The PTX texts are those of the sources beside them.

use trueno_ceilings::gpu::{CEILINGS_PTX, TENSOR_PTX};
use trueno_recorder_cuda::checksum::{FINGERPRINT_PTX, STRIDED_PTX};

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

const FINGERPRINT: &str = include_str!("../kernels/fingerprint.cu");
const CEILINGS: &str = include_str!("../../ceilings/src/gpu/ceilings.cu");
const TENSOR: &str = include_str!("../../ceilings/src/gpu/tensor.cu");

#[test]
fn texts_were_made_of_their_sources() {
    for (ptx, source) in [
        (FINGERPRINT_PTX, FINGERPRINT),
        (STRIDED_PTX, FINGERPRINT),
        (CEILINGS_PTX, CEILINGS),
        (TENSOR_PTX, TENSOR),
    ] {
        let line = format!("// FNV-1a of the source: {:016x}", fnv1a(source.as_bytes()));
        assert_eq!(
            ptx.lines().nth(1),
            Some(line.as_str()),
            "run kernels/generate.py"
        );
    }
}

/// Drivers refuse a newer version than their own, and what was made for a newer device.
#[test]
fn texts_are_for_old_drivers_and_devices() {
    for (ptx, target) in [
        (FINGERPRINT_PTX, "sm_70"),
        (STRIDED_PTX, "sm_70"),
        (CEILINGS_PTX, "sm_70"),
        (TENSOR_PTX, "sm_80"),
    ] {
        assert!(ptx.contains(&format!(
            "\n.version 7.0\n.target {target}\n.address_size 64\n"
        )));
    }
}

#[test]
fn kernels_take_what_they_are_given() {
    let entries = |ptx: &str| -> Vec<(String, String)> {
        ptx.split(".entry ")
            .skip(1)
            .map(|entry| {
                let (name, rest) = entry.split_once('(').unwrap();
                let parameters = rest.split_once(')').unwrap().0;
                let types = parameters.split(',').map(|parameter| {
                    let words: Vec<&str> = parameter.split_whitespace().collect();
                    match words[..] {
                        [".param", of, _] => of.to_owned(),
                        [".param", ".align", "8", ".b8", name] => {
                            name.split_once('[').unwrap().1.replace(']', "")
                        }
                        _ => panic!("{parameter}"),
                    }
                });
                (name.trim().to_owned(), types.collect::<Vec<_>>().join(" "))
            })
            .collect()
    };
    let types = [
        "f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
    ];
    let dense = entries(FINGERPRINT_PTX);
    let strided = entries(STRIDED_PTX);
    for dtype in types {
        let four = ".u64 .u64 .u64 .u64";
        assert!(dense.contains(&(format!("fingerprint_{dtype}"), four.to_owned())));
        assert!(strided.contains(&(format!("strided_{dtype}"), format!("{four} 136"))));
    }
    assert!(dense.contains(&("fold".to_owned(), ".u64 .u64 .u64".to_owned())));
    assert_eq!((dense.len(), strided.len()), (13, 12));
    assert_eq!(
        (entries(CEILINGS_PTX).len(), entries(TENSOR_PTX).len()),
        (8, 4)
    );
}
