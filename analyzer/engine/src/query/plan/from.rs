//! `FROM`: tables, subqueries and joins.

use polars::prelude::{
    Expr, IntoLazy, JoinArgs, JoinCoalesce, JoinType, LazyFrame, LiteralValue, NULL, UnionArgs,
    UniqueKeepStrategy, coalesce, col, concat, lit, when,
};
use sqlparser::ast::{
    BinaryOperator, Expr as Ast, JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor,
    TableWithJoins,
};

use super::scope::{Field, Relation, dotted, found};
use super::select::{Aliases, Context};
use super::types::{Ty, Typed, common_type};
use super::{Answer, Domain, Planner, Table, invalid, one_row, rename, unsupported};
use crate::closed_types::frame_without_rows;
use crate::query::error::first_line;
use crate::query::{QueryError, nearest};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    None,
    Left,
    Right,
    Both,
}

#[derive(Default)]
struct Conditions {
    keys: Vec<(Expr, Expr)>,
    of_left: Vec<Ast>,
    of_right: Vec<Ast>,
    rest: Vec<Ast>,
}

impl Planner<'_> {
    /// The rows of `FROM`. Removes equalities that join tables from `conditions`, the conditions of `WHERE`.
    pub(super) fn from(
        &mut self,
        from: &[TableWithJoins],
        domain: Option<&Domain>,
        conditions: &mut Vec<Ast>,
    ) -> Answer<Relation> {
        let mut all: Option<Relation> = None;
        for tables in from {
            let next = self.tables(tables, conditions)?;
            all = Some(match all {
                None => next,
                Some(all) => self.product(all, next, conditions)?,
            });
        }
        let mut relation = all.unwrap_or_else(|| {
            let mut relation = Relation::new(one_row(), Vec::new());
            relation.is_single = true;
            relation
        });
        if let Some(domain) = domain {
            let mut right = Relation::new(domain.frame.clone(), Vec::new());
            right.outer.clone_from(&domain.fields);
            relation = self.product(relation, right, conditions)?;
        }
        Ok(relation)
    }

    fn tables(&mut self, tables: &TableWithJoins, conditions: &mut Vec<Ast>) -> Answer<Relation> {
        let mut all = self.factor(&tables.relation)?;
        let adds_rows = |join: &sqlparser::ast::Join| {
            use JoinOperator::{FullOuter, Right, RightOuter};
            matches!(join.join_operator, Right(_) | RightOuter(_) | FullOuter(_))
        };
        for (at, join) in tables.joins.iter().enumerate() {
            let next = self.factor(&join.relation)?;
            if tables.joins[at + 1..].iter().any(adds_rows) {
                // WHERE is about the rows that a later join adds as well.
                let mut own = Vec::new();
                all = self.joined(all, &join.join_operator, next, &mut own)?;
                if let Some(condition) = own.first() {
                    return unknown_in_join(condition, &all);
                }
            } else {
                all = self.joined(all, &join.join_operator, next, conditions)?;
            }
        }
        Ok(all)
    }

    fn factor(&mut self, factor: &TableFactor) -> Answer<Relation> {
        let (mut relation, alias): (Relation, &Option<TableAlias>) = match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                sample: None,
                ..
            } => (self.table(&name_of(name)?)?, alias),
            TableFactor::Table {
                sample: Some(_), ..
            } => {
                return unsupported("TABLESAMPLE", "WHERE id % 10 = 0");
            }
            TableFactor::Table { name, .. } | TableFactor::Function { name, .. } => {
                return invalid(format!(
                    "{name} is not available: a query reads the published tables only"
                ));
            }
            TableFactor::Derived { lateral: true, .. } => {
                return unsupported("LATERAL", "join the subquery, or put it into SELECT");
            }
            TableFactor::Derived {
                subquery, alias, ..
            } => (self.query(subquery, None)?, alias),
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                let mut own = Vec::new();
                let relation = self.tables(table_with_joins, &mut own)?;
                if let Some(condition) = own.first() {
                    return unknown_in_join(condition, &relation);
                }
                (relation, alias)
            }
            other => {
                let text = other.to_string();
                let word = text.split(['(', ' ']).next().unwrap_or_default();
                return unsupported(format!("{word} in FROM"), "");
            }
        };
        if let Some(alias) = alias {
            rename(&mut relation, alias)?;
        }
        Ok(relation)
    }

    pub(super) fn table(&mut self, name: &str) -> Answer<Relation> {
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        let ctes = self.ctes.iter().rev();
        if let Some((_, cte)) = ctes.into_iter().find(|(known, _)| is(known)) {
            let (mut relation, mut columns) = (cte.clone(), Vec::new());
            for field in &mut relation.fields {
                let id = self.new_id();
                columns.push(field.column().alias(id.clone()));
                field.id = id;
                field.qualifier = Some(name.to_owned());
            }
            relation.frame = relation.frame.select_seq(columns);
            return Ok(relation);
        }
        let mut published = name.to_owned();
        let mut table = self.tables.table(name);
        if table.is_none() {
            let names = self.tables.names();
            if let Some(known) = names.iter().find(|known| is(known)) {
                published = (*known).to_owned();
                table = self.tables.table(known);
            }
        }
        let Some(table) = table else {
            return Err(QueryError::UnknownTable {
                name: name.to_owned(),
                nearest: nearest(name, self.tables.names().into_iter()),
            });
        };
        let table = table.map_err(|error| QueryError::Failed(first_line(&error)))?;
        let Table { frame, schema } = table;
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (column, dtype) in schema.iter() {
            let (ty, narrow) = Ty::of(dtype);
            let id = self.new_id();
            columns.push(col(column.clone()).alias(id.clone()));
            fields.push(Field {
                qualifier: Some(name.to_owned()),
                name: column.to_string(),
                id,
                ty,
                narrow,
                shown: true,
            });
        }
        let mut relation = Relation::new(frame.select_seq(columns), fields);
        relation.is_empty = self.tables.is_empty(&published);
        Ok(relation)
    }

    /// All pairs of rows, or those that pass the equalities among the conditions.
    fn product(
        &mut self,
        left: Relation,
        right: Relation,
        conditions: &mut Vec<Ast>,
    ) -> Answer<Relation> {
        let mut keys = Vec::new();
        let mut rest = Vec::new();
        for condition in conditions.drain(..) {
            match self.key(&condition, &left, &right)? {
                Some(key) => keys.push(key),
                None => rest.push(condition),
            }
        }
        *conditions = rest;
        Ok(inner(left, right, keys))
    }

    fn joined(
        &mut self,
        left: Relation,
        operator: &JoinOperator,
        right: Relation,
        conditions: &mut Vec<Ast>,
    ) -> Answer<Relation> {
        use JoinOperator as Op;
        let (constraint, how) = match operator {
            Op::Join(on) | Op::Inner(on) => (on, JoinType::Inner),
            Op::CrossJoin(JoinConstraint::None) => return self.product(left, right, conditions),
            Op::CrossJoin(on) => (on, JoinType::Inner),
            Op::Left(on) | Op::LeftOuter(on) => (on, JoinType::Left),
            Op::Right(on) | Op::RightOuter(on) => (on, JoinType::Right),
            Op::FullOuter(on) => (on, JoinType::Full),
            Op::Semi(on) | Op::LeftSemi(on) => (on, JoinType::Semi),
            Op::Anti(on) | Op::LeftAnti(on) => (on, JoinType::Anti),
            Op::RightSemi(on) => return self.chosen_by(right, left, on, JoinType::Semi),
            Op::RightAnti(on) => return self.chosen_by(right, left, on, JoinType::Anti),
            Op::AsOf { .. } => {
                return unsupported(
                    "ASOF JOIN",
                    "LAG or LAST_VALUE over the UNION ALL of both tables",
                );
            }
            _ => return unsupported("this kind of JOIN", "INNER, LEFT, RIGHT or FULL JOIN"),
        };
        if matches!(how, JoinType::Semi | JoinType::Anti) {
            return self.chosen_by(left, right, constraint, how);
        }
        let names = shared_names(constraint, &left, &right)?;
        if let Some(names) = names {
            return using(left, right, how, &names);
        }
        let JoinConstraint::On(on) = constraint else {
            return invalid("JOIN needs ON or USING (hint: CROSS JOIN joins all rows)");
        };
        let parts = self.conditions(on, &left, &right)?;
        match how {
            JoinType::Inner => {
                let mut relation = inner(left, right, parts.keys);
                let all = [parts.of_left, parts.of_right, parts.rest].concat();
                for condition in all {
                    if is_known(&condition, &relation) {
                        relation = self.filter(relation, &condition, &Aliases::default())?;
                    } else {
                        // It names what is around this query, or nothing.
                        conditions.push(condition);
                    }
                }
                Ok(relation)
            }
            JoinType::Right => {
                let of_right = right.fields.len();
                let parts = Conditions {
                    keys: parts.keys.into_iter().map(|(a, b)| (b, a)).collect(),
                    of_left: parts.of_right,
                    of_right: parts.of_left,
                    rest: parts.rest,
                };
                let mut relation = self.outer(right, left, parts, false)?;
                relation.fields.rotate_left(of_right);
                Ok(relation)
            }
            _ => self.outer(left, right, parts, how == JoinType::Full),
        }
    }

    fn outer(
        &mut self,
        left: Relation,
        mut right: Relation,
        mut parts: Conditions,
        is_full: bool,
    ) -> Answer<Relation> {
        if is_full {
            parts.rest.append(&mut parts.of_left);
            parts.rest.append(&mut parts.of_right);
        } else {
            for condition in std::mem::take(&mut parts.of_right) {
                right = self.filter(right, &condition, &Aliases::default())?;
            }
        }
        if parts.keys.is_empty() {
            parts.rest.append(&mut parts.of_left);
        }
        for condition in std::mem::take(&mut parts.of_left) {
            // Where it does not hold, the key is none, which is equal to nothing.
            let mut context = Context::new(left.clone());
            let truth = self.expr(&condition, &mut context)?.into_truth()?;
            let key = &mut parts.keys[0].0;
            let masked = when(truth).then(key.clone());
            *key = masked.otherwise(lit(LiteralValue::untyped_null()));
        }
        if !parts.rest.is_empty() || parts.keys.is_empty() {
            return self.outer_by_rows(left, right, parts, is_full);
        }
        let how = if is_full {
            JoinType::Full
        } else {
            JoinType::Left
        };
        let frame = join(left.frame, right.frame, parts.keys, how);
        let mut relation = Relation::new(frame, [left.fields, right.fields].concat());
        relation.is_ordered = false;
        relation.is_empty = left.is_empty && (!is_full || right.is_empty);
        relation.is_crossed = left.is_crossed || right.is_crossed;
        Ok(relation)
    }

    /// An outer join with any condition: the pairs that pass it, and the rows in no pair.
    fn outer_by_rows(
        &mut self,
        left: Relation,
        right: Relation,
        parts: Conditions,
        is_full: bool,
    ) -> Answer<Relation> {
        let (row_of_left, row_of_right) = (self.new_id(), self.new_id());
        let of_left = left.frame.with_row_index(row_of_left.clone(), None);
        let of_right = right.frame.with_row_index(row_of_right.clone(), None);
        let fields = [left.fields.clone(), right.fields.clone()].concat();
        let pairs = join(
            of_left.clone(),
            of_right.clone(),
            parts.keys,
            JoinType::Inner,
        );
        let mut pairs = Relation::new(pairs, fields.clone());
        pairs.is_crossed = true;
        for condition in parts.rest {
            pairs = self.filter(pairs, &condition, &Aliases::default())?;
        }
        let columns = |own: &[Field]| {
            let is_own = |field: &Field| own.iter().any(|own| own.id == field.id);
            let column = |field: &Field| {
                if is_own(field) {
                    field.column()
                } else {
                    lit(NULL).alias(field.id.clone())
                }
            };
            fields.iter().map(column).collect::<Vec<_>>()
        };
        let alone = |rows: LazyFrame, row: &polars::prelude::PlSmallStr, own: &[Field]| {
            let paired = pairs.frame.clone().select_seq([col(row.clone())]);
            let paired = paired.unique(None, UniqueKeepStrategy::Any);
            let keys = vec![(col(row.clone()), col(row.clone()))];
            join(rows, paired, keys, JoinType::Anti).select_seq(columns(own))
        };
        let mut all = vec![pairs.frame.clone().select_seq(columns(&fields))];
        all.push(alone(of_left, &row_of_left, &left.fields));
        if is_full {
            all.push(alone(of_right, &row_of_right, &right.fields));
        }
        let args = UnionArgs {
            to_supertypes: true,
            ..UnionArgs::default()
        };
        let all = concat(all, args);
        let all = all.map_err(|error| QueryError::Failed(first_line(&error)))?;
        let mut relation = Relation::new(all, fields);
        relation.is_ordered = false;
        relation.is_crossed = true;
        Ok(relation)
    }

    /// Rows of the left side that have, or do not have, a partner on the right.
    fn chosen_by(
        &mut self,
        left: Relation,
        mut right: Relation,
        constraint: &JoinConstraint,
        how: JoinType,
    ) -> Answer<Relation> {
        let mut parts = match shared_names(constraint, &left, &right)? {
            Some(names) => Conditions {
                keys: names
                    .into_iter()
                    .map(|(a, b)| equal_keys(a.typed(), b.typed()))
                    .collect::<Answer<_>>()?,
                ..Conditions::default()
            },
            None => {
                let JoinConstraint::On(on) = constraint else {
                    return invalid("SEMI and ANTI JOIN need ON or USING");
                };
                self.conditions(on, &left, &right)?
            }
        };
        for condition in std::mem::take(&mut parts.of_right) {
            right = self.filter(right, &condition, &Aliases::default())?;
        }
        if parts.of_left.is_empty() && parts.rest.is_empty() && !parts.keys.is_empty() {
            let frame = join(left.frame, right.frame, parts.keys, how);
            return Ok(Relation {
                frame,
                fields: left.fields,
                outer: left.outer,
                is_ordered: false,
                is_single: false,
                is_empty: left.is_empty,
                is_crossed: left.is_crossed,
            });
        }
        let row = self.new_id();
        let rows = left.frame.with_row_index(row.clone(), None);
        let fields = [left.fields.clone(), right.fields].concat();
        let pairs = join(rows.clone(), right.frame, parts.keys, JoinType::Inner);
        let mut pairs = Relation::new(pairs, fields);
        pairs.is_crossed = true;
        for condition in [parts.of_left, parts.rest].concat() {
            pairs = self.filter(pairs, &condition, &Aliases::default())?;
        }
        let paired = pairs.frame.select_seq([col(row.clone())]);
        let paired = paired.unique(None, UniqueKeepStrategy::Any);
        let keys = vec![(col(row.clone()), col(row))];
        let mut relation = Relation::new(join(rows, paired, keys, how), left.fields);
        relation.is_ordered = false;
        relation.is_crossed = true;
        Ok(relation)
    }

    fn conditions(&mut self, on: &Ast, left: &Relation, right: &Relation) -> Answer<Conditions> {
        let mut parts = Conditions::default();
        for condition in conjuncts(on) {
            if let Some(key) = self.key(&condition, left, right)? {
                parts.keys.push(key);
                continue;
            }
            match side(&condition, left, right) {
                Some(Side::Left) => parts.of_left.push(condition),
                Some(Side::Right) => parts.of_right.push(condition),
                _ => parts.rest.push(condition),
            }
        }
        Ok(parts)
    }

    fn key(
        &mut self,
        condition: &Ast,
        left: &Relation,
        right: &Relation,
    ) -> Answer<Option<(Expr, Expr)>> {
        let Ast::BinaryOp {
            left: a,
            op: BinaryOperator::Eq,
            right: b,
        } = without_nesting(condition)
        else {
            return Ok(None);
        };
        let (a, b) = match (side(a, left, right), side(b, left, right)) {
            (Some(Side::Left), Some(Side::Right)) => (a, b),
            (Some(Side::Right), Some(Side::Left)) => (b, a),
            _ => return Ok(None),
        };
        let a = self.expr(a, &mut Context::new(left.clone()))?;
        let b = self.expr(b, &mut Context::new(right.clone()))?;
        equal_keys(a, b).map(Some)
    }
}

