//! Functions of a row.

use polars::prelude::{
    DataType, Expr, LiteralValue, NULL, RoundMode, coalesce, concat_str, lit, when,
};
use sqlparser::ast::{
    BinaryOperator as Operator, Expr as Ast, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments,
};

use super::expression::{matched, regex};
use super::select::Context;
use super::types::{Constant, Ty, Typed, common_type, compared, computed, typed_lit};
use super::{Answer, Planner, aggregate, invalid, unsupported};
use crate::query::nearest;

const NAMES: &[&str] = &[
    "abs",
    "acos",
    "asin",
    "atan",
    "atan2",
    "bit_length",
    "cbrt",
    "ceil",
    "coalesce",
    "concat",
    "concat_ws",
    "contains",
    "cos",
    "cot",
    "degrees",
    "ends_with",
    "exp",
    "floor",
    "greatest",
    "if",
    "ifnull",
    "instr",
    "least",
    "left",
    "length",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "lpad",
    "ltrim",
    "mod",
    "nullif",
    "octet_length",
    "pi",
    "pow",
    "radians",
    "regexp_extract",
    "regexp_like",
    "regexp_matches",
    "regexp_replace",
    "replace",
    "reverse",
    "right",
    "round",
    "rpad",
    "rtrim",
    "sign",
    "sin",
    "split_part",
    "sqrt",
    "starts_with",
    "strpos",
    "substr",
    "tan",
    "trim",
    "trunc",
    "upper",
];

impl Planner<'_> {
    pub(super) fn call(&mut self, call: &Function, context: &mut Context) -> Answer<Typed> {
        let name = call.name.to_string().to_ascii_lowercase();
        if call.over.is_some() {
            return self.window_call(call, &name, context);
        }
        if aggregate::is_aggregate(&name) {
            return self.aggregate(call, &name, context);
        }
        if super::window::is_window_only(&name) {
            return invalid(format!("{name}() needs OVER (…)"));
        }
        if call.filter.is_some() || call.null_treatment.is_some() || !call.within_group.is_empty() {
            return invalid(format!(
                "{name}() is not an aggregate, and takes no FILTER or WITHIN GROUP"
            ));
        }
        let mut arguments = Vec::new();
        for argument in arguments_of(call)? {
            match argument {
                FunctionArgExpr::Expr(expr) => arguments.push(self.expr(expr, context)?),
                other => return invalid(format!("{name}() does not take {other}")),
            }
        }
        function(&name, arguments)
    }

    pub(super) fn named_call(
        &mut self,
        name: &str,
        arguments: &[&Ast],
        context: &mut Context,
    ) -> Answer<Typed> {
        let arguments = arguments.iter().map(|expr| self.expr(expr, context));
        function(name, arguments.collect::<Answer<_>>()?)
    }
}

/// The arguments of a call without `DISTINCT` and clauses.
pub(super) fn arguments_of(call: &Function) -> Answer<Vec<&FunctionArgExpr>> {
    match &call.args {
        FunctionArguments::None => Ok(Vec::new()),
        FunctionArguments::Subquery(_) => invalid(format!(
            "{}() takes a subquery in parentheses of its own",
            call.name
        )),
        FunctionArguments::List(list) => list
            .args
            .iter()
            .map(|argument| match argument {
                FunctionArg::Unnamed(argument) => Ok(argument),
                named => unsupported(format!("the named argument {named}"), "leave out the name"),
            })
            .collect(),
    }
}

fn function(name: &str, arguments: Vec<Typed>) -> Answer<Typed> {
    let count = arguments.len();
    match name {
        "coalesce" | "ifnull" | "nvl" | "greatest" | "least" | "nullif" | "if" | "iff" => {
            chosen(name, arguments)
        }
        "concat" | "concat_ws" => concatenated(name, arguments),
        _ => {
            let mut all = arguments.into_iter();
            match (count, all.next(), all.next(), all.next()) {
                (0, ..) if name == "pi" => {
                    Ok(Typed::constant(Constant::Float(std::f64::consts::PI)))
                }
                (1, Some(a), ..) => unary(name, a),
                (2, Some(a), Some(b), _) => binary(name, a, b),
                (3, Some(a), Some(b), Some(c)) => ternary(name, a, b, c),
                _ => no_function(name, count),
            }
        }
    }
}

