//! The end of warm-up and the fence, against the rules written out slowly.

use proptest::prelude::*;
use trueno_plugin_throughput::Options;
use trueno_plugin_throughput::warm_up::{MIN_ITERATIONS, SteadyState, fence, steady_state};

fn middle(values: &[i64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let n = sorted.len();
    (sorted[(n - 1) / 2] + sorted[n / 2]) as f64 / 2.0
}

fn spread(values: &[i64], centre: f64) -> f64 {
    // Twice the distances, so that halves stay whole numbers.
    let twice: Vec<i64> = values
        .iter()
        .map(|v| (2.0 * (*v as f64 - centre)).abs() as i64)
        .collect();
    middle(&twice) / 2.0
}

proptest! {
    #[test]
    fn warm_up_ends_as_the_rule_says(
        slow in prop::collection::vec(1_000_i64..9_000, 0..8),
        steady in prop::collection::vec(900_i64..1_200, 0..25),
    ) {
        let walls: Vec<i64> = slow.into_iter().chain(steady).collect();
        let options = Options::default();
        let n = walls.len();
        let expected = if n < MIN_ITERATIONS {
            SteadyState::TooFew
        } else {
            let later = middle(&walls[n / 2..]);
            let allowance = (0.1 * later).max(5.0 * spread(&walls[n / 2..], later));
            let mut found = SteadyState::Never;
            for first in (0..=n / 2).rev() {
                let window: Vec<i64> = walls.iter().copied().skip(first).take(5).collect();
                if walls[first] as f64 <= later + allowance && (middle(&window) - later).abs() <= 0.1 * later {
                    found = SteadyState::From(first);
                }
            }
            found
        };
        prop_assert_eq!(steady_state(&walls, &options), expected);
    }

    #[test]
    fn outliers_lie_beyond_five_deviations(walls in prop::collection::vec(900_i64..1_200, 1..40), odd in 0_i64..9_000) {
        let mut walls = walls;
        walls.push(odd);
        let found = fence(&walls, &Options::default()).unwrap();
        let centre = middle(&walls);
        let distance = (5.0 * spread(&walls, centre)).max(0.01 * centre);
        for wall in walls {
            let off = wall as f64 - centre;
            let expected = if off > distance { Some("slow") } else if -off > distance { Some("fast") } else { None };
            prop_assert_eq!(found.judge(wall), expected);
        }
    }
}

#[test]
fn one_slow_iteration_later_on_is_no_warm_up() {
    let mut walls = vec![1_000; 30];
    walls[6] = 50_000;
    assert_eq!(
        steady_state(&walls, &Options::default()),
        SteadyState::From(0)
    );
    walls[0] = 50_000;
    assert_eq!(
        steady_state(&walls, &Options::default()),
        SteadyState::From(1)
    );
}
