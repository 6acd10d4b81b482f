//! Rows of a query, from the CSV that the command writes.

use std::io::{self, BufReader, Read};

use crate::answers::QueryRows;

/// Limit on the bytes of all values together.
const MAX_BYTES: usize = 8 << 20;

/// Reads the first `most` rows. An empty field is null; a quoted empty field is an empty text.
///
/// # Errors
/// Those of the pipe.
pub(super) fn read(from: impl Read, most: usize) -> io::Result<QueryRows> {
    let mut bytes = BufReader::with_capacity(1 << 16, from).bytes();
    let mut records = Records {
        bytes: &mut bytes,
        taken: 0,
    };
    let mut made = QueryRows::default();
    let Some(names) = records.next()? else {
        return Ok(made);
    };
    made.columns = names.into_iter().map(Option::unwrap_or_default).collect();
    while let Some(row) = records.next()? {
        if made.rows.len() >= most || records.taken > MAX_BYTES {
            made.is_cut = true;
            break;
        }
        made.rows.push(row);
    }
    let is_numeric = |column: usize| {
        let mut values = made
            .rows
            .iter()
            .filter_map(|row| row.get(column)?.as_deref());
        let mut any = false;
        let all = values.all(|value| {
            any = true;
            value.parse::<f64>().is_ok()
        });
        any && all
    };
    made.numeric = (0..made.columns.len()).map(is_numeric).collect();
    Ok(made)
}

struct Records<'a, I> {
    bytes: &'a mut I,
    taken: usize,
}

impl<I: Iterator<Item = io::Result<u8>>> Records<'_, I> {
    fn next(&mut self) -> io::Result<Option<Vec<Option<String>>>> {
        let mut fields = Vec::new();
        let mut field = Vec::new();
        let (mut was_quoted, mut is_quoted, mut any) = (false, false, false);
        let finish = |field: &mut Vec<u8>, was_quoted: &mut bool| {
            let text = String::from_utf8_lossy(field).into_owned();
            field.clear();
            let is_null = text.is_empty() && !std::mem::take(was_quoted);
            *was_quoted = false;
            (!is_null).then_some(text)
        };
        while let Some(byte) = self.bytes.next().transpose()? {
            any = true;
            self.taken += 1;
            match byte {
                // Doubled within quotes it ends them and begins them again.
                b'"' => {
                    if !is_quoted && was_quoted {
                        field.push(b'"');
                    }
                    (is_quoted, was_quoted) = (!is_quoted, true);
                }
                b',' if !is_quoted => fields.push(finish(&mut field, &mut was_quoted)),
                b'\n' if !is_quoted => {
                    if field.last() == Some(&b'\r') {
                        field.pop();
                    }
                    fields.push(finish(&mut field, &mut was_quoted));
                    return Ok(Some(fields));
                }
                byte => field.push(byte),
            }
            if field.len() > MAX_BYTES {
                return Err(io::Error::other("a value is too long"));
            }
        }
        if !any {
            return Ok(None);
        }
        fields.push(finish(&mut field, &mut was_quoted));
        Ok(Some(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_empty_texts_quotes_and_lines_in_texts_stay_apart() {
        let text = "a,\"b \"\"c\"\"\",n\r\n,\"\",1\r\n\"x,\r\ny\",\"<script>\",-2.5\r\nz,,\r\n";
        let rows = read(text.as_bytes(), 10).unwrap();
        assert_eq!(rows.columns, ["a", "b \"c\"", "n"]);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            rows.rows,
            [
                vec![None, some(""), some("1")],
                vec![some("x,\r\ny"), some("<script>"), some("-2.5")],
                vec![some("z"), None, None],
            ]
        );
        assert_eq!(rows.numeric, [false, false, true]);
        assert!(!rows.is_cut);
    }

    #[test]
    fn no_more_than_so_many_rows_are_read() {
        let text = "n\r\n1\r\n2\r\n3\r\n";
        let rows = read(text.as_bytes(), 2).unwrap();
        assert!(rows.is_cut && rows.rows.len() == 2);
        assert!(!read(text.as_bytes(), 3).unwrap().is_cut);
        assert_eq!(read(&b""[..], 3).unwrap(), QueryRows::default());
    }
}
