//! Window functions: rows are ordered by partition and key once, and values are made over frames of neighbours.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use polars::prelude::{
    BooleanChunked, ChunkCompareEq, Column, DataFrame, DataType, Expr, Float64Chunked, IdxCa,
    IdxSize, Int64Chunked, IntoColumn, LazyFrame, NULL, NewChunkedArray, OptFlags, PlSmallStr,
    PolarsResult, Schema, SchemaRef, Series, SortMultipleOptions, UInt64Chunked, col, lit,
    polars_err, when,
};
use sqlparser::ast::{
    Expr as Ast, Function, FunctionArgumentClause, FunctionArguments, NullTreatment, Value,
    WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::scope::Field;
use super::select::Context;
use super::types::{Constant, Ty, Typed};
use super::{Answer, Planner, aggregate, invalid, sort_key, unsupported};

pub(super) const NAMES: &[&str] = &[
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];

pub(super) fn is_window_only(name: &str) -> bool {
    NAMES.contains(&name)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile(usize),
    /// The value this many rows before, or after if negative.
    Lag(i64),
    First,
    Last,
    Nth(usize),
    CountRows,
    Count,
    Sum,
    Mean,
    Min,
    Max,
}

/// A bound of a frame, in rows relative to the current one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    Start,
    Rows(i64),
    /// The rows equal to the current one in the order.
    Peers,
    End,
}

/// A call of a window function. Columns are named as in the frame.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) id: PlSmallStr,
    pub(super) kind: Kind,
    argument: Option<PlSmallStr>,
    /// Value of `LAG` and `LEAD` if there is no such row.
    default: Option<PlSmallStr>,
    pub(super) partition: Vec<PlSmallStr>,
    /// Column, descending, nulls first.
    order: Vec<(PlSmallStr, bool, bool)>,
    frame: (Bound, Bound),
    ignores_nulls: bool,
}

impl Call {
    /// Numbers the rows of a partition in their current order.
    pub(super) fn row_number(id: PlSmallStr, partition: &[Field]) -> Self {
        Self {
            id,
            kind: Kind::RowNumber,
            argument: None,
            default: None,
            partition: partition.iter().map(|field| field.id.clone()).collect(),
            order: Vec::new(),
            frame: (Bound::Start, Bound::End),
            ignores_nulls: false,
        }
    }
}

impl Call {
    pub(super) fn columns(&self) -> impl Iterator<Item = PlSmallStr> {
        let order = self.order.iter().map(|key| &key.0);
        let all = self.partition.iter().chain(order).chain(&self.argument);
        all.chain(&self.default).cloned()
    }
}

