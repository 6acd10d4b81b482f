//! All rules, and the work that they find in a signature.

use std::collections::HashMap;

use serde::Deserialize;

use crate::element_type::{ElementType, Precision};
use crate::expression::{Evaluation, Value};
use crate::pattern;
use crate::rules::{self, Rule, RuleError};
use crate::signature::{Operand, Signature};

/// This crate's rules, in the order in which they are tried.
const STANDARD: [(&str, &str); 15] = [
    ("gemm.toml", include_str!("families/gemm.toml")),
    (
        "grouped_gemm.toml",
        include_str!("families/grouped_gemm.toml"),
    ),
    (
        "convolution.toml",
        include_str!("families/convolution.toml"),
    ),
    ("attention.toml", include_str!("families/attention.toml")),
    (
        "normalisation.toml",
        include_str!("families/normalisation.toml"),
    ),
    ("softmax.toml", include_str!("families/softmax.toml")),
    ("embedding.toml", include_str!("families/embedding.toml")),
    ("reduction.toml", include_str!("families/reduction.toml")),
    (
        "elementwise.toml",
        include_str!("families/elementwise.toml"),
    ),
    ("recurrent.toml", include_str!("families/recurrent.toml")),
    ("copy.toml", include_str!("families/copy.toml")),
    ("resample.toml", include_str!("families/resample.toml")),
    ("optimiser.toml", include_str!("families/optimiser.toml")),
    ("loss.toml", include_str!("families/loss.toml")),
    ("collective.toml", include_str!("families/collective.toml")),
];

/// Processor unit that does an operator's arithmetic and so limits it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Matrix units such as tensor cores.
    Matrix,
    #[default]
    Vector,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::Vector => "vector",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work<'a> {
    /// FLOPs needed for the result; at most 2^63 − 1.
    pub flops: u64,
    /// Least bytes read and written; at most 2^63 − 1.
    pub moved_bytes: u64,
    /// Arithmetic that limits the operator; `None` if it has no FLOPs and no known type.
    pub precision: Option<Precision>,
    /// Unit that limits the operator.
    pub unit: Unit,
    /// Family of the matching rule.
    pub family: &'a str,
    pub rule: &'a str,
    /// What the rule assumes, as a sentence.
    pub assumption: &'a str,
    pub source: &'a str,
    /// Operators that this one may call to do its work, as names with wildcards; empty if it always does the
    /// work itself. Kernel time belongs to the innermost operator around the launch, so work is counted there.
    pub lowers_to: &'a [String],
}

impl Work<'_> {
    /// Returns whether the operator may only call others, whose work would then count twice.
    pub fn is_container(&self) -> bool {
        !self.lowers_to.is_empty()
    }
}

/// Why a call has no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not modelled: {reason}")]
pub struct NotModelled {
    /// A sentence without the full stop.
    pub reason: String,
}

#[derive(Clone, Debug)]
pub struct Models {
    rules: Vec<Rule>,
    exact: HashMap<String, Vec<usize>>,
    wild: Vec<(String, usize)>,
}

impl Models {
    pub fn standard() -> Self {
        Self::new(standard_rules())
    }

    /// The rules of a user's file first, then those of this crate.
    ///
    /// # Errors
    /// The first fault of the file: rule, field and column, with what was expected and found.
    pub fn with_rules(text: &str, file: &str) -> Result<Self, RuleError> {
        let mut all = rules::parse(text, file)?;
        all.extend(standard_rules());
        Ok(Self::new(all))
    }

    /// Only the rules of a file.
    ///
    /// # Errors
    /// As of [`Models::with_rules`].
    pub fn from_rules(text: &str, file: &str) -> Result<Self, RuleError> {
        Ok(Self::new(rules::parse(text, file)?))
    }

    fn new(rules: Vec<Rule>) -> Self {
        let mut exact: HashMap<String, Vec<usize>> = HashMap::new();
        let mut wild = Vec::new();
        for (at, rule) in rules.iter().enumerate() {
            for operator in &rule.operators {
                if pattern::is_wild(operator) {
                    wild.push((operator.clone(), at));
                } else {
                    exact.entry(operator.clone()).or_default().push(at);
                }
            }
        }
        Self { rules, exact, wild }
    }

    /// Whether a rule names the operator. It may still not fit a call's operands.
    pub fn has_rule(&self, operator: &str) -> bool {
        self.candidates(operator).next().is_some()
    }

