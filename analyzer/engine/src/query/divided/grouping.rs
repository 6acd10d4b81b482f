//! Groups that the other engine makes: by columns of one table, with counts, sums of whole numbers and extremes.

use std::ops::ControlFlow;

use polars::df;
use polars::error::PolarsError;
use polars::prelude::{
    Column, DataFrame, FillNullStrategy, IntoColumn, NamedFrom, PolarsResult, Series,
};
use sqlparser::ast::{
    Distinct, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    GroupByExpr, Ident, LimitClause, OrderByKind, Query, Select, SelectItem, SetExpr, VisitMut,
    VisitorMut,
};

use super::gathered::without_rows;
use super::{Database, Divided, Piece, RowsOfRanks, Scope, condition, in_order, listed, quoted};
use crate::columns::Kind;
use crate::frame::{i64_at, u64_at};
use crate::query::empty_join::{parsed, table_name};
use crate::query::{QueryError, collect, tokens};

const MADE: &str = "trueno made ";
/// Integers up to this one are exact as 64-bit floats, and so are their sums in any order.
const EXACT: i128 = 1 << 53;

pub(super) struct Grouping {
    pub(super) sql: String,
    sums: Vec<String>,
    means: Vec<Mean>,
}

/// A mean of integers, and the columns from which it is computed.
struct Mean {
    name: String,
    of: [String; 4],
}

/// Aggregates requested from the other engine: expression and column name.
#[derive(Default)]
struct GroupColumns {
    aggregates: Vec<(String, String)>,
    sums: Vec<String>,
    means: Vec<Mean>,
}

impl GroupColumns {
    fn column(&mut self, sql: String) -> String {
        if let Some((name, _)) = self.aggregates.iter().find(|(_, known)| *known == sql) {
            return name.clone();
        }
        let name = format!("{MADE}{}", self.aggregates.len());
        self.aggregates.push((name.clone(), sql));
        name
    }
}

impl Database {
    /// The question for groups, and the rest of the query. `None` if the query does not compute exact groups of
    /// one table.
    pub(super) fn grouping(
        &self,
        divided: &Divided,
        rows: &RowsOfRanks,
    ) -> Option<(Grouping, Piece)> {
        let ordered = in_order(&divided.sql, divided.schema.len());
        let selects = tokens::tokens(&ordered);
        let selects = selects.iter().filter(|token| token.is("select")).count();
        let mut query = parsed(&self.quoted(&ordered)).filter(|_| selects == 1)?;
        is_plain_query(&query).then_some(())?;
        let SetExpr::Select(select) = query.body.as_mut() else {
            return None;
        };
        is_plain(select).then_some(())?;
        let (table, called) = table_name(&select.from.first()?.relation)?;
        let (rows, stored) = (rows.get(&table)?, self.stored.get(&table)?.clone());
        let scope = Scope {
            stored: &stored,
            called,
        };
        let condition = match &select.selection {
            Some(condition) => Some(condition::exact(condition, &scope)?),
            None => None,
        };
        let keys = keys(select, &scope)?;
        let mut asked = GroupColumns::default();
        if select.distinct.is_none() {
            let mut rest = Rest {
                scope: &scope,
                keys: &keys,
                asked: &mut asked,
                aliases: Vec::new(),
            };
            let GroupByExpr::Expressions(groups, _) = &mut select.group_by else {
                return None;
            };
            let has_keys = !groups.is_empty();
            groups.clear();
            rest.of_select(select)?;
            if let Some(order) = &mut query.order_by {
                let OrderByKind::Expressions(order) = &mut order.kind else {
                    return None;
                };
                for one in order {
                    rest.of(&mut one.expr)?;
                }
            }
            // One row for all, or a row a group: without either it is a query of rows.
            (has_keys || !asked.aggregates.is_empty()).then_some(())?;
        } else {
            select.selection = None;
        }
        let counted = asked.column("COUNT(*)".to_owned());
        let piece = self.piece(&table, &keys, &asked, condition, (counted, rows))?;
        let grouping = Grouping {
            sql: query.to_string(),
            sums: asked.sums,
            means: asked.means,
        };
        // Whatever this engine reads otherwise over groups is asked for by rows.
        let columns = piece.columns.iter();
        let none = without_rows(columns.map(|(name, ty)| (name.as_str(), ty.clone())));
        let mut own = self.clone();
        let groups = grouping.groups(none).ok()??;
        own.publish_gathered(&table, groups).ok()?;
        let planned = own
            .planned_columns(&grouping.sql)
            .ok()?
            .collect_schema()
            .ok()?;
        (planned.len() == divided.schema.len()).then_some((grouping, piece))
    }

