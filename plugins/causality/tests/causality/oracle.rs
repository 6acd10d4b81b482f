//! The definitions of the page, word by word and slowly.

use std::cmp::Reverse;

#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub id: u64,
    /// Rows with the same number share a lane.
    pub lane: usize,
    /// False if no thread or stream was recorded.
    pub is_ordered: bool,
    pub is_wait: bool,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// Rows and the direct order of their events: event `2n` is the begin of row `n`, `2n + 1` its end.
pub struct Oracle {
    pub rows: Vec<Row>,
    /// `before[a][b]`: event `a` comes directly before event `b`.
    before: Vec<Vec<bool>>,
}

fn crosses(a: &Row, b: &Row) -> bool {
    let over =
        |a: &Row, b: &Row| a.start_ns < b.start_ns && b.start_ns < a.end_ns && a.end_ns < b.end_ns;
    a.lane == b.lane && (over(a, b) || over(b, a))
}

impl Oracle {
    pub fn new(rows: &[Row]) -> Self {
        let mut rows = rows.to_vec();
        rows.sort_by_key(|of| (of.lane, of.start_ns, Reverse(of.end_ns), of.is_wait, of.id));
        let events = 2 * rows.len();
        let mut before = vec![vec![false; events]; events];
        for (a, first) in rows.iter().enumerate() {
            before[2 * a][2 * a + 1] = true;
            for (b, second) in rows.iter().enumerate().skip(a + 1) {
                if first.lane != second.lane || !first.is_ordered {
                    continue;
                }
                if first.end_ns <= second.start_ns {
                    before[2 * a + 1][2 * b] = true;
                } else if second.end_ns <= first.end_ns
                    && !rows.iter().any(|row| crosses(first, row))
                {
                    before[2 * a][2 * b] = true;
                    before[2 * b + 1][2 * a + 1] = true;
                }
            }
        }
        Self { rows, before }
    }

    pub fn row(&self, id: u64) -> Option<usize> {
        self.rows.iter().position(|row| row.id == id)
    }

    pub fn events(&self, from: u64, to: u64, kind: &str) -> Option<(usize, usize)> {
        let (from, to) = (self.row(from)?, self.row(to)?);
        match kind {
            "depends_on" => Some((2 * from + 1, 2 * to)),
            "joins" if self.rows[to].is_wait => Some((2 * from + 1, 2 * to + 1)),
            "wakes" if self.rows[to].is_wait => Some((2 * from, 2 * to + 1)),
            "launches" | "spawns" => Some((2 * from, 2 * to)),
            _ => None,
        }
    }

    pub fn add(&mut self, (first, second): (usize, usize)) {
        self.before[first][second] = true;
    }

    pub fn time_ns(&self, event: usize) -> i64 {
        let row = &self.rows[event / 2];
        [row.start_ns, row.end_ns][event % 2]
    }

    /// Transitive closure of `before`.
    pub fn closure(&self) -> Vec<Vec<bool>> {
        let mut closure = self.before.clone();
        let events = closure.len();
        for over in 0..events {
            let behind = closure[over].clone();
            for before in closure.iter_mut().filter(|before| before[over]) {
                before
                    .iter_mut()
                    .zip(&behind)
                    .for_each(|(is_before, more)| *is_before |= more);
            }
        }
        closure
    }

    /// Clock by event: length of the longest chain that ends there, with a cycle counted as one event. `None`
    /// on a cycle.
    pub fn clocks(&self) -> Vec<Option<u64>> {
        let closure = self.closure();
        let mut longest = vec![None; closure.len()];
        (0..closure.len())
            .map(|event| {
                let chain = chain(event, &closure, &mut longest);
                (!closure[event][event]).then_some(chain)
            })
            .collect()
    }
}

fn chain(event: usize, closure: &[Vec<bool>], longest: &mut [Option<u64>]) -> u64 {
    if let Some(known) = longest[event] {
        return known;
    }
    let before = (0..closure.len()).filter(|of| closure[*of][event] && !closure[event][*of]);
    let chains: Vec<u64> = before.map(|of| chain(of, closure, longest)).collect();
    let chain = 1 + chains.into_iter().max().unwrap_or(0);
    longest[event] = Some(chain);
    chain
}
