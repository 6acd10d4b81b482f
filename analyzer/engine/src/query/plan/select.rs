//! `SELECT`: groups, windows, the columns of the answer, their order.

use polars::prelude::{
    Expr, JoinArgs, JoinCoalesce, JoinType, LazyFrame, PlSmallStr, UniqueKeepStrategy, col, cols,
    len, lit,
};
use sqlparser::ast::{
    Distinct, ExcludeSelectItem, Expr as Ast, GroupByExpr, Ident, NamedWindowExpr, OrderBy, Select,
    SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
    WindowSpec,
};

use super::aggregate::Aggregate;
use super::expression::{canonical, is_aggregated};
use super::from::{conjuncts, name_of, without_rows};
use super::scope::{Field, Relation};
use super::types::{Typed, repeated};
use super::window::{self, Call};
use super::{
    Answer, Domain, Limit, Planner, SortKey, invalid, order_list, ordinal, set, sort_key,
    unsupported,
};

/// Aliases of the result and their expressions.
pub(super) type Aliases = Vec<(String, Ast)>;

type Step = Box<dyn FnOnce(LazyFrame) -> LazyFrame>;

pub(super) struct Context {
    pub(super) base: Relation,
    pub(super) aliases: Aliases,
    pub(super) expanding: Vec<String>,
    pub(super) grouping: Option<Grouping>,
    pub(super) in_aggregate: bool,
    pub(super) named_windows: Vec<(String, WindowSpec)>,
    pub(super) windows: Vec<Call>,
    pub(super) window_columns: Vec<(Expr, PlSmallStr)>,
    /// Aggregates over whole partitions.
    pub(super) window_sums: Vec<Expr>,
    pub(super) allows_windows: bool,
    later: Vec<Step>,
}

#[derive(Default)]
pub(super) struct Grouping {
    pub(super) keys: Vec<(Ast, Expr, Field)>,
    pub(super) aggregates: Vec<Aggregate>,
    /// Planned aggregates, by their text.
    pub(super) known: Vec<(String, Typed)>,
    pub(super) before: Vec<Expr>,
}

impl Grouping {
    fn any_column(&self) -> Expr {
        let key = self.keys.first().map(|(.., field)| field.id.clone());
        let id = key.or_else(|| self.aggregates.first().map(|one| one.id.clone()));
        id.map_or_else(|| col(ROWS), col)
    }
}

/// Column with the row count, for groups without any other aggregate.
const ROWS: &str = "rows of the group";

impl Context {
    pub(super) fn new(base: Relation) -> Self {
        Self {
            base,
            aliases: Vec::new(),
            expanding: Vec::new(),
            grouping: None,
            in_aggregate: false,
            named_windows: Vec::new(),
            windows: Vec::new(),
            window_columns: Vec::new(),
            window_sums: Vec::new(),
            allows_windows: false,
            later: Vec::new(),
        }
    }

    pub(super) fn is_over_groups(&self) -> bool {
        self.grouping.is_some() && !self.in_aggregate
    }

    /// An expression with a value for each row, even if it is constant.
    pub(super) fn with_rows(&self, expr: Expr) -> Expr {
        match &self.grouping {
            Some(grouping) if !self.in_aggregate => {
                if grouping.keys.is_empty() {
                    return expr;
                }
                with_rows(expr, &grouping.any_column())
            }
            _ => with_rows(expr, &self.base.any_column()),
        }
    }

    pub(super) fn change(&mut self, step: impl FnOnce(LazyFrame) -> LazyFrame + 'static) {
        if self.is_over_groups() {
            self.later.push(Box::new(step));
        } else {
            self.base.frame = step(self.base.frame.clone());
        }
    }
}

struct Output {
    name: String,
    typed: Typed,
}

