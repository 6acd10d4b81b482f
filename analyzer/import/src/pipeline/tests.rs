use super::IMPORTER;
use crate::read_back::{Imported, of_bytes, recognises};
use crate::{Error, Options, Part};

/// Two stages, one micro-batch, one step.
const TIMELINE: &str = r#"[
  {"name": "forward-compute", "cat": "forward-compute", "pid": 0, "tid": 0, "ts": 10.0, "dur": 5.0, "ph": "X",
   "args": {"step": 7, "model_chunk": 0, "mb_id": 0, "seq_id": 0}},
  {"name": "forward-send", "pid": 0, "tid": 1, "ts": 15.0, "dur": 1.0, "ph": "X",
   "args": {"step": 7, "model_chunk": -1, "mb_id": -1, "seq_id": 0}},
  {"name": "forward-recv", "pid": 0, "tid": 6, "ts": 15.0, "dur": 1.0, "ph": "X",
   "args": {"step": 7, "model_chunk": -1, "mb_id": -1, "seq_id": 0}},
  {"name": "forward-compute", "pid": 0, "tid": 5, "ts": 16.0, "dur": 6.0, "ph": "X",
   "args": {"step": 7, "model_chunk": 0, "mb_id": 0, "seq_id": 0}},
  {"name": "optimizer-clip-main-grad", "pid": 0, "tid": 8, "ts": 22.0, "dur": 2.0, "ph": "X",
   "args": {"step": 7, "model_chunk": -1, "mb_id": -1, "seq_id": 0}},
  {"name": "layernorm-grads-all-reduce", "pid": 0, "tid": 8, "ts": 22.0, "dur": 0.5, "ph": "X",
   "args": {"step": 7, "model_chunk": -1, "mb_id": -1, "seq_id": 0}},
  {"name": "thread_name", "pid": 0, "tid": 0, "ph": "M", "args": {"name": "PP rank 0, TP rank 0, compute"}},
  {"name": "thread_name", "pid": 0, "tid": 1, "ph": "M", "args": {"name": "PP rank 0, TP rank 0, pp-comm"}},
  {"name": "thread_name", "pid": 0, "tid": 5, "ph": "M", "args": {"name": "PP rank 1, TP rank 0, compute"}},
  {"name": "thread_name", "pid": 0, "tid": 6, "ph": "M", "args": {"name": "PP rank 1, TP rank 0, pp-comm"}},
  {"name": "thread_name", "pid": 0, "tid": 8, "ph": "M", "args": {"name": "PP rank 1, TP rank 0, dp-comm"}},
  {"name": "thread_sort_index", "pid": 0, "tid": 8, "ph": "M", "args": {"sort_index": 8}},
  {"name": "process_name", "pid": 0, "ph": "M", "args": {"name": "DP rank [3]"}}
]"#;

fn read(text: &str, options: &Options) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, text, options)
}

fn rank(label: &str) -> Imported {
    let options = Options {
        part: Some(Part::Rank(label.to_owned())),
        ..Options::default()
    };
    read(TIMELINE, &options).unwrap()
}

#[test]
fn a_timeline_of_all_ranks_becomes_a_job() {
    assert!(recognises(&IMPORTER, TIMELINE.as_bytes()));
    let Err(Error::Merged { ranks, .. }) = read(TIMELINE, &Options::default()) else {
        panic!("a file of two ranks is one run");
    };
    let named = |rank: u32, label: &str| (rank, label.to_owned());
    assert_eq!(ranks, [named(0, "PP0-DP3-TP0"), named(1, "PP1-DP3-TP0")]);
}

#[test]
fn operations_have_their_step_micro_batch_and_peers() {
    let run = rank("PP1-DP3-TP0");
    assert_eq!(run.run.values["parallel.pipeline"], "1");
    assert_eq!(run.run.values["parallel.data"], "3");
    assert_eq!(
        run.rows("kernels", "id brick stream start_ns dur_ns name"),
        [
            "2 1 2 5000 1000 forward-recv",
            "3 1 0 6000 6000 forward-compute",
            "4 1 1 12000 500 layernorm-grads-all-reduce",
            "5 1 1 12000 2000 optimizer-clip-main-grad",
        ]
    );
    assert_eq!(
        run.rows("bricks", "iteration start_ns dur_ns kind"),
        ["7 5000 9000 iteration"]
    );
    // The norms' group is the rank itself.
    assert_eq!(
        run.rows(
            "collectives",
            "kernel operation peer group_ranks communicator"
        ),
        [
            "2 recv 0 [0,1] forward of data 3 tensor 0",
            "5 all_reduce - [0,1] optimizer-clip-main-grad",
        ]
    );
    assert_eq!(
        run.rows("attributes", "span name integer"),
        [
            "2 sequence 0",
            "3 micro_batch 0",
            "3 sequence 0",
            "3 model_chunk 0",
            "4 sequence 0",
            "5 sequence 0",
        ]
    );
    let sender = rank("PP0-DP3-TP0");
    assert!(sender.warns("Megatron") && !run.warns("Megatron"));
    assert_eq!(
        sender.rows("collectives", "operation peer communicator"),
        ["send 1 forward of data 3 tensor 0"]
    );
}

#[test]
fn a_timeline_without_ranks_is_refused() {
    let cut = TIMELINE
        .split(",\n  {\"name\": \"thread_name\"")
        .next()
        .unwrap();
    let cut = format!("{cut}]");
    let error = read(&cut, &Options::default()).err().unwrap().to_string();
    assert!(error.contains("nothing says which rank"), "{error}");
}