    /// The question for groups, with the types that this engine would return.
    fn piece(
        &self,
        table: &str,
        keys: &[String],
        asked: &GroupColumns,
        condition: Option<String>,
        (counted, rows): (String, &std::collections::BTreeMap<u32, u64>),
    ) -> Option<Piece> {
        let aggregates = asked.aggregates.iter();
        let aggregates = aggregates.map(|(name, sql)| format!("{sql} AS {}", quoted(name)));
        let keys_listed = keys.iter().map(|key| quoted(key));
        let select: Vec<String> = keys_listed.chain(aggregates).collect();
        let mut sql = format!("SELECT {} FROM {}", select.join(", "), quoted(table));
        let is_whole = condition.is_none();
        if let Some(condition) = condition {
            sql.push_str(&format!(" WHERE {condition}"));
        }
        if !keys.is_empty() {
            let keys = listed(keys.iter().map(String::as_str));
            sql.push_str(&format!(" GROUP BY {keys}"));
        }
        let schema = self.planned_columns(&sql).ok()?.collect_schema().ok()?;
        let columns = schema
            .iter()
            .map(|(name, ty)| (name.to_string(), ty.clone()));
        Some(Piece {
            table: table.to_owned(),
            sql,
            columns: columns.collect(),
            counted: Some(counted),
            whole: is_whole.then(|| rows.clone()),
        })
    }
}

impl Grouping {
    /// Groups with means, and with this engine's sums of empty sets; `None` if a mean is not exact.
    pub(super) fn groups(&self, mut groups: DataFrame) -> Result<Option<DataFrame>, QueryError> {
        let failed = |error: PolarsError| QueryError::Failed(error.to_string());
        for sum in &self.sums {
            let column = groups.column(sum).map_err(failed)?;
            if column.null_count() > 0 {
                let filled = sums_of_nothing(column).map_err(failed)?;
                groups.with_column(filled?).map_err(failed)?;
            }
        }
        for mean in &self.means {
            let [sum, count, least, most] = &mean.of;
            let mut means: Vec<Option<f64>> = Vec::with_capacity(groups.height());
            for row in 0..groups.height() {
                let count = u64_at(&groups, count, row).unwrap_or(0);
                let whole = |name: &str| {
                    let value = groups.column(name).ok()?.get(row).ok()?;
                    value.extract::<i128>()
                };
                let Some(((sum, least), most)) = whole(sum).zip(whole(least)).zip(whole(most))
                else {
                    means.push(None);
                    continue;
                };
                let largest = least.abs().max(most.abs());
                if largest.saturating_mul(i128::from(count)) > EXACT {
                    return Ok(None);
                }
                means.push(Some(sum as f64 / count as f64));
            }
            let means = Series::new(mean.name.as_str().into(), means);
            groups.with_column(means.into_column()).map_err(failed)?;
        }
        Ok(Some(groups))
    }
}

/// Replaces null by this engine's sum of an empty set.
fn sums_of_nothing(column: &Column) -> PolarsResult<Result<Column, QueryError>> {
    let mut probe = Database::new();
    probe.register("probe", df!["x" => [None::<i64>]]?);
    let sum = match collect(&probe, "SELECT SUM(x) AS s FROM probe") {
        Ok(frame) => i64_at(&frame, "s", 0),
        Err(error) => return Ok(Err(error)),
    };
    Ok(Ok(match sum {
        Some(0) => column.fill_null(FillNullStrategy::Zero)?,
        _ => column.clone(),
    }))
}

