//! Dumps of PyTorch's Flight Recorder: which collective did not complete, who is missing, who waits.

use serde_json::{Value, json};
use trueno_analysis::testing::RunFixture;
use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_collectives::Collectives;

const SECOND_NS: i64 = 1_000_000_000;

/// An entry of a rank: process group, number, operation, and whether it completed.
#[derive(Clone)]
struct Entry {
    rank: u32,
    group: &'static str,
    number: u64,
    operation: &'static str,
    is_completed: bool,
    sizes: Vec<i64>,
    is_p2p: bool,
    timed_out: bool,
}

fn entry(rank: u32, group: &'static str, number: u64, is_completed: bool) -> Entry {
    Entry {
        rank,
        group,
        number,
        operation: "nccl:all_reduce",
        is_completed,
        sizes: vec![3, 4],
        is_p2p: false,
        timed_out: false,
    }
}

struct Dumps {
    ranks: u32,
    groups: Vec<(&'static str, Vec<u32>)>,
    entries: Vec<Entry>,
    /// Ranks with a dump.
    dumped: Vec<u32>,
}

impl Dumps {
    fn of(ranks: u32, entries: Vec<Entry>) -> Self {
        Self {
            ranks,
            groups: vec![("0", (0..ranks).collect())],
            entries,
            dumped: (0..ranks).collect(),
        }
    }

    fn rows(&self, only: Option<u32>) -> Vec<(u32, String, i64, Value)> {
        let mut rows = Vec::new();
        let is_here =
            |rank: &u32| self.dumped.contains(rank) && only.is_none_or(|only| only == *rank);
        for of in self.entries.iter().filter(|of| is_here(&of.rank)) {
            let (collective, p2p) = if of.is_p2p {
                (0, of.number)
            } else {
                (of.number, 0)
            };
            let mut arguments = json!({
                "collective_seq_id": collective,
                "p2p_seq_id": p2p,
                "process_group": of.group,
                "description": "default_pg",
                "is_p2p": of.is_p2p,
                "state": if of.is_completed { "completed" } else { "scheduled" },
                "retired": of.is_completed || of.timed_out,
                "timeout_ms": 600_000,
                "input_sizes": [of.sizes],
                "input_dtypes": ["Float"],
                "output_sizes": [of.sizes],
                "output_dtypes": ["Float"],
                "place": "/a/train.py:44 step",
            });
            if of.is_completed {
                arguments["completed_after_ns"] = json!(1_000);
            }
            let time_ns = of.number as i64 * SECOND_NS;
            rows.push((of.rank, of.operation.to_owned(), time_ns, arguments));
        }
        for rank in self.dumped.iter().filter(|rank| is_here(rank)) {
            for (name, ranks) in self.groups.iter().filter(|(_, ranks)| ranks.contains(rank)) {
                let arguments =
                    json!({"process_group": name, "description": "default_pg", "ranks": ranks});
                rows.push((*rank, "process group".to_owned(), 20 * SECOND_NS, arguments));
            }
        }
        rows.sort_by_key(|row| (row.0, row.2, row.3.to_string()));
        rows
    }

    fn inputs(&self, only: Option<u32>) -> Vec<TableBuilder> {
        let rows = self.rows(only);
        let flight = Table::build("flight")
            .text("name", rows.iter().map(|row| row.1.clone()))
            .i64("thread", rows.iter().map(|row| i64::from(row.0) << 16))
            .i64("time_ns", rows.iter().map(|row| row.2))
            .text("arguments", rows.iter().map(|row| row.3.to_string()));
        let own = [flight, self.job()].into_iter();
        own.chain(RunFixture::default().inputs()).collect()
    }

    fn job(&self) -> TableBuilder {
        Table::build("job").u64("rank", (0..self.ranks).map(u64::from))
    }