    /// The work of a call.
    ///
    /// # Errors
    /// [`NotModelled`] with the reason: no rule, or a fact that the rule needs and the trace does not tell.
    pub fn work(&self, signature: &Signature) -> Result<Work<'_>, NotModelled> {
        let not_modelled = |reason: String| NotModelled { reason };
        let mut unfit = None;
        for rule in self.candidates(&signature.name) {
            let fits = match &rule.when {
                None => Ok(true),
                Some(when) => Evaluation::new(signature)
                    .value(when)
                    .and_then(|value| value.truth()),
            };
            match fits {
                Ok(true) => {
                    return work(rule, signature).map_err(|reason| {
                        not_modelled(format!("rule \"{}\": {reason}", rule.name))
                    });
                }
                Ok(false) => {}
                Err(reason) => {
                    unfit.get_or_insert_with(|| format!("rule \"{}\", when: {reason}", rule.name));
                }
            }
        }
        Err(not_modelled(match unfit {
            Some(reason) => reason,
            None if self.has_rule(&signature.name) => {
                "no rule of this operator takes such operands".to_owned()
            }
            None => "no rule names this operator".to_owned(),
        }))
    }

    /// Rules that name an operator, in their order.
    fn candidates(&self, name: &str) -> impl Iterator<Item = &Rule> {
        let exact = self.exact.get(name).into_iter().flatten().copied();
        let wild = self.wild.iter();
        let wild = wild.filter(|(operator, _)| pattern::fits(operator, name));
        let mut places: Vec<usize> = exact.chain(wild.map(|(_, at)| *at)).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|at| &self.rules[at])
    }
}

impl Default for Models {
    fn default() -> Self {
        Self::standard()
    }
}

fn standard_rules() -> Vec<Rule> {
    let families = STANDARD.iter().map(|(file, text)| {
        rules::parse(text, file).unwrap_or_else(|error| unreachable!("{error}; a test reads it"))
    });
    families.flatten().collect()
}

/// The work by one rule, or the field that cannot be computed and why.
fn work<'a>(rule: &'a Rule, signature: &Signature) -> Result<Work<'a>, String> {
    let mut evaluation = Evaluation::new(signature);
    for (name, formula) in &rule.definitions {
        let value = evaluation.value(formula);
        evaluation.define(value.map_err(|reason| format!("{name}: {reason}"))?);
    }
    let flops = evaluation
        .value(&rule.flops)
        .and_then(|value| count(&value));
    let flops = flops.map_err(|reason| format!("flops: {reason}"))?;
    let mut moved_bytes = 0i128;
    for (field, formula) in &rule.bytes {
        let bytes = evaluation.value(formula).and_then(|value| count(&value));
        moved_bytes += bytes.map_err(|reason| format!("{field}: {reason}"))?;
    }
    let precision = precision(rule, signature, &mut evaluation);
    let precision = match precision {
        Err(reason) if flops > 0 => return Err(format!("precision: {reason}")),
        precision => precision.ok(),
    };
    let narrow = |number: i128| {
        let number = u64::try_from(number).ok();
        number
            .filter(|number| i64::try_from(*number).is_ok())
            .ok_or_else(|| "more than 2^63 - 1".to_owned())
    };
    Ok(Work {
        flops: narrow(flops)?,
        moved_bytes: narrow(moved_bytes)?,
        precision,
        unit: rule.unit,
        family: &rule.family,
        rule: &rule.name,
        assumption: &rule.assumption,
        source: &rule.source,
        lowers_to: &rule.lowers_to,
    })
}

/// Checks that a value is an integer from 0 to below 2^63.
fn count(value: &Value) -> Result<i128, String> {
    let number = value.integer()?;
    match number {
        0.. if i64::try_from(number).is_ok() => Ok(number),
        0.. => Err("more than 2^63 - 1".to_owned()),
        _ => Err(format!("{number}, which is negative")),
    }
}

fn precision(
    rule: &Rule,
    signature: &Signature,
    evaluation: &mut Evaluation<'_>,
) -> Result<Precision, String> {
    let first = |operand: &Operand| matches!(operand, Operand::Tensor(_) | Operand::List(_));
    let at = match &rule.precision {
        Some(formula) => evaluation.value(formula)?.integer()?,
        None => signature.operands.iter().position(first).unwrap_or(0) as i128,
    };
    let element_type = element_type(signature, at)
        .ok_or_else(|| format!("the element type of operand {at} is not known"))?;
    if matches!(
        element_type,
        ElementType::Complex32 | ElementType::Complex64 | ElementType::Complex128
    ) {
        return Err("complex arithmetic".to_owned());
    }
    let precision = Precision::of_elements(element_type);
    let tf32 = match &rule.tf32 {
        Some(formula) if precision == Precision::Fp32 => evaluation.value(formula)?.truth()?,
        _ => false,
    };
    Ok(if tf32 { Precision::Tf32 } else { precision })
}

fn element_type(signature: &Signature, at: i128) -> Option<ElementType> {
    match signature.operands.get(usize::try_from(at).ok()?)? {
        Operand::Tensor(tensor) => tensor.element_type,
        Operand::List(_) | Operand::UnknownList => signature.list_element_type,
        _ => None,
    }
}
