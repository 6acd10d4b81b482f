//! Numbers as reports print them.

/// Microseconds with one decimal place.
pub fn us(ns: u64, unit: &str) -> String {
    format!("{:.1}{unit}", ns as f64 / 1e3)
}

/// A figure, or a dash where there is none.
pub fn or_dash(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.decimals$}"))
}
