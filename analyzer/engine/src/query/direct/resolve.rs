//! Conditions that depend on more than a row: on texts of the dictionary, or on the rows of another query.

use std::sync::Arc;

use polars::prelude::{CategoricalMapping, DataFrame, DataType};

use super::{Condition, Direct, Item, Output, TextTest, ValueType};

pub(crate) type Ask<'a> = &'a dyn Fn(&str) -> Result<DataFrame, String>;

impl Direct {
    pub(crate) fn asked(&self) -> Vec<&str> {
        let mut asked = Vec::new();
        for condition in self.conditions() {
            condition.add_asked(&mut asked);
        }
        asked
    }

    fn conditions(&self) -> impl Iterator<Item = &Condition> {
        fn of_item(item: &Item) -> Option<&Condition> {
            match item {
                Item::Truth(condition) => Some(condition),
                _ => None,
            }
        }
        let items: Vec<&Item> = match &self.output {
            Output::Rows { items, .. } => items.iter().map(|(_, item)| item).collect(),
            Output::Groups(grouping) => grouping.items().collect(),
        };
        let of_items = items.into_iter().filter_map(of_item);
        self.filter.iter().chain(of_items)
    }

    /// The query with its subqueries replaced by their results.
    ///
    /// # Errors
    /// A subquery fails, or returns values that cannot be used.
    pub(crate) fn resolved(mut self, ask: Ask<'_>) -> Result<Self, String> {
        let context = Context {
            numbers: &self.numbers,
            ask,
        };
        let items: Vec<&mut Item> = match &mut self.output {
            Output::Rows { items, .. } => items.iter_mut().map(|(_, item)| item).collect(),
            Output::Groups(grouping) => grouping.items_mut().collect(),
        };
        for item in items {
            if let Item::Truth(condition) = item {
                *condition = context.resolved(condition)?;
            }
        }
        if let Some(filter) = &self.filter {
            self.filter = Some(context.resolved(filter)?);
        }
        Ok(self)
    }
}

impl Condition {
    fn add_asked<'a>(&'a self, to: &mut Vec<&'a str>) {
        match self {
            Self::Among(_, _, sql) => to.push(sql),
            Self::Not(inner) => inner.add_asked(to),
            Self::And(a, b) | Self::Or(a, b) => {
                a.add_asked(to);
                b.add_asked(to);
            }
            _ => {}
        }
    }
}

struct Context<'a> {
    numbers: &'a CategoricalMapping,
    ask: Ask<'a>,
}

impl Context<'_> {
    fn resolved(&self, condition: &Condition) -> Result<Condition, String> {
        use Condition::{Among, And, Constant, Not, Or, Texts};
        Ok(match condition {
            Texts(column, test) => Condition::Numbers(*column, self.numbers_of(test)),
            Among(column, value, sql) => self.among(*column, *value, sql)?,
            Not(inner) => match self.resolved(inner)? {
                Constant(truth) => Constant(!truth),
                inner => Not(Box::new(inner)),
            },
            And(a, b) => match (self.resolved(a)?, self.resolved(b)?) {
                (Constant(false), _) | (_, Constant(false)) => Constant(false),
                (Constant(true), other) | (other, Constant(true)) => other,
                (a, b) => And(Box::new(a), Box::new(b)),
            },
            Or(a, b) => match (self.resolved(a)?, self.resolved(b)?) {
                (Constant(true), _) | (_, Constant(true)) => Constant(true),
                (Constant(false), other) | (other, Constant(false)) => other,
                (a, b) => Or(Box::new(a), Box::new(b)),
            },
            other => other.clone(),
        })
    }

    /// For each text of the dictionary, by number, whether it passes a test.
    fn numbers_of(&self, test: &TextTest) -> Arc<[bool]> {
        let count = self.numbers.num_cats_upper_bound() as u32;
        let holds = |number| {
            let text = self.numbers.cat_to_str(number);
            text.is_some_and(|text| test.holds(text))
        };
        (0..count).map(holds).collect()
    }

    fn among(&self, column: usize, value: ValueType, sql: &str) -> Result<Condition, String> {
        let rows = (self.ask)(sql)?;
        let [values] = rows.columns() else {
            return Err("a list of one column was expected".to_owned());
        };
        if values.is_empty() {
            return Ok(Condition::Constant(false));
        }
        let expected = match value {
            ValueType::Text => DataType::String,
            ValueType::I64 => DataType::Int64,
            ValueType::U64 => DataType::UInt64,
        };
        // A missing value makes truths of its own.
        if values.null_count() > 0 || *values.dtype() != expected {
            return Err("a list of other values was expected".to_owned());
        }
        let failed = |error: polars::error::PolarsError| error.to_string();
        let mut bits: Vec<u64> = match value {
            ValueType::Text => {
                let texts = values.str().map_err(failed)?;
                let test = TextTest::Among(texts.iter().flatten().map(str::to_owned).collect());
                return Ok(Condition::Numbers(column, self.numbers_of(&test)));
            }
            ValueType::I64 => {
                let values = values.i64().map_err(failed)?.iter().flatten();
                values.map(i64::cast_unsigned).collect()
            }
            ValueType::U64 => values.u64().map_err(failed)?.iter().flatten().collect(),
        };
        bits.sort_unstable();
        bits.dedup();
        Ok(Condition::Integers(column, bits.into()))
    }
}
