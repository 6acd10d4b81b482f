//! Parts of ranks, merged in any grouping, against the rows of all ranks at once.

use proptest::prelude::*;
use trueno_plugin::testing::{Output, merge, part, run};
use trueno_plugin::{Input, Parts, Plugin, Table, TableBuilder};
use trueno_plugin_operators::Operators;

use crate::rank_rows::{Brick, Device, Job, Kernel, Rank, inputs, job, place, roofs};

impl Job {
    fn numbered(ranks: &[Rank]) -> Vec<(usize, &Rank)> {
        // Some ranks may be missing.
        (0..).map(|at| at * (at + 1) / 2).zip(ranks).collect()
    }

    fn others(&self) -> Vec<TableBuilder> {
        let mut all = Vec::new();
        if !self.has_no_ranks {
            let ranks = Self::numbered(&self.ranks);
            all.push(Table::build("ranks").u64("rank", ranks.iter().map(|rank| rank.0 as u64)));
        }
        let baseline = Self::numbered(&self.baseline);
        if !baseline.is_empty() {
            let ranks = baseline.iter().map(|rank| rank.0 as u64);
            all.push(Table::build("baseline_ranks").u64("rank", ranks));
            all.extend(inputs(&baseline, "baseline_"));
        }
        all
    }

    fn of_rows(&self, ranks: &[(usize, &Rank)]) -> Vec<TableBuilder> {
        let mut all = inputs(ranks, "");
        all.extend(self.others());
        all.extend(self.window.map(|(from_ns, until_ns)| {
            Table::build("report_window")
                .i64("from_ns", [from_ns])
                .i64("until_ns", [until_ns])
        }));
        all
    }

    fn whole(&self) -> Output {
        let inputs = self.of_rows(&Self::numbered(&self.ranks));
        run::<Operators>(inputs, self.options).expect("a run")
    }

    fn parts(&self) -> Vec<Output> {
        let ranks = Self::numbered(&self.ranks);
        let parts = ranks.iter().map(|rank| {
            let inputs = self.of_rows(std::slice::from_ref(rank));
            part::<Operators>(inputs, self.options).expect("a part")
        });
        parts.collect()
    }

    fn merged(&self, parts: &[Output], is_final: bool) -> Output {
        let mut others = roofs(&Self::numbered(&self.ranks), "");
        others.extend(
            self.others()
                .into_iter()
                .filter(|table| table.name() != "ranks"),
        );
        merge::<Operators>(parts, others, self.options, is_final).expect("a merge")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn merged_parts_are_the_whole(job in job(), from in 0..4_usize, until in 0..5_usize) {
        let whole = job.whole();
        let mut parts = job.parts();
        prop_assert_eq!(&job.merged(&parts, true), &whole);
        // Some of them first, and those once more.
        let until = until.min(parts.len());
        let from = from.min(until);
        let some: Vec<Output> = parts.drain(from..until).collect();
        if !some.is_empty() {
            let once = job.merged(&some, false);
            let again = job.merged(std::slice::from_ref(&once), false);
            prop_assert_eq!(&again, &once);
            parts.insert(from, again);
        }
        prop_assert_eq!(&job.merged(&parts, true), &whole);
        parts.reverse();
        prop_assert_eq!(&job.merged(&parts, true), &whole);
    }
}

fn two(devices: [Device; 2]) -> Job {
    let rank = |device| Rank {
        bricks: vec![Brick {
            name: 1,
            parent: None,
            thread: 0,
            start_ns: 0,
            dur_ns: Some(5),
            signature: Some(0),
        }],
        signatures: vec![0],
        kernels: vec![Kernel {
            brick: Some(0),
            device: 0,
            name: 0,
            start_ns: 10,
            dur_ns: Some(400),
            is_bound: false,
        }],
        copies: Vec::new(),
        is_cut: false,
        devices: [device, (None, None)],
    };
    Job {
        ranks: devices.map(rank).to_vec(),
        window: None,
        options: "{}",
        baseline: Vec::new(),
        has_no_ranks: false,
    }
}

#[test]
fn a_signature_is_one_row_over_ranks_whose_devices_are_alike() {
    let shapes = |job: &Job| {
        let output = job.merged(&job.parts(), true);
        let table = output.table("by_shape");
        let calls = table.u64("calls").expect("calls");
        let device = table.text("device").expect("devices");
        let rows = (0..table.rows()).map(|row| {
            let device = device.get(row).unwrap_or_default().to_owned();
            (calls.get(row).unwrap_or(0), device)
        });
        rows.collect::<Vec<_>>()
    };
    let alike = two([(Some(0), Some(1)), (Some(0), Some(1))]);
    assert_eq!(shapes(&alike), [(2, "gpu:0".to_owned())]);
    let of = |number: i64| (1, format!("gpu:{}", place(1, number)));
    for other in [(Some(1), Some(1)), (Some(0), Some(2))] {
        let unlike = two([(Some(0), Some(1)), other]);
        assert_eq!(shapes(&unlike), [(1, "gpu:0".to_owned()), of(0)]);
    }
}

#[test]
fn merging_asks_for_the_columns_that_parts_have() {
    let part = &two([(None, None); 2]).parts()[0];
    let asked = <Operators as Parts>::MERGE_INPUTS.iter();
    let of_parts: Vec<&Input> = asked
        .filter(|input| {
            input
                .query()
                .ends_with(&format!("{}.{}", Operators::ID, input.name()))
        })
        .collect();
    assert_eq!(of_parts.len(), part.tables.len());
    for input in of_parts {
        let columns: Vec<&str> = part.table(input.name()).columns().map(|c| c.0).collect();
        let query = format!(
            "SELECT {} FROM {}.{}",
            columns.join(", "),
            Operators::ID,
            input.name()
        );
        assert_eq!(input.query(), query);
    }
}
