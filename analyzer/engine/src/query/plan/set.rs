//! `UNION`, `EXCEPT`, `INTERSECT` and `VALUES`.

use polars::prelude::{
    Expr, JoinArgs, JoinCoalesce, JoinType, LazyFrame, UnionArgs, UniqueKeepStrategy, col, cols,
    concat, lit,
};
use sqlparser::ast::{SetExpr, SetOperator, SetQuantifier, Values};

use super::scope::{Field, Relation};
use super::select::Context;
use super::types::{Typed, common_type};
use super::window::{self, Call};
use super::{Answer, Domain, Limit, Planner, invalid, one_row, unsupported};
use crate::query::QueryError;
use crate::query::error::first_line;

impl Planner<'_> {
    pub(super) fn body(&mut self, body: &SetExpr, domain: Option<&Domain>) -> Answer<Relation> {
        self.nesting += 1;
        let relation = self.part(body, domain);
        self.nesting -= 1;
        relation
    }

    fn part(&mut self, body: &SetExpr, domain: Option<&Domain>) -> Answer<Relation> {
        match body {
            SetExpr::Select(select) => self.select(select, None, Limit::default(), domain),
            SetExpr::Query(query) => self.query(query, domain),
            SetExpr::SetOperation { .. } if domain.is_some() => unsupported(
                "a correlated subquery with UNION, EXCEPT or INTERSECT",
                "write one subquery for each part",
            ),
            SetExpr::SetOperation {
                left,
                op,
                set_quantifier,
                right,
            } => {
                let left = self.body(left, None)?;
                let right = self.body(right, None)?;
                self.combined(left, *op, *set_quantifier, right)
            }
            SetExpr::Values(values) => self.values(values),
            SetExpr::Table(table) => {
                let name = table.table_name.clone().unwrap_or_default();
                self.table(&name)
            }
            _ => invalid("expected a query that begins with SELECT or WITH"),
        }
    }

    fn combined(
        &mut self,
        left: Relation,
        op: SetOperator,
        quantifier: SetQuantifier,
        right: Relation,
    ) -> Answer<Relation> {
        use SetQuantifier::{All, AllByName, ByName, DistinctByName};
        let by_name = matches!(quantifier, ByName | AllByName | DistinctByName);
        let (left, right) = if by_name {
            self.matched_by_name(left, right)?
        } else {
            (left, right)
        };
        if left.fields.len() != right.fields.len() {
            return invalid(format!(
                "{op} needs the same number of columns on both sides, and there are {} and {}",
                left.fields.len(),
                right.fields.len()
            ));
        }
        let (mut fields, mut of_left, mut of_right) = (Vec::new(), Vec::new(), Vec::new());
        for (a, b) in left.fields.iter().zip(&right.fields) {
            let (x, y) = (a.typed(), b.typed());
            let ty = common_type([&x, &y].into_iter()).map_err(|error| match error {
                QueryError::Sql(why) => QueryError::Sql(format!("{op}, column {}: {why}", a.name)),
                other => other,
            })?;
            let id = self.new_id();
            of_left.push(x.into_type(ty)?.alias(id.clone()));
            of_right.push(y.into_type(ty)?.alias(id.clone()));
            fields.push(Field {
                qualifier: None,
                name: a.name.clone(),
                id,
                ty,
                narrow: false,
                shown: true,
            });
        }
        let is_ordered = left.is_ordered && right.is_ordered;
        let is_empty = left.is_empty && right.is_empty;
        let is_crossed = left.is_crossed || right.is_crossed;
        let (left, right) = (
            left.frame.select_seq(of_left),
            right.frame.select_seq(of_right),
        );
        let is_all = matches!(quantifier, All | AllByName);
        let frame = match op {
            SetOperator::Union => {
                let args = UnionArgs {
                    maintain_order: true,
                    ..UnionArgs::default()
                };
                let all = concat([left, right], args);
                let all = all.map_err(|error| QueryError::Failed(first_line(&error)))?;
                if is_all { all } else { distinct(all, &fields) }
            }
            SetOperator::Intersect => self.chosen(left, right, &fields, JoinType::Semi, is_all),
            SetOperator::Except | SetOperator::Minus => {
                self.chosen(left, right, &fields, JoinType::Anti, is_all)
            }
        };
        let mut relation = Relation::new(frame, fields);
        relation.is_ordered = is_ordered && is_all && op == SetOperator::Union;
        relation.is_empty = is_empty;
        relation.is_crossed = is_crossed;
        Ok(relation)
    }

    /// `INTERSECT` and `EXCEPT`: rows of the left that are, or are not, on the right. With `ALL`, duplicates
    /// are matched one to one.
    fn chosen(
        &mut self,
        left: LazyFrame,
        right: LazyFrame,
        fields: &[Field],
        how: JoinType,
        is_all: bool,
    ) -> LazyFrame {
        let mut keys: Vec<Expr> = fields.iter().map(Field::column).collect();
        let (left, right) = if is_all {
            let id = self.new_id();
            keys.push(col(id.clone()));
            let number = |frame: LazyFrame| {
                let call = Call::row_number(id.clone(), fields);
                window::with_windows(frame, vec![call])
            };
            (number(left), number(right))
        } else {
            (distinct(left, fields), right)
        };
        let mut args = JoinArgs::new(how).with_coalesce(JoinCoalesce::KeepColumns);
        args.nulls_equal = true;
        let joined = left.join(right, keys.clone(), keys, args);
        joined.select_seq(fields.iter().map(Field::column).collect::<Vec<_>>())
    }

    /// Both sides with the same columns in the same order; missing ones are NULL.
    fn matched_by_name(&mut self, left: Relation, right: Relation) -> Answer<(Relation, Relation)> {
        let mut names: Vec<&Field> = left.fields.iter().collect();
        let is_new = |field: &&Field| !left.fields.iter().any(|known| known.name == field.name);
        names.extend(right.fields.iter().filter(is_new));
        let names: Vec<Field> = names.into_iter().cloned().collect();
        let mut with_all = |relation: &Relation| {
            let (mut exprs, mut fields) = (Vec::new(), Vec::new());
            for name in &names {
                let own = relation.fields.iter().find(|own| own.name == name.name);
                let id = self.new_id();
                let expr = match own {
                    Some(own) => own.column(),
                    None => lit(polars::prelude::NULL).cast(name.ty.dtype()),
                };
                exprs.push(expr.alias(id.clone()));
                fields.push(Field {
                    id,
                    narrow: own.is_some_and(|own| own.narrow),
                    ..own.unwrap_or(name).clone()
                });
            }
            Relation {
                frame: relation.frame.clone().select_seq(exprs),
                fields,
                ..relation.clone()
            }
        };
        Ok((with_all(&left), with_all(&right)))
    }

    pub(super) fn values(&mut self, values: &Values) -> Answer<Relation> {
        let mut context = Context::new(Relation::new(one_row(), Vec::new()));
        let mut rows: Vec<Vec<Typed>> = Vec::new();
        for row in &values.rows {
            let row = row.content.iter().map(|expr| self.expr(expr, &mut context));
            rows.push(row.collect::<Answer<_>>()?);
        }
        let width = rows.first().map_or(0, Vec::len);
        if width == 0 || rows.iter().any(|row| row.len() != width) {
            return invalid("all rows of VALUES need the same number of values");
        }
        let mut fields = Vec::new();
        for at in 0..width {
            fields.push(Field {
                qualifier: None,
                name: format!("col{at}"),
                id: self.new_id(),
                ty: common_type(rows.iter().map(|row| &row[at]))?,
                narrow: false,
                shown: true,
            });
        }
        let mut frames = Vec::new();
        for row in rows {
            let columns = row.into_iter().zip(&fields);
            let columns = columns.map(|(value, field)| {
                let expr = value.into_type(field.ty)?;
                Ok(expr.cast(field.ty.dtype()).alias(field.id.clone()))
            });
            let columns = columns.collect::<Answer<Vec<_>>>()?;
            frames.push(context.base.frame.clone().select_seq(columns));
        }
        let args = UnionArgs {
            maintain_order: true,
            ..UnionArgs::default()
        };
        let frame = concat(frames, args);
        let frame = frame.map_err(|error| QueryError::Failed(first_line(&error)))?;
        Ok(Relation::new(frame, fields))
    }
}

/// The distinct rows; NULL equals NULL.
pub(super) fn distinct(frame: LazyFrame, fields: &[Field]) -> LazyFrame {
    let ids = fields.iter().map(|field| field.id.clone());
    frame.unique(Some(cols(ids)), UniqueKeepStrategy::Any)
}