impl Planner<'_> {
    pub(super) fn select(
        &mut self,
        select: &Select,
        order: Option<&OrderBy>,
        limit: Limit,
        domain: Option<&Domain>,
    ) -> Answer<Relation> {
        check_clauses(select)?;
        let mut conditions = select.selection.as_ref().map(conjuncts).unwrap_or_default();
        let mut base = self.from(&select.from, domain, &mut conditions)?;
        let aliases = aliases(select);
        for condition in &conditions {
            base = self.filter(base, condition, &aliases)?;
        }
        let mut context = Context::new(base);
        context.aliases = aliases;
        context.named_windows = named_windows(select)?;
        self.group(select, order, &mut context)?;
        context.allows_windows = true;
        let all = [SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        let items = match select.flavor {
            SelectFlavor::FromFirstNoSelect => &all[..],
            _ => &select.projection,
        };
        let outputs = self.outputs(items, &mut context)?;
        let orders = order_list(order, outputs.len())?;
        let mut keys: Vec<SortKey> = Vec::new();
        for by in &orders {
            let expr = match ordinal(&by.expr, outputs.len())? {
                Some(at) => outputs[at].typed.clone(),
                None => match output_of(&by.expr, &outputs) {
                    Some(output) => output.typed.clone(),
                    None => self.expr(&by.expr, &mut context)?,
                },
            };
            keys.push(sort_key(expr.wide(), by.options));
        }
        let mut on = Vec::new();
        if let Some(Distinct::On(exprs)) = &select.distinct {
            for expr in exprs {
                on.push(self.expr(expr, &mut context)?.expr);
            }
        }
        let qualify = match &select.qualify {
            Some(condition) => Some(self.expr(condition, &mut context)?.into_truth()?),
            None => None,
        };
        context.allows_windows = false;
        let having = match &select.having {
            Some(condition) => Some(self.expr(condition, &mut context)?.into_truth()?),
            None => None,
        };
        let steps = Steps {
            having,
            qualify,
            outputs,
            keys,
            on,
            limit,
            is_distinct: matches!(select.distinct, Some(Distinct::Distinct)),
        };
        self.assembled(context, steps, domain)
    }

    fn group(
        &mut self,
        select: &Select,
        order: Option<&OrderBy>,
        context: &mut Context,
    ) -> Answer<()> {
        let items = select.projection.iter().filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
            _ => None,
        });
        let items: Vec<&Ast> = items.collect();
        let groups: Vec<Ast> = match &select.group_by {
            GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)
                if !modifiers.is_empty() =>
            {
                return unsupported(
                    "GROUP BY … WITH ROLLUP, CUBE or TOTALS",
                    "UNION ALL of one query for each grouping",
                );
            }
            GroupByExpr::All(_) => {
                let plain = items.iter().filter(|item| !is_aggregated(item));
                plain.map(|item| (*item).clone()).collect()
            }
            GroupByExpr::Expressions(groups, _) => groups.clone(),
        };
        let is_all = matches!(select.group_by, GroupByExpr::All(_));
        let of_order = order_list(order, items.len())?;
        let of_order = of_order.iter().map(|by| &by.expr);
        let mut all = items.iter().copied().chain(&select.having).chain(of_order);
        if groups.is_empty() && !is_all && !all.any(is_aggregated) {
            if select.having.is_some() {
                return invalid("HAVING needs GROUP BY or an aggregate (hint: use WHERE)");
            }
            return Ok(());
        }
        let drops_constants = is_all && items.iter().any(|item| is_aggregated(item));
        let mut grouping = Grouping::default();
        for group in groups {
            let group = match ordinal(&group, items.len())? {
                Some(at) if items.len() == select.projection.len() => items[at].clone(),
                Some(_) => return invalid("GROUP BY takes names where * is selected"),
                None => group,
            };
            if matches!(group, Ast::GroupingSets(_) | Ast::Cube(_) | Ast::Rollup(_)) {
                return unsupported(
                    "GROUPING SETS, CUBE or ROLLUP",
                    "UNION ALL of one query for each grouping",
                );
            }
            let group = resolved_alias(group, context)?;
            let mut typed = self.expr(&group, context)?;
            if typed.is_same_for_all() && drops_constants {
                continue;
            }
            if typed.is_same_for_all() {
                // As a column, which has no value where there are no rows.
                let id = self.new_id();
                let along = context.base.any_column();
                let key = repeated(typed.expr, along).alias(id.clone());
                grouping.before.push(key);
                typed.expr = col(id);
            }
            let id = self.new_id();
            let field = Field {
                qualifier: None,
                name: group.to_string(),
                id,
                ty: typed.ty,
                narrow: typed.narrow,
                shown: true,
            };
            grouping
                .keys
                .push((canonical(&group, &context.base), typed.expr, field));
        }
        context.grouping = Some(grouping);
        Ok(())
    }

    fn outputs(&mut self, items: &[SelectItem], context: &mut Context) -> Answer<Vec<Output>> {
        let mut outputs = Vec::new();
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expr) => outputs.push(Output {
                    name: header(expr, &context.base),
                    typed: self.expr(expr, context)?,
                }),
                SelectItem::ExprWithAlias { expr, alias } => {
                    // Within its own expression, a name is one of a table.
                    context.expanding.push(alias.value.clone());
                    let typed = self.expr(expr, context);
                    context.expanding.pop();
                    outputs.push(Output {
                        name: alias.value.clone(),
                        typed: typed?,
                    });
                }
                SelectItem::Wildcard(options) => {
                    self.wildcard(None, options, context, &mut outputs)?;
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) => {
                    let name = name_of(name)?;
                    self.wildcard(Some(&name), options, context, &mut outputs)?;
                }
                other => return unsupported(other, "name the columns one by one"),
            }
        }
        if outputs.is_empty() {
            return invalid("SELECT needs at least one column");
        }
        Ok(outputs)
    }

    fn wildcard(
        &mut self,
        table: Option<&str>,
        options: &WildcardAdditionalOptions,
        context: &mut Context,
        outputs: &mut Vec<Output>,
    ) -> Answer<()> {
        if options.opt_ilike.is_some()
            || options.opt_rename.is_some()
            || options.opt_alias.is_some()
        {
            return unsupported("* ILIKE or RENAME", "name the columns one by one");
        }
        let excluded: Vec<String> = match (&options.opt_exclude, &options.opt_except) {
            (Some(ExcludeSelectItem::Single(name)), _) => vec![name_of(name)?],
            (Some(ExcludeSelectItem::Multiple(names)), _) => {
                names.iter().map(name_of).collect::<Answer<_>>()?
            }
            (None, Some(except)) => {
                let names = std::iter::once(&except.first_element);
                let names = names.chain(&except.additional_elements);
                names.map(|name| name.value.clone()).collect()
            }
            (None, None) => Vec::new(),
        };
        let is_of_table = |field: &&Field| match table {
            None => field.shown,
            Some(table) => {
                let own = field.qualifier.as_deref().unwrap_or_default();
                let last = own.rsplit('.').next().unwrap_or(own);
                own.eq_ignore_ascii_case(table) || last.eq_ignore_ascii_case(table)
            }
        };
        let fields: Vec<Field> = context
            .base
            .fields
            .iter()
            .filter(is_of_table)
            .cloned()
            .collect();
        if fields.is_empty() {
            let names = context.base.fields.iter();
            let names = names.filter_map(|field| field.qualifier.as_deref());
            return match table {
                Some(table) => Err(crate::query::QueryError::UnknownTable {
                    name: table.to_owned(),
                    nearest: crate::query::nearest(table, names),
                }),
                None => invalid("SELECT * needs FROM"),
            };
        }
        if let Some(name) = excluded
            .iter()
            .find(|name| !fields.iter().any(|field| field.name == **name))
        {
            return Err(context.base.unknown(&[Ident::new(name.as_str())]));
        }
        for field in fields
            .into_iter()
            .filter(|field| !excluded.contains(&field.name))
        {
            let replaced = options.opt_replace.as_ref().and_then(|replace| {
                let mut items = replace.items.iter();
                items.find(|item| item.column_name.value == field.name)
            });
            let typed = match replaced {
                Some(item) => self.expr(&item.expr, context)?,
                None => self.field(&field, context)?,
            };
            outputs.push(Output {
                name: field.name,
                typed,
            });
        }
        Ok(())
    }

    fn assembled(
        &mut self,
        context: Context,
        steps: Steps,
        domain: Option<&Domain>,
    ) -> Answer<Relation> {
        let Context {
            base,
            grouping,
            windows,
            window_columns,
            window_sums,
            later,
            ..
        } = context;
        let outer = base.outer.clone();
        let is_one_group = grouping
            .as_ref()
            .is_some_and(|groups| groups.keys.is_empty());
        let is_grouped = grouping.is_some();
        let mut frame = base.frame.clone();
        let mut any_column = base.any_column();
        if let Some(grouping) = grouping {
            any_column = grouping.any_column();
            frame = grouped(frame, grouping, &outer, domain, base.is_empty);
        }
        for step in later {
            frame = step(frame);
        }
        if let Some(having) = &steps.having {
            frame = frame.filter(having.clone().fill_null(lit(false)));
        }
        if !window_columns.is_empty() {
            let columns = window_columns.into_iter();
            let columns = columns.map(|(expr, id)| with_rows(expr, &any_column).alias(id));
            frame = frame.with_columns_seq(columns.collect::<Vec<_>>());
        }
        if !window_sums.is_empty() {
            frame = frame.with_columns_seq(window_sums);
        }
        if !windows.is_empty() {
            frame = with_calls(frame, windows, &steps, &outer, &any_column);
        }
        if let Some(qualify) = &steps.qualify {
            frame = frame.filter(qualify.clone().fill_null(lit(false)));
        }
        let is_chosen = steps.having.is_some() || steps.qualify.is_some();
        let relation = Relation {
            frame,
            fields: base.fields,
            outer,
            is_ordered: base.is_ordered && !is_grouped,
            is_single: !is_chosen && (base.is_single || (is_one_group && domain.is_none())),
            is_empty: base.is_empty && !is_one_group,
            is_crossed: base.is_crossed,
        };
        self.answered(relation, steps, &any_column)
    }

    fn answered(
        &mut self,
        relation: Relation,
        steps: Steps,
        any_column: &Expr,
    ) -> Answer<Relation> {
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        let mut keys = steps.keys;
        for output in steps.outputs {
            let id = self.new_id();
            for key in &mut keys {
                if key.0 == output.typed.expr || key.0 == output.typed.clone().wide() {
                    key.0 = col(id.clone());
                }
            }
            columns.push(with_rows(output.typed.expr, any_column).alias(id.clone()));
            fields.push(Field {
                qualifier: None,
                name: output.name,
                id,
                ty: output.typed.ty,
                narrow: output.typed.narrow,
                shown: true,
            });
        }
        let outer = relation.outer.clone();
        let kept: Vec<Field> = fields.iter().chain(&outer).cloned().collect();
        let is_shown = |expr: &Expr| fields.iter().any(|field| *expr == field.column());
        if steps.is_distinct && !keys.iter().all(|key| is_shown(&key.0)) {
            return invalid("with DISTINCT, ORDER BY takes what is selected");
        }
        let mut hidden = Vec::new();
        for key in &mut keys {
            if !is_shown(&key.0) && !key.0.clone().meta().root_names().is_empty() {
                let id = self.new_id();
                hidden.push(key.0.clone().alias(id.clone()));
                key.0 = col(id);
            }
        }
        let on: Vec<PlSmallStr> = steps.on.iter().map(|_| self.new_id()).collect();
        let of_on = steps.on.into_iter().zip(&on);
        let of_on = of_on.map(|(expr, id)| with_rows(expr, any_column).alias(id.clone()));
        columns.extend(hidden);
        columns.extend(of_on);
        columns.extend(outer.iter().map(Field::column));
        let frame = relation.frame.clone().select_seq(columns);
        let mut relation = Relation {
            frame,
            fields: fields.clone(),
            ..relation
        };
        if steps.is_distinct {
            relation.frame = set::distinct(relation.frame, &kept);
            relation.is_ordered = relation.is_single;
        }
        if !on.is_empty() {
            let none = Limit::default();
            relation = self.sorted(relation, keys, &fields, none);
            let subset = on
                .into_iter()
                .chain(outer.iter().map(|field| field.id.clone()));
            let first = UniqueKeepStrategy::First;
            relation.frame = relation.frame.unique_stable(Some(cols(subset)), first);
            keys = Vec::new();
            relation.is_single = false;
        }
        if outer.is_empty() {
            relation = self.sorted(relation, keys, &fields, steps.limit);
        } else if steps.limit.is_any() {
            relation.frame = self.cut_by_outer(relation.frame, keys, &outer, steps.limit);
        }
        let kept: Vec<Expr> = kept.iter().map(Field::column).collect();
        relation.frame = relation.frame.select_seq(kept);
        Ok(relation)
    }

    /// Applies the limit of a correlated subquery, for each row of the enclosing query.
    fn cut_by_outer(
        &mut self,
        frame: LazyFrame,
        keys: Vec<SortKey>,
        outer: &[Field],
        limit: Limit,
    ) -> LazyFrame {
        let id = self.new_id();
        let call = Call::row_number(id.clone(), outer);
        let frame = if keys.is_empty() {
            frame
        } else {
            super::sort(frame, keys)
        };
        let offset = i64::try_from(limit.offset).unwrap_or(i64::MAX);
        let mut is_in = col(id.clone()).gt(lit(offset));
        if let Some(rows) = limit.rows {
            let last = offset.saturating_add_unsigned(rows);
            is_in = is_in.and(col(id).lt_eq(lit(last)));
        }
        window::with_windows(frame, vec![call]).filter(is_in)
    }
}

