//! Numbers of ranks, as text and as folders.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, ensure};

/// Limit on ranks, because a typing error should not request billions.
const MAX_RANKS: usize = 1 << 20;

/// Distinct ranks in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankList(pub Vec<u32>);

impl RankList {
    /// The ranks of a job, from the names of its folders.
    ///
    /// # Errors
    /// It cannot be listed; it has none.
    pub fn of_job(job: &Path) -> anyhow::Result<Self> {
        let listed = std::fs::read_dir(job).with_context(|| format!("--job {}", job.display()))?;
        let mut ranks = BTreeSet::new();
        for entry in listed {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("rank="));
            ranks.extend(number.and_then(|number| number.parse::<u32>().ok()));
        }
        ensure!(
            !ranks.is_empty(),
            "--job {}: it has no folder rank=N (hint: --ranks names ranks)",
            job.display()
        );
        Ok(Self(ranks.into_iter().collect()))
    }
}

impl FromStr for RankList {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let mut ranks = BTreeSet::new();
        for piece in text.split(',') {
            let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
            let number = |text: &str| {
                let number = text.parse::<u32>();
                number.with_context(|| format!("{piece:?} is not a rank (hint: 0-15,17)"))
            };
            let (first, last) = (number(first)?, number(last)?);
            ensure!(first <= last, "{piece}: it ends before it begins");
            ensure!(
                ((last - first) as usize) < MAX_RANKS - ranks.len(),
                "{piece}: more than {MAX_RANKS} ranks"
            );
            ranks.extend(first..=last);
        }
        Ok(Self(ranks.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_numbers_and_ranges() {
        let list = |text: &str| text.parse::<RankList>().unwrap().0;
        assert_eq!(list("3"), [3]);
        assert_eq!(list("7,0-2,1"), [0, 1, 2, 7]);
        for text in ["", "a", "3-1", "0-4294967295", "1,,2", "-1", "1-"] {
            assert!(text.parse::<RankList>().is_err(), "{text}");
        }
    }

    #[test]
    fn folders_name_the_ranks_of_a_job() {
        let job = tempfile::tempdir().unwrap();
        assert!(RankList::of_job(job.path()).is_err());
        for name in ["rank=10", "rank=2", "rank=x", "parts"] {
            std::fs::create_dir(job.path().join(name)).unwrap();
        }
        assert_eq!(RankList::of_job(job.path()).unwrap().0, [2, 10]);
    }
}
