//! Texts of rows, by number.

use trueno_analysis::hash::FastMap;
use trueno_plugin::{Error, Result, Run};

use super::Rows;

/// Maps text numbers of a column to our own.
pub(super) type TextsById = FastMap<Option<i64>, Option<u32>>;

impl Rows {
    pub(super) fn read_texts(&mut self, run: &mut Run, input: &str) -> Result<TextsById> {
        Ok(by_id(self.texts.read_distinct(run, input)?))
    }

    /// Like [`read_texts`](Self::read_texts), but replaces names with ids by their group.
    pub(super) fn read_names(&mut self, run: &mut Run, input: &str) -> Result<TextsById> {
        let mut known = self.texts.read_distinct(run, input)?;
        self.name_groups.apply(&mut known, &mut self.texts);
        Ok(by_id(known))
    }
}

fn by_id(known: FastMap<i64, u32>) -> TextsById {
    let both = known.into_iter();
    let both = both.map(|(id, number)| (Some(id), Some(number)));
    both.chain([(None, None)]).collect()
}

pub(super) fn known(texts: &TextsById, id: Option<i64>) -> Result<Option<u32>> {
    texts.get(&id).copied().ok_or_else(|| {
        Error::bad_input(format!(
            "text number {id:?} is not among the distinct texts, which should list all of them"
        ))
    })
}

/// Distinct combinations of a row's texts, each with a computed value.
pub(super) struct TextSets<const N: usize, T> {
    numbers: FastMap<[Option<i64>; N], u32>,
    last: Option<([Option<i64>; N], u32)>,
    pub(super) all: Vec<T>,
}

impl<const N: usize, T> Default for TextSets<N, T> {
    fn default() -> Self {
        Self {
            numbers: FastMap::default(),
            last: None,
            all: Vec::new(),
        }
    }
}

impl<const N: usize, T> TextSets<N, T> {
    /// Index of a combination of texts. `make` computes the value of a new one.
    #[inline]
    pub(super) fn number(
        &mut self,
        ids: [Option<i64>; N],
        make: impl FnOnce([Option<i64>; N]) -> Result<T>,
    ) -> Result<u32> {
        if let Some((last, number)) = self.last
            && last == ids
        {
            return Ok(number);
        }
        let number = match self.numbers.get(&ids) {
            Some(number) => *number,
            None => {
                let number = self.all.len() as u32;
                self.all.push(make(ids)?);
                self.numbers.insert(ids, number);
                number
            }
        };
        self.last = Some((ids, number));
        Ok(number)
    }
}
