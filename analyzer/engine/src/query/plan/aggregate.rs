//! Aggregates: functions of the rows of a group.

use polars::prelude::{
    Column, DataType, Expr, Field as PolarsField, NULL, PlSmallStr, QuantileMethod, Schema,
    SortMultipleOptions, SortOptions, col, len, lit, map_multiple, pearson_corr, polars_bail, when,
};
use sqlparser::ast::{
    DuplicateTreatment, Expr as Ast, Function, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, OrderByExpr,
};

use super::expression::canonical;
use super::function::arguments_of;
use super::select::Context;
use super::types::{Constant, Ty, Typed, repeated, typed_lit};
use super::{Answer, Planner, SortKey, invalid, sort_key, unsupported};

pub(super) struct Aggregate {
    pub(super) id: PlSmallStr,
    pub(super) expr: Expr,
    /// A count, which is 0 without rows.
    pub(super) is_count: bool,
}

pub(super) const NAMES: &[&str] = &[
    "any_value",
    "arg_max",
    "arg_min",
    "array_agg",
    "avg",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "count_if",
    "covar_pop",
    "covar_samp",
    "first",
    "last",
    "max",
    "mean",
    "median",
    "min",
    "percentile_cont",
    "percentile_disc",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "sum",
    "total",
    "var_pop",
    "var_samp",
    "variance",
];

const SYNONYMS: &[(&str, &str)] = &[
    ("arbitrary", "any_value"),
    ("argmax", "arg_max"),
    ("argmin", "arg_min"),
    ("covar", "covar_samp"),
    ("countif", "count_if"),
    ("every", "bool_and"),
    ("group_concat", "string_agg"),
    ("list", "array_agg"),
    ("listagg", "string_agg"),
    ("max_by", "arg_max"),
    ("mean", "avg"),
    ("min_by", "arg_min"),
    ("percentile_cont", "quantile_cont"),
    ("percentile_disc", "quantile_disc"),
    ("quantile", "quantile_disc"),
    ("stddev", "stddev_samp"),
    ("stdev", "stddev_samp"),
    ("stdev_samp", "stddev_samp"),
    ("var", "var_samp"),
    ("variance", "var_samp"),
];

fn own_name(name: &str) -> &str {
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == name);
    synonym.map_or(name, |(_, own)| own)
}

pub(super) fn is_aggregate(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.contains(&own_name(&name))
}

pub(super) struct Input {
    pub(super) arguments: Vec<Typed>,
    pub(super) is_distinct: bool,
    pub(super) order: Vec<SortKey>,
    pub(super) filter: Option<Expr>,
}