    fn run(&self) -> Output {
        testing::run::<Collectives>(self.inputs(None), "{}").unwrap()
    }
}

fn sentences(output: &Output) -> Vec<String> {
    let column = output.table("incomplete").text("sentence").unwrap();
    column.iter().flatten().map(str::to_owned).collect()
}

#[test]
fn a_rank_that_never_came_is_named_and_who_waits() {
    let mut entries: Vec<Entry> = (0..4).map(|rank| entry(rank, "0", 1, true)).collect();
    entries.extend([0, 1, 3].map(|rank| entry(rank, "0", 2, false)));
    let output = Dumps::of(4, entries).run();
    assert_eq!(
        sentences(&output),
        [
            "all_reduce number 2 of process group 0 (default_pg) did not complete: rank 2 never scheduled it, \
          ranks 0–1, 3 wait for at least 18.0 s"
        ]
    );
    let finding = output.finding("incomplete_collective").unwrap();
    let detail = finding.detail.as_deref().unwrap();
    assert!(detail.contains("/a/train.py:44 step"), "{detail}");
    let progress = output.table("progress");
    let last: Vec<_> = progress.u64("last_scheduled").unwrap().iter().collect();
    assert_eq!(last, [Some(2), Some(2), Some(1), Some(2)]);
}

#[test]
fn a_rank_without_a_dump_is_not_said_to_be_missing() {
    let mut dumps = Dumps::of(3, [0, 1].map(|rank| entry(rank, "0", 2, false)).into());
    dumps.dumped = vec![0, 1];
    dumps.entries[0].timed_out = true;
    let text = sentences(&dumps.run()).remove(0);
    assert!(
        text.contains("there is no dump of rank 2, ranks 0–1 wait"),
        "{text}"
    );
    assert!(text.ends_with("PyTorch gave up after 600 s"), "{text}");
    assert!(!text.contains("never"), "{text}");
}

#[test]
fn ranks_that_call_different_things_are_said_first() {
    let mut entries = vec![entry(0, "0", 3, false), entry(1, "0", 3, false)];
    entries[0].sizes = vec![4, 5];
    let text = sentences(&Dumps::of(2, entries.clone()).run()).remove(0);
    let sizes =
        "number 3 is all_reduce of 4×5 Float on rank 0, but all_reduce of 3×4 Float on rank 1";
    assert!(text.contains(sizes), "{text}");
    entries[0].operation = "nccl:_all_gather_base";
    let text = sentences(&Dumps::of(2, entries.clone()).run()).remove(0);
    assert!(
        text.contains("all_gather_base of 4×5 Float on rank 0, but all_reduce"),
        "{text}"
    );
    // As many elements in another shape, and sizes that may differ, agree.
    entries[0].operation = "nccl:all_reduce";
    entries[0].sizes = vec![12];
    let text = sentences(&Dumps::of(2, entries.clone()).run()).remove(0);
    assert!(text.contains("all of its ranks scheduled it"), "{text}");
    entries
        .iter_mut()
        .for_each(|of| of.operation = "nccl:all_to_all");
    entries[0].sizes = vec![7];
    let text = sentences(&Dumps::of(2, entries).run()).remove(0);
    assert!(text.contains("all of its ranks scheduled it"), "{text}");
}

/// Rank 1 waits in another group for rank 2, which is the cause.
#[test]
fn what_waits_for_a_waiting_rank_comes_behind() {
    let entries = vec![
        entry(0, "0", 4, true),
        entry(0, "0", 5, false),
        entry(1, "1", 7, false),
    ];
    let mut dumps = Dumps::of(3, entries);
    dumps.groups = vec![("0", vec![0, 1]), ("1", vec![1, 2])];
    let all = sentences(&dumps.run());
    assert!(all[0].contains("number 7 of process group 1"), "{all:?}");
    assert!(all[0].contains("rank 2 never scheduled it"), "{all:?}");
    let elsewhere = "rank 1 waits in all_reduce number 7 of process group 1";
    assert!(all[1].contains(elsewhere), "{all:?}");
}

#[test]
fn a_receive_without_its_send_names_the_sender() {
    let mut receive = entry(1, "0", 4, false);
    receive.operation = "nccl:recv 1<-0";
    receive.is_p2p = true;
    let text = sentences(&Dumps::of(2, vec![receive]).run()).remove(0);
    assert!(
        text.contains("the send from rank 0 to rank 1 in process group 0"),
        "{text}"
    );
    assert!(
        text.contains("rank 0 never scheduled it, rank 1 waits"),
        "{text}"
    );
}

#[test]
fn completed_collectives_give_no_finding() {
    let entries = (0..2).flat_map(|rank| [entry(rank, "0", 1, true), entry(rank, "0", 2, true)]);
    let output = Dumps::of(2, entries.collect()).run();
    assert!(
        output
            .tables
            .iter()
            .all(|table| table.name() != "incomplete")
    );
    assert!(output.finding("incomplete_collective").is_none());
    let operations = output.table("dumps").u64("operations").unwrap().get(0);
    assert_eq!(operations, Some(4));
}

/// The ring buffer of a rank that is ahead may have lost the collective that others wait in.
#[test]
fn a_rank_that_is_ahead_is_not_missing() {
    let entries = vec![entry(0, "0", 2, false), entry(1, "0", 9, true)];
    let text = sentences(&Dumps::of(2, entries).run()).remove(0);
    assert!(!text.contains("never"), "{text}");
}

#[test]
fn parts_of_ranks_give_the_same_as_all_rows() {
    let mut entries: Vec<Entry> = (0..4).map(|rank| entry(rank, "0", 1, true)).collect();
    entries.extend([0, 1, 3].map(|rank| entry(rank, "0", 2, false)));
    let dumps = Dumps::of(4, entries);
    let parts: Vec<Output> = (0..4)
        .map(|rank| testing::part::<Collectives>(dumps.inputs(Some(rank)), "{}").unwrap())
        .collect();
    let others = || vec![dumps.job()];
    testing::check_parts::<Collectives>(&parts, 2, others, "{}", &dumps.run()).unwrap();
}

/// A dump of open collectives alone has none of a rank that completed them.
#[test]
fn a_dump_without_completed_collectives_blames_nobody() {
    let text = sentences(&Dumps::of(2, vec![entry(0, "0", 5, false)]).run()).remove(0);
    let unclear = "the dumps do not say whether rank 1 scheduled it";
    assert!(text.contains(unclear) && !text.contains("never"), "{text}");
}