fn unknown_in_join<T>(condition: &Ast, relation: &Relation) -> Answer<T> {
    for parts in super::expression::names_in(condition).unwrap_or_default() {
        if relation.find(&parts)?.is_none() {
            return Err(relation.unknown(&parts));
        }
    }
    unsupported(format!("{condition} in ON before a RIGHT or FULL JOIN"), "")
}

/// Casts keys to one type. A number that the other type cannot represent equals nothing.
pub(super) fn equal_keys(a: Typed, b: Typed) -> Answer<(Expr, Expr)> {
    let ty = common_type([&a, &b].into_iter())?;
    let key = |one: Typed| {
        if ty == Ty::Int && one.ty == Ty::UInt {
            Ok(one.wide().cast(ty.dtype()))
        } else {
            one.into_type(ty)
        }
    };
    Ok((key(a)?, key(b)?))
}

fn inner(left: Relation, right: Relation, keys: Vec<(Expr, Expr)>) -> Relation {
    let is_empty = left.is_empty || right.is_empty;
    let is_crossed = left.is_crossed || right.is_crossed || keys.is_empty();
    let is_product_with_one = keys.is_empty() && right.is_single;
    let (mut a, mut b) = (left.frame, right.frame);
    if is_empty {
        // Neither is read.
        (a, b) = (without_rows(a), without_rows(b));
    }
    Relation {
        frame: join(a, b, keys, JoinType::Inner),
        fields: [left.fields, right.fields].concat(),
        outer: [left.outer, right.outer].concat(),
        is_ordered: left.is_ordered && is_product_with_one,
        is_single: left.is_single && is_product_with_one,
        is_empty,
        is_crossed,
    }
}