impl Planner<'_> {
    pub(super) fn window_call(
        &mut self,
        call: &Function,
        name: &str,
        context: &mut Context,
    ) -> Answer<Typed> {
        if !context.allows_windows || context.in_aggregate {
            return invalid(format!(
                "{call} is a window function, which is not allowed here (hint: use QUALIFY, or a subquery)"
            ));
        }
        let spec = spec_of(call, context)?;
        context.allows_windows = false;
        let planned = self.window(call, name, &spec, context);
        context.allows_windows = true;
        planned
    }

    fn window(
        &mut self,
        call: &Function,
        name: &str,
        spec: &WindowSpec,
        context: &mut Context,
    ) -> Answer<Typed> {
        let mut partition = Vec::new();
        for key in &spec.partition_by {
            let key = self.expr(key, context)?;
            let column = self.window_column(key.expr, context);
            if !partition.contains(&column) {
                partition.push(column);
            }
        }
        let mut order = Vec::new();
        for by in &spec.order_by {
            let key = sort_key(self.expr(&by.expr, context)?.wide(), by.options);
            let column = self.window_column(key.0, context);
            let is_known = |known: &(PlSmallStr, bool, bool)| known.0 == column;
            if !order.iter().any(is_known) && !partition.contains(&column) {
                order.push((column, key.1, key.2));
            }
        }
        let frame = frame_of(spec.window_frame.as_ref(), !spec.order_by.is_empty())?;
        let ignores_nulls = ignores_nulls(call);
        let mut bare = call.clone();
        bare.null_treatment = None;
        if let FunctionArguments::List(list) = &mut bare.args {
            let is_nulls = |clause: &FunctionArgumentClause| {
                matches!(clause, FunctionArgumentClause::IgnoreOrRespectNulls(_))
            };
            list.clauses.retain(|clause| !is_nulls(clause));
        }
        let input = self.input(&bare, context)?;
        let is_whole = frame == (Bound::Start, Bound::End);
        let kind = kind_of(name, &input.arguments)?;
        let is_simple = !input.is_distinct && input.order.is_empty();
        let Some(kind) = kind.filter(|_| is_simple) else {
            if !aggregate::is_aggregate(name) {
                return invalid(format!("{name}() is not a window function"));
            }
            if !is_whole {
                return unsupported(
                    format!("{name}() over a part of a partition"),
                    "leave ORDER BY out of OVER, or join the rows with themselves",
                );
            }
            return self.aggregate_of_partition(name, input, partition, context);
        };
        let value = input.arguments.first();
        let (ty, narrow) = match kind {
            Kind::Mean | Kind::PercentRank | Kind::CumeDist => (Ty::Float, false),
            Kind::Lag(_) | Kind::First | Kind::Last | Kind::Nth(_) | Kind::Min | Kind::Max => {
                (value.map_or(Ty::Null, |value| value.ty), false)
            }
            Kind::Sum => match value.map(|value| value.ty) {
                Some(Ty::Float) => (Ty::Float, false),
                Some(Ty::UInt) => (Ty::UInt, false),
                _ => (Ty::Int, false),
            },
            _ => (Ty::Int, false),
        };
        let value = value.cloned();
        let argument = match (kind, value) {
            (Kind::CountRows, _) => input.filter.clone().map(|filter| {
                let rows = when(filter).then(lit(true)).otherwise(lit(NULL));
                self.window_column(rows, context)
            }),
            (Kind::Ntile(_), _) | (_, None) => None,
            (_, Some(value)) => {
                let value = match kind {
                    Kind::Sum | Kind::Mean => value.into_number()?.wide(),
                    _ => value.wide(),
                };
                let value = match &input.filter {
                    Some(filter) => when(filter.clone()).then(value).otherwise(lit(NULL)),
                    None => value,
                };
                Some(self.window_column(value, context))
            }
        };
        let default = match (kind, input.arguments.into_iter().nth(2)) {
            (Kind::Lag(_), Some(default)) => {
                let default = default.into_type(ty)?;
                Some(self.window_column(default, context))
            }
            _ => None,
        };
        let kind = match kind {
            Kind::CountRows if argument.is_some() => Kind::Count,
            kind => kind,
        };
        let id = self.new_id();
        context.windows.push(Call {
            id: id.clone(),
            kind,
            argument,
            default,
            partition,
            order,
            frame,
            ignores_nulls,
        });
        Ok(Typed {
            narrow,
            ..Typed::new(col(id), ty)
        })
    }

    fn aggregate_of_partition(
        &mut self,
        name: &str,
        mut input: aggregate::Input,
        partition: Vec<PlSmallStr>,
        context: &mut Context,
    ) -> Answer<Typed> {
        for argument in &mut input.arguments {
            if argument.constant.is_none() {
                let expr = argument.clone().wide();
                argument.narrow = false;
                argument.expr = col(self.window_column(expr, context));
            }
        }
        let outer = context.base.outer.iter().map(|field| field.id.clone());
        let partition: Vec<Expr> = partition.into_iter().chain(outer).map(col).collect();
        let mut failure = None;
        let mut made = Vec::new();
        let mut column = |expr: Expr, _: bool| {
            let id = self.new_id();
            let over = if partition.is_empty() {
                Ok(expr)
            } else {
                expr.over(&partition)
            };
            match over {
                Ok(expr) => made.push(expr.alias(id.clone())),
                Err(error) => failure = Some(error),
            }
            col(id)
        };
        let typed = aggregate::aggregated(name, input, &mut column)?;
        if let Some(error) = failure {
            return invalid(error.to_string());
        }
        context.window_sums.extend(made);
        Ok(typed)
    }

    fn window_column(&mut self, expr: Expr, context: &mut Context) -> PlSmallStr {
        let mut known = context.window_columns.iter();
        let known = known.find_map(|(known, id)| (*known == expr).then(|| id.clone()));
        known.unwrap_or_else(|| {
            let id = self.new_id();
            context.window_columns.push((expr, id.clone()));
            id
        })
    }
}

