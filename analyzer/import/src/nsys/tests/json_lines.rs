//! Exports to JSON lines give the rows of the same tables in sqlite.

use super::fixture::{Export, FULL};
use crate::nsys::json_lines::IMPORTER;
use crate::read_back::{Imported, of_bytes, partial, recognises};
use crate::{Error, Options};

/// The content of [`FULL`] as `nsys export --type jsonlines` writes it: 64-bit numbers as strings.
const LINES: &str = r#"{"data":["[Unknown]","cudaLaunchKernel_v7000","cuLaunchKernel","cudaMemcpyAsync_v3020","cudaStreamSynchronize_v3020","void saxpy<float>(float *)","saxpy","poll","layer"]}
{"type":"String","id":"9","value":"main"}
{"Type":59,"NvtxEvent":{"Type":"59","Timestamp":"110","TextId":"8","GlobalTid":"83886085","EndTimestamp":"600","DomainId":"0","NsTime":true}}
{"Type":60,"NvtxEvent":{"Type":"60","Timestamp":"100","Text":"step","GlobalTid":"83886085","EndTimestamp":"1000"}}
{"Type":34,"NvtxEvent":{"Type":"34","Timestamp":"120","Text":"mark","GlobalTid":"83886085"}}
{"Type":59,"NvtxEvent":{"Type":"59","Timestamp":"130","Text":"open","GlobalTid":"83886085"}}
{"Type":48,"TraceProcessEvent":{"startNs":"120","endNs":"150","correlationId":7,"eventClass":0,"name":"1","returnValue32":0,"globalTid":"83886085"}}
{"Type":48,"TraceProcessEvent":{"startNs":"125","endNs":"145","correlationId":7,"eventClass":1,"name":"2","returnValue32":0,"globalTid":"83886085"}}
{"Type":48,"TraceProcessEvent":{"startNs":"160","endNs":"170","correlationId":8,"eventClass":0,"name":"3","returnValue32":0,"globalTid":"83886085"}}
{"Type":48,"TraceProcessEvent":{"startNs":"200","endNs":"510","correlationId":9,"eventClass":0,"name":"4","returnValue32":0,"globalTid":"83886085"}}
{"Type":48,"TraceProcessEvent":{"startNs":"700","endNs":"750","eventClass":27,"name":"7","globalTid":"83886085"}}
{"Type":48,"TraceProcessEvent":{"startNs":"700","endNs":"750","eventClass":99,"name":"7","globalTid":"83886085"}}
{"Type":79,"CudaEvent":{"startNs":"300","endNs":"400","correlationId":7,"deviceId":0,"contextId":"1","streamId":"13","eventClass":3,"globalPid":"83886080","kernel":{"demangledName":"5","shortName":"6","gridX":4,"gridY":2,"gridZ":1,"blockX":128,"blockY":1,"blockZ":1,"registersPerThread":32,"staticSharedMemory":64,"dynamicSharedMemory":1024}}}
{"Type":80,"CudaEvent":{"startNs":"400","endNs":"500","correlationId":8,"deviceId":0,"contextId":"1","streamId":"13","eventClass":1,"globalPid":"83886080","memcpy":{"sizebytes":"4096","copyKind":"1","srcKind":1,"dstKind":2,"copyCount":"1"}}}
{"Type":81,"CudaEvent":{"startNs":"520","endNs":"525","correlationId":70,"deviceId":0,"contextId":"1","streamId":"13","eventClass":2,"globalPid":"83886080","memset":{"sizebytes":"64","memKind":2}}}
{"Type":106,"CudaEvent":{"startNs":"205","endNs":"505","correlationId":9,"deviceId":0,"contextId":"1","streamId":"13","eventClass":5,"globalPid":"83886080","sync":{"eventId":4294967295,"syncType":"SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT"}}}
{"Type":127,"CudaEvent":{"startNs":"510","endNs":"510","correlationId":71,"deviceId":0,"contextId":"1","streamId":"13","eventClass":6,"globalPid":"83886080","cudaEventRecord":{"eventId":3}}}
{"Type":41,"SchedEvent":{"startNs":"1","cpu":3}}
{"type":"ThreadName","globalTid":"83886085","nameId":"9","priority":"10"}
"#;

fn read(text: &str, options: &Options) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, text, options)
}

#[test]
fn lines_become_the_rows_of_an_export_to_sqlite() {
    assert!(recognises(&IMPORTER, LINES.as_bytes()));
    let (run, sqlite) = (
        read(LINES, &Options::default()).unwrap(),
        Export::new(FULL).import().unwrap(),
    );
    for (table, columns) in [
        ("bricks", "id parent name start_ns dur_ns"),
        ("calls", "name brick start_ns dur_ns correlation"),
        (
            "kernels",
            "name device stream start_ns grid_x grid_y smem_static",
        ),
        (
            "transfers",
            "direction bytes src_kind dst_kind start_ns dur_ns",
        ),
        ("syncs", "kind thread stream start_ns dur_ns"),
        ("device_events", "event stream time_ns"),
        ("edges", "from to kind"),
        ("annotations", "name time_ns"),
        ("threads", "name os_id"),
    ] {
        let rows = run.rows(table, columns);
        assert!(!rows.is_empty(), "{table}");
        assert_eq!(rows, sqlite.rows(table, columns), "{table}");
    }
    for kind in ["SchedEvent", "TraceProcessEvent of class 99"] {
        assert_eq!(
            run.notes.left_out[&format!("{kind}: has no place in a run")],
            1
        );
    }
}

#[test]
fn texts_that_stand_behind_the_events_are_found() {
    let (texts, rest) = LINES.split_once('\n').unwrap();
    let run = read(&format!("{rest}{texts}\n"), &Options::default()).unwrap();
    assert_eq!(run.rows("kernels", "name"), ["void saxpy<float>(float *)"]);
}

#[test]
fn damaged_lines_are_refused_with_their_place_and_what_stands_before_is_kept() {
    let cut = &LINES[..LINES.find("{\"Type\":80").unwrap() + 40];
    let refused = read(cut, &Options::default()).err().unwrap().to_string();
    assert!(
        refused.contains("line 14") && refused.contains("--partial"),
        "{refused}"
    );
    let partial = partial();
    let run = read(cut, &partial).unwrap();
    assert_eq!(run.rows("kernels", "start_ns").len(), 1);
    assert!(
        run.run
            .problems
            .iter()
            .any(|problem| problem.contains("line 14"))
    );
    let none = read("{\"data\":[\"[Unknown]\"]}\n", &Options::default());
    assert!(none.err().unwrap().to_string().contains("trace.json"));
}