/// The rows with the columns of window functions, and those other columns that are read.
fn with_calls(
    frame: LazyFrame,
    mut windows: Vec<Call>,
    steps: &Steps,
    outer: &[Field],
    any_column: &Expr,
) -> LazyFrame {
    let outer: Vec<PlSmallStr> = outer.iter().map(|field| field.id.clone()).collect();
    for call in &mut windows {
        call.partition.extend(outer.iter().cloned());
    }
    let mut read = outer;
    let exprs = steps.outputs.iter().map(|output| &output.typed.expr);
    let exprs = exprs.chain(steps.keys.iter().map(|key| &key.0));
    let exprs = exprs.chain(&steps.on).chain(&steps.qualify);
    read.extend(exprs.flat_map(|expr| expr.clone().meta().root_names()));
    read.extend(windows.iter().flat_map(Call::columns));
    read.extend(any_column.clone().meta().root_names());
    read.retain(|name| !windows.iter().any(|call| call.id == *name));
    read.sort_unstable();
    read.dedup();
    let read: Vec<Expr> = read.into_iter().map(col).collect();
    window::with_windows(frame.select_seq(read), windows)
}

struct Steps {
    having: Option<Expr>,
    qualify: Option<Expr>,
    outputs: Vec<Output>,
    keys: Vec<SortKey>,
    on: Vec<Expr>,
    limit: Limit,
    is_distinct: bool,
}

