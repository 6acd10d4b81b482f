//! Subqueries in expressions. Each becomes a join: with its one row, with its members, or, where it is correlated, with
//! what it gives for each of the distinct values that it takes from the query around it.

use polars::prelude::{
    Column, DataType, Expr, Field as PolarsField, JoinArgs, JoinCoalesce, JoinType, LazyFrame,
    NULL, PlSmallStr, Schema, UniqueKeepStrategy, col, len, lit, map_multiple, polars_bail, when,
};
use sqlparser::ast::{Expr as Ast, Query, UnaryOperator};

use super::from::{equal_keys, without_nesting};
use super::scope::{Field, Relation};
use super::select::Context;
use super::types::{Ty, Typed, typed_lit};
use super::{Answer, Domain, Planner, invalid, unsupported};
use crate::query::QueryError;

struct Subquery {
    relation: Relation,
    /// Columns of the enclosing query, and those of the subquery that are equal to them.
    keys: Vec<(Expr, Expr)>,
}

const TOO_MANY: &str = "a subquery used as a value returns more than one row (hint: LIMIT 1, or an aggregate such as MAX)";

impl Planner<'_> {
    fn subquery(&mut self, query: &Query, context: &Context) -> Answer<Subquery> {
        let depth = self.outer.len();
        let fields = [context.base.fields.clone(), context.base.outer.clone()].concat();
        self.outer.push(fields.clone());
        let planned = self.query(query, None);
        self.outer.pop();
        let named = |id: &str| self.outer_refs.contains(&(depth, id.to_owned()));
        let named: Vec<&Field> = fields.iter().filter(|field| named(&field.id)).collect();
        if named.is_empty() {
            let keys = Vec::new();
            return Ok(Subquery {
                relation: planned?,
                keys,
            });
        }
        self.outer_refs.retain(|(of, _)| *of != depth);
        let (mut own, mut columns, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for field in named {
            let outer = self.field(field, context)?;
            let id = self.new_id();
            columns.push(self.over_rows(field, context).alias(id.clone()));
            keys.push((outer.expr, col(id.clone())));
            own.push(Field {
                id,
                ..field.clone()
            });
        }
        let frame = context.base.frame.clone().select_seq(columns);
        let domain = Domain {
            frame: frame.unique(None, UniqueKeepStrategy::Any),
            fields: own,
        };
        // The names are found in the domain now.
        self.outer.push(Vec::new());
        let planned = self.query(query, Some(&domain));
        self.outer.pop();
        match planned {
            Ok(relation) => Ok(Subquery { relation, keys }),
            Err(QueryError::UnknownColumn { name, .. }) => unsupported(
                format!("a subquery that names {name} of the query around it in FROM or WITH"),
                "name it in WHERE",
            ),
            Err(error) => Err(error),
        }
    }

    fn over_rows(&self, field: &Field, context: &Context) -> Expr {
        let keys = context.grouping.iter().flat_map(|grouping| &grouping.keys);
        let is_field =
            |key: &Ast| matches!(key, Ast::Identifier(name) if name.value == field.id.as_str());
        let mut keys = keys.into_iter().filter(|_| context.is_over_groups());
        match keys.find(|(key, ..)| is_field(key)) {
            Some((_, expr, _)) => expr.clone(),
            None => field.column(),
        }
    }

    pub(super) fn scalar_subquery(
        &mut self,
        query: &Query,
        context: &mut Context,
    ) -> Answer<Typed> {
        let Subquery { relation, keys } = self.subquery(query, context)?;
        let value = one_column(&relation)?;
        let id = self.new_id();
        let typed = Typed {
            narrow: value.narrow,
            ..Typed::new(col(id.clone()), value.ty)
        };
        context.base.is_ordered = false;
        context.base.is_crossed |= keys.is_empty();
        if keys.is_empty() {
            let frame = if relation.is_single {
                relation.frame.select_seq([value.column().alias(id)])
            } else {
                let rows = self.new_id();
                let first = value.column().first().alias(id.clone());
                let values = relation
                    .frame
                    .select_seq([first, len().alias(rows.clone())]);
                values.select_seq([one_of_group(col(id.clone()), col(rows)).alias(id)])
            };
            context.change(move |rows| rows.cross_join(frame, None));
            return Ok(typed);
        }
        let of_outer = relation.outer.iter().map(Field::column);
        let frame = if relation.is_single {
            let columns = of_outer.chain([value.column().alias(id)]);
            relation.frame.select_seq(columns.collect::<Vec<_>>())
        } else {
            let rows = self.new_id();
            let values = [
                value.column().first().alias(id.clone()),
                len().alias(rows.clone()),
            ];
            let groups = relation.frame.group_by(of_outer.collect::<Vec<_>>());
            let groups = groups.agg(values);
            groups.with_columns_seq([one_of_group(col(id.clone()), col(rows)).alias(id)])
        };
        let left = JoinType::Left;
        context.change(move |rows| null_safe(rows, frame, keys, left));
        Ok(typed)
    }

    pub(super) fn exists(
        &mut self,
        query: &Query,
        negated: bool,
        context: &mut Context,
    ) -> Answer<Typed> {
        let Subquery { relation, keys } = self.subquery(query, context)?;
        let id = self.new_id();
        context.base.is_ordered = false;
        context.base.is_crossed |= keys.is_empty();
        let exists = if keys.is_empty() {
            let exists = len().gt(lit(0)).alias(id.clone());
            let frame = relation.frame.select_seq([exists]);
            context.change(move |rows| rows.cross_join(frame, None));
            col(id)
        } else {
            let frame = distinct_outer(&relation).with_columns_seq([lit(true).alias(id.clone())]);
            context.change(move |rows| null_safe(rows, frame, keys, JoinType::Left));
            col(id).is_not_null()
        };
        let exists = if negated { exists.not() } else { exists };
        Ok(Typed::new(exists, Ty::Bool))
    }

    pub(super) fn in_subquery(
        &mut self,
        value: &Ast,
        query: &Query,
        negated: bool,
        context: &mut Context,
    ) -> Answer<Typed> {
        let value = self.expr(value, context)?;
        let Subquery { relation, keys } = self.subquery(query, context)?;
        let member = one_column(&relation)?.typed();
        let is_null = value.expr.clone().is_null();
        let (value, member) = equal_keys(value, member)?;
        let value = context.with_rows(value);
        let [found, rows, nulls, key] = [(); 4].map(|()| self.new_id());
        context.base.is_ordered = false;
        context.base.is_crossed |= keys.is_empty();
        let of_outer: Vec<Expr> = relation.outer.iter().map(Field::column).collect();
        let members = [of_outer.clone(), vec![member.clone().alias(key.clone())]].concat();
        let members = relation.frame.clone().select_seq(members);
        let counts = [
            len().cast(DataType::Int64).alias(rows.clone()),
            col(key.clone())
                .null_count()
                .cast(DataType::Int64)
                .alias(nulls.clone()),
        ];
        let counts = if keys.is_empty() {
            members.clone().select_seq(counts)
        } else {
            members.clone().group_by(of_outer).agg(counts)
        };
        let members = members
            .filter(col(key.clone()).is_not_null())
            .unique(None, UniqueKeepStrategy::Any)
            .with_columns_seq([lit(true).alias(found.clone())]);
        context.change(move |frame| {
            let with_counts = if keys.is_empty() {
                frame.cross_join(counts, None)
            } else {
                null_safe(frame, counts, keys.clone(), JoinType::Left)
            };
            let keys = [keys, vec![(value, col(key))]].concat();
            null_safe(with_counts, members, keys, JoinType::Left)
        });
        let has_rows = col(rows).fill_null(typed_lit(0_i64)).gt(typed_lit(0_i64));
        let is_unknown = is_null.or(col(nulls).gt(typed_lit(0_i64)));
        let unknown = lit(NULL).cast(DataType::Boolean);
        let is_in = when(has_rows.not())
            .then(lit(false))
            .when(col(found).is_not_null())
            .then(lit(true))
            .when(is_unknown)
            .then(unknown)
            .otherwise(lit(false));
        let is_in = if negated { is_in.not() } else { is_in };
        Ok(Typed::new(is_in, Ty::Bool))
    }

    /// Filters rows by a condition that a join can evaluate. Returns false if the condition is of another form.
    pub(super) fn chosen_by_subquery(
        &mut self,
        condition: &Ast,
        context: &mut Context,
    ) -> Answer<bool> {
        let condition = without_nesting(condition);
        let (subquery, is_negated) = match condition {
            Ast::UnaryOp {
                op: UnaryOperator::Not,
                expr,
            } => (without_nesting(expr), true),
            other => (other, false),
        };
        match subquery {
            Ast::Exists { subquery, negated } => {
                let planned = self.subquery(subquery, context)?;
                if planned.keys.is_empty() {
                    return Ok(false);
                }
                let how = if is_negated == *negated {
                    JoinType::Semi
                } else {
                    JoinType::Anti
                };
                let frame = distinct_outer(&planned.relation);
                let keys = planned.keys;
                context.change(move |rows| null_safe(rows, frame, keys, how));
            }
            Ast::InSubquery {
                expr,
                subquery,
                negated: false,
            } if !is_negated => {
                let value = self.expr(expr, context)?;
                let Subquery { relation, mut keys } = self.subquery(subquery, context)?;
                let member = one_column(&relation)?.typed();
                let (value, member) = equal_keys(value, member)?;
                let value = context.with_rows(value);
                let key = self.new_id();
                let mut columns: Vec<Expr> = relation.outer.iter().map(Field::column).collect();
                columns.push(member.alias(key.clone()));
                let members = relation.frame.select_seq(columns);
                let members = members.filter(col(key.clone()).is_not_null());
                keys.push((value, col(key)));
                context.change(move |rows| null_safe(rows, members, keys, JoinType::Semi));
            }
            _ => return Ok(false),
        }
        context.base.is_ordered = false;
        context.base.is_single = false;
        Ok(true)
    }
}

