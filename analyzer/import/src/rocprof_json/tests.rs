use super::IMPORTER;
use crate::read_back::{Imported, KERNEL_COLUMNS, imported, of_bytes, partial, recognises};
use crate::{Error, Options};

const DOCUMENT: &str = r#"{"rocprofiler-sdk-tool": [{
  "metadata": {"pid": 7, "init_time": 1, "fini_time": 9},
  "agents": [
    {"id": {"handle": 1}, "type": 1, "name": "EPYC", "logical_node_id": 0},
    {"id": {"handle": 5}, "type": 2, "product_name": "AMD Instinct MI300X", "logical_node_id": 1, "cu_count": 304}],
  "counters": [{"id": {"handle": 3}, "name": "SQ_WAVES"}],
  "strings": {"buffer_records": [{"kind": "NONE", "operations": []},
      {"kind": "HIP_RUNTIME_API", "operations": ["hipMalloc", "hipLaunchKernel"]}],
    "marker_api": [{"key": 9, "value": "forward"}]},
  "buffer_records": {
    "kernel_dispatch": [{"size": 1, "kind": 11, "operation": 1, "thread_id": 7,
      "correlation_id": {"internal": 4, "external": 0}, "start_timestamp": 2000, "end_timestamp": 3000,
      "dispatch_info": {"size": 64, "agent_id": {"handle": 5}, "queue_id": {"handle": 1}, "kernel_id": 2,
        "group_segment_size": 512, "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 1024, "y": 1, "z": 1}}}],
    "hip_api": [{"kind": 1, "operation": 1, "thread_id": 7, "correlation_id": {"internal": 4}, "start_timestamp": 1000, "end_timestamp": 1500}],
    "marker_api": [{"kind": 0, "operation": 0, "thread_id": 7, "correlation_id": {"internal": 9}, "start_timestamp": 900, "end_timestamp": 3200}],
    "memory_copy": [{"kind": 12, "operation": 2, "thread_id": 7, "correlation_id": {"internal": 0}, "start_timestamp": 500, "end_timestamp": 800,
      "src_agent_id": {"handle": 1}, "dst_agent_id": {"handle": 5}, "bytes": 4096}],
    "unheard_of": [{"a": [1, {"b": 2}]}]},
  "kernel_symbols": [{"kernel_id": 2, "kernel_name": "gemm.kd", "formatted_kernel_name": "gemm(float*)", "arch_vgpr_count": 32}]
}]}"#;

fn read(text: &str, options: &Options) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, text, options)
}

#[test]
fn records_are_named_by_tables_that_stand_before_or_behind_them() {
    assert!(recognises(&IMPORTER, DOCUMENT.as_bytes()));
    let run = read(DOCUMENT, &Options::default()).unwrap();
    assert_eq!(
        run.rows("kernels", KERNEL_COLUMNS),
        ["gemm(float*) 0 1 0 1500 1000 16 64 32 512"]
    );
    assert_eq!(run.rows("calls", "name"), ["hipLaunchKernel"]);
    assert_eq!(run.rows("bricks", "name dur_ns"), ["forward 2300"]);
    assert_eq!(
        run.rows("transfers", "direction bytes device"),
        ["h2d 4096 0"]
    );
    assert_eq!(run.rows("edges", "kind"), ["launches"]);
    let columns = "device name multiprocessors";
    assert_eq!(
        run.rows("devices", columns),
        ["gpu:0 AMD Instinct MI300X 304"]
    );
}

#[test]
fn counters_belong_to_the_kernel_of_their_dispatch() {
    let text = DOCUMENT
        .replace("\"kernel_id\": 2,\n", "\"kernel_id\": 2, \"dispatch_id\": 1,\n")
        .replace(
            "\"buffer_records\": {\n",
            r#""callback_records": {"counter_collection": [{"dispatch_data": {"start_timestamp": 2000, "end_timestamp": 3000,
            "dispatch_info": {"dispatch_id": 1}}, "records": [{"counter_id": {"handle": 3}, "value": 16.0}]}]},
            "buffer_records": {"#,
        );
    let run = read(&text, &Options::default()).unwrap();
    let kernel = run.rows("kernels", "id").concat();
    assert_eq!(
        run.rows("counters", "name value span"),
        [format!("SQ_WAVES 16 {kernel}")]
    );
}

#[test]
fn dispatches_that_were_counted_and_not_traced_are_kernels_that_ran_one_by_one() {
    let of = |kernels: &str| {
        let dispatch = r#""dispatch_info": {"dispatch_id": 1, "kernel_id": 2, "agent_id": {"handle": 5}, "queue_id": {"handle": 1},
            "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 1024, "y": 1, "z": 1}}"#;
        let text = format!(
            r#"{{"rocprofiler-sdk-tool": [{{"metadata": {{"pid": 7}}, "counters": [{{"id": {{"handle": 3}}, "name": "SQ_WAVES"}}],
            "kernel_symbols": [{{"kernel_id": 2, "kernel_name": "gemm.kd"}}],
            "callback_records": {{"counter_collection": [{{"thread_id": 7, "dispatch_data": {{"start_timestamp": 2000, "end_timestamp": 3000,
              {dispatch}}}, "records": [{{"counter_id": {{"handle": 3}}, "value": 16.0}}]}}]}},
            "buffer_records": {{"kernel_dispatch": [{kernels}]}}}}]}}"#
        );
        let run = read(&text, &Options::default()).unwrap();
        let facts = run.rows("diagnostics", "code count");
        assert_eq!(facts, ["kernels_one_by_one 1"]);
        assert_eq!(run.rows("counters", "name value"), ["SQ_WAVES 16"]);
        run.rows("kernels", "name start_ns dur_ns grid_x block_x")
    };
    assert_eq!(of(""), ["gemm 0 1000 16 64"]);
    let traced = r#"{"thread_id": 7, "correlation_id": {"internal": 4}, "start_timestamp": 2000, "end_timestamp": 2900,
        "dispatch_info": {"dispatch_id": 1, "kernel_id": 2, "workgroup_size": {"x": 64}, "grid_size": {"x": 64}}}"#;
    assert_eq!(of(traced), ["gemm 0 900 1 64"]);
}

#[test]
fn a_cut_document_is_refused_with_its_place_and_read_in_part_where_asked() {
    let cut = &DOCUMENT[..DOCUMENT.find("\"marker_api\": [{\"kind\"").unwrap()];
    let refused = read(cut, &Options::default()).err().unwrap().to_string();
    assert!(
        refused.contains("line") && refused.contains("--partial"),
        "{refused}"
    );
    let partial = partial();
    let run = read(cut, &partial).unwrap();
    assert_eq!(run.rows("kernels", "start_ns").len(), 1);
    assert_eq!(run.run.problems.len(), 1);
    for end in 0..DOCUMENT.len() {
        if DOCUMENT.is_char_boundary(end) && end % 37 == 0 {
            let _ = read(&DOCUMENT[..end], &partial);
        }
    }
}

#[test]
fn fields_of_other_types_are_nothing() {
    let odd = DOCUMENT
        .replace("\"handle\": 5", "\"handle\": \"0x5\"")
        .replace("\"bytes\": 4096", "\"bytes\": {\"x\": []}")
        .replace("\"thread_id\": 7", "\"thread_id\": null");
    let run = read(&odd, &Options::default()).unwrap();
    assert_eq!(run.rows("kernels", "device"), ["0"]);
    assert_eq!(run.rows("transfers", "bytes"), ["-"]);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "{\"rocprofiler-sdk-tool\": 4}").unwrap();
    assert!(imported(&IMPORTER, file.path()).is_err());
}