fn is_plain_query(query: &Query) -> bool {
    let is_limit = |limit: &LimitClause| match limit {
        LimitClause::LimitOffset { limit_by, .. } => limit_by.is_empty(),
        LimitClause::OffsetCommaLimit { .. } => true,
    };
    query.with.is_none()
        && query.limit_clause.as_ref().is_none_or(is_limit)
        && query.locks.is_empty()
        && query.for_clause.is_none()
        && query.settings.is_none()
        && query.format_clause.is_none()
        && query.pipe_operators.is_empty()
}

/// It selects from one table, with at most a condition, groups and `HAVING`.
fn is_plain(select: &Select) -> bool {
    let is_one = matches!(select.from.as_slice(), [from] if from.joins.is_empty());
    is_one
        && matches!(select.distinct, None | Some(Distinct::Distinct))
        && matches!(&select.group_by, GroupByExpr::Expressions(_, with) if with.is_empty())
        && select.top.is_none()
        && select.exclude.is_none()
        && select.into.is_none()
        && select.lateral_views.is_empty()
        && select.prewhere.is_none()
        && select.connect_by.is_empty()
        && select.cluster_by.is_empty()
        && select.distribute_by.is_empty()
        && select.sort_by.is_empty()
        && select.named_window.is_empty()
        && select.qualify.is_none()
        && select.value_table_mode.is_none()
}

fn keys(select: &Select, scope: &Scope<'_>) -> Option<Vec<String>> {
    let GroupByExpr::Expressions(groups, _) = &select.group_by else {
        return None;
    };
    let mut keys: Vec<String> = Vec::new();
    let mut add = |expr: &Expr| {
        let name = scope.name(expr)?;
        let (key, kind) = match scope.column(expr) {
            Some((name, kind)) => (name, kind),
            None => (scope.text_of_companion(name)?, Kind::Text),
        };
        // Of fractions, some that are equal have several forms.
        (kind != Kind::F64).then_some(())?;
        if !keys.iter().any(|known| known == key) {
            keys.push(key.to_owned());
        }
        Some(())
    };
    if select.distinct.is_some() {
        (groups.is_empty() && select.having.is_none()).then_some(())?;
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    add(expr)?
                }
                _ => return None,
            }
        }
        return Some(keys);
    }
    groups.iter().map(add).collect::<Option<()>>()?;
    // A name that stands for something else in the answer may be what is grouped by.
    let is_other = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { expr, alias } => {
            scope.name(expr) != Some(&alias.value)
                && (scope.stored.column(&alias.value).is_some()
                    || scope.text_of_companion(&alias.value).is_some())
        }
        SelectItem::UnnamedExpr(_) => false,
        _ => true,
    };
    (!select.projection.iter().any(is_other)).then_some(keys)
}

struct Rest<'a> {
    scope: &'a Scope<'a>,
    keys: &'a [String],
    asked: &'a mut GroupColumns,
    aliases: Vec<(String, Expr)>,
}

/// Scalar functions of group values, which this engine computes.
const OF_ROW: [&str; 5] = ["abs", "coalesce", "lower", "round", "upper"];

