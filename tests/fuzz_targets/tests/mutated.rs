//! Targets that link the query engine, over inputs that are changed by chance: as fuzzers do it, without their counters.
//!
//!     TRUENO_FUZZ_SECONDS=600 cargo test -p trueno-fuzz-targets --test mutated -- --ignored --nocapture
//!
//! `TRUENO_FUZZ_TARGET` names one target; `TRUENO_FUZZ_SEED` another seed than 1. An input that something does not hold
//! of is written to the temporary folder, and named.

mod mutator;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use mutator::{Mutator, Random};
use trueno_fuzz_targets::{TARGETS, Target, unpack};

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().unwrap())
}

/// Runs mutated inputs until the time is over or `most` were run. Returns how many were run.
fn mutate(target: &Target, length: Duration, most: u64, seed: u64) -> u64 {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let of_target =
        |part: &str, ending: &str| folder.join(part).join(target.name).with_extension(ending);
    let corpus = unpack(&fs::read(of_target("corpus", "pack")).unwrap());
    let dictionary = fs::read_to_string(of_target("dictionaries", "dict")).unwrap();
    let mut mutator = Mutator::new(corpus, &dictionary, Random::new(seed));
    let begin = Instant::now();
    let mut count = 0;
    while count < most && begin.elapsed() < length {
        let input = mutator.input();
        let result = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        if result.is_err() {
            let path = std::env::temp_dir().join(format!("{}-{seed}-{count}", target.name));
            fs::write(&path, &input).unwrap();
            panic!(
                "{}: something does not hold of {}",
                target.name,
                path.display()
            );
        }
        count += 1;
    }
    count
}

#[test]
fn a_few_changed_inputs_of_each_target_are_borne() {
    for target in TARGETS {
        let length = Duration::from_secs(600);
        assert_eq!(mutate(target, length, 40, 7), 40, "{}", target.name);
    }
}

#[test]
#[ignore = "minutes: TRUENO_FUZZ_SECONDS=600 cargo test -p trueno-fuzz-targets --test mutated -- --ignored --nocapture"]
fn changed_inputs_are_borne_for_as_long_as_is_asked() {
    let only = std::env::var("TRUENO_FUZZ_TARGET").ok();
    let length = Duration::from_secs(number("TRUENO_FUZZ_SECONDS", 60));
    let seed = number("TRUENO_FUZZ_SEED", 1);
    let wanted = TARGETS
        .iter()
        .filter(|target| only.as_ref().is_none_or(|only| only == target.name));
    let mut all = 0;
    for target in wanted {
        let count = mutate(target, length, u64::MAX, seed);
        eprintln!("{}: {count} inputs of seed {seed}", target.name);
        all += count;
    }
    assert!(all > 0, "no input: is there such a target?");
}
