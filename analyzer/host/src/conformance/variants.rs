//! Odd inputs with the columns of real ones.

use polars::prelude::*;

type Variant = fn(&DataFrame) -> PolarsResult<DataFrame>;

pub const ALL: [(&str, Variant); 4] = [
    ("no rows", no_rows),
    ("one row", one_row),
    ("odd texts", texts),
    ("extreme numbers", extremes),
];

const ROWS: usize = 8;
/// Empty, blank, line breaks and quotes, right-to-left, outside 16 bits, combining characters, markup, a NUL,
/// punctuation, one letter.
const TEXTS: [&str; 10] = [
    "",
    " ",
    "zwei\nZeilen\t\"in Anführung\"",
    "\u{202e}gnirts",
    "𝕏🧱🏽",
    "e\u{301}層∑",
    "<script>alert('1')</script>&amp;",
    "a\0b",
    "{}[];--",
    "n",
];

fn no_rows(frame: &DataFrame) -> PolarsResult<DataFrame> {
    Ok(frame.head(Some(0)))
}

fn one_row(frame: &DataFrame) -> PolarsResult<DataFrame> {
    if frame.height() > 0 {
        return Ok(frame.head(Some(1)));
    }
    make(frame, 1, plain)
}

pub fn nulls(frame: &DataFrame, of: impl Fn(&str) -> bool) -> PolarsResult<DataFrame> {
    make(frame, 3, |name, dtype, rows| {
        if of(&name) {
            Ok(Series::full_null(name, rows, dtype))
        } else {
            plain(name, dtype, rows)
        }
    })
}

fn texts(frame: &DataFrame) -> PolarsResult<DataFrame> {
    make(frame, TEXTS.len() + 1, |name, dtype, rows| match dtype {
        DataType::String => {
            let long = "ß".repeat(5_000);
            let texts = TEXTS.iter().copied().chain([long.as_str()]);
            Ok(Series::new(name, texts.collect::<Vec<_>>()))
        }
        _ => plain(name, dtype, rows),
    })
}

fn extremes(frame: &DataFrame) -> PolarsResult<DataFrame> {
    make(frame, ROWS, |name, dtype, rows| {
        Ok(match dtype {
            DataType::Int64 => {
                let values = [i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 1, -1, 0, 1, 7];
                Series::new(name, values)
            }
            DataType::UInt64 => {
                let values = [u64::MAX, u64::MAX - 1, 1 << 63, 1 << 53, 1 << 32, 0, 1, 7];
                Series::new(name, values)
            }
            DataType::Float64 => {
                let values = [
                    f64::NAN,
                    f64::INFINITY,
                    f64::NEG_INFINITY,
                    f64::MAX,
                    f64::MIN,
                    -0.0,
                    f64::MIN_POSITIVE / 2.0,
                    1.0,
                ];
                Series::new(name, values)
            }
            _ => return plain(name, dtype, rows),
        })
    })
}

/// Distinct small numbers, and each text twice.
fn plain(name: PlSmallStr, dtype: &DataType, rows: usize) -> PolarsResult<Series> {
    Ok(match dtype {
        DataType::String => {
            let texts: Vec<String> = (0..rows).map(|row| format!("name {}", row / 2)).collect();
            Series::new(name, texts)
        }
        DataType::Boolean => {
            let values: Vec<bool> = (0..rows).map(|row| row % 2 == 0).collect();
            Series::new(name, values)
        }
        dtype => {
            let values: Vec<i64> = (0..rows as i64).collect();
            Series::new(name, values).cast(dtype)?
        }
    })
}

fn make(
    frame: &DataFrame,
    rows: usize,
    column: impl Fn(PlSmallStr, &DataType, usize) -> PolarsResult<Series>,
) -> PolarsResult<DataFrame> {
    let columns = frame
        .columns()
        .iter()
        .map(|like| Ok(column(like.name().clone(), like.dtype(), rows)?.into_column()))
        .collect::<PolarsResult<Vec<_>>>()?;
    DataFrame::new(rows, columns)
}

pub fn reversed(frame: &DataFrame) -> DataFrame {
    frame.reverse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_keep_names_and_types() {
        let frame = df!(
            "id" => [1_u64, 2], "dur_ns" => [Some(3_i64), None], "busy_share" => [0.5, 0.25],
            "seen" => [true, false], "name" => ["a", "b"],
        )
        .unwrap();
        for (what, variant) in ALL {
            for frame in [&frame, &frame.head(Some(0))] {
                let made = variant(frame).unwrap();
                assert_eq!(made.schema(), frame.schema(), "{what}");
            }
        }
        let rows: Vec<usize> = ALL
            .iter()
            .map(|(_, v)| v(&frame).unwrap().height())
            .collect();
        assert_eq!(rows, [0, 1, 11, 8]);
        let some = nulls(&frame, |name| name == "dur_ns").unwrap();
        assert_eq!(some.column("dur_ns").unwrap().null_count(), 3);
        assert_eq!(some.column("id").unwrap().null_count(), 0);
        let all = nulls(&frame, |_| true).unwrap();
        assert_eq!(all.column("name").unwrap().null_count(), 3);
    }
}
