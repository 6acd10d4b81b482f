//! The PTX texts are those of the sources beside them, and NVIDIA's assembler takes them.
//!
//! `TRUENO_PTXAS=…/bin/ptxas TRUENO_NVDISASM=…/bin/nvdisasm cargo test -p trueno-recorder-cuda --test texts`; several paths with `:`.

use std::path::{Path, PathBuf};
use std::process::Command;

use trueno_ceilings::gpu::{
    CEILINGS_PTX, TENSOR_PTX, TENSOR_SM89_PTX, TENSOR_SM90A_PTX, TENSOR_SM100F_PTX,
};
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
        (TENSOR_SM89_PTX, TENSOR),
        (TENSOR_SM90A_PTX, TENSOR),
        (TENSOR_SM100F_PTX, TENSOR),
    ] {
        let line = format!("// FNV-1a of the source: {:016x}", fnv1a(source.as_bytes()));
        assert_eq!(
            ptx.lines().nth(1),
            Some(line.as_str()),
            "run kernels/generate.py"
        );
    }
}

/// Each text, its PTX version and target, and the devices that it is for.
const TEXTS: [(&str, &str, &str, &str, &[&str]); 7] = [
    ("fingerprint", FINGERPRINT_PTX, "7.0", "sm_70", EVERY),
    ("strided", STRIDED_PTX, "7.0", "sm_70", EVERY),
    ("ceilings", CEILINGS_PTX, "7.0", "sm_70", EVERY),
    (
        "tensor",
        TENSOR_PTX,
        "7.0",
        "sm_80",
        &[
            "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120",
        ],
    ),
    (
        "tensor_sm89",
        TENSOR_SM89_PTX,
        "8.4",
        "sm_89",
        &["sm_89", "sm_120"],
    ),
    (
        "tensor_sm90a",
        TENSOR_SM90A_PTX,
        "8.0",
        "sm_90a",
        &["sm_90a"],
    ),
    (
        "tensor_sm100f",
        TENSOR_SM100F_PTX,
        "8.8",
        "sm_100f",
        &["sm_100a", "sm_103a", "sm_100f"],
    ),
];
const EVERY: &[&str] = &[
    "sm_70", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120",
];

/// Drivers reject newer PTX versions than their own, and targets newer than the device.
#[test]
fn texts_are_for_old_drivers_and_devices() {
    for (name, ptx, version, target, _) in TEXTS {
        let header = format!("\n.version {version}\n.target {target}\n.address_size 64\n");
        assert!(ptx.contains(&header), "{name}");
    }
}

/// A tool of this machine: from a variable, Python environments (`nvidia-cuda-nvcc`), CUDA, and `PATH`.
fn tools(variable: &str, name: &str) -> Vec<PathBuf> {
    if let Some(paths) = std::env::var_os(variable) {
        return std::env::split_paths(&paths).collect();
    }
    let mut roots = Vec::new();
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        let root = std::env::var_os(name).map(PathBuf::from);
        roots.extend(
            root.iter()
                .flat_map(|root| trueno_cupti::library::python_folders(root)),
        );
    }
    let wheels = ["nvidia/cu13/bin", "nvidia/cuda_nvcc/bin"];
    let mut folders: Vec<PathBuf> = roots
        .iter()
        .flat_map(|root| wheels.map(|wheel| root.join(wheel)))
        .collect();
    folders.extend(std::env::var_os("CUDA_HOME").map(|root| PathBuf::from(root).join("bin")));
    folders.push("/usr/local/cuda/bin".into());
    folders.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let found = folders
        .into_iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file());
    found.into_iter().collect()
}

/// Checks that each tensor core kernel has sixteen of its instructions in its loop. If a device lacks the
/// instruction, the assembler replaces it by others, and the kernel would measure those.
fn native(nvdisasm: &Path, code: &Path, name: &str, device: &str) {
    let output = Command::new(nvdisasm).arg("-c").arg(code).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let mut kernels = 0;
    for kernel in text.split(".section\t.text.").skip(1) {
        let is_one = |word: &&str| {
            word.split('.')
                .next()
                .is_some_and(|word| word.ends_with("MMA"))
        };
        let found: Vec<&str> = kernel.split_whitespace().filter(is_one).collect();
        let which = kernel.split(',').next().unwrap_or_default();
        assert_eq!(found.len(), 16, "{name} for {device}: {which}: {found:?}");
        // f16 in the place of FP8 has another name.
        let is_other = which.ends_with("_f8") && found.iter().any(|word| word.starts_with("HMMA"));
        assert!(!is_other, "{name} for {device}: {found:?}");
        kernels += 1;
    }
    assert!(kernels > 0, "{name} for {device}: {text}");
}

/// Nothing is downloaded: without an assembler the test prints that it is skipped.
#[test]
fn every_text_is_assembled_for_every_device_that_it_is_for() {
    let assemblers = tools("TRUENO_PTXAS", "ptxas");
    if assemblers.is_empty() {
        eprintln!("skipped: no ptxas here (hint: TRUENO_PTXAS, or pip install nvidia-cuda-nvcc)");
    }
    let disassemblers = tools("TRUENO_NVDISASM", "nvdisasm");
    let folder = tempfile::tempdir().unwrap();
    let code = folder.path().join("code.cubin");
    for ptxas in assemblers {
        let known = Command::new(&ptxas).arg("--help").output().unwrap();
        let known = String::from_utf8_lossy(&known.stdout).into_owned();
        let mut done = 0;
        for (name, ptx, _, _, devices) in TEXTS {
            let text = folder.path().join(name);
            std::fs::write(&text, ptx).unwrap();
            // A release has no more devices than it knows: 13 has no sm_70, 11 no sm_100.
            let devices = devices
                .iter()
                .filter(|device| known.contains(&format!("'{device}'")));
            for device in devices {
                let output = Command::new(&ptxas)
                    .args(["-v", "-arch", device, "-o"])
                    .arg(&code)
                    .arg(&text)
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                // Of a release before the version of PTX that the text is in.
                if said.contains("Unsupported .version") {
                    continue;
                }
                assert!(
                    output.status.success(),
                    "{}: {name} for {device}: {said}",
                    ptxas.display()
                );
                // It says so if it must wait for each `wgmma`, or has no room for the sums.
                assert!(
                    !said.contains("Potential Performance Loss"),
                    "{name} for {device}: {said}"
                );
                let spilled = said.lines().filter(|line| line.contains("spill stores"));
                assert!(
                    !name.starts_with("tensor")
                        || spilled
                            .clone()
                            .all(|line| line.contains(" 0 bytes spill stores")),
                    "{name} for {device}: {said}"
                );
                done += 1;
                if name.starts_with("tensor") && disassemblers.len() == 1 {
                    native(&disassemblers[0], &code, name, device);
                }
            }
        }
        eprintln!("{}: assembled {done}", ptxas.display());
        assert!(done > 0, "{}: knows no device", ptxas.display());
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
        [
            CEILINGS_PTX,
            TENSOR_PTX,
            TENSOR_SM89_PTX,
            TENSOR_SM90A_PTX,
            TENSOR_SM100F_PTX
        ]
        .map(|ptx| entries(ptx).len()),
        [8, 6, 1, 7, 4]
    );
}