impl Rest<'_> {
    fn of_select(&mut self, select: &mut Select) -> Option<()> {
        for item in &mut select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => self.of(expr)?,
                SelectItem::ExprWithAlias { expr, alias } => {
                    self.of(expr)?;
                    self.aliases.push((alias.value.clone(), expr.clone()));
                }
                _ => return None,
            }
        }
        select.selection = select.having.take();
        if let Some(having) = &mut select.selection {
            // Where rows are chosen the names of the answer are not known.
            let aliases = self.aliases.clone();
            let mut named = Named(&aliases);
            let _ = having.visit(&mut named);
            self.of(having)?;
        }
        Some(())
    }

    fn of(&mut self, expr: &mut Expr) -> Option<()> {
        match expr.visit(self) {
            ControlFlow::Continue(()) => Some(()),
            ControlFlow::Break(()) => None,
        }
    }

    /// The name is a key, an alias of the result, or a generated column.
    fn is_known(&self, expr: &Expr) -> bool {
        let Some(name) = self.scope.name(expr) else {
            return false;
        };
        let text = self.scope.text_of_companion(name);
        name.starts_with(MADE)
            || self.aliases.iter().any(|(alias, _)| alias == name)
            || self
                .keys
                .iter()
                .any(|key| key == name || Some(key.as_str()) == text)
    }

    /// The column that replaces an aggregate; `None` if it is not an aggregate or not exact.
    fn aggregate(&mut self, call: &Function) -> Option<Expr> {
        let name = call.name.0.as_slice();
        let [name] = name else {
            return None;
        };
        let name = name.as_ident()?.value.to_lowercase();
        let FunctionArguments::List(list) = &call.args else {
            return None;
        };
        let is_plain = call.filter.is_none()
            && call.over.is_none()
            && call.null_treatment.is_none()
            && call.within_group.is_empty()
            && matches!(call.parameters, FunctionArguments::None)
            && matches!(
                list.duplicate_treatment,
                None | Some(DuplicateTreatment::All)
            )
            && list.clauses.is_empty();
        let [FunctionArg::Unnamed(argument)] = list.args.as_slice() else {
            return None;
        };
        is_plain.then_some(())?;
        let made = match argument {
            FunctionArgExpr::Wildcard if name == "count" => {
                self.asked.column("COUNT(*)".to_owned())
            }
            FunctionArgExpr::Expr(expr) => {
                let (column, kind) = self.scope.column(expr)?;
                let column = quoted(column);
                let is_whole = matches!(kind, Kind::I64 | Kind::U64 | Kind::U32);
                let of = |function: &str| format!("{function}({column})");
                match name.as_str() {
                    "count" => self.asked.column(of("COUNT")),
                    "sum" if is_whole => {
                        let made = self.asked.column(of("SUM"));
                        self.asked.sums.push(made.clone());
                        made
                    }
                    "min" | "max" if is_whole || kind == Kind::Text => {
                        self.asked.column(of(&name.to_uppercase()))
                    }
                    "avg" if matches!(kind, Kind::I64 | Kind::U64) => {
                        let of =
                            ["SUM", "COUNT", "MIN", "MAX"].map(|one| self.asked.column(of(one)));
                        let name = format!("{MADE}mean {}", self.asked.means.len());
                        self.asked.means.push(Mean {
                            name: name.clone(),
                            of,
                        });
                        name
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(Expr::Identifier(Ident::with_quote('"', made)))
    }
}

impl VisitorMut for Rest<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
                if self.is_known(expr) {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            }
            Expr::Function(call) => {
                if let Some(made) = self.aggregate(call) {
                    *expr = made;
                    return ControlFlow::Continue(());
                }
                let name = call.name.to_string().to_lowercase();
                if OF_ROW.contains(&name.as_str()) && call.over.is_none() && call.filter.is_none() {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            }
            Expr::Value(_)
            | Expr::Nested(_)
            | Expr::BinaryOp { .. }
            | Expr::UnaryOp { .. }
            | Expr::Case { .. }
            | Expr::Cast { .. }
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::InList { .. }
            | Expr::Between { .. } => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

struct Named<'a>(&'a [(String, Expr)]);

impl VisitorMut for Named<'_> {
    type Break = ();

    /// Post-order, so that replaced expressions are not visited again.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && let Some((_, meant)) = self.0.iter().find(|(alias, _)| *alias == name.value)
        {
            *expr = Expr::Nested(Box::new(meant.clone()));
        }
        ControlFlow::Continue(())
    }
}
