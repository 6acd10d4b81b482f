//! Ranks in the names of files, where a trace does not state its own.

use std::collections::BTreeSet;
use std::path::Path;

/// Words before a rank's number, most specific first.
const WORDS: [&str; 9] = [
    "global_rank",
    "rank",
    "worker",
    "gpu",
    "npu",
    "device",
    "process",
    "proc",
    "host",
];
/// Exclusive upper limit for a rank.
const MAX_RANK: u32 = 1 << 16;

/// Ranks of files by their names, or by the names of their folders; `None` where a name has none.
///
/// In `rank0.json`, `worker-1.pt.trace.json` and `rank_2/trace.json` a word precedes the number. Names that differ
/// only in a number at one position are numbered by it if the numbers are 0, 1, 2 and so on.
pub(super) fn by_names(paths: &[&Path]) -> Vec<Option<u32>> {
    let by_word: Vec<Option<u32>> = paths.iter().map(|path| by_word(path)).collect();
    if by_word.iter().any(Option::is_some) {
        return by_word;
    }
    by_position(paths).map_or(by_word, |ranks| ranks.into_iter().map(Some).collect())
}

fn by_word(path: &Path) -> Option<u32> {
    // The file's own name says more than those of its folders.
    path.components().rev().find_map(|component| {
        let name = component.as_os_str().to_str()?.to_ascii_lowercase();
        WORDS.iter().find_map(|word| number_behind(&name, word))
    })
}

/// The number after `word`, as in `rank0`, `rank-0`, `rank_0`, `rank=0` or `rank[0]`. The word must not follow a
/// letter.
fn number_behind(name: &str, word: &str) -> Option<u32> {
    name.match_indices(word).find_map(|(at, _)| {
        if name[..at].ends_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let rest = &name[at + word.len()..];
        let rest = rest.strip_prefix(['-', '_', '=', '.', ' ', '[', '(']);
        let digits = rest.unwrap_or(&name[at + word.len()..]);
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        let number: u32 = digits[..length].parse().ok()?;
        Some(number).filter(|number| *number < MAX_RANK)
    })
}

fn by_position(paths: &[&Path]) -> Option<Vec<u32>> {
    let names: Option<Vec<&str>> = paths.iter().map(|path| path.to_str()).collect();
    let names = names.filter(|names| names.len() > 1)?;
    let first = names[0];
    let common = |of: &dyn Fn(&str) -> usize| names.iter().map(|name| of(name)).min();
    let mut before = common(&|name| alike(first.bytes(), name.bytes()))?;
    while before > 0 && first.as_bytes()[before - 1].is_ascii_digit() {
        before -= 1;
    }
    let mut behind = common(&|name| alike(first.bytes().rev(), name.bytes().rev()))?;
    while behind > 0 && first.as_bytes()[first.len() - behind].is_ascii_digit() {
        behind -= 1;
    }
    let numbers = names.iter().map(|name| {
        let digits = name.get(before..name.len().checked_sub(behind)?)?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|_| is_number)
    });
    let numbers: Vec<u32> = numbers.collect::<Option<_>>()?;
    let all: BTreeSet<u32> = numbers.iter().copied().collect();
    let is_from_0 = all.iter().copied().eq(0..numbers.len() as u32);
    is_from_0.then_some(numbers)
}

fn alike(left: impl Iterator<Item = u8>, right: impl Iterator<Item = u8>) -> usize {
    left.zip(right)
        .take_while(|(left, right)| left == right)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(names: &[&str]) -> Vec<Option<u32>> {
        let paths: Vec<&Path> = names.iter().map(Path::new).collect();
        by_names(&paths)
    }

    #[test]
    fn names_say_ranks_by_a_word() {
        for (name, rank) in [
            ("rank0.pt.trace.json", Some(0)),
            ("rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", Some(0)),
            ("trace_rank_12_step3.json", Some(12)),
            ("Rank=7/trace.json.gz", Some(7)),
            ("dlrm_kineto/worker1.json", Some(1)),
            ("step100-TP-3-DECODE-gpu2.json", Some(2)),
            ("rank_3/worker0.json", Some(0)),
            ("local_rank1_global_rank9.json", Some(9)),
            ("frank1.json", None),
            ("node7_4242.1700000000.pt.trace.json", None),
            ("rank999999.json", None),
            ("rank.json", None),
        ] {
            assert_eq!(ranks(&[name]), [rank], "{name}");
        }
    }

    #[test]
    fn names_that_differ_in_a_number_alone_say_ranks_by_it() {
        assert_eq!(ranks(&["t.1.json", "t.0.json"]), [Some(1), Some(0)]);
        assert_eq!(
            ranks(&["0/a.json", "1/a.json", "2/a.json"]),
            [Some(0), Some(1), Some(2)]
        );
        let ten: Vec<String> = (0..11).map(|n| format!("x10_{n}.json")).collect();
        let ten: Vec<&str> = ten.iter().map(String::as_str).collect();
        assert_eq!(ranks(&ten), (0..11).map(Some).collect::<Vec<_>>());
        // Numbers of processes, steps, and words.
        assert_eq!(ranks(&["h_4242.json", "h_4243.json"]), [None, None]);
        assert_eq!(ranks(&["a.json", "b.json"]), [None, None]);
        assert_eq!(ranks(&["t0.json", "t0.json.gz"]), [None, None]);
        assert_eq!(ranks(&["rank1.json", "b.json"]), [Some(1), None]);
    }
}
