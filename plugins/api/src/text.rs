//! Text columns: one string and the offsets into it.

use std::borrow::Cow;

use crate::validity::Validity;

/// A contiguous column of UTF-8 text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextColumn {
    /// One more than there are rows; row `i` is `data[offsets[i]..offsets[i + 1]]`.
    pub(crate) offsets: Vec<i64>,
    pub(crate) data: String,
    pub(crate) validity: Validity,
}

impl Default for TextColumn {
    fn default() -> Self {
        Self {
            offsets: vec![0],
            data: String::new(),
            validity: Validity::default(),
        }
    }
}

impl TextColumn {
    /// Rows.
    pub fn len(&self) -> usize {
        self.validity.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether any row is null.
    pub fn has_nulls(&self) -> bool {
        self.validity.nulls() > 0
    }

    /// Number of null rows.
    pub fn null_count(&self) -> usize {
        self.validity.nulls()
    }

    /// The text of a row, `None` when it is null.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    #[track_caller]
    pub fn get(&self, row: usize) -> Option<&str> {
        let (from, to) = (self.offsets[row], self.offsets[row + 1]);
        self.validity
            .is_valid(row)
            .then(|| &self.data[from as usize..to as usize])
    }

    /// The text of a row that cannot be null.
    ///
    /// # Panics
    /// If the row is null or there is no such row.
    #[inline]
    #[track_caller]
    pub fn value(&self, row: usize) -> &str {
        match self.get(row) {
            Some(text) => text,
            None => panic!("row {row} is null (hint: use get, or leave nulls out in the query)"),
        }
    }

    /// Texts of all rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&str>> + '_ {
        (0..self.len()).map(|row| self.get(row))
    }

    pub(crate) fn push(&mut self, text: Option<&str>) {
        self.data.push_str(text.unwrap_or_default());
        self.offsets.push(self.data.len() as i64);
        self.validity.push(text.is_some());
    }
}

impl<C: IntoText> FromIterator<C> for TextColumn {
    fn from_iter<I: IntoIterator<Item = C>>(cells: I) -> Self {
        let mut column = Self::default();
        cells
            .into_iter()
            .for_each(|cell| column.push(cell.as_text()));
        column
    }
}

/// Values of a text column: `&str`, `String`, `Cow<str>`, a reference to one, or an `Option`
/// of one.
pub trait IntoText {
    /// The text, or `None` for null.
    fn as_text(&self) -> Option<&str>;
}

impl IntoText for str {
    fn as_text(&self) -> Option<&str> {
        Some(self)
    }
}

impl IntoText for String {
    fn as_text(&self) -> Option<&str> {
        Some(self)
    }
}

impl IntoText for Cow<'_, str> {
    fn as_text(&self) -> Option<&str> {
        Some(self)
    }
}

impl<T: IntoText + ?Sized> IntoText for &T {
    fn as_text(&self) -> Option<&str> {
        (**self).as_text()
    }
}

impl<T: IntoText> IntoText for Option<T> {
    fn as_text(&self) -> Option<&str> {
        self.as_ref().and_then(IntoText::as_text)
    }
}
