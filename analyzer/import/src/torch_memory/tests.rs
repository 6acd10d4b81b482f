use super::IMPORTER;
use crate::pickle::tests::pickled;
use crate::read_back::{Imported, of_bytes, recognises};
use crate::{Error, Options};

/// A snapshot as Python wrote it: a segment, two blocks in use (one older than the trace), an allocation that is
/// freed again, and one that failed.
const SNAPSHOT: &str = "\
80049511040000000000007d94288c087365676d656e7473945d947d94288c06646576696365944b008c0761646472657373948a0600c044\
4a547f8c0a746f74616c5f73697a65944a000020008c0673747265616d944b008c0c7365676d656e745f74797065948c05736d616c6c948c\
0f7365676d656e745f706f6f6c5f6964944b004b0086948c0e616c6c6f63617465645f73697a65944d00068c0b6163746976655f73697a65\
944d00068c0e7265717565737465645f73697a65944ddc058c0d69735f657870616e6461626c6594898c066672616d6573945d948c06626c\
6f636b73945d94287d942868058a0600c0444a547f8c0473697a65944d0004680e4de8038c057374617465948c106163746976655f616c6c\
6f63617465649468105d94287d94288c0866696c656e616d65948c023f3f948c046c696e65944b008c046e616d65948c0a6331303a3a616c\
6c6f6394757d9428681a8c0b2f612f6d6f64656c2e707994681c4b0c681d8c07666f7277617264947565757d942868058a0600c4444a547f\
68154d0002680e4df4016816681768105d94757d942868058a0600c6444a547f68154a00fa1f00680e4b0068168c08696e61637469766594\
68105d94756575618c0d6465766963655f747261636573945d94285d94287d94288c06616374696f6e948c0d7365676d656e745f616c6c6f\
63948c0461646472948a0600c0444a547f68154a0000200068074b008c0774696d655f7573948a0700401e18240a0668105d94757d942868\
2b8c05616c6c6f6394682d8a0600c0444a547f68154d000468074b00682e8a070a401e18240a0668106818757d9428682b6831682d8a0600\
c8444a547f68154d000268074b00682e8a0714401e18240a0668105d94286819681f65757d9428682b8c0e667265655f7265717565737465\
6494682d8a0600c8444a547f68154d000268074b00682e8a071e401e18240a0668105d94757d9428682b8c0e667265655f636f6d706c6574\
656494682d8a0600c8444a547f68154d000268074b00682e8a071f401e18240a0668105d94757d9428682b8c036f6f6d94682d4b0068158a\
0600000000000168074b008c0b6465766963655f66726565944b05682e8a0728401e18240a0668105d94757d9428682b8c08736e61707368\
6f7494682d4b0068154b0068074b00682e8a0732401e18240a0668105d9475655d94658c12616c6c6f6361746f725f73657474696e677394\
7d94288c175059544f5243485f435544415f414c4c4f435f434f4e46948c00948c0e6d61785f73706c69745f73697a65944affffffff8c1c\
676172626167655f636f6c6c656374696f6e5f7468726573686f6c64944700000000000000008c13657870616e6461626c655f7365676d65\
6e747394898c18726f756e6475705f706f776572325f6469766973696f6e73947d948c0131944b007375752e";

