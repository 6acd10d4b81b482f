//! Lists of the distinct texts of a column and their numbers, which most plugins ask for.
//!
//! The engine would make a text of every row before it looks for the few distinct ones. Where the numbers are
//! those of the run's own dictionary, the distinct numbers are enough, and the dictionary knows their texts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use polars::prelude::{
    CategoricalMapping, Column, DataFrame, DataType, NamedFrom, PolarsResult, Series,
};

use super::tokens::{Kind, tokens};

pub(super) struct Numbered {
    pub(super) columns: BTreeSet<String>,
    /// Earlier results by column, because plugins request the same lists.
    pub(super) lists: Mutex<BTreeMap<String, DataFrame>>,
}

/// A query for a list of texts: `SELECT DISTINCT name_id AS id, name AS text FROM bricks`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextListQuery {
    pub(super) table: String,
    pub(super) column: String,
    number_as: String,
    text_as: String,
}

/// Parses a query for a list of texts; `None` for any other query. `suffix` is that of companions.
pub(super) fn parse(sql: &str, suffix: &str) -> Option<TextListQuery> {
    let tokens = tokens(sql);
    let is_dotted = tokens.len() == 13 && tokens[11].kind == Kind::Mark('.');
    if tokens.len() != 11 && !is_dotted {
        return None;
    }
    let word = |at: usize, word: &str| tokens[at].is(word);
    let name = |at: usize| tokens[at].name.clone();
    let is_form = word(0, "select")
        && word(1, "distinct")
        && word(3, "as")
        && tokens[5].kind == Kind::Mark(',')
        && word(7, "as")
        && word(9, "from");
    let column = name(6)?;
    let table = if is_dotted {
        format!("{}.{}", name(10)?, name(12)?)
    } else {
        name(10)?
    };
    (is_form && name(2)? == format!("{column}{suffix}")).then_some(TextListQuery {
        table,
        column,
        number_as: name(4)?,
        text_as: name(8)?,
    })
}

/// The texts of distinct numbers, sorted by number. `None` if one is not in the dictionary.
pub(super) fn list_of_frame(
    numbers: &DataFrame,
    dictionary: &CategoricalMapping,
) -> Option<DataFrame> {
    let numbers = numbers.columns().first()?.cast(&DataType::Int64).ok()?;
    let mut numbers: Vec<Option<i64>> = numbers.i64().ok()?.iter().collect();
    numbers.sort_unstable();
    list(numbers, dictionary)
}

/// As [`list_of_frame`], for sorted numbers.
pub(super) fn list(
    numbers: Vec<Option<i64>>,
    dictionary: &CategoricalMapping,
) -> Option<DataFrame> {
    let text = |number: Option<i64>| match number {
        Some(number) => Some(Some(dictionary.cat_to_str(u32::try_from(number).ok()?)?)),
        None => Some(None),
    };
    let texts: Vec<Option<&str>> = numbers
        .iter()
        .map(|number| text(*number))
        .collect::<Option<_>>()?;
    let column = |series: Series| Column::from(series);
    let columns = vec![
        column(Series::new("number".into(), &numbers)),
        column(Series::new("text".into(), &texts)),
    ];
    DataFrame::new(numbers.len(), columns).ok()
}

impl TextListQuery {
    pub(super) fn numbers(&self, suffix: &str) -> String {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let number = quoted(&format!("{}{suffix}", self.column));
        format!("SELECT DISTINCT {number} FROM {}", quoted(&self.table))
    }

    pub(super) fn named(&self, mut list: DataFrame) -> PolarsResult<DataFrame> {
        list.rename("number", self.number_as.as_str().into())?;
        list.rename("text", self.text_as.as_str().into())?;
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_list_is_one() {
        let parse = |sql| parse(sql, "_id");
        let found = parse("SELECT DISTINCT name_id AS id, name AS text FROM bricks");
        let expected = TextListQuery {
            table: "bricks".into(),
            column: "name".into(),
            number_as: "id".into(),
            text_as: "text".into(),
        };
        assert_eq!(found, Some(expected));
        let dotted = parse("SELECT DISTINCT name_id AS id, name AS text FROM timeline.spans");
        assert_eq!(dotted.unwrap().table, "timeline.spans");
        for sql in [
            "SELECT DISTINCT name_id AS id, kind AS text FROM bricks",
            "SELECT DISTINCT name AS text, name_id AS id FROM bricks",
            "SELECT DISTINCT name_id AS id, name AS text FROM bricks LIMIT 1",
            "SELECT name_id AS id, name AS text FROM bricks WHERE x",
            "SELECT DISTINCT name_id, name FROM bricks",
            "",
        ] {
            assert_eq!(parse(sql), None, "{sql}");
        }
    }
}
