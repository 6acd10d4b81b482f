//! One file a table, `<plugin>.<table>.csv`, as RFC 4180 has it.
//!
//! Exact values as in the JSON form. A null is an empty field, an empty text is
//! `""`. Doubles that are no number are written as `NaN`, `inf`, `-inf`.

use std::io::{self, Write};

use trueno_model::Cell;
use trueno_model::csv::{CsvTexts, field};
use trueno_plugin::{Column, Table};

/// Writes a heading line and one line per row, each ended by CR LF.
///
/// # Errors
/// Those of `to`.
pub fn write(table: &Table, texts: CsvTexts, mut to: impl Write) -> io::Result<()> {
    let columns: Vec<&Column> = table.columns().map(|(_, column)| column).collect();
    for (i, (name, _)) in table.columns().enumerate() {
        separator(i, &mut to)?;
        to.write_all(field(name, texts).as_bytes())?;
    }
    to.write_all(b"\r\n")?;
    for row in 0..table.rows() {
        for (i, column) in columns.iter().enumerate() {
            separator(i, &mut to)?;
            match Cell::at(column, row) {
                Cell::Null => {}
                Cell::I64(value) => write!(to, "{value}")?,
                Cell::U64(value) => write!(to, "{value}")?,
                // Debug is the shortest text that reads back as the same double, with an exponent where that is shorter.
                Cell::F64(value) => write!(to, "{value:?}")?,
                Cell::Bool(value) => write!(to, "{value}")?,
                Cell::Text(text) => to.write_all(field(text, texts).as_bytes())?,
            }
        }
        to.write_all(b"\r\n")?;
    }
    Ok(())
}

fn separator(column: usize, to: &mut impl Write) -> io::Result<()> {
    if column > 0 {
        to.write_all(b",")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_the_standard_wants_it() {
        let table = Table::build("t")
            .text(
                "name, or so",
                [
                    Some("a,b"),
                    Some("say \"hi\""),
                    Some("two\nlines"),
                    Some(""),
                    None,
                ],
            )
            .u64("id", [Some(u64::MAX), None, Some(0), Some(1), Some(2)])
            .f64(
                "x",
                [Some(0.1), Some(f64::NAN), Some(1e300), Some(-0.0), None],
            )
            .bool("ok", [Some(true), Some(false), None, None, None])
            .finish()
            .unwrap();
        let mut bytes = Vec::new();
        write(&table, CsvTexts::Guarded, &mut bytes).unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "\"name, or so\",id,x,ok\r\n\
             \"a,b\",18446744073709551615,0.1,true\r\n\
             \"say \"\"hi\"\"\",,NaN,false\r\n\
             \"two\nlines\",0,1e300,\r\n\
             \"\",1,-0.0,\r\n\
             ,2,,\r\n"
        );
    }
}