fn bytes() -> Vec<u8> {
    let digits = SNAPSHOT.as_bytes().chunks_exact(2);
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

fn read(bytes: &[u8], partial: bool) -> Result<Imported, Error> {
    let options = Options {
        partial,
        ..Options::default()
    };
    of_bytes(&IMPORTER, bytes, &options)
}

#[test]
fn a_snapshot_has_allocations_and_totals_that_begin_before_it() {
    assert!(recognises(&IMPORTER, bytes()));
    let run = read(&bytes(), false).unwrap();
    assert_eq!(
        run.rows("allocations", "time_ns device bytes address tag"),
        [
            "10000 0 1024 140000000000000 /a/model.py:12 forward",
            "20000 0 512 140000000002048 /a/model.py:12 forward",
            "31000 0 -512 140000000002048 -",
        ]
    );
    assert_eq!(
        run.rows("counters", "time_ns name value"),
        [
            "0 gpu0 allocated 512",
            "0 gpu0 reserved 0",
            "0 gpu0 reserved 2097152",
            "10000 gpu0 allocated 1536",
            "20000 gpu0 free segments 0",
            "20000 gpu0 largest free piece 2094592",
            "20000 gpu0 allocated 2048",
            "31000 gpu0 allocated 1536",
            "40000 gpu0 free segments 0",
            "40000 gpu0 largest free piece 2095616",
            "40000 gpu0 free segments 0",
            "40000 gpu0 largest free piece 2095616",
        ]
    );
    let columns = "name time_ns device arguments";
    assert_eq!(
        run.rows("annotations", columns),
        ["out of memory 40000 0 {\"bytes\":1099511627776,\"device_free\":5}"]
    );
    assert_eq!(run.wall_ns, Some(40_000));
    assert_eq!(run.run.clock.origin_realtime_ns, 1_700_000_000_000_000_000);
}

/// A segment that grows out of use and one that is full, with a hole of 1,024 bytes at the peak.
fn two_segments(is_expandable: bool) -> serde_json::Value {
    let event = |action: &str, addr: u64, size: u64, time_us: u64| serde_json::json!({"action": action, "addr": addr, "size": size, "time_us": time_us});
    let segment = |address: u64, blocks: &[(u64, &str)]| {
        let total = blocks.iter().map(|block| block.0).sum::<u64>();
        let used = blocks.iter().filter(|block| block.1 != "inactive");
        let blocks = blocks.iter();
        let blocks: Vec<_> = blocks
            .map(|(size, state)| serde_json::json!({"size": size, "state": state}))
            .collect();
        serde_json::json!({
            "device": 0, "address": address, "total_size": total, "is_expandable": is_expandable,
            "allocated_size": used.map(|block| block.0).sum::<u64>(), "blocks": blocks,
        })
    };
    serde_json::json!({
        "segments": [
            segment(0x10000, &[(1024, "inactive"), (3072, "active_allocated")]),
            // Right behind the first: a piece of the one does not go on in the other.
            segment(0x11000, &[(4096, "inactive")]),
        ],
        "device_traces": [[
            event("segment_alloc", 0x11000, 4096, 1),
            event("alloc", 0x11000, 4000, 2),
            event("free_completed", 0x11000, 4000, 3),
        ]],
    })
}

#[test]
fn free_pieces_at_the_peak_lie_within_segments() {
    let counters = |is_expandable| {
        let run = read(&pickled(&two_segments(is_expandable)), false).unwrap();
        let rows = run.rows("counters", "time_ns name value").into_iter();
        let rows: Vec<String> = rows.filter(|row| row.contains("free")).collect();
        rows
    };
    assert_eq!(
        counters(false),
        [
            "1000 gpu0 free segments 0",
            "1000 gpu0 largest free piece 1024",
            "2000 gpu0 free segments 4096",
            "2000 gpu0 largest free piece 1024",
        ]
    );
    // Free pages of expandable segments are returned one by one.
    assert_eq!(counters(true), ["2000 gpu0 free segments 4096"]);
}

#[test]
fn a_pickle_that_calls_something_is_refused() {
    // cposix\nsystem\n(S'true'\ntR.
    for text in [
        &b"\x80\x02cposix\nsystem\n(X\x04\0\0\0truetR."[..],
        b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.",
        b"\x80\x04]\x94.",
        b"\x80\x02}q\x01.",
        b"\x80\x04u.",
        b"\x80\x04h\x05.",
        b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffx.",
        b"\x80\x04",
    ] {
        let refused = read(text, false).err().map(|error| error.to_string());
        assert!(refused.is_some(), "{}", text.escape_ascii());
    }
    let refused = read(b"\x80\x02cposix\nsystem\n.", false)
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("not executed"), "{refused}");
}

