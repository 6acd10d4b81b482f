//! Ranks whose traces a tool merged into one file: it put a label before the number of each process, or gave processes
//! other numbers and a name with a label, so that processes of ranks do not fall together. Devices, streams and
//! correlations stay as they were.

/// The rank label in front of a process number, such as `TP01` of `[TP01] 50`, or `rank 3` of `rank 3/50`,
/// `rank3_50` and `rank3: 50`. `None` if there is none.
pub(super) fn rank_of(process: &[u8]) -> Option<&[u8]> {
    split(process).map(|(label, _)| label)
}

/// The rank label in the name of a process, such as `RANK 0` of `RANK 0 - GPU`. Other words in brackets are no labels:
/// processes of the system are called `[kworker/0:1]`.
pub(super) fn rank_of_name(name: &str) -> Option<&str> {
    let label = std::str::from_utf8(rank_of(name.as_bytes())?).ok()?;
    let word = label.get(..4)?;
    word.eq_ignore_ascii_case("rank").then_some(label)
}

/// True if a number is one of those in the label.
pub(super) fn is_rank_of_label(rank: u32, label: &str) -> bool {
    numbers(label).contains(&rank)
}

pub(super) fn process_of(process: &[u8]) -> &[u8] {
    split(process).map_or(process, |(_, process)| process)
}

fn split(process: &[u8]) -> Option<(&[u8], &[u8])> {
    // Most are numbers.
    if process.first().is_none_or(u8::is_ascii_digit) {
        return None;
    }
    if let Some(rest) = process.strip_prefix(b"[") {
        let end = rest.iter().position(|byte| *byte == b']')?;
        let label = rest[..end].trim_ascii();
        let is_label = label.first().is_some_and(u8::is_ascii_alphanumeric)
            && label.iter().any(u8::is_ascii_digit);
        return is_label.then(|| (label, rest[end + 1..].trim_ascii()));
    }
    let word = ["rank", "Rank", "RANK"]
        .iter()
        .find_map(|word| process.strip_prefix(word.as_bytes()))?;
    let number = word.trim_ascii_start();
    let number = match number {
        [b'_' | b'-' | b'=' | b':' | b'#', rest @ ..] => rest,
        number => number,
    };
    let digits = number
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let rest = &number[digits..];
    let is_label = digits > 0 && !rest.first().is_some_and(u8::is_ascii_alphanumeric);
    let label = &process[..process.len() - rest.len()];
    is_label.then(|| {
        let process = rest.iter().position(u8::is_ascii_alphanumeric);
        (label, process.map_or(&rest[rest.len()..], |at| &rest[at..]))
    })
}

/// Rank numbers of the labels, sorted by the numbers in them. If each label has exactly one number and no two share
/// it, these are the ranks; otherwise the positions are.
pub fn ranks_of<'l>(labels: impl Iterator<Item = &'l str>) -> Vec<(u32, String)> {
    let mut labels: Vec<(Vec<u32>, String)> = labels
        .map(|label| (numbers(label), label.to_owned()))
        .collect();
    labels.sort();
    let stated: Option<Vec<u32>> = labels
        .iter()
        .map(|(numbers, _)| match numbers.as_slice() {
            [rank] if *rank < 1 << 16 => Some(*rank),
            _ => None,
        })
        .collect();
    let stated = stated.filter(|ranks| ranks.windows(2).all(|two| two[0] < two[1]));
    let places = 0..labels.len() as u32;
    let ranks = stated.unwrap_or_else(|| places.collect());
    let labels = labels.into_iter().map(|(_, label)| label);
    ranks.into_iter().zip(labels).collect()
}

fn numbers(label: &str) -> Vec<u32> {
    let parts = label.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_ranks_are_told_from_names_of_processes() {
        for (process, expected) in [
            ("[TP01] 50", Some(("TP01", "50"))),
            ("[TP00-DP03] 0", Some(("TP00-DP03", "0"))),
            ("[rank 3] Spans", Some(("rank 3", "Spans"))),
            ("rank 3/50", Some(("rank 3", "50"))),
            ("rank3_50", Some(("rank3", "50"))),
            ("Rank 12: python", Some(("Rank 12", "python"))),
            ("rank=1", Some(("rank=1", ""))),
            ("50", None),
            ("Spans", None),
            ("[main] 5", None),
            ("[TP0", None),
            ("rank", None),
            ("ranker 3", None),
            ("rank3d", None),
            ("", None),
        ] {
            let found = split(process.as_bytes());
            let expected = expected.map(|(label, rest)| (label.as_bytes(), rest.as_bytes()));
            assert_eq!(found, expected, "{process}");
        }
    }

    #[test]
    fn names_of_processes_hold_labels_of_ranks() {
        for (name, expected) in [
            ("RANK 0 - GPU", Some("RANK 0")),
            ("RANK 0 - CPU", Some("RANK 0")),
            ("[rank 3] python", Some("rank 3")),
            ("rank12", Some("rank12")),
            ("[kworker/0:1]", None),
            ("[TP0]", None),
            ("ranker 3", None),
            ("python", None),
        ] {
            assert_eq!(rank_of_name(name), expected, "{name}");
        }
    }

    #[test]
    fn ranks_are_as_stated_else_in_the_order_of_their_numbers() {
        let of = |labels: &[&str]| ranks_of(labels.iter().copied());
        let named = |rank: u32, label: &str| (rank, label.to_owned());
        assert_eq!(of(&["TP10", "TP02"]), [named(2, "TP02"), named(10, "TP10")]);
        assert_eq!(
            of(&["TP1-PP0", "TP0-PP0", "TP0-PP1"]),
            [
                named(0, "TP0-PP0"),
                named(1, "TP0-PP1"),
                named(2, "TP1-PP0")
            ]
        );
        assert_eq!(of(&["TP0", "DP0"]), [named(0, "DP0"), named(1, "TP0")]);
    }
}