fn spec_of(call: &Function, context: &Context) -> Answer<WindowSpec> {
    let named = |name: &sqlparser::ast::Ident| {
        let mut known = context.named_windows.iter();
        match known.find(|(known, _)| *known == name.value) {
            Some((_, spec)) => Ok(spec.clone()),
            None => invalid(format!("there is no window {name}")),
        }
    };
    match &call.over {
        Some(WindowType::NamedWindow(name)) => named(name),
        Some(WindowType::WindowSpec(spec)) => match &spec.window_name {
            None => Ok(spec.clone()),
            Some(name) => {
                let base = named(name)?;
                Ok(WindowSpec {
                    window_name: None,
                    partition_by: base.partition_by,
                    order_by: if spec.order_by.is_empty() {
                        base.order_by
                    } else {
                        spec.order_by.clone()
                    },
                    window_frame: spec.window_frame.clone().or(base.window_frame),
                })
            }
        },
        None => invalid(format!("{call} needs OVER (…)")),
    }
}

fn ignores_nulls(call: &Function) -> bool {
    let of_clause = match &call.args {
        FunctionArguments::List(list) => list.clauses.iter().any(|clause| {
            matches!(
                clause,
                FunctionArgumentClause::IgnoreOrRespectNulls(NullTreatment::IgnoreNulls)
            )
        }),
        _ => false,
    };
    of_clause || call.null_treatment == Some(NullTreatment::IgnoreNulls)
}

/// The function with this name; `None` for an aggregate that is only supported over whole partitions.
fn kind_of(name: &str, arguments: &[Typed]) -> Answer<Option<Kind>> {
    let whole = |at: usize, otherwise: i64| match arguments.get(at) {
        None => Ok(otherwise),
        Some(typed) => match typed.constant {
            Some(Constant::Int(number)) => i64::try_from(number)
                .or_else(|_| invalid(format!("{number} rows are too many for {name}()"))),
            _ => invalid(format!("{name}() takes a literal whole number")),
        },
    };
    let (least, most) = match name {
        "row_number" | "rank" | "dense_rank" | "percent_rank" | "cume_dist" => (0, 0),
        "ntile" | "first_value" | "last_value" => (1, 1),
        "lag" | "lead" => (1, 3),
        "nth_value" => (2, 2),
        _ => (0, usize::MAX),
    };
    if !(least..=most).contains(&arguments.len()) {
        return invalid(format!(
            "{name}() does not take {} arguments",
            arguments.len()
        ));
    }
    Ok(Some(match name {
        "row_number" => Kind::RowNumber,
        "rank" => Kind::Rank,
        "dense_rank" => Kind::DenseRank,
        "percent_rank" => Kind::PercentRank,
        "cume_dist" => Kind::CumeDist,
        "ntile" => match usize::try_from(whole(0, 0)?) {
            Ok(parts @ 1..) => Kind::Ntile(parts),
            _ => return invalid("ntile() takes a number greater than 0"),
        },
        "lag" => Kind::Lag(whole(1, 1)?),
        "lead" => Kind::Lag(-whole(1, 1)?),
        "first_value" | "first" => Kind::First,
        "last_value" | "last" => Kind::Last,
        "nth_value" => match usize::try_from(whole(1, 1)?) {
            Ok(nth @ 1..) => Kind::Nth(nth),
            _ => return invalid("nth_value() takes a number greater than 0"),
        },
        "count" if arguments.is_empty() => Kind::CountRows,
        "count" => Kind::Count,
        "sum" => Kind::Sum,
        "avg" | "mean" => Kind::Mean,
        "min" => Kind::Min,
        "max" => Kind::Max,
        _ => return Ok(None),
    }))
}

