//! Results as tables for people, as CSV and as JSON.

use std::fmt::Write as _;
use std::io;

use polars::prelude::{
    AnyValue, Column, CompatLevel, DataFrame, DataType, IpcStreamWriter, SerWriter,
};
use serde_json::Value;
use trueno_model::csv::{CsvTexts, field};
use trueno_model::width;

const GAP: usize = 2;
const MIN_WIDTH: usize = 20;
const MIN_WHOLE: usize = 40;
/// Columns with sentences or SQL, which are wrapped instead of shortened.
const WHOLE: [&str; 5] = ["evidence", "hint", "sentence", "detail", "suggestion"];
const NULL: &str = "-";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An aligned table of at most `limit` rows, see [`table`].
    Table {
        /// Width of the terminal in columns.
        room: usize,
        limit: usize,
    },
    /// RFC 4180, all rows, see [`csv`].
    Csv(CsvTexts),
    /// An array with one object per row, all rows, see [`json`].
    Json,
    /// An Arrow IPC stream, see [`arrow`].
    Arrow,
}

/// Writes a result.
///
/// # Errors
/// Those of `to`.
pub fn write(frame: &DataFrame, format: Format, mut to: impl io::Write) -> io::Result<()> {
    match format {
        Format::Table { room, limit } => to.write_all(table(frame, room, limit).as_bytes()),
        Format::Csv(texts) => csv(frame, texts, to),
        Format::Json => json(frame, to),
        Format::Arrow => arrow(frame, to),
    }
}

/// Writes an Arrow IPC stream of all rows. It is uncompressed, so that a reader can map it. Texts have 64-bit
/// offsets instead of views, which older readers do not support.
///
/// # Errors
/// Those of `to`.
pub fn arrow(frame: &DataFrame, to: impl io::Write) -> io::Result<()> {
    let mut frame = frame.clone();
    let mut writer = IpcStreamWriter::new(to).with_compat_level(CompatLevel::oldest());
    writer.finish(&mut frame).map_err(io::Error::other)
}

enum Cell<'a> {
    Null,
    Bool(bool),
    Number(String),
    F64(f64),
    Text(std::borrow::Cow<'a, str>),
}

fn cell(column: &Column, row: usize) -> Cell<'_> {
    match column.get(row) {
        Err(_) | Ok(AnyValue::Null) => Cell::Null,
        Ok(AnyValue::Boolean(value)) => Cell::Bool(value),
        Ok(AnyValue::Float64(value)) => Cell::F64(value),
        Ok(AnyValue::Float32(value)) => Cell::F64(value.into()),
        Ok(AnyValue::String(text)) => Cell::Text(text.into()),
        Ok(AnyValue::StringOwned(text)) => Cell::Text(text.to_string().into()),
        Ok(value) if value.is_integer() => Cell::Number(value.to_string()),
        // Types no table of the format has: dates, lists and the like.
        Ok(value) => Cell::Text(value.to_string().into()),
    }
}

fn is_number(column: &Column) -> bool {
    column.dtype().is_primitive_numeric() || matches!(column.dtype(), DataType::Null)
}

/// An aligned table of the first `limit` rows, with lines of at most `room` columns.
///
/// Values are exact; null is `-`. Long texts are shortened first: in the middle, or wrapped if they are sentences
/// or SQL. A table that is still too wide is printed in several parts, one below the other. A last line counts the
/// rows that are not shown.
pub fn table(frame: &DataFrame, room: usize, limit: usize) -> String {
    let rows = frame.height().min(limit);
    let columns: Vec<Shown> = frame
        .columns()
        .iter()
        .map(|column| Shown::new(column, rows))
        .collect();
    let mut out = String::new();
    let mut rest = columns.as_slice();
    while !rest.is_empty() {
        let (count, widths) = fit(rest, room);
        if rest.len() < columns.len() {
            out.push('\n');
        }
        let (part, after) = rest.split_at(count);
        line(&mut out, part, &widths, |column| &column.heading);
        for row in 0..rows {
            line(&mut out, part, &widths, |column| &column.cells[row]);
        }
        rest = after;
    }
    if frame.height() == 0 {
        out.push_str("no rows\n");
    } else if rows < frame.height() {
        let _ = writeln!(out, "{rows} of {} rows shown", frame.height());
    }
    out
}

struct Shown {
    heading: String,
    cells: Vec<String>,
    right_aligned: bool,
    /// Texts are wrapped over several lines instead of shortened.
    whole: bool,
    width: usize,
}

