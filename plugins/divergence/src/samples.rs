//! Sampled values of tensors, element beside element.

use trueno_plugin::{Result, Table};

use trueno_analysis::hash::FastMap;

const MAX_SAMPLES: usize = 16;

#[derive(Default)]
pub struct Samples {
    values: Vec<f64>,
    rows: FastMap<(i64, i64, u64), (u32, u8)>,
}

impl Samples {
    /// Reads them.
    ///
    /// # Errors
    /// A column is missing or of another type.
    pub fn load(table: &Table) -> Result<Self> {
        let mut samples = Self::default();
        let (thread, time, hash) = (
            table.i64("thread")?,
            table.i64("time_ns")?,
            table.u64("hash")?,
        );
        let names = (0..MAX_SAMPLES).map(|nth| format!("sample_{nth}"));
        let columns = names
            .map(|name| table.f64(&name))
            .collect::<Result<Vec<_>>>()?;
        for row in 0..table.rows() {
            let (Some(thread), Some(time_ns), Some(hash)) =
                (thread.get(row), time.get(row), hash.get(row))
            else {
                continue;
            };
            let from = samples.values.len();
            samples
                .values
                .extend(columns.iter().map_while(|column| column.get(row)));
            let count = samples.values.len() - from;
            samples
                .rows
                .insert((thread, time_ns, hash), (from as u32, count as u8));
        }
        Ok(samples)
    }

    /// The samples of the row of this thread, time and hash; empty if it has none.
    pub fn get(&self, key: (i64, i64, u64)) -> &[f64] {
        if self.rows.is_empty() {
            return &[];
        }
        match self.rows.get(&key) {
            Some((from, count)) => &self.values[*from as usize..][..usize::from(*count)],
            None => &[],
        }
    }
}

/// Largest difference between two finite values; `None` if there are none.
pub fn apart(a: &[f64], b: &[f64]) -> Option<f64> {
    let finite = pairs(a, b).map(|(a, b)| (a - b).abs());
    finite.reduce(f64::max)
}

/// Cosine of the angle between the samples; `None` if there are none, or if one side is all zeros.
pub fn cosine(a: &[f64], b: &[f64]) -> Option<f64> {
    let sums = pairs(a, b).fold([0.0; 3], |[ab, aa, bb], (a, b)| {
        [ab + a * b, aa + a * a, bb + b * b]
    });
    let norm = (sums[1] * sums[2]).sqrt();
    (norm > 0.0 && norm.is_finite()).then(|| (sums[0] / norm).clamp(-1.0, 1.0))
}

fn pairs<'a>(a: &'a [f64], b: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    let both = a.iter().copied().zip(b.iter().copied());
    both.filter(|(a, b)| a.is_finite() && b.is_finite())
}