fn frame_of(frame: Option<&WindowFrame>, is_ordered: bool) -> Answer<(Bound, Bound)> {
    let Some(frame) = frame else {
        return Ok(if is_ordered {
            (Bound::Start, Bound::Peers)
        } else {
            (Bound::Start, Bound::End)
        });
    };
    let bound = |bound: &WindowFrameBound| match (bound, frame.units) {
        (WindowFrameBound::Preceding(None), _) => Ok(Bound::Start),
        (WindowFrameBound::Following(None), _) => Ok(Bound::End),
        (WindowFrameBound::CurrentRow, WindowFrameUnits::Rows) => Ok(Bound::Rows(0)),
        (WindowFrameBound::CurrentRow, _) => Ok(Bound::Peers),
        (WindowFrameBound::Preceding(Some(rows)), WindowFrameUnits::Rows) => {
            Ok(Bound::Rows(-rows_of(rows)?))
        }
        (WindowFrameBound::Following(Some(rows)), WindowFrameUnits::Rows) => {
            Ok(Bound::Rows(rows_of(rows)?))
        }
        _ => unsupported(
            "RANGE or GROUPS with a distance",
            "ROWS, or join the rows with themselves",
        ),
    };
    let end = match &frame.end_bound {
        Some(end) => bound(end)?,
        None => bound(&WindowFrameBound::CurrentRow)?,
    };
    let start = bound(&frame.start_bound)?;
    if start == Bound::End || end == Bound::Start {
        return invalid("the frame of a window ends before it begins");
    }
    Ok((start, end))
}

fn rows_of(expr: &Ast) -> Answer<i64> {
    if let Ast::Value(value) = expr
        && let Value::Number(digits, _) = &value.value
        && let Ok(rows) = digits.parse()
    {
        return Ok(rows);
    }
    invalid(format!("a frame takes a number of rows, and not {expr}"))
}

pub(super) fn with_windows(frame: LazyFrame, calls: Vec<Call>) -> LazyFrame {
    let calls = Arc::new(calls);
    let of_schema = calls.clone();
    let schema = move |input: &Schema| -> PolarsResult<SchemaRef> {
        let mut schema = input.clone();
        for call in of_schema.iter() {
            let argument = call.argument.as_ref().and_then(|name| input.get(name));
            schema.insert(call.id.clone(), dtype_of(call.kind, argument));
        }
        Ok(Arc::new(schema))
    };
    let compute = move |mut frame: DataFrame| {
        let rows = frame.height();
        let mut made: Vec<Column> = Vec::new();
        let mut sorted: Option<Sorted> = None;
        for call in calls.iter() {
            let is_same = |one: &Sorted| one.partition == call.partition && one.order == call.order;
            let own = match sorted.take().filter(is_same) {
                Some(own) => own,
                None => Sorted::new(&frame, call)?,
            };
            made.push(own.column(&frame, call, rows)?);
            sorted = Some(own);
        }
        for column in made {
            frame.with_column(column)?;
        }
        Ok(frame)
    };
    // All columns are needed, and all rows.
    let none = OptFlags::empty();
    frame.map(compute, none, Some(Arc::new(schema)), Some("windows"))
}

fn dtype_of(kind: Kind, argument: Option<&DataType>) -> DataType {
    match kind {
        Kind::Mean | Kind::PercentRank | Kind::CumeDist => DataType::Float64,
        Kind::Lag(_) | Kind::First | Kind::Last | Kind::Nth(_) | Kind::Min | Kind::Max => {
            argument.cloned().unwrap_or(DataType::Null)
        }
        Kind::Sum => match argument {
            Some(dtype @ (DataType::Float64 | DataType::UInt64)) => dtype.clone(),
            _ => DataType::Int64,
        },
        _ => DataType::Int64,
    }
}

struct Sorted {
    partition: Vec<PlSmallStr>,
    order: Vec<(PlSmallStr, bool, bool)>,
    rows: Vec<IdxSize>,
    partitions: Vec<Range<usize>>,
    /// For each position, the range of positions with equal sort keys.
    peers: Vec<Range<usize>>,
}

