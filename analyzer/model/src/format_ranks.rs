//! Lists of ranks in words.

/// Formats sorted ranks: `rank 3`, `ranks 0, 2–5`.
pub fn ranks(all: &[u32]) -> String {
    let word = if all.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}", rank_numbers(all))
}

/// Formats sorted numbers with ranges: `0, 2–5`.
pub fn rank_numbers(all: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &rank in all {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let runs: Vec<String> = runs
        .into_iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first}–{last}"),
        })
        .collect();
    runs.join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn neighbours_are_drawn_together() {
        assert_eq!(super::ranks(&[3]), "rank 3");
        assert_eq!(super::ranks(&[0, 1]), "ranks 0, 1");
        assert_eq!(super::ranks(&[0, 2, 3, 4, 9]), "ranks 0, 2–4, 9");
    }
}
