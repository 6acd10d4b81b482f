//! Ranges that the program pushed and never popped.
//!
//! Nsight Systems lets them end with the recording, so each seems to hold all that followed. Here they are ranges of one
//! thread, with one name but for a rising number (`iteration10`, `iteration11`), that end in the same nanosecond, the last
//! of that thread's ranges. Popped ranges end one after the other, however fast: if any range of that name was popped, the
//! program pops them, and those at the end were open when the recording ended. Each is taken to end where the next begins,
//! and the last after the median of the others.

use std::collections::BTreeMap;

const MIN_COUNT: usize = 3;

/// Numbered ranges of one name.
#[derive(Debug)]
enum Numbered {
    /// All with this end so far: their starts and numbers.
    Alike(i64, Vec<(i64, u64)>),
    /// Some were popped.
    Popped,
}

/// Candidates, in any order.
#[derive(Debug, Default)]
pub struct Candidates {
    by_name: BTreeMap<(i64, String), Numbered>,
    /// By thread.
    last_ends: BTreeMap<i64, i64>,
}

/// The ranges that were never closed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unclosed {
    /// By thread and start: the stated end and the inferred one.
    ends: BTreeMap<(i64, i64), (i64, i64)>,
    /// The name of one of them.
    name: String,
}

/// `None` of a name with several numbers: it need not be counted up, and no two might be alike.
fn parse(name: &str) -> Option<(&str, u64)> {
    let name = name.trim_end_matches([')', ']', '#', '.']);
    let stem = name.trim_end_matches(|of: char| of.is_ascii_digit());
    let number = name[stem.len()..].parse().ok()?;
    let has_more = stem.bytes().any(|byte| byte.is_ascii_digit());
    (!has_more).then_some((stem, number))
}

impl Candidates {
    pub fn add(&mut self, thread: i64, start: i64, end: i64, name: &str) {
        let last = self.last_ends.entry(thread).or_insert(end);
        *last = end.max(*last);
        let Some((stem, number)) = parse(name) else {
            return;
        };
        let of_name = self.by_name.entry((thread, stem.to_owned()));
        let of_name = of_name.or_insert_with(|| Numbered::Alike(end, Vec::new()));
        match of_name {
            Numbered::Alike(same, ranges) if *same == end => ranges.push((start, number)),
            _ => *of_name = Numbered::Popped,
        }
    }

    pub fn find(self) -> Unclosed {
        let mut found = Unclosed::default();
        for ((thread, stem), of_name) in self.by_name {
            let Numbered::Alike(end, mut ranges) = of_name else {
                continue;
            };
            ranges.sort_unstable();
            let pairs = || ranges.windows(2);
            let rises = pairs().all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1);
            let is_last = self.last_ends.get(&thread) == Some(&end);
            if ranges.len() < MIN_COUNT || !rises || !is_last {
                continue;
            }
            let mut lengths: Vec<i64> = pairs()
                .map(|pair| pair[1].0.saturating_sub(pair[0].0))
                .collect();
            lengths.sort_unstable();
            let median = lengths[(lengths.len() - 1) / 2];
            let nexts = ranges.iter().skip(1).map(|next| Some(next.0));
            for ((start, _), next) in ranges.iter().zip(nexts.chain([None])) {
                let inferred = next.unwrap_or(start.saturating_add(median)).min(end);
                found.ends.insert((thread, *start), (end, inferred));
            }
            if let (true, Some((_, number))) = (found.name.is_empty(), ranges.first()) {
                found.name = format!("{stem}{number}");
            }
        }
        found
    }
}

impl Unclosed {
    /// The end of a range: the inferred one if it was never closed, else the stated one.
    pub fn end(&self, thread: i64, start: i64, end: i64) -> i64 {
        match self.ends.get(&(thread, start)) {
            Some((stated, inferred)) if *stated == end => *inferred,
            _ => end,
        }
    }

    pub fn warning(&self) -> Option<String> {
        let count = self.ends.len();
        (count > 0).then(|| {
            format!(
                "{count} NVTX ranges such as {} were never closed: each is taken to end where the next of its name begins (inferred)",
                self.name
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ranges: &[(i64, i64, i64, &str)]) -> Unclosed {
        let mut all = Candidates::default();
        for (thread, start, end, name) in ranges {
            all.add(*thread, *start, *end, name);
        }
        all.find()
    }

    #[test]
    fn ranges_that_were_never_popped_end_with_the_next() {
        let steps = [
            (1, 10, 900, "iteration7"),
            (1, 11, 20, "forward"),
            (1, 30, 900, "iteration8"),
            (1, 60, 900, "iteration9"),
            (2, 30, 950, "iteration9"),
        ];
        let all = found(&steps);
        let end = |thread, start| all.end(thread, start, 900);
        assert_eq!([end(1, 10), end(1, 30), end(1, 60)], [30, 60, 80]);
        assert_eq!(all.end(1, 11, 20), 20);
        assert_eq!(all.end(2, 30, 950), 950);
        assert!(
            all.warning()
                .unwrap()
                .starts_with("3 NVTX ranges such as iteration7 ")
        );
    }

    #[test]
    fn ranges_that_were_popped_stay() {
        for ranges in [
            // One after the other, however fast.
            [903, 902, 901].map(|end| ("level", end)),
            // Not at the end.
            [90; 3].map(|end| ("level", end)),
            [("level", 900), ("level", 900), ("other", 900)],
            // Earlier ones were popped.
            [("level", 900), ("level", 900), ("level", 899)],
            [("a1level", 900), ("a1level", 900), ("a1level", 900)],
        ] {
            let names = ranges.map(|(name, _)| name);
            let names = [1, 2, 3].map(|number| format!("{}{number}", names[number - 1]));
            let range = |at: usize| (1, 10 * (at as i64 + 1), ranges[at].1, names[at].as_str());
            let all = found(&[range(0), range(1), range(2), (1, 200, 900, "save")]);
            assert_eq!(all, Unclosed::default(), "{ranges:?}");
        }
        // Counting down.
        let down = [(1, 10, 900, "n3"), (1, 20, 900, "n2"), (1, 30, 900, "n1")];
        assert_eq!(found(&down), Unclosed::default());
    }
}