impl Sorted {
    fn new(frame: &DataFrame, call: &Call) -> PolarsResult<Self> {
        let height = frame.height();
        let count = IdxSize::try_from(height);
        let count = count.map_err(|_| polars_err!(ComputeError: "a window has too many rows"))?;
        let mut rows: Vec<IdxSize> = (0..count).collect();
        let names = call
            .partition
            .iter()
            .chain(call.order.iter().map(|key| &key.0));
        let names: Vec<PlSmallStr> = names.cloned().collect();
        let mut keys = frame.select(names.clone())?;
        if !names.is_empty() && height > 0 {
            let number = IdxCa::from_vec("row of the frame".into(), rows);
            keys.with_column(number.into_column())?;
            let whole = call.partition.iter().map(|_| (false, false));
            let options: Vec<(bool, bool)> = whole
                .chain(call.order.iter().map(|key| (key.1, key.2)))
                .collect();
            let options = SortMultipleOptions::default()
                .with_order_descending_multi(options.iter().map(|one| one.0))
                .with_nulls_last_multi(options.iter().map(|one| !one.1))
                .with_maintain_order(true);
            keys = keys.sort(names, options)?;
            let numbers = keys.column("row of the frame")?.idx()?;
            rows = numbers.iter().flatten().collect();
        }
        let is_new = |names: &mut dyn Iterator<Item = &PlSmallStr>| -> PolarsResult<Vec<bool>> {
            let mut is_new = vec![false; height];
            for name in names {
                let column = keys.column(name)?.as_materialized_series().rechunk();
                if height < 2 {
                    continue;
                }
                let before = column.slice(0, height - 1);
                let differs: BooleanChunked =
                    column.slice(1, height - 1).not_equal_missing(&before)?;
                for (is_new, differs) in is_new[1..].iter_mut().zip(differs.iter()) {
                    *is_new |= differs == Some(true);
                }
            }
            Ok(is_new)
        };
        let of_partition = is_new(&mut call.partition.iter())?;
        let of_order = is_new(&mut call.order.iter().map(|key| &key.0))?;
        let partitions = ranges(height, |at| of_partition[at]);
        let groups = ranges(height, |at| of_partition[at] || of_order[at]);
        let peers = groups
            .into_iter()
            .flat_map(|range| std::iter::repeat_n(range.clone(), range.len()));
        Ok(Self {
            partition: call.partition.clone(),
            order: call.order.clone(),
            rows,
            partitions,
            peers: peers.collect(),
        })
    }

    /// The values of a call, in frame order.
    fn column(&self, frame: &DataFrame, call: &Call, height: usize) -> PolarsResult<Column> {
        let mut places: Vec<IdxSize> = vec![0; height];
        for (place, row) in self.rows.iter().enumerate() {
            places[*row as usize] = place as IdxSize;
        }
        let argument = match &call.argument {
            Some(name) => {
                let column = frame.column(name)?.as_materialized_series();
                Some(column.take_slice(&self.rows)?)
            }
            None => None,
        };
        let values = self.values(call, argument.as_ref())?;
        let mut values = values.take_slice(&places)?;
        if let Some(default) = &call.default {
            // Where there is no such row, and not where it holds NULL.
            let offset = match call.kind {
                Kind::Lag(offset) => offset,
                _ => 0,
            };
            let outside = self.outside(offset);
            let outside = places.iter().map(|place| outside[*place as usize]);
            let outside = BooleanChunked::from_iter_values("".into(), outside);
            let default = frame.column(default)?.as_materialized_series();
            let default = default.cast(values.dtype())?;
            values = default.zip_with(&outside, &values)?;
        }
        Ok(values.with_name(call.id.clone()).into_column())
    }

    /// True for positions whose row `offset` rows before is outside the partition.
    fn outside(&self, offset: i64) -> Vec<bool> {
        let mut outside = Vec::with_capacity(self.rows.len());
        for range in &self.partitions {
            for place in range.clone() {
                let at = place as i64 - offset;
                outside.push(at < range.start as i64 || at >= range.end as i64);
            }
        }
        outside
    }