#[test]
fn events_with_times_that_no_clock_shows_are_counted() {
    let mut far = bytes();
    let first = far.windows(2).position(|two| two == b"\x8a\x07").unwrap();
    // The sign of a number of seven bytes.
    far[first + 8] = 0x84;
    let run = read(&far, false).unwrap();
    assert_eq!(run.notes.left_out["event with an impossible time"], 1);
}

#[test]
fn a_cut_snapshot_is_refused_or_read_in_part_and_noise_is_borne() {
    let whole = bytes();
    for end in (0..whole.len()).step_by(7) {
        assert!(read(&whole[..end], false).is_err(), "{end}");
    }
    let run = read(&whole[..whole.len() - 200], true).unwrap();
    assert_eq!(run.rows("allocations", "bytes").len(), 3);
    assert_eq!(run.run.problems.len(), 1);
    for at in (2..whole.len()).step_by(5) {
        for byte in [b'(', b'u', b'.'] {
            let mut changed = whole.clone();
            changed[at] = byte;
            let _ = read(&changed, at % 2 == 0);
        }
    }
}

#[test]
fn events_without_times_keep_their_order_and_give_the_peak() {
    let event = |action: &str, addr: u64, size: u64| serde_json::json!({"action": action, "addr": addr, "size": size, "stream": 0});
    let snapshot = serde_json::json!({
        "segments": [{"device": 0, "total_size": 4096, "allocated_size": 512}],
        "device_traces": [
            [
                event("segment_alloc", 1, 4096),
                event("alloc", 1, 1024),
                event("alloc", 2, 512),
                event("free_requested", 1, 1024),
                event("free_completed", 1, 1024),
            ],
            [event("alloc", 9, 256)],
        ],
    });
    let run = read(&pickled(&snapshot), false).unwrap();
    assert_eq!(
        run.rows("allocations", "time_ns device bytes"),
        ["0 1 256", "1 0 1024", "2 0 512", "3 0 -1024"]
    );
    let counters = run.rows("counters", "name value");
    assert!(counters.contains(&"gpu0 allocated 1536".to_owned()));
    assert_eq!(run.wall_ns, None);
    assert!(run.warns("PyTorch 2.2"));
    assert_eq!(run.run.problems.len(), 1);
}

#[test]
fn blocks_that_are_rounded_up_hold_nothing_from_before() {
    let event = |action: &str, addr: u64, size: u64, time_us: u64| serde_json::json!({"action": action, "addr": addr, "size": size, "time_us": time_us});
    // A block of 512 bytes for the 4 requested, and one of 1,024 for 1,000 from before.
    let segment = serde_json::json!({"device": 0, "total_size": 4096, "allocated_size": 1536, "active_size": 1536, "requested_size": 1004});
    let events = [
        event("alloc", 1, 4, 5),
        event("alloc", 2, 8, 6),
        event("free_completed", 2, 8, 7),
    ];
    let snapshot = serde_json::json!({"segments": [segment], "device_traces": [events]});
    let run = read(&pickled(&snapshot), false).unwrap();
    let allocated = run.rows("counters", "name value").into_iter();
    let allocated: Vec<String> = allocated.filter(|row| row.contains("allocated")).collect();
    assert_eq!(
        allocated,
        [
            "gpu0 allocated 1004",
            "gpu0 allocated 1012",
            "gpu0 allocated 1004"
        ]
    );
}

