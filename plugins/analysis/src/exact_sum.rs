//! Sums of doubles that do not depend on the order in which they are added.
//!
//! The sum is kept as doubles that do not overlap and add up to it exactly (Shewchuk, "Adaptive Precision Floating-Point
//! Arithmetic and Fast Robust Geometric Predicates", 1997, section 2), and is rounded once. So parts of a sum can be
//! merged in any grouping.

/// Values above this make the sum unknown. Sums of values up to it cannot overflow, whatever their number and
/// order.
const LARGEST: f64 = 1e270;

/// An exact sum of doubles up to 10²⁷⁰.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExactSum {
    /// In ascending order of magnitude, without zeros.
    partials: Vec<f64>,
    is_unknown: bool,
}

impl ExactSum {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        if value.is_nan() || value.abs() > LARGEST {
            self.is_unknown = true;
        } else {
            self.add_partial(value);
        }
    }

    /// Adds one of [`partials`](Self::partials), of which NaN is a sum that is not known.
    pub fn add_partial(&mut self, mut value: f64) {
        if value.is_nan() {
            self.is_unknown = true;
            return;
        }
        let mut kept = 0;
        for at in 0..self.partials.len() {
            let (large, small) = match self.partials[at] {
                partial if partial.abs() > value.abs() => (partial, value),
                partial => (value, partial),
            };
            let sum = large + small;
            let error = small - (sum - large);
            if error != 0.0 {
                self.partials[kept] = error;
                kept += 1;
            }
            value = sum;
        }
        self.partials.truncate(kept);
        if value != 0.0 {
            self.partials.push(value);
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        other
            .partials()
            .for_each(|partial| self.add_partial(partial));
    }

    /// The doubles that it is kept as, and NaN where it is not known: added to another sum, they add this one.
    pub fn partials(&self) -> impl Iterator<Item = f64> {
        let unknown = self.is_unknown.then_some(f64::NAN);
        self.partials.iter().copied().chain(unknown)
    }

    /// The double that is next to the sum, of two the even one. `None`: a value was too large.
    pub fn value(&self) -> Option<f64> {
        if self.is_unknown {
            return None;
        }
        let mut rest = self.partials.iter().rev();
        let Some(mut sum) = rest.next().copied() else {
            return Some(0.0);
        };
        while let Some(&partial) = rest.next() {
            let before = sum;
            sum = before + partial;
            let error = partial - (sum - before);
            if error != 0.0 {
                // Half way between two doubles what is left decides, and it has been rounded to even without it.
                let next = rest.next().copied().unwrap_or(0.0);
                let is_same_side = (error < 0.0 && next < 0.0) || (error > 0.0 && next > 0.0);
                let further = sum + 2.0 * error;
                if is_same_side && 2.0 * error == further - sum {
                    sum = further;
                }
                break;
            }
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::ExactSum;
    use proptest::prelude::*;

    fn sum(values: &[f64]) -> ExactSum {
        let mut sum = ExactSum::default();
        values.iter().for_each(|value| sum.add(*value));
        sum
    }

    #[test]
    fn nothing_is_lost_between_large_values() {
        assert_eq!(sum(&[1e100, 1.0, -1e100]).value(), Some(1.0));
        assert_eq!(sum(&[0.1; 10]).value(), Some(1.0));
        assert_eq!(sum(&[]).value(), Some(0.0));
        // Half way, and a little more.
        let half = f64::EPSILON / 2.0;
        assert_eq!(sum(&[1.0, half]).value(), Some(1.0));
        assert_eq!(sum(&[1.0, half, 1e-30]).value(), Some(1.0 + f64::EPSILON));
        assert_eq!(sum(&[f64::MAX, -f64::MAX]).value(), None);
        assert_eq!(sum(&[f64::INFINITY]).value(), None);
    }

    proptest! {
        #[test]
        fn integers_add_up_as_integers(values in prop::collection::vec(any::<i64>(), 0..50)) {
            let doubles: Vec<f64> = values.iter().map(|value| *value as f64).collect();
            let exact: i128 = doubles.iter().map(|value| *value as i128).sum();
            prop_assert_eq!(sum(&doubles).value(), Some(exact as f64));
        }

        #[test]
        fn order_and_grouping_do_not_matter(
            mut values in prop::collection::vec((-1e15..1e15_f64, -300..200_i32), 0..40),
            cut in 0..40_usize,
        ) {
            let scaled = |of: &[(f64, i32)]| -> Vec<f64> {
                of.iter().map(|(value, power)| value * 10_f64.powi(*power)).collect()
            };
            let whole = sum(&scaled(&values)).value();
            values.reverse();
            let (first, second) = values.split_at(cut.min(values.len()));
            let mut merged = sum(&scaled(second));
            merged.merge(&sum(&scaled(first)));
            prop_assert_eq!(merged.value(), whole);
        }
    }
}