fn no_function<T>(name: &str, count: usize) -> Answer<T> {
    if NAMES.contains(&name) {
        return invalid(format!("{name}() does not take {count} arguments"));
    }
    let all = NAMES
        .iter()
        .chain(aggregate::NAMES)
        .chain(super::window::NAMES);
    let near = nearest(name, all.copied());
    if near.is_empty() {
        return invalid(format!("there is no function {name}()"));
    }
    let near = near.join(", ");
    invalid(format!(
        "there is no function {name}() (hint: did you mean {near}?)"
    ))
}

fn float(expr: Expr) -> Typed {
    Typed::new(expr, Ty::Float)
}

fn int(expr: Expr) -> Typed {
    Typed::new(expr.cast(DataType::Int64), Ty::Int)
}

/// -1, 0 or 1; null stays null.
fn sign(x: &Expr) -> Typed {
    let zero = lit(0).cast(DataType::Int64);
    int(when(x.clone().gt(lit(0)))
        .then(lit(1))
        .when(x.clone().lt(lit(0)))
        .then(lit(-1))
        .when(x.clone().is_not_null())
        .then(zero)
        .otherwise(lit(NULL)))
}

fn text(expr: Expr) -> Typed {
    Typed::new(expr, Ty::Text)
}

fn truth(expr: Expr) -> Typed {
    Typed::new(expr, Ty::Bool)
}

fn chosen(name: &str, arguments: Vec<Typed>) -> Answer<Typed> {
    match (name, arguments.as_slice()) {
        ("nullif", [a, b]) => {
            let equal = compared(a.clone(), &Operator::Eq, b.clone())?;
            let expr = when(equal).then(lit(NULL)).otherwise(a.clone().wide());
            Ok(Typed::new(expr, a.ty))
        }
        ("if" | "iff", [condition, a, b]) => {
            let ty = common_type([a, b].into_iter())?;
            let (a, b) = (a.clone().into_type(ty)?, b.clone().into_type(ty)?);
            let expr = when(condition.clone().into_truth()?).then(a).otherwise(b);
            Ok(Typed::new(expr, ty))
        }
        ("nullif" | "if" | "iff", _) | (_, []) => no_function(name, arguments.len()),
        _ => {
            let ty = common_type(arguments.iter())?;
            let all = arguments.into_iter().map(|one| one.into_type(ty));
            let all: Vec<Expr> = all.collect::<Answer<_>>()?;
            let expr = match name {
                "greatest" => extreme(all, Expr::gt),
                "least" => extreme(all, Expr::lt),
                _ => coalesce(&all),
            };
            Ok(Typed::new(expr, ty))
        }
    }
}

/// The greatest or least value, ignoring NULL.
fn extreme(all: Vec<Expr>, is_before: fn(Expr, Expr) -> Expr) -> Expr {
    let mut all = all.into_iter();
    let first = all.next().unwrap_or_else(|| lit(NULL));
    all.fold(first, |best, one| {
        let is_better = is_before(one.clone(), best.clone()).fill_null(best.clone().is_null());
        when(is_better.and(one.clone().is_not_null()))
            .then(one)
            .otherwise(best)
    })
}

fn concatenated(name: &str, arguments: Vec<Typed>) -> Answer<Typed> {
    let mut all = arguments.into_iter();
    let separator = if name == "concat_ws" {
        match all.next().and_then(|separator| separator.constant) {
            Some(Constant::Text(separator)) => separator,
            _ => return invalid("concat_ws() takes a literal text as its first argument"),
        }
    } else {
        String::new()
    };
    let all: Vec<Expr> = all.map(Typed::into_text).collect();
    if all.is_empty() {
        return no_function(name, 0);
    }
    let joined = concat_str(&all, &separator, true);
    Ok(text(joined.fill_null(lit(""))))
}

