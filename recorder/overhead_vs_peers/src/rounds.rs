//! Candidates take turns within each round, so that they meet the same weather.

use std::time::{Duration, Instant};

pub struct Candidate {
    pub name: &'static str,
    batch: u32,
    run: Box<dyn FnMut(u32)>,
    times_ns: Vec<f64>,
}

impl Candidate {
    pub fn new(name: &'static str, batch: u32, run: impl FnMut(u32) + 'static) -> Self {
        Self {
            name,
            batch,
            run: Box::new(run),
            times_ns: Vec::new(),
        }
    }

    /// `call` makes one call; its argument is the number of the call.
    pub fn each(name: &'static str, batch: u32, mut call: impl FnMut(u64) + 'static) -> Self {
        Self::new(name, batch, move |calls| {
            for i in 0..u64::from(calls) {
                call(i);
            }
        })
    }
}

pub struct Row {
    pub name: &'static str,
    pub best_ns: f64,
    pub median_ns: f64,
    times_ns: Vec<f64>,
}

impl Row {
    /// Median over rounds of the ratio of this row to `other` within each round.
    pub fn over(&self, other: &Row) -> f64 {
        let pairs = self.times_ns.iter().zip(&other.times_ns);
        median(pairs.map(|(own, other)| own / other).collect())
    }
}

/// Times all candidates, round after round. Background threads get some time between rounds, so that full buffers
/// do not affect the results.
pub fn run(mut candidates: Vec<Candidate>, rounds: usize) -> Vec<Row> {
    for round in 0..rounds + 5 {
        for candidate in &mut candidates {
            let start = Instant::now();
            (candidate.run)(candidate.batch);
            let time_ns = start.elapsed().as_nanos() as f64 / f64::from(candidate.batch);
            // The first rounds touch everything for the first time.
            if round >= 5 {
                candidate.times_ns.push(time_ns);
            }
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    let row = |candidate: Candidate| Row {
        name: candidate.name,
        best_ns: candidate
            .times_ns
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min),
        median_ns: median(candidate.times_ns.clone()),
        times_ns: candidate.times_ns,
    };
    candidates.into_iter().map(row).collect()
}

pub fn find<'r>(rows: &'r [Row], name: &str) -> &'r Row {
    let found = rows.iter().find(|row| row.name == name);
    found.unwrap_or_else(|| panic!("no candidate {name}"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
