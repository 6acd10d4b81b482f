use super::*;
use crate::random::Random;
use crate::samples::Kind;

/// Durations as programs have them: a level, a drift from sample to sample (a first-order autoregression with
/// coefficient 0.3 and a spread of 3 % in all), and one in 25 much longer (Pareto, exponent 1.5).
fn noise(random: &mut Random, n: usize, level: f64) -> Vec<f64> {
    let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let (phi, spread) = (0.3_f64, 0.03);
    let mut state = normal() * spread;
    let mut all = Vec::with_capacity(n);
    for _ in 0..n {
        state = phi * state + (1.0 - phi * phi).sqrt() * spread * normal();
        all.push(level * state.exp());
    }
    for value in &mut all {
        if random.below(25) == 0 {
            *value *= 1.0 + 0.1 * (1.0 - random.unit()).powf(-1.0 / 1.5);
        }
    }
    all
}

/// Twenty names a run, one with `factor` on its level.
fn trial(seed: u64, n: usize, runs: usize, factor: f64) -> Vec<Compared> {
    let mut random = Random::new(seed, "trial");
    let mut side = |factor: f64| -> Vec<Vec<Sampled>> {
        let run = |random: &mut Random| {
            let names = (0..20).map(|at| {
                let level = 1000.0 * f64::from(at + 1) * if at == 7 { factor } else { 1.0 };
                Sampled::from_durations(noise(random, n, level))
            });
            names.collect::<Vec<_>>()
        };
        (0..runs).map(|_| run(&mut random)).collect()
    };
    let (base, run) = (side(1.0), side(factor));
    let names: Vec<Name> = (0..20)
        .map(|at| Name {
            kind: Kind::Brick,
            name: format!("brick {at}"),
        })
        .collect();
    let pairs: Vec<Pair<'_>> = names
        .iter()
        .enumerate()
        .map(|(at, name)| Pair {
            name,
            base: base.iter().map(|run| &run[at]).collect(),
            run: run.iter().map(|run| &run[at]).collect(),
            step_ns: Some(10.0),
        })
        .collect();
    let options = Options {
        resamples: 500,
        ..Options::default()
    };
    verdicts(&pairs, &options)
}

fn is_flagged(compared: &Compared) -> bool {
    matches!(compared.verdict, Verdict::Slower | Verdict::Faster)
}

#[test]
fn equal_runs_are_seldom_told_apart() {
    // A pair of runs counts when any of its twenty names does.
    for (n, runs) in [(50, 1), (200, 1), (50, 3)] {
        let flagged = (0..200).filter(|seed| trial(*seed, n, runs, 1.0).iter().any(is_flagged));
        let flagged = flagged.count();
        println!("equal runs, {n} samples, {runs} runs a side: {flagged} of 200 pairs");
        assert!(flagged <= 10, "{flagged} of 200 pairs of {n} samples");
    }
}

#[test]
fn a_slowdown_of_five_per_cent_is_found_in_fifty_samples() {
    let mut found = 0;
    let mut others = 0;
    for seed in 1000..1200 {
        let all = trial(seed, 50, 1, 1.05);
        found += usize::from(all[7].verdict == Verdict::Slower);
        others += all
            .iter()
            .filter(|c| c.name.name != "brick 7" && is_flagged(c))
            .count();
    }
    println!("slower by 5 %: found in {found} of 200, {others} of 3800 others");
    assert!(found >= 190, "found in {found} of 200");
    assert!(others <= 38, "{others} of 3800 others");
}

/// Seeds that nothing was tuned on. Takes minutes:
/// `cargo test -p trueno-analyze --lib two_thousand -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn two_thousand_fresh_pairs_of_each() {
    let seeds = 60_000..62_000;
    let flagged = seeds
        .clone()
        .filter(|seed| trial(*seed, 50, 1, 1.0).iter().any(is_flagged));
    let flagged = flagged.count();
    println!("equal runs: {flagged} of 2000 pairs");
    let found =
        seeds.filter(|seed| trial(seed + 1_000_000, 50, 1, 1.05)[7].verdict == Verdict::Slower);
    let found = found.count();
    println!("slower by 5 %: found in {found} of 2000");
    assert!(flagged <= 100 && found >= 1900);
}

#[test]
fn what_cannot_be_told_says_why() {
    let name = Name {
        kind: Kind::Brick,
        name: "x".into(),
    };
    let judge = |base: Sampled, run: Sampled, step_ns: Option<f64>| {
        let pair = Pair {
            name: &name,
            base: vec![&base],
            run: vec![&run],
            step_ns,
        };
        let found = verdicts(&[pair], &Options::default()).remove(0);
        (found.verdict, found.why.unwrap_or_default())
    };
    let flat = |n: usize, value: f64| {
        Sampled::from_durations((0..n).map(|i| value + (i % 3) as f64).collect())
    };
    let (verdict, why) = judge(flat(7, 100.0), flat(50, 200.0), None);
    assert!(
        verdict == Verdict::CannotTell && why.contains("too few samples: 7 and 50"),
        "{why}"
    );
    let bound = Sampled {
        count: 90,
        untimed: 90,
        ..Sampled::default()
    };
    let (verdict, why) = judge(bound, flat(50, 200.0), None);
    assert!(
        verdict == Verdict::CannotTell && why.contains("bound to a wait"),
        "{why}"
    );
    let (verdict, why) = judge(flat(50, 100.0), flat(50, 108.0), Some(10.0));
    assert!(
        verdict == Verdict::CannotTell && why.contains("steps by 10 ns"),
        "{why}"
    );
    // Nobody says how the clock steps; what was measured shows it.
    let stepped = |most: usize| {
        Sampled::from_durations((0..60).map(|i| 1000.0 * (i % most) as f64).collect())
    };
    let (verdict, why) = judge(stepped(3), stepped(4), None);
    assert!(
        verdict == Verdict::CannotTell && why.contains("steps by 1000 ns"),
        "{why}"
    );
    let (verdict, why) = judge(
        Sampled::from_durations(vec![0.0; 50]),
        flat(50, 100.0),
        None,
    );
    assert!(
        verdict == Verdict::CannotTell && why.contains("median of 0"),
        "{why}"
    );
    assert_eq!(
        judge(flat(50, 1000.0), flat(50, 1108.0), Some(10.0)).0,
        Verdict::Slower
    );
    assert_eq!(
        judge(flat(50, 1000.0), flat(50, 800.0), None).0,
        Verdict::Faster
    );
    assert_eq!(
        judge(flat(50, 1000.0), flat(50, 1001.0), None).0,
        Verdict::Same
    );
    // Sure, and too little to matter.
    assert_eq!(
        judge(flat(500, 1000.0), flat(500, 1010.0), None).0,
        Verdict::Same
    );
}