fn grouped(
    mut frame: LazyFrame,
    grouping: Grouping,
    outer: &[Field],
    domain: Option<&Domain>,
    is_empty: bool,
) -> LazyFrame {
    if !grouping.before.is_empty() {
        frame = frame.with_columns_seq(grouping.before);
    }
    if is_empty {
        frame = without_rows(frame);
    }
    let mut aggregates: Vec<Expr> = grouping
        .aggregates
        .iter()
        .map(|aggregate| aggregate.expr.clone().alias(aggregate.id.clone()))
        .collect();
    if aggregates.is_empty() && grouping.keys.is_empty() {
        aggregates.push(len().alias(ROWS));
    }
    let keys = grouping.keys.into_iter();
    let mut keys: Vec<Expr> = keys.map(|(_, expr, field)| expr.alias(field.id)).collect();
    let is_one_group = keys.is_empty();
    if is_one_group && outer.is_empty() {
        return frame.select_seq(aggregates);
    }
    keys.extend(outer.iter().map(Field::column));
    let groups = frame.group_by(keys).agg(aggregates);
    let Some(domain) = domain.filter(|_| is_one_group) else {
        return groups;
    };
    // What the query around has no rows for is a group of none.
    let keys: Vec<Expr> = outer.iter().map(Field::column).collect();
    let mut args = JoinArgs::new(JoinType::Left).with_coalesce(JoinCoalesce::CoalesceColumns);
    args.nulls_equal = true;
    let all = domain.frame.clone().join(groups, keys.clone(), keys, args);
    let counts = grouping.aggregates.iter().filter(|one| one.is_count);
    let counts: Vec<Expr> = counts
        .map(|one| col(one.id.clone()).fill_null(lit(0)))
        .collect();
    if counts.is_empty() {
        all
    } else {
        all.with_columns_seq(counts)
    }
}

