//! A measurement beside the one before it.

use super::CpuCeilings;
use trueno_format::utc;
use trueno_format::{Ceiling, CeilingKind};

/// Two measurements of one machine that differ by more than this share of the lower one disagree.
pub const AGREEMENT: f64 = 0.1;

/// Returns whether two measurements of one ceiling differ by more than [`AGREEMENT`].
pub fn disagree(a: f64, b: f64) -> bool {
    a.max(b) > (1.0 + AGREEMENT) * a.min(b)
}

impl CpuCeilings {
    /// Puts what `earlier`, of the same machine, gave beside each ceiling, and says in a note which disagree.
    pub fn compare_with(&mut self, earlier: &Self) {
        let mut apart = Vec::new();
        for ceiling in &mut self.ceilings {
            let before = earlier.ceilings.iter().find(|other| same(ceiling, other));
            ceiling.earlier = before.map(|before| before.value);
            if let Some(before) = ceiling.earlier
                && disagree(ceiling.value, before)
            {
                let times = ceiling.value / before;
                apart.push(format!("{} (x {times:.2})", name(ceiling)));
            }
        }
        if !apart.is_empty() {
            self.notes.push(format!(
                "more than {:.0} % off the saved value, measured {}: {}",
                AGREEMENT * 100.0,
                utc(earlier.measured_at_s.cast_signed()),
                apart.join("; ")
            ));
        }
    }
}

fn same(a: &Ceiling, b: &Ceiling) -> bool {
    let key = |of: &Ceiling| {
        let texts = [&of.level, &of.precision, &of.operation].map(Clone::clone);
        (of.device.clone(), of.kind, texts, of.threads, of.source)
    };
    key(a) == key(b)
}

fn name(of: &Ceiling) -> String {
    let mut words: Vec<String> = [&of.level, &of.precision, &of.operation]
        .into_iter()
        .flatten()
        .map(|text| text.to_string())
        .collect();
    if words.is_empty() {
        words.push(match of.kind {
            CeilingKind::Compute => "compute".to_owned(),
            CeilingKind::Bandwidth => "bandwidth".to_owned(),
        });
    }
    match of.threads {
        Some(1) => words.push("1 thread".to_owned()),
        Some(threads) => words.push(format!("{threads} threads")),
        None => {}
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CoreClock, Machine};
    use trueno_format::Source;

    fn measured(measured_at_s: u64, ceilings: &[(&'static str, u32, f64)]) -> CpuCeilings {
        let ceiling = |(level, threads, value): &(&'static str, u32, f64)| Ceiling {
            level: Some((*level).into()),
            operation: Some("read".into()),
            threads: Some(*threads),
            ..Ceiling::new("cpu", CeilingKind::Bandwidth, *value, Source::Measured)
        };
        CpuCeilings {
            machine: Machine::here(),
            measured_at_s,
            clock: CoreClock::here(),
            notes: Vec::new(),
            ceilings: ceilings.iter().map(ceiling).collect(),
        }
    }

    #[test]
    fn each_has_its_own_beside_it_and_those_apart_are_named() {
        let before = measured(7, &[("DRAM", 2, 50.0), ("L1", 1, 100.0), ("L2", 1, 100.0)]);
        let mut now = measured(
            8,
            &[
                ("DRAM", 1, 30.0),
                ("DRAM", 2, 80.0),
                ("L1", 1, 110.0),
                ("L2", 1, 80.0),
            ],
        );
        now.compare_with(&before);
        let earlier: Vec<_> = now.ceilings.iter().map(|c| c.earlier).collect();
        assert_eq!(earlier, [None, Some(50.0), Some(100.0), Some(100.0)]);
        assert_eq!(
            now.notes,
            [
                "more than 10 % off the saved value, measured 1970-01-01 00:00:07 UTC: \
              DRAM read 2 threads (x 1.60); L2 read 1 thread (x 0.80)"
            ]
        );
        let mut same = before.clone();
        same.compare_with(&before);
        assert_eq!(same.notes, Vec::<String>::new());
    }

    #[test]
    fn a_tenth_more_or_less_is_no_disagreement() {
        for (a, b, expected) in [
            (100.0, 110.0, false),
            (110.0, 100.0, false),
            (100.0, 111.0, true),
            (100.0, 90.0, true),
        ] {
            assert_eq!(disagree(a, b), expected, "{a} {b}");
        }
    }
}
