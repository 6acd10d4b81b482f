//! Rules of a file: read, checked and ready to be evaluated.

use serde::Deserialize;
use toml::Spanned;

use crate::expression::{Expression, ParseError};
use crate::models::Unit;
use crate::pattern::alternatives;

/// An error in a file of rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {fault}")]
pub struct RuleError {
    pub file: String,
    /// Line of the error, or of the rule with the error.
    pub line: usize,
    /// Rule, field and column, with what was expected and what was found.
    pub fault: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) family: String,
    /// Patterns without braces.
    pub(crate) operators: Vec<String>,
    pub(crate) when: Option<Expression>,
    pub(crate) definitions: Vec<(String, Expression)>,
    pub(crate) flops: Expression,
    /// Fields and formulas whose sum is the bytes.
    pub(crate) bytes: Vec<(&'static str, Expression)>,
    pub(crate) precision: Option<Expression>,
    pub(crate) tf32: Option<Expression>,
    pub(crate) unit: Unit,
    pub(crate) lowers_to: Vec<String>,
    pub(crate) assumption: String,
    pub(crate) source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "user_family")]
    family: String,
    #[serde(default)]
    rule: Vec<Spanned<Text>>,
}

fn user_family() -> String {
    "user".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    operators: Vec<String>,
    when: Option<String>,
    #[serde(default, rename = "let")]
    definitions: Vec<String>,
    flops: String,
    moved_bytes: Option<String>,
    read_bytes: Option<String>,
    written_bytes: Option<String>,
    precision: Option<String>,
    tf32: Option<String>,
    #[serde(default)]
    unit: Unit,
    #[serde(default)]
    lowers_to: Vec<String>,
    #[serde(default)]
    assumption: String,
    #[serde(default)]
    source: String,
}

pub(crate) fn parse(text: &str, file: &str) -> Result<Vec<Rule>, RuleError> {
    let line = |at: usize| {
        let before = &text.as_bytes()[..at.min(text.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    };
    let wrong = |line: usize, fault: String| RuleError {
        file: file.to_owned(),
        line,
        fault,
    };
    let parsed: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        wrong(line(at), error.message().trim().replace('\n', ", "))
    })?;
    let rules = parsed.rule.into_iter().map(|spanned| {
        let at = line(spanned.span().start);
        let text = spanned.into_inner();
        let name = text.name.clone();
        rule(text, &parsed.family).map_err(|fault| wrong(at, format!("rule \"{name}\", {fault}")))
    });
    rules.collect()
}

fn rule(text: Text, family: &str) -> Result<Rule, String> {
    let mut operators = Vec::new();
    for pattern in &text.operators {
        let names = alternatives(pattern)
            .filter(|names| names.iter().all(|name| !name.is_empty()))
            .ok_or_else(|| {
                format!(
                    "operators: expected a name with `*`, `?` or `{{a,b}}`, found \"{pattern}\""
                )
            })?;
        operators.extend(names);
    }
    if operators.is_empty() {
        return Err("operators: expected at least one name, found none".to_owned());
    }
    let mut names = Vec::new();
    let when = text
        .when
        .as_deref()
        .map(|formula| field("when", formula, &[]));
    let when = when.transpose()?;
    let mut definitions = Vec::new();
    for definition in &text.definitions {
        let (name, formula) = Expression::parse_definition(definition, &names)
            .map_err(|error| located("let", definition, &error))?;
        names.push(name.clone());
        definitions.push((name, formula));
    }
    let given = [
        ("moved_bytes", &text.moved_bytes),
        ("read_bytes", &text.read_bytes),
        ("written_bytes", &text.written_bytes),
    ];
    let fits = match given.map(|(_, formula)| formula.is_some()) {
        [moved, read, written] => moved != (read || written),
    };
    if !fits {
        let expected = "either moved_bytes, or read_bytes and written_bytes";
        return Err(format!("bytes: expected {expected}, found both or none"));
    }
    let mut bytes = Vec::new();
    for (name, formula) in given {
        if let Some(formula) = formula {
            bytes.push((name, field(name, formula, &names)?));
        }
    }
    let optional = |name, formula: &Option<String>| {
        let formula = formula
            .as_deref()
            .map(|formula| field(name, formula, &names));
        formula.transpose()
    };
    Ok(Rule {
        flops: field("flops", &text.flops, &names)?,
        precision: optional("precision", &text.precision)?,
        tf32: optional("tf32", &text.tf32)?,
        name: text.name,
        family: family.to_owned(),
        operators,
        when,
        definitions,
        bytes,
        unit: text.unit,
        lowers_to: text.lowers_to,
        assumption: text.assumption,
        source: text.source,
    })
}

fn field(name: &str, formula: &str, names: &[String]) -> Result<Expression, String> {
    Expression::parse(formula, names).map_err(|error| located(name, formula, &error))
}

fn located(name: &str, formula: &str, error: &ParseError) -> String {
    format!("{name}, {error}, in \"{formula}\"")
}