impl Shown {
    fn new(column: &Column, rows: usize) -> Self {
        let shown = |row| match cell(column, row) {
            Cell::Null => NULL.to_owned(),
            Cell::Bool(value) => value.to_string(),
            Cell::Number(digits) => digits,
            Cell::F64(value) => format!("{value:?}"),
            Cell::Text(text) => width::printable(&text).into_owned(),
        };
        let heading = width::printable(column.name()).into_owned();
        let cells: Vec<String> = (0..rows).map(shown).collect();
        let width = cells
            .iter()
            .chain([&heading])
            .map(|cell| width::measure(cell))
            .max()
            .unwrap_or(0);
        Shown {
            heading,
            cells,
            right_aligned: is_number(column),
            whole: WHOLE.contains(&column.name().as_str()),
            width,
        }
    }

    /// Minimum width. Numbers are never shortened.
    fn least(&self) -> usize {
        if self.right_aligned {
            self.width
        } else {
            self.width
                .min(if self.whole { MIN_WHOLE } else { MIN_WIDTH })
        }
    }
}

fn fit(columns: &[Shown], room: usize) -> (usize, Vec<usize>) {
    let mut used = 0;
    let fits = |column: &&Shown| {
        used += column.least() + GAP;
        used <= room + GAP
    };
    let count = columns.iter().take_while(fits).count().max(1);
    let mut widths: Vec<usize> = columns[..count].iter().map(Shown::least).collect();
    let mut left = room.saturating_sub(widths.iter().sum::<usize>() + GAP * (count - 1));
    for (width, column) in widths.iter_mut().zip(columns) {
        let more = (column.width - *width).min(left);
        *width += more;
        left -= more;
    }
    (count, widths)
}

fn line<'a>(
    out: &mut String,
    columns: &'a [Shown],
    widths: &[usize],
    of: impl Fn(&'a Shown) -> &'a String,
) {
    let cells: Vec<Vec<String>> = columns
        .iter()
        .zip(widths)
        .map(|(column, &width)| {
            let text = of(column);
            if column.whole && width::measure(text) > width {
                width::wrap(text, width)
            } else {
                vec![width::shorten(text, width).into_owned()]
            }
        })
        .collect();
    let lines = cells.iter().map(Vec::len).max().unwrap_or(1);
    for at in 0..lines {
        let texts = cells.iter().zip(columns).zip(widths);
        let texts: Vec<String> = texts
            .map(|((lines, column), &width)| {
                let text = lines.get(at).map_or("", String::as_str);
                width::pad(text, width, column.right_aligned)
            })
            .collect();
        out.push_str(texts.join(&" ".repeat(GAP)).trim_end());
        out.push('\n');
    }
}