    /// The values of a call, in sorted order.
    fn values(&self, call: &Call, argument: Option<&Series>) -> PolarsResult<Series> {
        let each = |value: &dyn Fn(&Range<usize>, usize) -> i64| {
            let all = self.partitions.iter().flat_map(|range| {
                let range = range.clone();
                range.clone().map(move |place| value(&range, place))
            });
            Series::from(Int64Chunked::from_iter_values(
                "".into(),
                all.collect::<Vec<_>>().into_iter(),
            ))
        };
        let fractions = |value: &dyn Fn(&Range<usize>, usize) -> f64| {
            let all = self.partitions.iter().flat_map(|range| {
                let range = range.clone();
                range.clone().map(move |place| value(&range, place))
            });
            let all: Vec<f64> = all.collect();
            Series::from(Float64Chunked::from_vec("".into(), all))
        };
        let peers = |place: usize| &self.peers[place];
        Ok(match call.kind {
            Kind::RowNumber => each(&|range, place| (place - range.start + 1) as i64),
            Kind::Rank => each(&|range, place| (peers(place).start - range.start + 1) as i64),
            Kind::DenseRank => {
                let mut ranks = Vec::with_capacity(self.rows.len());
                for range in &self.partitions {
                    let mut rank = 0;
                    for place in range.clone() {
                        rank += i64::from(peers(place).start == place);
                        ranks.push(rank);
                    }
                }
                Series::from(Int64Chunked::from_vec("".into(), ranks))
            }
            Kind::PercentRank => fractions(&|range, place| match range.len() {
                1 => 0.0,
                rows => (peers(place).start - range.start) as f64 / (rows - 1) as f64,
            }),
            Kind::CumeDist => fractions(&|range, place| {
                (peers(place).end - range.start) as f64 / range.len() as f64
            }),
            Kind::Ntile(parts) => each(&|range, place| {
                let (rows, at) = (range.len(), place - range.start);
                let (least, more) = (rows / parts, rows % parts);
                let of_large = more * (least + 1);
                let part = if at < of_large {
                    at / (least + 1)
                } else {
                    more + (at - of_large) / least.max(1)
                };
                (part + 1) as i64
            }),
            Kind::CountRows => {
                let frames = self.frames(call);
                let counts: Vec<i64> = frames.iter().map(|frame| frame.len() as i64).collect();
                Series::from(Int64Chunked::from_vec("".into(), counts))
            }
            _ => match argument {
                Some(argument) => self.of_argument(call, argument)?,
                None => Series::full_null("".into(), self.rows.len(), &DataType::Int64),
            },
        })
    }

    fn of_argument(&self, call: &Call, argument: &Series) -> PolarsResult<Series> {
        let valid: Vec<bool> = argument
            .is_not_null()
            .iter()
            .map(|is| is == Some(true))
            .collect();
        let chosen = |place: Vec<Option<IdxSize>>| {
            let places: IdxCa = place.into_iter().collect();
            argument.take(&places)
        };
        match call.kind {
            Kind::Lag(offset) => chosen(self.lagged(offset, call.ignores_nulls, &valid)),
            Kind::First | Kind::Last | Kind::Nth(_) => {
                let passes = |place: &usize| !call.ignores_nulls || valid[*place];
                let frames = self.frames(call);
                let value = |frame: &Range<usize>| {
                    let mut frame = frame.clone();
                    let place = match call.kind {
                        Kind::First => frame.find(passes),
                        Kind::Last => frame.rev().find(passes),
                        Kind::Nth(nth) => frame.filter(passes).nth(nth - 1),
                        _ => None,
                    };
                    place.map(|place| place as IdxSize)
                };
                chosen(frames.iter().map(value).collect())
            }
            Kind::Min | Kind::Max => {
                let order = ranks_of(argument)?;
                let is_min = call.kind == Kind::Min;
                let better = |a: usize, b: usize| {
                    let order = order[a].cmp(&order[b]);
                    (order == Ordering::Less) == is_min && order != Ordering::Equal
                };
                let mut best = Running::new(|place: usize, best: &mut Option<usize>| {
                    if valid[place] && best.is_none_or(|known| better(place, known)) {
                        *best = Some(place);
                    }
                });
                let frames = self.frames(call);
                let found = best.over(&frames);
                chosen(
                    found
                        .into_iter()
                        .map(|best| best.map(|at| at as IdxSize))
                        .collect(),
                )
            }
            _ => self.summed(call, argument, &valid),
        }
    }