/// An expression with a value for each row, even if it is constant.
fn with_rows(expr: Expr, any_column: &Expr) -> Expr {
    if expr.clone().meta().root_names().is_empty() {
        repeated(expr, any_column.clone())
    } else {
        expr
    }
}

fn check_clauses(select: &Select) -> Answer<()> {
    let other = [
        (select.top.is_some(), "TOP", "LIMIT"),
        (select.into.is_some(), "INTO", "query … -o FILE"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW", ""),
        (select.prewhere.is_some(), "PREWHERE", "WHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY", "joins"),
        (!select.cluster_by.is_empty(), "CLUSTER BY", "ORDER BY"),
        (
            !select.distribute_by.is_empty(),
            "DISTRIBUTE BY",
            "ORDER BY",
        ),
        (!select.sort_by.is_empty(), "SORT BY", "ORDER BY"),
        (select.value_table_mode.is_some(), "SELECT AS STRUCT", ""),
    ];
    for (is_there, what, instead) in other {
        if is_there {
            return unsupported(what, instead);
        }
    }
    Ok(())
}

fn aliases(select: &Select) -> Aliases {
    let named = select.projection.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.clone(), expr.clone())),
        _ => None,
    });
    named.collect()
}

fn named_windows(select: &Select) -> Answer<Vec<(String, WindowSpec)>> {
    let mut named: Vec<(String, WindowSpec)> = Vec::new();
    for window in &select.named_window {
        let spec = match &window.1 {
            NamedWindowExpr::WindowSpec(spec) => spec.clone(),
            NamedWindowExpr::NamedWindow(name) => {
                let known = named.iter().find(|(known, _)| *known == name.value);
                match known {
                    Some((_, spec)) => spec.clone(),
                    None => return invalid(format!("there is no window {name}")),
                }
            }
        };
        named.push((window.0.value.clone(), spec));
    }
    Ok(named)
}

