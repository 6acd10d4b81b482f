//! Names that a query may use, and the columns that they stand for.

use polars::prelude::{Expr, LazyFrame, PlSmallStr, col, lit};
use sqlparser::ast::Ident;

use super::types::{Ty, Typed};
use super::{Answer, invalid};
use crate::query::{QueryError, nearest};

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) qualifier: Option<String>,
    pub(super) name: String,
    pub(super) id: PlSmallStr,
    pub(super) ty: Ty,
    pub(super) narrow: bool,
    /// False for the second column of `USING`, which is only found with its table's name.
    pub(super) shown: bool,
}

impl Field {
    pub(super) fn column(&self) -> Expr {
        col(self.id.clone())
    }

    pub(super) fn typed(&self) -> Typed {
        Typed {
            narrow: self.narrow,
            ..Typed::new(self.column(), self.ty)
        }
    }

    fn is_of(&self, table: &str) -> bool {
        let Some(own) = &self.qualifier else {
            return false;
        };
        let is = |name: &str| name.eq_ignore_ascii_case(table);
        is(own) || own.rsplit_once('.').is_some_and(|(_, last)| is(last))
    }

    /// As the user can write it.
    fn full_name(&self) -> String {
        match &self.qualifier {
            Some(table) => format!("{table}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

#[derive(Clone)]
pub(super) struct Relation {
    pub(super) frame: LazyFrame,
    pub(super) fields: Vec<Field>,
    /// Columns of the enclosing query, for a correlated subquery.
    pub(super) outer: Vec<Field>,
    pub(super) is_ordered: bool,
    pub(super) is_single: bool,
    pub(super) is_empty: bool,
    /// It is the product of all rows of two relations.
    pub(super) is_crossed: bool,
}

impl Relation {
    pub(super) fn new(frame: LazyFrame, fields: Vec<Field>) -> Self {
        Self {
            frame,
            fields,
            outer: Vec::new(),
            is_ordered: true,
            is_single: false,
            is_empty: false,
            is_crossed: false,
        }
    }

    pub(super) fn find(&self, parts: &[Ident]) -> Answer<Option<Field>> {
        Ok(match found(&self.fields, parts)? {
            None => found(&self.outer, parts)?,
            field => field,
        })
    }

    /// Filters rows. polars 0.55.2 turns a product and a comparison into a join by inequalities, which needs a
    /// feature that our build lacks, so the comparison is hidden from it.
    pub(super) fn filtered(&self, truth: Expr) -> LazyFrame {
        let truth = if self.is_crossed {
            truth.fill_null(lit(false))
        } else {
            truth
        };
        self.frame.clone().filter(truth)
    }

    pub(super) fn any_column(&self) -> Expr {
        let field = self.fields.first().or(self.outer.first());
        field.map_or_else(|| col("one"), Field::column)
    }

    pub(super) fn unknown(&self, parts: &[Ident]) -> QueryError {
        unknown_column(parts, &self.fields)
    }
}

pub(super) fn found(fields: &[Field], parts: &[Ident]) -> Answer<Option<Field>> {
    let Some((name, table)) = parts.split_last() else {
        return Ok(None);
    };
    let table = dotted(table);
    let fits = |field: &&Field| {
        if table.is_empty() {
            field.shown
        } else {
            field.is_of(&table)
        }
    };
    let exact: Vec<&Field> = fields
        .iter()
        .filter(fits)
        .filter(|field| field.name == name.value)
        .collect();
    let similar = || {
        let fields = fields.iter().filter(fits);
        let is = |field: &&Field| {
            name.quote_style.is_none() && field.name.eq_ignore_ascii_case(&name.value)
        };
        fields.filter(is).collect()
    };
    let all: Vec<&Field> = if exact.is_empty() { similar() } else { exact };
    match all.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some((*one).clone())),
        several => {
            let names: Vec<String> = several.iter().map(|field| field.full_name()).collect();
            invalid(format!(
                "{} may be one of several columns (hint: write {})",
                name.value,
                names.join(" or ")
            ))
        }
    }
}

pub(super) fn unknown_column(parts: &[Ident], fields: &[Field]) -> QueryError {
    let (name, table) = parts
        .split_last()
        .map_or(("", String::new()), |(name, table)| {
            (name.value.as_str(), dotted(table))
        });
    let mut columns: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
    columns.sort_unstable();
    columns.dedup();
    let tables: Vec<&str> = fields
        .iter()
        .filter_map(|field| field.qualifier.as_deref())
        .collect();
    if !table.is_empty() && !fields.iter().any(|field| field.is_of(&table)) {
        let nearest = nearest(&table, tables.into_iter());
        return QueryError::UnknownTable {
            name: table,
            nearest,
        };
    }
    let own: Vec<&Field> = fields
        .iter()
        .filter(|field| table.is_empty() || field.is_of(&table))
        .collect();
    let is_one = own.iter().all(|field| field.qualifier == own[0].qualifier);
    let shown = |field: &&Field| {
        if table.is_empty() && is_one {
            field.name.clone()
        } else {
            field.full_name()
        }
    };
    let near = nearest(name, own.iter().map(|field| field.name.as_str()));
    let elsewhere = fields.iter().filter(|field| field.name == name);
    let in_order = near
        .iter()
        .flat_map(|near| own.iter().filter(move |field| field.name == *near));
    let mut nearest: Vec<String> = elsewhere
        .map(Field::full_name)
        .chain(in_order.map(shown))
        .collect();
    nearest.dedup();
    nearest.truncate(3);
    QueryError::UnknownColumn {
        name: dotted(parts),
        nearest,
        columns,
    }
}

pub(super) fn dotted(parts: &[Ident]) -> String {
    let parts: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
    parts.join(".")
}