    fn lagged(&self, offset: i64, ignores_nulls: bool, valid: &[bool]) -> Vec<Option<IdxSize>> {
        let mut all = Vec::with_capacity(self.rows.len());
        for range in &self.partitions {
            for place in range.clone() {
                let found = if ignores_nulls && offset != 0 {
                    let count = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX) - 1;
                    if offset > 0 {
                        (range.start..place)
                            .rev()
                            .filter(|at| valid[*at])
                            .nth(count)
                    } else {
                        (place + 1..range.end).filter(|at| valid[*at]).nth(count)
                    }
                } else {
                    let at = (place as i64).checked_sub(offset);
                    let at = at.and_then(|at| usize::try_from(at).ok());
                    at.filter(|at| range.contains(at))
                };
                all.push(found.map(|at| at as IdxSize));
            }
        }
        all
    }

    fn summed(&self, call: &Call, argument: &Series, valid: &[bool]) -> PolarsResult<Series> {
        let frames = self.frames(call);
        let mut count =
            Running::new(|place: usize, count: &mut i64| *count += i64::from(valid[place]));
        let counts = count.over(&frames);
        if call.kind == Kind::Count {
            return Ok(Series::from(Int64Chunked::from_vec("".into(), counts)));
        }
        let is_float = matches!(argument.dtype(), DataType::Float64);
        let (mut whole, mut fractions) = (Vec::new(), Vec::new());
        if is_float {
            let values: Vec<f64> = argument
                .f64()?
                .iter()
                .map(Option::unwrap_or_default)
                .collect();
            let mut sum = Running::new(|place: usize, sum: &mut f64| *sum += values[place]);
            fractions = sum.over(&frames);
        } else {
            let values: Vec<i128> = match argument.dtype() {
                DataType::UInt64 => {
                    let values = argument.u64()?.iter();
                    values.map(|value| i128::from(value.unwrap_or(0))).collect()
                }
                _ => {
                    let values = argument.cast(&DataType::Int64)?;
                    let values = values.i64()?.iter();
                    values.map(|value| i128::from(value.unwrap_or(0))).collect()
                }
            };
            let mut sum = Running::new(|place: usize, sum: &mut i128| *sum += values[place]);
            whole = sum.over(&frames);
        }
        let there = |at: usize| counts[at] > 0;
        let too_large = || polars_err!(ComputeError: "a SUM over a window does not fit into 64 bits (hint: SUM(CAST(… AS DOUBLE)))");
        let rows = 0..counts.len();
        if call.kind == Kind::Mean {
            let mean = |at: usize| {
                let sum = if is_float {
                    fractions[at]
                } else {
                    whole[at] as f64
                };
                there(at).then(|| sum / counts[at] as f64)
            };
            return Ok(Series::from(rows.map(mean).collect::<Float64Chunked>()));
        }
        if is_float {
            let sum = |at: usize| there(at).then(|| fractions[at]);
            return Ok(Series::from(rows.map(sum).collect::<Float64Chunked>()));
        }
        if matches!(argument.dtype(), DataType::UInt64) {
            let sum = |at: usize| {
                let sum = there(at).then(|| u64::try_from(whole[at]));
                sum.transpose().map_err(|_| too_large())
            };
            let sums = rows.map(sum).collect::<PolarsResult<Vec<_>>>()?;
            return Ok(Series::from(sums.into_iter().collect::<UInt64Chunked>()));
        }
        let sum = |at: usize| {
            let sum = there(at).then(|| i64::try_from(whole[at]));
            sum.transpose().map_err(|_| too_large())
        };
        let sums = rows.map(sum).collect::<PolarsResult<Vec<_>>>()?;
        Ok(Series::from(sums.into_iter().collect::<Int64Chunked>()))
    }

    fn frames(&self, call: &Call) -> Vec<Range<usize>> {
        let mut frames = Vec::with_capacity(self.rows.len());
        for range in &self.partitions {
            let clamp = |at: i64| {
                let at = at.clamp(range.start as i64, range.end as i64);
                usize::try_from(at).unwrap_or(range.start)
            };
            for place in range.clone() {
                let start = match call.frame.0 {
                    Bound::Start | Bound::End => range.start,
                    Bound::Rows(rows) => clamp((place as i64).saturating_add(rows)),
                    Bound::Peers => self.peers[place].start,
                };
                let end = match call.frame.1 {
                    Bound::Start | Bound::End => range.end,
                    Bound::Rows(rows) => {
                        clamp((place as i64).saturating_add(rows).saturating_add(1))
                    }
                    Bound::Peers => self.peers[place].end,
                };
                frames.push(start..end.max(start));
            }
        }
        frames
    }
}

