//! Groups of names that hold ids, as the host formed them; tables by name go by the group.

use std::collections::BTreeSet;

use trueno_plugin::{Input, Result};

use crate::hash::FastMap;
use crate::interner::Texts;
use crate::source::Source;

/// Groups by name; a name that is in none stands for itself.
#[derive(Clone, Debug, Default)]
pub struct NameGroups {
    by_name: FastMap<String, String>,
    groups: BTreeSet<String>,
}

impl NameGroups {
    /// The input of [`read`](Self::read), with the names of the run and of its baseline; not there where the host forms
    /// no groups.
    pub const INPUT: Input =
        Input::sql("name_groups", "SELECT name, name_group FROM name_groups").optional();

    /// Reads [`INPUT`](Self::INPUT).
    ///
    /// # Errors
    /// The input lacks a column or has it in another type.
    pub fn read(run: &mut impl Source) -> Result<Self> {
        let table = run.table(Self::INPUT.name())?;
        let (names, groups) = (table.text("name")?, table.text("name_group")?);
        let mut out = Self::default();
        for (name, group) in names.iter().zip(groups.iter()) {
            if let (Some(name), Some(group)) = (name, group) {
                out.by_name.insert(name.to_owned(), group.to_owned());
                if !out.groups.contains(group) {
                    out.groups.insert(group.to_owned());
                }
            }
        }
        Ok(out)
    }

    /// The group of a name, or the name.
    pub fn group<'a>(&'a self, name: &'a str) -> &'a str {
        self.by_name.get(name).map_or(name, String::as_str)
    }

    /// Puts the number of its group in the place of each name's.
    pub fn apply(&self, names: &mut FastMap<i64, u32>, texts: &mut Texts) {
        if self.by_name.is_empty() {
            return;
        }
        for number in names.values_mut() {
            if let Some(group) = self.by_name.get(texts.text(*number)) {
                *number = texts.number(group);
            }
        }
    }

    /// The condition of SQL that rows of a name, or of a group, meet.
    pub fn condition(&self, name: &str) -> String {
        if self.groups.contains(name) {
            self.condition_of_any(&[name])
        } else {
            format!("name = {}", quoted(name))
        }
    }

    /// The condition of SQL that rows of any of these names and groups meet.
    pub fn condition_of_any(&self, names: &[&str]) -> String {
        let list = |names: &mut dyn Iterator<Item = &&str>| {
            let names: Vec<String> = names.map(|name| quoted(name)).collect();
            names.join(", ")
        };
        let all = format!("name IN ({})", list(&mut names.iter()));
        let groups = list(&mut names.iter().filter(|name| self.groups.contains(**name)));
        if groups.is_empty() {
            all
        } else {
            format!(
                "({all} OR name IN (SELECT name FROM name_groups WHERE name_group IN ({groups})))"
            )
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use trueno_plugin::{Batches, Error, Table};

    use super::*;

    struct Tables;

    impl Source for Tables {
        fn table(&mut self, input: &str) -> Result<Table> {
            let rows = [("a, seq = 1", "a, seq = *"), ("a, seq = 2", "a, seq = *")];
            Table::build(input)
                .text("name", rows.iter().map(|row| Some(row.0)))
                .text("name_group", rows.iter().map(|row| Some(row.1)))
                .finish()
        }

        fn batches(&mut self, _: &str) -> Result<Batches> {
            Err(Error::failed("not read"))
        }
    }

    #[test]
    fn names_go_by_their_group_and_conditions_find_the_rows_of_it() {
        let groups = NameGroups::read(&mut Tables).unwrap();
        assert_eq!(groups.group("a, seq = 2"), "a, seq = *");
        assert_eq!(groups.group("it's"), "it's");
        let mut texts = Texts::default();
        let mut names: FastMap<i64, u32> = FastMap::default();
        for (id, name) in [(7, "a, seq = 1"), (8, "it's"), (9, "a, seq = 2")] {
            names.insert(id, texts.number(name));
        }
        groups.apply(&mut names, &mut texts);
        assert_eq!(texts.text(names[&7]), "a, seq = *");
        assert_eq!((names[&7], texts.text(names[&8])), (names[&9], "it's"));
        assert_eq!(groups.condition("it's"), "name = 'it''s'");
        let all = "(name IN ('a, seq = *') OR name IN (SELECT name FROM name_groups WHERE name_group IN ('a, seq = *')))";
        assert_eq!(groups.condition("a, seq = *"), all);
        assert_eq!(groups.condition_of_any(&["b", "c"]), "name IN ('b', 'c')");
    }
}