/// The expression of an alias in `GROUP BY`, unless a column has the same name.
fn resolved_alias(expr: Ast, context: &Context) -> Answer<Ast> {
    let Ast::Identifier(name) = &expr else {
        return Ok(expr);
    };
    if context.base.find(std::slice::from_ref(name))?.is_some() {
        return Ok(expr);
    }
    let aliased = context
        .aliases
        .iter()
        .find(|(alias, _)| *alias == name.value);
    Ok(aliased.map_or(expr.clone(), |(_, aliased)| aliased.clone()))
}

fn output_of<'a>(expr: &Ast, outputs: &'a [Output]) -> Option<&'a Output> {
    let Ast::Identifier(name) = expr else {
        return None;
    };
    let mut exact = outputs.iter();
    let exact = exact.find(|output| output.name == name.value);
    exact.or_else(|| {
        let is = |output: &&Output| {
            name.quote_style.is_none() && output.name.eq_ignore_ascii_case(&name.value)
        };
        outputs.iter().find(is)
    })
}

/// The name of an unnamed result column: that of the column, or the expression as written.
fn header(expr: &Ast, relation: &Relation) -> String {
    let parts = match expr {
        Ast::Identifier(name) => std::slice::from_ref(name),
        Ast::CompoundIdentifier(parts) => parts.as_slice(),
        Ast::Nested(inner) => return header(inner, relation),
        _ => return expr.to_string(),
    };
    if let Ok(Some(field)) = relation.find(parts) {
        return field.name;
    }
    parts
        .last()
        .map_or_else(String::new, |name| name.value.clone())
}