fn one_column(relation: &Relation) -> Answer<Field> {
    match relation.fields.as_slice() {
        [one] => Ok(one.clone()),
        several => invalid(format!(
            "a subquery used as a value needs one column, and has {}",
            several.len()
        )),
    }
}

fn distinct_outer(relation: &Relation) -> LazyFrame {
    let columns: Vec<Expr> = relation.outer.iter().map(Field::column).collect();
    let rows = relation.frame.clone().select_seq(columns);
    rows.unique(None, UniqueKeepStrategy::Any)
}

/// A join in which NULL equals NULL. Adds the columns of the right side except keys.
fn null_safe(
    left: LazyFrame,
    right: LazyFrame,
    keys: Vec<(Expr, Expr)>,
    how: JoinType,
) -> LazyFrame {
    let (mut of_left, mut of_right, mut made) = (Vec::new(), Vec::new(), Vec::new());
    let mut more: Vec<Expr> = Vec::new();
    for (at, (a, b)) in keys.into_iter().enumerate() {
        of_left.push(match a {
            Expr::Column(name) => col(name),
            a => {
                let name: PlSmallStr = format!("outer key {at}").into();
                more.push(a.alias(name.clone()));
                made.push(name.clone());
                col(name)
            }
        });
        of_right.push(b);
    }
    let mut args = JoinArgs::new(how).with_coalesce(JoinCoalesce::CoalesceColumns);
    args.nulls_equal = true;
    let left = if more.is_empty() {
        left
    } else {
        left.with_columns_seq(more)
    };
    let joined = left.join(right, of_left, of_right, args);
    if made.is_empty() {
        joined
    } else {
        joined.drop(polars::prelude::by_name(made, true, false))
    }
}

fn one_of_group(value: Expr, rows: Expr) -> Expr {
    let check = |columns: &mut [Column]| {
        let rows = columns[1].cast(&DataType::Int64)?;
        if rows.i64()?.iter().flatten().any(|rows| rows > 1) {
            polars_bail!(ComputeError: "{TOO_MANY}");
        }
        Ok(std::mem::take(&mut columns[0]))
    };
    let field = |_: &Schema, fields: &[PolarsField]| Ok(fields[0].clone());
    map_multiple(check, [value, rows], field)
}