/// Writes CSV as in RFC 4180: a header and a line per row, each terminated by CR LF.
///
/// Null is an empty field, an empty text is `""`. Non-finite doubles are `NaN`, `inf` and `-inf`.
///
/// # Errors
/// Those of `to`.
pub fn csv(frame: &DataFrame, texts: CsvTexts, mut to: impl io::Write) -> io::Result<()> {
    let names = frame.columns().iter();
    let names: Vec<_> = names.map(|column| field(column.name(), texts)).collect();
    write!(to, "{}\r\n", names.join(","))?;
    let mut line = String::new();
    for row in 0..frame.height() {
        line.clear();
        for (at, column) in frame.columns().iter().enumerate() {
            if at > 0 {
                line.push(',');
            }
            match cell(column, row) {
                Cell::Null => {}
                Cell::Bool(value) => line.push_str(if value { "true" } else { "false" }),
                Cell::Number(digits) => line.push_str(&digits),
                Cell::F64(value) => line.push_str(&format!("{value:?}")),
                Cell::Text(text) => line.push_str(&field(&text, texts)),
            }
        }
        line.push_str("\r\n");
        to.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Writes a JSON array with one object per row and line.
///
/// Keys are in column order. Non-finite doubles are the strings `"NaN"`, `"inf"` and `"-inf"`.
///
/// # Errors
/// Those of `to`.
pub fn json(frame: &DataFrame, mut to: impl io::Write) -> io::Result<()> {
    let keys: Vec<String> = frame
        .columns()
        .iter()
        .map(|column| Value::String(column.name().to_string()).to_string())
        .collect();
    to.write_all(b"[")?;
    for row in 0..frame.height() {
        let values = frame
            .columns()
            .iter()
            .zip(&keys)
            .map(|(column, key)| format!("{key}:{}", json_value(cell(column, row))));
        let values: Vec<String> = values.collect();
        write!(
            to,
            "{}\n{{{}}}",
            if row == 0 { "" } else { "," },
            values.join(",")
        )?;
    }
    to.write_all(if frame.height() == 0 {
        b"]\n"
    } else {
        b"\n]\n"
    })
}

fn json_value(cell: Cell<'_>) -> String {
    match cell {
        Cell::Null => "null".to_owned(),
        Cell::Bool(value) => value.to_string(),
        Cell::Number(digits) => digits,
        Cell::F64(value) if value.is_finite() => Value::from(value).to_string(),
        Cell::F64(value) => format!("\"{value:?}\""),
        Cell::Text(text) => Value::String(text.into_owned()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use polars::df;

    use super::*;

    fn frame() -> DataFrame {
        df![
            "name" => [Some("a"), Some("say \"hi\", you"), None],
            "ns" => [Some(1_i64), None, Some(-12_345)],
            "hash" => [u64::MAX, 0, 1],
            "x" => [0.1, f64::NAN, 1e300],
            "ok" => [Some(true), None, Some(false)],
        ]
        .unwrap()
    }

    fn written(format: Format) -> String {
        let mut bytes = Vec::new();
        write(&frame(), format, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_table_aligns_numbers_at_the_right_and_shows_nulls() {
        assert_eq!(
            written(Format::Table { room: 80, limit: 9 }),
            "name               ns                  hash      x  ok\n\
             a                   1  18446744073709551615    0.1  true\n\
             say \"hi\", you       -                     0    NaN  -\n\
             -              -12345                     1  1e300  false\n"
        );
    }

    #[test]
    fn a_table_that_is_too_wide_is_printed_in_parts_and_rows_beyond_the_limit_are_counted() {
        assert_eq!(
            written(Format::Table { room: 34, limit: 2 }),
            "name           ns\n\
             a               1\n\
             say \"hi\", you   -\n\
             \n                hash    x  ok\n\
             18446744073709551615  0.1  true\n\
             \x20                  0  NaN  -\n\
             2 of 3 rows shown\n"
        );
    }

    #[test]
    fn a_long_text_makes_way_in_its_middle_and_a_number_never() {
        let name = "a_kernel_with_a_name_that_is_longer_than_most";
        let frame = df!["name" => [name], "id" => [u64::MAX]].unwrap();
        assert_eq!(
            table(&frame, 44, 1),
            "name                                      id\na_kernel_wi…_than_most  18446744073709551615\n"
        );
    }

    #[test]
    fn sentences_are_shown_whole_over_several_lines() {
        let sql =
            "SELECT time_ns, span, tag, bytes FROM allocations ORDER BY time_ns, span LIMIT 100";
        let frame = df!["class" => ["memory"], "evidence" => [sql], "n" => [7]].unwrap();
        let text = table(&frame, 60, 9);
        assert_eq!(
            text,
            "class   evidence                                           n\n\
             memory  SELECT time_ns, span, tag, bytes FROM allocations  7\n        \
             ORDER BY time_ns, span LIMIT 100\n"
        );
    }

    #[test]
    fn csv_leaves_nulls_empty() {
        assert_eq!(
            written(Format::Csv(CsvTexts::Guarded)),
            "name,ns,hash,x,ok\r\na,1,18446744073709551615,0.1,true\r\n\
             \"say \"\"hi\"\", you\",,0,NaN,\r\n,-12345,1,1e300,false\r\n"
        );
    }

    #[test]
    fn json_is_one_object_a_row() {
        let text = written(Format::Json);
        assert_eq!(
            text.lines().nth(1),
            Some(r#"{"name":"a","ns":1,"hash":18446744073709551615,"x":0.1,"ok":true},"#)
        );
        let rows: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            rows[1],
            serde_json::json!({"name": "say \"hi\", you", "ns": null, "hash": 0, "x": "NaN", "ok": null})
        );
        assert_eq!(rows.as_array().unwrap().len(), 3);
    }

    #[test]
    fn no_rows_are_said_to_be_none() {
        let none = frame().head(Some(0));
        assert!(table(&none, 80, 10).ends_with("no rows\n"));
        let mut bytes = Vec::new();
        json(&none, &mut bytes).unwrap();
        assert_eq!(bytes, b"[]\n");
    }
}