impl Planner<'_> {
    pub(super) fn aggregate(
        &mut self,
        call: &Function,
        name: &str,
        context: &mut Context,
    ) -> Answer<Typed> {
        let relation = &context.base;
        let text = canonical(&Ast::Function(call.clone()), relation).to_string();
        let Some(grouping) = context.grouping.as_ref().filter(|_| !context.in_aggregate) else {
            return invalid(if context.in_aggregate {
                format!("{call} is within another aggregate (hint: compute it in a subquery)")
            } else {
                format!(
                    "{call} is an aggregate, which is not allowed here (hint: use HAVING, or a subquery)"
                )
            });
        };
        if let Some((_, known)) = grouping.known.iter().find(|(known, _)| *known == text) {
            return Ok(known.clone());
        }
        context.in_aggregate = true;
        let input = self.input(call, context);
        context.in_aggregate = false;
        let mut input = input?;
        let mut before = Vec::new();
        let own = own_name(name);
        let is_setting = own.starts_with("quantile") || own == "string_agg";
        for (at, argument) in input.arguments.iter_mut().enumerate() {
            // What is the same for all rows is there once for each.
            if argument.is_same_for_all() && !(at > 0 && is_setting) {
                let id = self.new_id();
                let along = context.base.any_column();
                before.push(repeated(argument.expr.clone(), along).alias(id.clone()));
                argument.expr = col(id);
                argument.constant = None;
            }
        }
        if let Some(filter) = &mut input.filter
            && filter.clone().meta().root_names().is_empty()
        {
            let id = self.new_id();
            let along = context.base.any_column();
            before.push(repeated(filter.clone(), along).alias(id.clone()));
            *filter = col(id);
        }
        let mut made = Vec::new();
        let mut column = |expr: Expr, is_count: bool| {
            let id = self.new_id();
            made.push(Aggregate {
                id: id.clone(),
                expr,
                is_count,
            });
            col(id)
        };
        let typed = aggregated(own, input, &mut column)?;
        if let Some(grouping) = &mut context.grouping {
            grouping.aggregates.extend(made);
            grouping.before.extend(before);
            grouping.known.push((text, typed.clone()));
        }
        Ok(typed)
    }

    pub(super) fn input(&mut self, call: &Function, context: &mut Context) -> Answer<Input> {
        if call.null_treatment.is_some() {
            return unsupported("IGNORE NULLS and RESPECT NULLS", "aggregates skip NULL");
        }
        let mut arguments = Vec::new();
        for argument in arguments_of(call)? {
            match argument {
                FunctionArgExpr::Expr(expr) => arguments.push(self.expr(expr, context)?),
                FunctionArgExpr::Wildcard => {}
                other => return invalid(format!("{}() does not take {other}", call.name)),
            }
        }
        let mut by: &[OrderByExpr] = &call.within_group;
        let mut is_distinct = false;
        if let FunctionArguments::List(list) = &call.args {
            is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
            for clause in &list.clauses {
                match clause {
                    FunctionArgumentClause::OrderBy(order) => by = order,
                    FunctionArgumentClause::Separator(separator) => {
                        let separator = Ast::Value(separator.clone());
                        arguments.push(self.expr(&separator, context)?);
                    }
                    other => return unsupported(format!("{other} in {}()", call.name), ""),
                }
            }
        }
        let mut order = Vec::new();
        for key in by {
            order.push(sort_key(self.expr(&key.expr, context)?.wide(), key.options));
        }
        // `PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)` is `QUANTILE_CONT(x, 0.5)`.
        if let [key] = call.within_group.as_slice() {
            arguments.insert(0, self.expr(&key.expr, context)?);
            if key.options.asc == Some(false)
                && let Some(Constant::Float(part)) =
                    arguments.get(1).and_then(|one| one.constant.clone())
            {
                arguments[1] = Typed::constant(Constant::Float(1.0 - part));
            }
            order.clear();
        }
        let filter = match &call.filter {
            Some(condition) => Some(self.expr(condition, context)?.into_truth()?),
            None => None,
        };
        Ok(Input {
            arguments,
            is_distinct,
            order,
            filter,
        })
    }
}

/// The expression of an aggregate. `column` makes columns from expressions over the rows of a group.
pub(super) fn aggregated(
    name: &str,
    input: Input,
    column: &mut dyn FnMut(Expr, bool) -> Expr,
) -> Answer<Typed> {
    let Input {
        arguments,
        is_distinct,
        order,
        filter,
    } = input;
    let name = own_name(name);
    let masked = |expr: Expr| match &filter {
        Some(filter) => when(filter.clone()).then(expr).otherwise(lit(NULL)),
        None => expr,
    };
    let mut all = arguments.into_iter();
    let Some(first) = all.next() else {
        if name != "count" {
            return invalid(format!("{name}() needs an argument"));
        }
        let rows = match &filter {
            Some(filter) => filter.clone().cast(DataType::Int64).sum(),
            None => len().cast(DataType::Int64),
        };
        return Ok(Typed::new(column(rows, true), Ty::Int));
    };
    let second = all.next();
    if all.next().is_some() {
        return invalid(format!("{name}() takes fewer arguments"));
    }
    let ty = first.ty;
    if let Some(second) = second {
        return of_two(name, first, second, &masked, (is_distinct, order), column);
    }
    let wide = first.clone().wide();
    let values = masked(wide.clone());
    let values = if is_distinct { values.unique() } else { values };
    let floats = |one: Typed| -> Answer<Expr> {
        let values = masked(one.into_number()?.into_type(Ty::Float)?);
        Ok(if is_distinct { values.unique() } else { values })
    };
    Ok(match name {
        "count" => {
            let rows = if is_distinct {
                values.drop_nulls().len()
            } else {
                values.count()
            };
            Typed::new(column(rows.cast(DataType::Int64), true), Ty::Int)
        }
        "count_if" => {
            let rows = masked(first.into_truth()?).cast(DataType::Int64).sum();
            Typed::new(column(rows, true), Ty::Int)
        }
        "sum" | "total" => {
            let sum = sum(first, is_distinct, &masked, column)?;
            if name == "total" {
                let sum = sum.into_type(Ty::Float)?;
                Typed::new(sum.fill_null(typed_lit(0.0)), Ty::Float)
            } else {
                sum
            }
        }
        "avg" => Typed::new(column(floats(first)?.mean(), false), Ty::Float),
        "median" => Typed::new(column(floats(first)?.median(), false), Ty::Float),
        "min" => Typed::new(column(values.min(), false), ty),
        "max" => Typed::new(column(values.max(), false), ty),
        "any_value" => Typed::new(column(values.drop_nulls().first(), false), ty),
        "first" | "last" => {
            let rows = match &filter {
                Some(filter) => wide.filter(filter.clone()),
                None => wide,
            };
            let rows = sorted(rows, order, &filter);
            let value = if name == "first" {
                rows.first()
            } else {
                rows.last()
            };
            Typed::new(column(value, false), ty)
        }
        "stddev_samp" => Typed::new(column(floats(first)?.std(1), false), Ty::Float),
        "stddev_pop" => Typed::new(column(floats(first)?.std(0), false), Ty::Float),
        "var_samp" => Typed::new(column(floats(first)?.var(1), false), Ty::Float),
        "var_pop" => Typed::new(column(floats(first)?.var(0), false), Ty::Float),
        "bool_and" | "bool_or" => {
            let truth = masked(first.into_truth()?);
            let truth = if name == "bool_and" {
                truth.min()
            } else {
                truth.max()
            };
            Typed::new(column(truth, false), Ty::Bool)
        }
        "string_agg" => {
            let texts = texts(first, is_distinct, order, &filter);
            joined(texts, ",", column)
        }
        "array_agg" => {
            let rows = match &filter {
                Some(filter) => wide.filter(filter.clone()),
                None => wide,
            };
            let rows = if is_distinct {
                distinct_in_order(rows, &order)
            } else {
                sorted(rows, order, &filter)
            };
            Typed::new(column(rows.implode(true), false), Ty::Other)
        }
        _ => return invalid(format!("{name}() needs two arguments")),
    })
}

