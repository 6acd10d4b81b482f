//! Numbers as people read them. Rounded: exact values are in the JSON and CSV forms.

use super::Cell;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `_ns`.
    Nanoseconds,
    /// `bytes`, `_bytes`.
    Bytes,
    /// `_bytes_per_s`.
    BytesPerSecond,
    /// `_per_s`, other than bytes.
    PerSecond,
    /// `_share`: a ratio, shown in percent.
    Share,
    /// Ids and positions: shown with all digits.
    Label,
    None,
}

impl Unit {
    pub fn from_column(column: &str) -> Unit {
        let ends = |with: &str| column == &with[1..] || column.ends_with(with);
        if ends("_bytes_per_s") {
            Unit::BytesPerSecond
        } else if ends("_per_s") {
            Unit::PerSecond
        } else if ends("_ns") {
            Unit::Nanoseconds
        } else if ends("_bytes") {
            Unit::Bytes
        } else if ends("_share") || matches!(column, "coverage" | "occupancy") {
            Unit::Share
        } else if ends("_id")
            || matches!(
                column,
                "seq" | "thread" | "device" | "stream" | "iteration" | "layer"
            )
        {
            Unit::Label
        } else {
            Unit::None
        }
    }

    /// Name in JSON; `None` for plain numbers and labels.
    pub fn symbol(self) -> Option<&'static str> {
        match self {
            Unit::Nanoseconds => Some("ns"),
            Unit::Bytes => Some("bytes"),
            Unit::BytesPerSecond => Some("bytes/s"),
            Unit::PerSecond => Some("1/s"),
            Unit::Share => Some("ratio"),
            Unit::Label | Unit::None => None,
        }
    }
}

pub const NOT_MEASURED: &str = "–";

pub fn show(cell: Cell<'_>, unit: Unit) -> String {
    match (cell, unit) {
        (Cell::Null, _) => NOT_MEASURED.to_owned(),
        (Cell::Text(text), _) => super::width::printable(text).into_owned(),
        (Cell::Bool(true), _) => "yes".to_owned(),
        (Cell::Bool(false), _) => "no".to_owned(),
        (Cell::F64(value), _) if value.is_nan() => "not a number".to_owned(),
        (Cell::F64(value), _) if value.is_infinite() => {
            if value > 0.0 { "∞" } else { "-∞" }.to_owned()
        }
        (Cell::I64(value), Unit::Label | Unit::None) => {
            integer(value < 0, value.unsigned_abs(), unit)
        }
        (Cell::U64(value), Unit::Label | Unit::None) => integer(false, value, unit),
        (cell, unit) => {
            let value = cell.number().unwrap_or_default();
            match unit {
                Unit::Nanoseconds => duration(value),
                Unit::Bytes => scaled(value, "B"),
                Unit::BytesPerSecond => scaled(value, "B/s"),
                Unit::PerSecond => scaled(value, "/s"),
                Unit::Share => percent(value),
                Unit::Label | Unit::None => plain(value),
            }
        }
    }
}

fn integer(negative: bool, magnitude: u64, unit: Unit) -> String {
    let digits = magnitude.to_string();
    let sign = if negative { "-" } else { "" };
    if unit == Unit::Label {
        return format!("{sign}{digits}");
    }
    let mut text = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats nanoseconds in the unit that leaves one to three digits before the point.
pub fn duration(ns: f64) -> String {
    let (divisor, unit) = match rounded(ns.abs()) {
        below if below < 1e3 => (1.0, "ns"),
        below if below < 1e6 => (1e3, "µs"),
        below if below < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", three_digits(ns / divisor))
}

/// Formats a ratio in percent with one decimal. A nonzero ratio does not look like 0, nor an incomplete one like
/// 100 %.
pub fn percent(ratio: f64) -> String {
    if ratio < 0.0 && ratio * 100.0 > -0.05 {
        return ">-0.1 %".to_owned();
    }
    trueno_plugin::percent(ratio)
}

/// A number with a unit prefix (k, M, G, T, P; powers of 1000).
pub fn scaled(value: f64, unit: &str) -> String {
    let magnitude = rounded(value.abs());
    let (divisor, prefix) = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]
        .into_iter()
        .find(|(divisor, _)| magnitude >= *divisor)
        .unwrap_or((1.0, ""));
    format!("{} {prefix}{unit}", three_digits(value / divisor))
}

/// Integers below a million have all digits. Larger ones have prefixes like rates.
fn plain(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e18).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    if rounded(magnitude) >= 1e6 {
        return scaled(value, "").trim_end().to_owned();
    }
    if magnitude >= 1e3 {
        return integer(value < 0.0, magnitude.round() as u64, Unit::None);
    }
    three_digits(value)
}

/// The value rounded to three digits, so that 999.96 µs becomes 1 ms and not 1000 µs.
fn rounded(magnitude: f64) -> f64 {
    if magnitude == 0.0 || !magnitude.is_finite() {
        return magnitude;
    }
    let step = 10_f64.powi(magnitude.log10().floor() as i32 - 2);
    (magnitude / step).round() * step
}

/// At most three significant digits. Integers stay integers, and a nonzero value is not shown as 0.
fn three_digits(value: f64) -> String {
    let magnitude = rounded(value.abs());
    if value.fract() == 0.0 && magnitude < 1e15 {
        return format!("{value:.0}");
    }
    let decimals = match magnitude {
        m if m >= 100.0 => 0,
        m if m >= 10.0 => 1,
        m if m >= 0.1 => 2,
        m if m >= 0.01 => 3,
        m if m >= 0.001 => 4,
        _ => return format!("{value:.2e}"),
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
#[path = "units_tests.rs"]
mod tests;