pub(super) fn without_rows(mut frame: LazyFrame) -> LazyFrame {
    match frame.collect_schema() {
        Ok(schema) => frame_without_rows(&schema).lazy(),
        Err(_) => frame,
    }
}

/// A join that keeps all columns of both sides. Keys are expressions over each side.
pub(super) fn join(
    left: LazyFrame,
    right: LazyFrame,
    mut keys: Vec<(Expr, Expr)>,
    how: JoinType,
) -> LazyFrame {
    if keys.is_empty() {
        return left.cross_join(right, None);
    }
    let all = std::mem::take(&mut keys);
    for key in all {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
    let (mut more_left, mut more_right) = (Vec::new(), Vec::new());
    for (at, (a, b)) in keys.into_iter().enumerate() {
        let key = |expr: Expr, more: &mut Vec<Expr>, side: &str| match expr {
            Expr::Column(name) => col(name),
            expr => {
                let name = format!("{side} key {at}");
                more.push(expr.alias(name.clone()));
                col(name)
            }
        };
        of_left.push(key(a, &mut more_left, "left"));
        of_right.push(key(b, &mut more_right, "right"));
    }
    let with = |frame: LazyFrame, more: &[Expr]| {
        if more.is_empty() {
            frame
        } else {
            frame.with_columns_seq(more)
        }
    };
    let (left, right) = (with(left, &more_left), with(right, &more_right));
    let args = JoinArgs::new(how).with_coalesce(JoinCoalesce::KeepColumns);
    let names = more_left.iter().chain(&more_right);
    let names = names.filter_map(|expr| expr.clone().meta().output_name().ok());
    let names: Vec<_> = names.collect();
    let joined = left.join(right, of_left, of_right, args);
    if names.is_empty() {
        joined
    } else {
        joined.drop(polars::prelude::by_name(names, false, false))
    }
}

/// Columns named by `USING` or implied by `NATURAL`, on both sides.
fn shared_names(
    constraint: &JoinConstraint,
    left: &Relation,
    right: &Relation,
) -> Answer<Option<Vec<(Field, Field)>>> {
    let names: Vec<String> = match constraint {
        JoinConstraint::Using(names) => names.iter().map(name_of).collect::<Answer<_>>()?,
        JoinConstraint::Natural => {
            let is_shared =
                |field: &&Field| right.fields.iter().any(|other| other.name == field.name);
            let shared = left.fields.iter().filter(|field| field.shown);
            shared
                .filter(is_shared)
                .map(|field| field.name.clone())
                .collect()
        }
        _ => return Ok(None),
    };
    if names.is_empty() {
        return invalid("the tables of NATURAL JOIN have no column of the same name");
    }
    let pair = |name: String| {
        let parts = [sqlparser::ast::Ident::new(name)];
        match (found(&left.fields, &parts)?, found(&right.fields, &parts)?) {
            (Some(a), Some(b)) => Ok((a, b)),
            (None, _) => Err(left.unknown(&parts)),
            (_, None) => Err(right.unknown(&parts)),
        }
    };
    names
        .into_iter()
        .map(pair)
        .collect::<Answer<Vec<_>>>()
        .map(Some)
}

/// A join by columns of the same name, which become one column.
fn using(
    left: Relation,
    right: Relation,
    how: JoinType,
    names: &[(Field, Field)],
) -> Answer<Relation> {
    let keys = names.iter().map(|(a, b)| equal_keys(a.typed(), b.typed()));
    let keys = keys.collect::<Answer<Vec<_>>>()?;
    let mut fields = [left.fields.clone(), right.fields.clone()].concat();
    let is_crossed = left.is_crossed || right.is_crossed;
    let mut relation = match how.clone() {
        JoinType::Inner => inner(left, right, keys),
        JoinType::Right => {
            let keys = keys.into_iter().map(|(a, b)| (b, a)).collect();
            Relation::new(
                join(right.frame, left.frame, keys, JoinType::Left),
                Vec::new(),
            )
        }
        how => Relation::new(join(left.frame, right.frame, keys, how), Vec::new()),
    };
    let mut merged = Vec::new();
    for (a, b) in names {
        let hidden = if how == JoinType::Right { a } else { b };
        for field in &mut fields {
            field.shown &= field.id != hidden.id && (how != JoinType::Full || field.id != a.id);
        }
        let shown = if how == JoinType::Right { b } else { a };
        if how == JoinType::Full {
            let id = format!("{} {}", a.id, b.id);
            let (x, y, ty) = super::types::unified(a.typed(), b.typed())?;
            merged.push(coalesce(&[x, y]).alias(id.clone()));
            fields.push(Field {
                qualifier: None,
                id: id.into(),
                ty,
                narrow: false,
                ..a.clone()
            });
        } else if let Some(at) = fields.iter().position(|field| field.id == shown.id) {
            let field = fields.remove(at);
            fields.push(field);
        }
    }
    // The shared columns come first.
    fields.rotate_right(names.len());
    if !merged.is_empty() {
        relation.frame = relation.frame.with_columns_seq(merged);
    }
    relation.fields = fields;
    relation.is_ordered = false;
    relation.is_crossed = is_crossed;
    Ok(relation)
}

pub(super) fn name_of(name: &ObjectName) -> Answer<String> {
    let parts: Option<Vec<_>> = name.0.iter().map(|part| part.as_ident().cloned()).collect();
    match parts {
        Some(parts) => Ok(dotted(&parts)),
        None => invalid(format!("{name} is not the name of a table")),
    }
}

pub(super) fn conjuncts(condition: &Ast) -> Vec<Ast> {
    fn add(condition: &Ast, to: &mut Vec<Ast>) {
        match condition {
            Ast::Nested(inner) => add(inner, to),
            Ast::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => {
                add(left, to);
                add(right, to);
            }
            other => to.push(other.clone()),
        }
    }
    let mut all = Vec::new();
    add(condition, &mut all);
    all
}

pub(super) fn without_nesting(expr: &Ast) -> &Ast {
    match expr {
        Ast::Nested(inner) => without_nesting(inner),
        other => other,
    }
}

/// The tables whose columns an expression names; `None` if it names anything else.
fn side(expr: &Ast, left: &Relation, right: &Relation) -> Option<Side> {
    let mut side = Side::None;
    for parts in super::expression::names_in(expr)? {
        let is_left = left.find(&parts).ok()?.is_some();
        let is_right = right.find(&parts).ok()?.is_some();
        // Names of this query come before those of the query around it.
        let is_outer = right.fields.is_empty();
        let own = match (is_left, is_right) {
            (true, true) if !is_outer => return None,
            (true, _) => Side::Left,
            (false, true) => Side::Right,
            (false, false) => return None,
        };
        side = match (side, own) {
            (Side::None, own) => own,
            (side, own) if side == own => side,
            _ => Side::Both,
        };
    }
    Some(side)
}

/// All names in a condition are columns of the relation or inside subqueries.
fn is_known(condition: &Ast, relation: &Relation) -> bool {
    let Some(names) = super::expression::names_in(condition) else {
        return false;
    };
    names
        .iter()
        .all(|parts| matches!(relation.find(parts), Ok(Some(_))))
}