fn of_two(
    name: &str,
    first: Typed,
    second: Typed,
    masked: &dyn Fn(Expr) -> Expr,
    (is_distinct, order): (bool, Vec<SortKey>),
    column: &mut dyn FnMut(Expr, bool) -> Expr,
) -> Answer<Typed> {
    let ty = first.ty;
    let floats =
        |one: Typed| -> Answer<Expr> { Ok(masked(one.into_number()?.into_type(Ty::Float)?)) };
    Ok(match name {
        "quantile_cont" | "quantile_disc" => {
            let part = match second.constant {
                Some(Constant::Int(part @ 0..=1)) => part as f64,
                Some(Constant::Float(part)) if (0.0..=1.0).contains(&part) => part,
                _ => {
                    return invalid(format!("{name}() takes a literal number from 0 to 1"));
                }
            };
            if name == "quantile_cont" {
                let values = floats(first)?;
                let value = values.quantile(typed_lit(part), QuantileMethod::Linear);
                Typed::new(column(value, false), Ty::Float)
            } else {
                let values = masked(first.into_number()?.wide());
                let value = values.quantile(typed_lit(part), QuantileMethod::Equiprobable);
                Typed::new(column(value, false).cast(ty.dtype()), ty)
            }
        }
        "string_agg" => {
            let Some(Constant::Text(separator)) = second.constant else {
                return invalid("string_agg() takes a literal separator");
            };
            let own = Typed::new(masked(first.into_text()), Ty::Text);
            let texts = texts(own, is_distinct, order, &None);
            joined(texts, &separator, column)
        }
        "arg_max" | "arg_min" => {
            let (value, by) = (first.wide(), masked(second.wide()));
            let options = SortMultipleOptions::default()
                .with_order_descending(name == "arg_max")
                .with_nulls_last(true)
                .with_maintain_order(true);
            let has = by.clone().is_not_null().and(value.clone().is_not_null());
            let by = when(has.clone()).then(by).otherwise(lit(NULL));
            let value = when(has).then(value).otherwise(lit(NULL));
            Typed::new(column(value.sort_by([by], options).first(), false), ty)
        }
        "corr" | "covar_pop" | "covar_samp" => {
            let (a, b) = (floats(first)?, floats(second)?);
            let both = a.clone().is_not_null().and(b.clone().is_not_null());
            let pairs = column(both.clone().sum().cast(DataType::Int64), true);
            let (a, b) = (a.filter(both.clone()), b.filter(both));
            let (value, least) = match name {
                "corr" => (pearson_corr(a, b), 2_i64),
                "covar_pop" => (polars::prelude::cov(a, b, 0), 1),
                _ => (polars::prelude::cov(a, b, 1), 2),
            };
            let value = column(value, false);
            let value = when(pairs.gt_eq(typed_lit(least))).then(value);
            Typed::new(value.otherwise(lit(NULL)), Ty::Float)
        }
        _ => return invalid(format!("{name}() takes one argument")),
    })
}

