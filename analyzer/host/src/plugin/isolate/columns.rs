//! A plugin's table on its way back: columns one behind the other, each length in front of what it counts.
//!
//! What arrives is the plugin's, whatever it has done to its process. So nothing is believed and nothing is allocated
//! that the bytes do not hold; a general reader of Arrow IPC allocates what lengths claim.

use trueno_plugin::{
    BoolColumn, Column, ColumnType, F64Column, I64Column, Table, TextColumn, U64Column,
};

pub fn to_bytes(table: &Table) -> Vec<u8> {
    let mut bytes = (table.rows() as u64).to_le_bytes().to_vec();
    for (name, column) in table.columns() {
        put_text(&mut bytes, name);
        bytes.push(number(column.ty()));
        let rows = 0..column.len();
        match column {
            Column::I64(of) => put(&mut bytes, of.iter(), |value| value.to_le_bytes()),
            Column::U64(of) => put(&mut bytes, of.iter(), |value| value.to_le_bytes()),
            Column::F64(of) => put(&mut bytes, of.iter(), |value| value.to_le_bytes()),
            Column::Bool(of) => put(&mut bytes, of.iter(), |value| [u8::from(value)]),
            Column::Text(of) => {
                for text in rows.map(|row| of.get(row)) {
                    bytes.push(u8::from(text.is_some()));
                    put_text(&mut bytes, text.unwrap_or_default());
                }
            }
        }
    }
    bytes
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn put<T: Default, const N: usize>(
    bytes: &mut Vec<u8>,
    cells: impl Iterator<Item = Option<T>>,
    to_bytes: impl Fn(T) -> [u8; N],
) {
    for cell in cells {
        bytes.push(u8::from(cell.is_some()));
        bytes.extend(to_bytes(cell.unwrap_or_default()));
    }
}

fn number(ty: ColumnType) -> u8 {
    let place = ColumnType::ALL.iter().position(|other| *other == ty);
    place.map_or(u8::MAX, |place| place as u8)
}

/// Reads a table that [`to_bytes`] wrote.
///
/// # Errors
/// The bytes are not such a table.
pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Table, String> {
    let mut rest = Rest(bytes);
    let rows = rest.length()?;
    let mut columns = Vec::new();
    while !rest.0.is_empty() {
        let column = rest.text()?.to_owned();
        let [ty] = rest.bytes()?;
        let ty = ColumnType::ALL.get(usize::from(ty)).ok_or(CUT)?;
        // Each cell takes two bytes or more: that many rows may be made.
        if rest.0.len() / 2 < rows {
            return Err(CUT.into());
        }
        let cells = match ty {
            ColumnType::I64 => {
                Column::I64(rest.cells(rows, i64::from_le_bytes)?.collect::<I64Column>())
            }
            ColumnType::U64 => {
                Column::U64(rest.cells(rows, u64::from_le_bytes)?.collect::<U64Column>())
            }
            ColumnType::F64 => {
                Column::F64(rest.cells(rows, f64::from_le_bytes)?.collect::<F64Column>())
            }
            ColumnType::Bool => {
                let cells = rest.cells(rows, |[value]: [u8; 1]| value != 0)?;
                Column::Bool(cells.collect::<BoolColumn>())
            }
            ColumnType::Text => {
                let cells = (0..rows).map(|_| {
                    let [is_there] = rest.bytes()?;
                    let text = rest.text()?;
                    Ok((is_there != 0).then_some(text))
                });
                Column::Text(
                    cells
                        .collect::<Result<Vec<_>, String>>()?
                        .into_iter()
                        .collect::<TextColumn>(),
                )
            }
        };
        columns.push((column, cells));
    }
    Table::from_columns(name, columns).map_err(|error| error.to_string())
}

const CUT: &str = "a table is cut short";

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(CUT)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn length(&mut self) -> Result<usize, String> {
        let length = u64::from_le_bytes(self.bytes()?);
        usize::try_from(length).map_err(|_| CUT.into())
    }

    fn text(&mut self) -> Result<&'a str, String> {
        let length = self.length()?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        std::str::from_utf8(taken).map_err(|_| "a text of a table is not UTF-8".into())
    }

    /// Cells of `N` bytes each, preceded by a byte that says whether there is a value.
    fn cells<T, const N: usize>(
        &mut self,
        rows: usize,
        read: impl Fn([u8; N]) -> T,
    ) -> Result<impl Iterator<Item = Option<T>>, String> {
        let length = rows.checked_mul(N + 1).ok_or(CUT)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        let cells = taken.chunks_exact(N + 1);
        Ok(cells.map(move |cell| {
            let (is_there, value) = cell.split_first_chunk::<1>()?;
            let value = read(*value.first_chunk()?);
            (is_there[0] != 0).then_some(value)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(table: &Table) -> Table {
        from_bytes(&to_bytes(table), table.name()).unwrap()
    }

    #[test]
    fn tables_come_back_as_they_were() {
        let rows = (2 << 16) + 17;
        let long = Table::build("long")
            .u64("id", (0..rows as u64).map(|id| (id % 7 != 0).then_some(id)))
            .i64("dur_ns", (0..rows as i64).map(|ns| i64::MIN + ns))
            .f64(
                "busy_share",
                (0..rows).map(|row| (row % 3 > 0).then_some(row as f64 / 7.0)),
            )
            .bool(
                "seen",
                (0..rows).map(|row| (row % 5 > 0).then_some(row % 2 == 0)),
            )
            .text(
                "name",
                (0..rows).map(|row| (row % 11 > 0).then(|| format!("näme {row} 算"))),
            )
            .finish()
            .unwrap();
        assert_eq!(there_and_back(&long), long);
        let empty = Table::build("empty")
            .i64("x", Vec::<i64>::new())
            .text("name", Vec::<&str>::new())
            .finish()
            .unwrap();
        assert_eq!(there_and_back(&empty), empty);
    }

    #[test]
    fn odd_numbers_keep_their_bits() {
        let odd = [f64::NAN, f64::INFINITY, -0.0, f64::MIN_POSITIVE / 2.0];
        let column = Column::F64(F64Column::from(odd.to_vec()));
        let table = Table::from_columns("odd", vec![("x".into(), column)]).unwrap();
        let back = there_and_back(&table);
        let bits = |table: &Table| -> Vec<u64> {
            let values = table.f64("x").unwrap().values();
            values.iter().map(|value| value.to_bits()).collect()
        };
        assert_eq!(bits(&back), bits(&table));
    }

    #[test]
    fn bytes_that_are_no_table_are_refused_and_take_no_memory() {
        let table = Table::build("t")
            .i64("x", 0..9)
            .text("name", (0..9).map(|row| row.to_string()))
            .bool("seen", (0..9).map(|row| row > 3))
            .finish()
            .unwrap();
        let bytes = to_bytes(&table);
        let ends: Vec<usize> = (0..bytes.len())
            .filter(|end| from_bytes(&bytes[..*end], "t").is_ok())
            .collect();
        // Whole columns make a table, too: the hash of the message is what knows better.
        assert_eq!(ends.len(), 3, "{ends:?}");
        let mut refused = 0;
        for at in 0..bytes.len() {
            for value in [0x00, 0x01, 0x7f, 0x80, 0xff] {
                let mut forged = bytes.clone();
                forged[at] = value;
                // It comes back, and what it allocates is bounded by what there is.
                refused += usize::from(from_bytes(&forged, "t").is_err());
            }
        }
        assert!(refused > bytes.len(), "{refused} of {}", bytes.len() * 5);
        let endless = [&u64::MAX.to_le_bytes()[..], &bytes[8..]].concat();
        assert!(from_bytes(&endless, "t").is_err());
    }
}
