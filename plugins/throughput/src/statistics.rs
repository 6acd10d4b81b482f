//! Mean and variation of wall times.

/// `None` if empty.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Coefficient of variation: sample standard deviation (n − 1) / mean. `None` for fewer than two values, or if the
/// mean is 0.
pub fn variation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|mean| *mean > 0.0)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_none_there_is_nothing() {
        assert_eq!((mean(&[]), variation(&[1.0])), (None, None));
        assert_eq!(variation(&[0.0, 0.0]), None);
    }

    proptest! {
        /// Computes the variance as half the mean squared distance over all pairs.
        #[test]
        fn as_by_pairs(values in prop::collection::vec(0_i32..60, 2..250)) {
            let floats: Vec<f64> = values.iter().copied().map(f64::from).collect();
            let n = floats.len();
            let pairs: f64 = floats.iter().flat_map(|a| floats.iter().map(move |b| (a - b).powi(2))).sum();
            let sd = (pairs / 2.0 / (n * (n - 1)) as f64).sqrt();
            let total: f64 = floats.iter().sum();
            if total > 0.0 {
                prop_assert!((variation(&floats).unwrap() - sd / (total / n as f64)).abs() < 1e-9);
            }
        }
    }
}