/// Splits `0..count` into ranges; `is_new` is true at the first element of a range.
fn ranges(count: usize, is_new: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let mut from = 0;
    for at in 1..=count {
        if at == count || is_new(at) {
            all.push(from..at);
            from = at;
        }
    }
    all
}

/// The rank of each value; equal values have the same rank.
fn ranks_of(values: &Series) -> PolarsResult<Vec<u32>> {
    let sorted = values.arg_sort(Default::default());
    let order: Vec<IdxSize> = sorted.iter().flatten().collect();
    let in_order = values.take_slice(&order)?;
    let mut ranks = vec![0; order.len()];
    let mut rank = 0;
    let differs: Vec<bool> = match order.len() {
        0 | 1 => vec![false; order.len()],
        count => {
            let before = in_order.slice(0, count - 1);
            let differs = in_order.slice(1, count - 1).not_equal_missing(&before)?;
            let differs = differs.iter().map(|differs| differs == Some(true));
            std::iter::once(false).chain(differs).collect()
        }
    };
    for (row, differs) in order.iter().zip(differs) {
        rank += u32::from(differs);
        ranks[*row as usize] = rank;
    }
    Ok(ranks)
}

/// Accumulates over frames. A frame with the same start as the previous one continues from it; others start over.
struct Running<T, F> {
    add: F,
    of: std::marker::PhantomData<T>,
}

impl<T: Default + Clone, F: FnMut(usize, &mut T)> Running<T, F> {
    fn new(add: F) -> Self {
        Self {
            add,
            of: std::marker::PhantomData,
        }
    }

    fn over(&mut self, frames: &[Range<usize>]) -> Vec<T> {
        let mut all: Vec<T> = vec![T::default(); frames.len()];
        let (mut state, mut seen) = (T::default(), 0..0);
        // Frames up to the end of the partition share their ends, and grow from the last to the first.
        let is_backward = frames
            .windows(2)
            .filter(|pair| pair[0].end == pair[1].end)
            .count()
            * 2
            > frames.len()
            && frames
                .windows(2)
                .any(|pair| pair[0].end == pair[1].end && pair[0].start < pair[1].start);
        let places: Vec<usize> = if is_backward {
            (0..frames.len()).rev().collect()
        } else {
            (0..frames.len()).collect()
        };
        for at in places {
            let frame = &frames[at];
            let grows = !seen.is_empty()
                && if is_backward {
                    frame.end == seen.end && frame.start <= seen.start
                } else {
                    frame.start == seen.start && frame.end >= seen.end
                };
            let new = match (grows, is_backward) {
                (true, true) => frame.start..seen.start,
                (true, false) => seen.end..frame.end,
                (false, _) => {
                    state = T::default();
                    frame.clone()
                }
            };
            for place in new {
                (self.add)(place, &mut state);
            }
            seen = frame.clone();
            all[at] = state.clone();
        }
        all
    }
}