#[test]
fn sizes_that_no_address_space_has_are_set_aside() {
    let event = |action: &str, size: i64| serde_json::json!({"action": action, "addr": 1, "size": size, "time_us": 5});
    let events = [
        event("free_completed", i64::MAX),
        event("segment_alloc", i64::MAX),
        event("alloc", 512),
    ];
    let segment = serde_json::json!({"device": 0, "total_size": 4096, "allocated_size": 512});
    let snapshot = serde_json::json!({"segments": [segment], "device_traces": [events]});
    let run = read(&pickled(&snapshot), false).unwrap();
    assert_eq!(run.rows("allocations", "bytes"), ["512"]);
    assert_eq!(
        run.rows("counters", "name value"),
        [
            "gpu0 reserved 4096",
            "gpu0 allocated 512",
            "gpu0 free segments 0"
        ]
    );
    assert_eq!(run.left_out("64 PiB"), 2);
}

#[test]
fn memory_belongs_to_the_operator_and_not_to_the_allocator_below_it() {
    let stack = |names: &[&str]| {
        let frame = |name: &&str| serde_json::json!({"filename": "??", "line": 0, "name": name});
        serde_json::Value::Array(names.iter().map(frame).collect())
    };
    let below = [
        "torch::unwind::unwind()",
        "torch::CapturedTraceback::gather(bool, bool, bool)",
        "torch::cuda::(anonymous namespace)::gather_with_cpp()",
        "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(signed char, CUstream_st*)",
        "at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>, c10::Allocator*)",
        "at::native::empty_cuda(c10::ArrayRef<long>)",
        "at::(anonymous namespace)::create_out(c10::ArrayRef<long>)",
    ];
    let with = |above: &[&'static str]| [&below[..], above].concat();
    let mut python = with(&["at::_ops::mm::call(at::Tensor const&)"]);
    python.push("step");
    let mut python = stack(&python);
    python[below.len() + 1]["filename"] = "/a/train.py".into();
    let frames = [
        stack(&with(&[
            "at::_ops::bmm::redispatch(c10::DispatchKeySet, at::Tensor const&)",
            "torch::autograd::Engine::thread_main()",
        ])),
        stack(&with(&["my_extension::forward(at::Tensor)"])),
        stack(&below[..4]),
        python,
    ];
    let event = |frames: &serde_json::Value| serde_json::json!({"action": "alloc", "addr": 1, "size": 8, "time_us": 5, "frames": frames});
    let events: Vec<_> = frames.iter().map(event).collect();
    let snapshot = serde_json::json!({"segments": [], "device_traces": [events]});
    let run = read(&pickled(&snapshot), false).unwrap();
    assert_eq!(
        run.rows("allocations", "tag"),
        [
            "at::_ops::bmm::redispatch(c10::DispatchKeySet, at::Tensor const&)",
            "my_extension::forward(at::Tensor)",
            "torch::unwind::unwind()",
            "/a/train.py:0 step",
        ]
    );
}

#[test]
fn a_snapshot_without_history_says_what_segments_hold() {
    let segment = |total: u64, allocated: u64, active: u64| serde_json::json!({"device": 1, "total_size": total, "allocated_size": allocated, "active_size": active});
    let segments = [
        segment(4096, 1024, 1024),
        segment(8192, 0, 0),
        // Freed, and a stream still uses it.
        segment(2048, 0, 512),
    ];
    let state = |events: serde_json::Value| {
        let traces = serde_json::json!([[], events]);
        let snapshot = serde_json::json!({"segments": segments, "device_traces": traces});
        let run = read(&pickled(&snapshot), false).unwrap();
        run.rows("counters", "time_ns name value")
    };
    assert_eq!(
        state(serde_json::json!([])),
        [
            "0 gpu1 allocated 1024",
            "0 gpu1 reserved 14336",
            "0 gpu1 free segments 8192"
        ]
    );
    // The only event leaves one total of what was allocated.
    let freed =
        serde_json::json!([{"action": "free_completed", "addr": 1, "size": 512, "time_us": 7}]);
    assert_eq!(
        state(freed),
        [
            "0 gpu1 reserved 14336",
            "0 gpu1 allocated 1024",
            "0 gpu1 free segments 8192"
        ]
    );
}