fn sorted(rows: Expr, order: Vec<SortKey>, filter: &Option<Expr>) -> Expr {
    if order.is_empty() {
        return rows;
    }
    let options = SortMultipleOptions::default()
        .with_order_descending_multi(order.iter().map(|key| key.1))
        .with_nulls_last_multi(order.iter().map(|key| !key.2))
        .with_maintain_order(true);
    let keys = order.into_iter().map(|key| match filter {
        Some(filter) => key.0.filter(filter.clone()),
        None => key.0,
    });
    rows.sort_by(keys.collect::<Vec<_>>(), options)
}

fn texts(first: Typed, is_distinct: bool, order: Vec<SortKey>, filter: &Option<Expr>) -> Expr {
    let rows = first.into_text();
    let rows = match filter {
        Some(filter) => rows.filter(filter.clone()),
        None => rows,
    };
    if is_distinct {
        distinct_in_order(rows.drop_nulls(), &order)
    } else {
        sorted(rows, order, filter).drop_nulls()
    }
}

/// Distinct values, which can only be ordered by themselves.
fn distinct_in_order(rows: Expr, order: &[SortKey]) -> Expr {
    let is_descending = order.first().is_some_and(|key| key.1);
    let options = SortOptions::default()
        .with_order_descending(is_descending)
        .with_nulls_last(order.first().is_none_or(|key| !key.2));
    rows.unique().sort(options)
}

fn joined(texts: Expr, separator: &str, column: &mut dyn FnMut(Expr, bool) -> Expr) -> Typed {
    let rows = column(texts.clone().count().cast(DataType::Int64), true);
    let text = column(texts.str().join(separator, true), false);
    let text = when(rows.gt(typed_lit(0_i64))).then(text);
    Typed::new(text.otherwise(lit(NULL)), Ty::Text)
}

/// A sum; NULL without values. A sum of integers that does not fit into 64 bits is an error.
fn sum(
    first: Typed,
    is_distinct: bool,
    masked: &dyn Fn(Expr) -> Expr,
    column: &mut dyn FnMut(Expr, bool) -> Expr,
) -> Answer<Typed> {
    let first = first.into_number()?;
    let ty = first.ty;
    let values = masked(first.wide());
    let values = if is_distinct { values.unique() } else { values };
    let rows = column(values.clone().count().cast(DataType::Int64), true);
    let sum = column(values.clone().sum(), false);
    let sum = if ty == Ty::Float {
        sum
    } else {
        let about = column(values.cast(DataType::Float64).sum(), false);
        exact_sum(sum, about, ty)
    };
    let sum = when(rows.gt(typed_lit(0_i64))).then(sum);
    Ok(Typed::new(sum.otherwise(lit(NULL)), ty))
}

/// The integer sum. It is an error if it is far from the sum as floats, because then it wrapped.
fn exact_sum(sum: Expr, about: Expr, ty: Ty) -> Expr {
    let check = |columns: &mut [Column]| {
        let sum = columns[0].cast(&DataType::Float64)?;
        let (sum, about) = (sum.f64()?, columns[1].cast(&DataType::Float64)?);
        let about = about.f64()?;
        /// Half of 2^64, the error of a wrapped sum.
        const FAR: f64 = (1_u64 << 63) as f64;
        let is_far = |(sum, about): (Option<f64>, Option<f64>)| match (sum, about) {
            (Some(sum), Some(about)) => (sum - about).abs() > FAR,
            _ => false,
        };
        if sum.iter().zip(about.iter()).any(is_far) {
            polars_bail!(ComputeError:
                "a SUM of whole numbers does not fit into 64 bits (hint: SUM(CAST(… AS DOUBLE)))");
        }
        Ok(std::mem::take(&mut columns[0]))
    };
    let field = move |_: &Schema, fields: &[PolarsField]| {
        Ok(PolarsField::new(fields[0].name().clone(), ty.dtype()))
    };
    map_multiple(check, [sum, about], field)
}
