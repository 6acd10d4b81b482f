//! Anything at all may stand in a file: the importer ends with a run or with an error.

use crate::read_back::gzip;
use proptest::prelude::*;

const SMALL: &str = r#"{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "gpu"}], "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10.5, "dur": 20, "args": {"flops": 8}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 12, "dur": 3, "args": {"correlation": 5}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 30, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 5, "grid": [1, 2, 3]}},
{"ph": "B", "name": "é\n", "pid": "a", "tid": "b", "ts": 1}, {"ph": "E", "pid": "a", "tid": "b", "ts": 2},
{"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 11}, {"ph": "f", "id": 1, "pid": 1, "tid": 1, "ts": 13, "bp": "e"},
{"ph": "C", "name": "c", "pid": 1, "ts": 3, "args": {"v": 1e3}}]}"#;

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        (-1_000_i64..1_000).prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| format!("{n:?}")),
        any::<u32>().prop_map(|n| format!("\"{n}\"")),
        Just("null".to_owned()),
        Just("[]".to_owned()),
    ]
}

prop_compose! {
    fn event()(
        phase in proptest::sample::select(b"XXXXBEstfbneSTFCiIMPNDx".to_vec()),
        category in proptest::sample::select(vec!["cpu_op", "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_sync", "Trace", "x"]),
        name in proptest::sample::select(vec!["a", "ProfilerStep#3", "Memcpy HtoD (Pinned -> Device)", "Stream Sync", "Event Sync", "[memory]", "cudaDeviceSynchronize", "thread_name"]),
        numbers in proptest::collection::vec(number(), 10),
    ) -> String {
        let n = &numbers;
        format!(
            "{{\"ph\":\"{}\",\"cat\":\"{category}\",\"name\":\"{name}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"id\":{},\"args\":{{\"correlation\":{},\"device\":{},\"stream\":{},\"bytes\":{},\"Bytes\":{},\"wait_on_cuda_event_id\":3,\"wait_on_cuda_event_record_corr_id\":{},\"grid\":[{},1,1]}}}}",
            char::from(phase), n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[5], n[6],
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_events_become_rows_or_reasons(events in proptest::collection::vec(event(), 0..40)) {
        let run = match super::import(format!("[{}]", events.join(","))) {
            Ok(run) => run,
            Err(error) => {
                prop_assert!(error.contains("out of range"), "{}", error);
                return Ok(());
            }
        };
        let read: u64 = run.notes.read.values().sum();
        prop_assert_eq!(read, events.len() as u64);
    }

    #[test]
    fn mutated_bytes_never_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..12),
        is_packed in any::<bool>(),
        keep in any::<bool>(),
    ) {
        let mut bytes = if is_packed { gzip(SMALL.as_bytes()) } else { SMALL.as_bytes().to_vec() };
        for (at, byte, how) in changes {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ if bytes.len() > 1 => { bytes.remove(at); }
                _ => {}
            }
        }
        let _ = if keep { super::partial(&bytes) } else { super::import(&bytes) };
    }

    #[test]
    fn every_cut_is_an_error_or_an_open_array(at in 0..SMALL.len()) {
        prop_assume!(SMALL.is_char_boundary(at));
        prop_assert!(super::import(&SMALL[..at]).is_err());
    }
}
