//! Benjamini–Hochberg adjusted p-values: many names are tested at once, and some differ by chance alone.

/// Adjusts p-values (Benjamini and Hochberg 1995): for each one the smallest false discovery rate at which its test
/// is a discovery.
pub fn adjust(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut q = vec![1.0; p.len()];
    let mut least = 1.0_f64;
    for (at, i) in order.iter().enumerate().rev() {
        least = least.min(p[*i] * p.len() as f64 / (at + 1) as f64);
        q[*i] = least;
    }
    q
}

#[cfg(test)]
mod tests {
    use super::adjust;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the step-up rule as published: the largest k with p(k) <= k/m · rate.
        #[test]
        fn discoveries_are_those_of_the_step_up_rule(
            p in proptest::collection::vec(0.0..1.0_f64, 0..20),
            rate in 0.001..0.999_f64,
        ) {
            let q = adjust(&p);
            let mut sorted = p.clone();
            sorted.sort_by(f64::total_cmp);
            let m = p.len() as f64;
            let cut = (0..p.len()).rev().find(|k| sorted[*k] <= (*k + 1) as f64 / m * rate).map(|k| sorted[k]);
            for (p, q) in p.iter().zip(&q) {
                prop_assert_eq!(*q <= rate, cut.is_some_and(|cut| *p <= cut), "{} {}", p, q);
            }
        }
    }
}
