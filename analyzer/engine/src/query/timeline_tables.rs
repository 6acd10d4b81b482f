//! The tables of intervals in the order of time, computed when a query asks for them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use polars::prelude::{CategoricalMapping, DataType, Field, Schema};
use trueno_format::schema;

use super::{Claims, Database, QueryError};
use crate::catalog::{ADDED, ID_SUFFIX};
use crate::columns::{Kind, Packed, ReadColumns, StoredTable};
use crate::spans::{self, LANES, SPANS};

impl Database {
    /// Publishes the time-ordered tables of intervals, computed from the tables published so far.
    pub(crate) fn register_timeline(&mut self) {
        let Some(numbers) = self.numbers.clone() else {
            return;
        };
        self.forget(SPANS);
        self.forget(LANES);
        let tables = schema::interval_tables().filter_map(|table| self.stored.get(table.name));
        let rows = tables.map(|table| table.rows()).sum();
        let base = Arc::new(Timeline {
            database: self.clone(),
            numbers,
            lanes: OnceLock::new(),
        });
        for (name, columns) in [
            (SPANS, spans::span_columns()),
            (LANES, spans::lane_columns()),
        ] {
            let texts = columns.iter().filter(|(_, kind)| *kind == Kind::Text);
            let texts = texts.map(|(name, _)| name.as_str());
            self.register_without_rows(name, Arc::new(schema_of(&columns)), texts);
            let reader = Reader {
                timeline: Arc::clone(&base),
                is_of_lanes: name == LANES,
            };
            // No more rows than this, and no fewer than one as far as is known.
            let rows = std::cmp::max(rows, 1);
            self.register_columns(name, StoredTable::new(columns, rows, Box::new(reader)));
        }
    }

    /// Recomputes the tables if one that they depend on was published.
    pub(super) fn renew_timeline(&mut self, published: &str) {
        if ADDED.contains(&published) && self.stored.contains_key(SPANS) {
            self.register_timeline();
        }
    }
}

fn schema_of(columns: &[(String, Kind)]) -> Schema {
    let fields = columns.iter();
    let fields = fields.map(|(name, kind)| Field::new(name.as_str().into(), kind.data_type()));
    let texts = columns.iter().filter(|(_, kind)| *kind == Kind::Text);
    let numbers = texts.map(|(name, _)| {
        let name = format!("{name}{ID_SUFFIX}");
        Field::new(name.as_str().into(), DataType::Int64)
    });
    fields.chain(numbers).collect()
}

struct Timeline {
    database: Database,
    numbers: Arc<CategoricalMapping>,
    lanes: OnceLock<Vec<Vec<Packed>>>,
}

impl Timeline {
    /// Computes some columns of the intervals; those of the lanes are kept.
    fn compute(&self, columns: &[usize]) -> Result<Vec<Vec<Packed>>, String> {
        let claims = spans::queries(columns).map(|sql| {
            let claims = self.database.claims(&sql);
            (sql, claims)
        });
        // What the queries read is let go of as soon as the last has read it.
        let claims: RefCell<BTreeMap<String, Claims>> = RefCell::new(claims.collect());
        let ask = |sql: &str| match self.database.planned(sql) {
            Ok(planned) => {
                let rows = planned.rows().map_err(|error| error.to_string())?;
                let claims = claims.borrow_mut().remove(sql);
                Ok(Some(rows.holding(claims)))
            }
            Err(QueryError::UnknownTable { .. }) => Ok(None),
            Err(error) => Err(error.to_string()),
        };
        let made = spans::tables(&ask, &self.numbers, columns)?;
        self.lanes.get_or_init(|| made.lanes);
        Ok(made.spans)
    }
}

struct Reader {
    timeline: Arc<Timeline>,
    is_of_lanes: bool,
}

impl ReadColumns for Reader {
    fn is_computed(&self) -> bool {
        true
    }

    fn read(&self, columns: &[usize]) -> Result<Vec<Vec<Packed>>, String> {
        if !self.is_of_lanes {
            return self.timeline.compute(columns);
        }
        let lanes = &self.timeline.lanes;
        if lanes.get().is_none() {
            self.timeline.compute(&[])?;
        }
        let lanes = lanes.get().map(Vec::as_slice).unwrap_or_default();
        let taken = columns.iter().map(|column| {
            let column = lanes.get(*column).cloned();
            column.ok_or_else(|| "there is no such column".to_owned())
        });
        taken.collect()
    }
}