fn unary(name: &str, a: Typed) -> Answer<Typed> {
    if matches!(
        name,
        "lower"
            | "lcase"
            | "upper"
            | "ucase"
            | "length"
            | "len"
            | "char_length"
            | "character_length"
            | "octet_length"
            | "strlen"
            | "bit_length"
            | "reverse"
            | "trim"
            | "btrim"
            | "ltrim"
            | "rtrim"
    ) {
        return of_text(name, a);
    }
    if !matches!(
        name,
        "abs"
            | "ceil"
            | "ceiling"
            | "floor"
            | "round"
            | "trunc"
            | "truncate"
            | "sign"
            | "sqrt"
            | "cbrt"
            | "exp"
            | "ln"
            | "log"
            | "log10"
            | "log2"
            | "log1p"
            | "sin"
            | "cos"
            | "tan"
            | "cot"
            | "asin"
            | "acos"
            | "atan"
            | "degrees"
            | "radians"
            | "isnan"
            | "isinf"
            | "isfinite"
    ) {
        return no_function(name, 1);
    }
    let a = a.into_number()?;
    let ty = a.ty;
    if ty != Ty::Float {
        match name {
            "ceil" | "ceiling" | "floor" | "round" | "trunc" | "truncate" => return Ok(a),
            "abs" if ty == Ty::UInt => return Ok(a),
            "abs" => return Ok(Typed::new(a.wide().abs(), ty)),
            "sign" => return Ok(sign(&a.wide())),
            _ => {}
        }
    }
    let log = |base: f64| move |x: Expr| x.log(typed_lit(base));
    let x = a.into_type(Ty::Float)?;
    Ok(float(match name {
        "abs" => x.abs(),
        "ceil" | "ceiling" => x.ceil(),
        "floor" => x.floor(),
        "round" => x.round(0, RoundMode::HalfAwayFromZero),
        "trunc" | "truncate" => x.truncate(0),
        "sign" => return Ok(sign(&x.fill_nan(lit(0.0)))),
        "sqrt" => x.sqrt(),
        "cbrt" => x.cbrt(),
        "exp" => x.exp(),
        "ln" => log(std::f64::consts::E)(x),
        "log" | "log10" => log(10.0)(x),
        "log2" => log(2.0)(x),
        "log1p" => x.log1p(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "cot" => x.cot(),
        "asin" => x.arcsin(),
        "acos" => x.arccos(),
        "atan" => x.arctan(),
        "degrees" => x.degrees(),
        "radians" => x.radians(),
        "isnan" => return Ok(truth(x.is_nan())),
        "isinf" => return Ok(truth(x.is_infinite())),
        _ => return Ok(truth(x.is_finite())),
    }))
}

fn of_text(name: &str, a: Typed) -> Answer<Typed> {
    if !matches!(a.ty, Ty::Text | Ty::Null) {
        return invalid(format!(
            "{name}() takes text (hint: CAST(… AS VARCHAR) converts)"
        ));
    }
    let blank = || lit(" ");
    let a = a.into_text().str();
    Ok(match name {
        "lower" | "lcase" => text(a.to_lowercase()),
        "upper" | "ucase" => text(a.to_uppercase()),
        "length" | "len" | "char_length" | "character_length" => int(a.len_chars()),
        "octet_length" | "strlen" => int(a.len_bytes()),
        "bit_length" => int(a.len_bytes().cast(DataType::Int64) * typed_lit(8_i64)),
        "reverse" => text(a.reverse()),
        "ltrim" => text(a.strip_chars_start(blank())),
        "rtrim" => text(a.strip_chars_end(blank())),
        _ => text(a.strip_chars(blank())),
    })
}

fn whole(one: Typed) -> Answer<Expr> {
    one.into_number()?.into_type(Ty::Int)
}

fn binary(name: &str, a: Typed, b: Typed) -> Answer<Typed> {
    let both_float = |a: Typed, b: Typed| -> Answer<(Expr, Expr)> {
        let (a, b) = (a.into_number()?, b.into_number()?);
        Ok((a.into_type(Ty::Float)?, b.into_type(Ty::Float)?))
    };
    Ok(match name {
        "mod" => return computed(a, &Operator::Modulo, b),
        "div" => return computed(a, &Operator::DuckIntegerDivide, b),
        "round" | "trunc" | "truncate" => return rounded(name, a, &b),
        "pow" | "power" => {
            let (a, b) = both_float(a, b)?;
            float(a.pow(b))
        }
        "atan2" => {
            let (a, b) = both_float(a, b)?;
            float(a.arctan2(b))
        }
        "log" => {
            let (base, x) = both_float(a, b)?;
            let e = || typed_lit(std::f64::consts::E);
            float(x.log(e()) / base.log(e()))
        }
        "starts_with" | "prefix" => truth(a.into_text().str().starts_with(b.into_text())),
        "ends_with" | "suffix" => truth(a.into_text().str().ends_with(b.into_text())),
        "contains" => truth(a.into_text().str().contains_literal(b.into_text())),
        "strpos" | "instr" => {
            let (own, part) = (a.into_text(), b.into_text());
            let before = own.clone().str().find_literal(part.clone());
            let before = before.cast(DataType::Int64);
            // Bytes before the part become characters.
            let characters = own
                .clone()
                .str()
                .len_bytes()
                .eq(own.clone().str().len_chars());
            let of_bytes = before.clone() + typed_lit(1_i64);
            let split = own.clone().str().split(part).list().get(lit(0), true);
            let of_characters = split.str().len_chars().cast(DataType::Int64) + typed_lit(1_i64);
            let place = when(characters).then(of_bytes).otherwise(of_characters);
            let found = when(before.is_not_null()).then(place);
            let found = found.otherwise(typed_lit(0_i64));
            int(when(own.is_not_null()).then(found).otherwise(lit(NULL)))
        }
        "left" | "right" => {
            let (own, count) = (a.into_text(), whole(b)?);
            let length = own.clone().str().len_chars().cast(DataType::Int64);
            let zero = || typed_lit(0_i64);
            let rest = (length.clone() + count.clone()).clip_min(zero());
            let kept = when(count.clone().lt(zero())).then(rest).otherwise(count);
            if name == "left" {
                text(own.str().slice(zero(), kept))
            } else {
                let from = (length - kept).clip_min(zero());
                text(own.str().slice(from, lit(LiteralValue::untyped_null())))
            }
        }
        "substr" | "substring" => text(part_of(a, b, None)?),
        "lpad" | "rpad" => return padded(name, a, b, " "),
        "trim" | "btrim" => text(a.into_text().str().strip_chars(b.into_text())),
        "ltrim" => text(a.into_text().str().strip_chars_start(b.into_text())),
        "rtrim" => text(a.into_text().str().strip_chars_end(b.into_text())),
        "regexp_like" | "regexp_matches" => truth(matched(a, &b, "")?),
        "regexp_extract" => extracted(a, &b, 0)?,
        _ => return no_function(name, 2),
    })
}

fn ternary(name: &str, a: Typed, b: Typed, c: Typed) -> Answer<Typed> {
    Ok(match name {
        "substr" | "substring" => text(part_of(a, b, Some(c))?),
        "replace" => {
            let (own, part, new) = (a.into_text(), b.into_text(), c.into_text());
            text(own.str().replace_all(part, new, true))
        }
        "split_part" => {
            let (own, separator, number) = (a.into_text(), b.into_text(), whole(c)?);
            let one = typed_lit(1_i64);
            let at = when(number.clone().gt(typed_lit(0_i64))).then(number.clone() - one);
            let part = own.clone().str().split(separator).list();
            let part = part.get(at.otherwise(number), true).fill_null(lit(""));
            text(when(own.is_not_null()).then(part).otherwise(lit(NULL)))
        }
        "lpad" | "rpad" => match &c.constant {
            Some(Constant::Text(fill)) => return padded(name, a, b, fill),
            _ => {
                return invalid(format!(
                    "{name}() takes a literal text as its last argument"
                ));
            }
        },
        "regexp_like" | "regexp_matches" => match &c.constant {
            Some(Constant::Text(flags)) if !flags.is_empty() => truth(matched(a, &b, flags)?),
            _ => return invalid(format!("{name}() takes flags such as 'i' last")),
        },
        "regexp_extract" => match c.constant {
            Some(Constant::Int(group)) => extracted(a, &b, usize::try_from(group).unwrap_or(0))?,
            _ => return invalid("regexp_extract() takes the number of a group last"),
        },
        "regexp_replace" => {
            let pattern = regex(&b, "")?;
            // Groups are \1 in SQL and ${1} here.
            let new = match &c.constant {
                Some(Constant::Text(new)) => new.clone(),
                _ => return invalid("regexp_replace() takes a literal text as its last argument"),
            };
            let mut with_groups = String::new();
            let mut chars = new.chars();
            while let Some(one) = chars.next() {
                match one {
                    '\\' => match chars.next() {
                        Some(digit) if digit.is_ascii_digit() => {
                            with_groups.push_str(&format!("${{{digit}}}"));
                        }
                        other => with_groups.extend(other),
                    },
                    '$' => with_groups.push_str("$$"),
                    one => with_groups.push(one),
                }
            }
            let own = a.into_text().str();
            text(own.replace(pattern, lit(with_groups), false))
        }
        _ => return no_function(name, 3),
    })
}

/// `LPAD` and `RPAD`: pads or truncates a text to a length.
fn padded(name: &str, a: Typed, length: Typed, fill: &str) -> Answer<Typed> {
    let mut chars = fill.chars();
    let (Some(fill), None) = (chars.next(), chars.next()) else {
        return unsupported(format!("{name}() with more than one character"), "");
    };
    let length = whole(length)?.clip_min(typed_lit(0_i64));
    let own = a.into_text().str();
    let own = if name == "lpad" {
        own.pad_start(length.clone(), fill)
    } else {
        own.pad_end(length.clone(), fill)
    };
    Ok(text(own.str().slice(typed_lit(0_i64), length)))
}

fn extracted(a: Typed, pattern: &Typed, group: usize) -> Answer<Typed> {
    let pattern = regex(pattern, "")?;
    let own = a.into_text();
    let found = own.clone().str().extract(pattern, group);
    let found = found.fill_null(lit(""));
    Ok(text(
        when(own.is_not_null()).then(found).otherwise(lit(NULL)),
    ))
}

/// A substring, counted from 1, or from the end if `start` is negative.
fn part_of(a: Typed, start: Typed, length: Option<Typed>) -> Answer<Expr> {
    let (own, start) = (a.into_text(), whole(start)?);
    let (zero, one) = (|| typed_lit(0_i64), || typed_lit(1_i64));
    let characters = own.clone().str().len_chars().cast(DataType::Int64);
    let from = when(start.clone().lt(zero()))
        .then(characters.clone() + start.clone())
        .otherwise(start - one());
    let until = match length {
        Some(length) => from.clone() + whole(length)?.clip_min(zero()),
        None => characters.clone(),
    };
    let from = from.clip_min(zero());
    let count = (until - from.clone()).clip_min(zero());
    Ok(own.str().slice(from, count))
}

/// Rounds half away from zero; negative digits round to tens.
fn rounded(name: &str, a: Typed, digits: &Typed) -> Answer<Typed> {
    let Some(Constant::Int(digits)) = digits.constant else {
        return invalid(format!("{name}() takes a literal number of digits"));
    };
    let a = a.into_number()?;
    let ty = a.ty;
    if ty != Ty::Float && digits >= 0 {
        return Ok(a);
    }
    let apply = |x: Expr, digits: u32| {
        if name == "round" {
            x.round(digits, RoundMode::HalfAwayFromZero)
        } else {
            x.truncate(digits)
        }
    };
    let x = a.into_type(Ty::Float)?;
    if let Ok(digits) = u32::try_from(digits) {
        return Ok(float(apply(x, digits)));
    }
    let tens = || typed_lit(10_f64.powi(i32::try_from(-digits).unwrap_or(i32::MAX)));
    let rounded = apply(x / tens(), 0) * tens();
    Ok(if ty == Ty::Float {
        float(rounded)
    } else {
        Typed::new(rounded.cast(ty.dtype()), ty)
    })
}
