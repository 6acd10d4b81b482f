//! Tolerance: how far results of equal quality may lie apart.
//!
//! `u` is the unit roundoff of the type: 2^-53 (f64), 2^-24 (f32), 2^-11 (f16), 2^-8 (bf16). An element
//! that took `m` operations, each rounded, is off by a factor of at most (N. J. Higham, *Accuracy and
//! Stability of Numerical Algorithms*, 2nd ed., section 3.1; Higham and Mary, *A New Approach to
//! Probabilistic Rounding Error Analysis*, 2019, theorem 2.4)
//!
//! ```text
//! worst_case      γ(m, u) = m·u / (1 − m·u)
//! probabilistic   γ(m, u) = exp(λ·√m·u + m·u² / (1 − u)) − 1
//! tolerance               = γ(m, u of what adds up) + γ(s, u of what is stored)
//! ```
//!
//! `m` (column `steps`) adds up, along the iteration in data-flow order, the declared operations an
//! element (`flops / elements` of the brick or kernel, the larger of both runs, or else the longest
//! dimension of the shape); `s` (column `stores`) counts the tensors stored. 16-bit types add up in
//! f32. Integers have no rounding: their tolerance is 0. A user who knows better gives `rtol` and `atol`, for all
//! tensors or by patterns of names.

use serde::Deserialize;
use trueno_plugin::{Error, Result};

use crate::Options;
use trueno_analysis::name_pattern::matches;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Errors have either sign and partly cancel.
    #[default]
    Probabilistic,
    WorstCase,
}

/// Tolerances of tensors with matching names. If several entries match, the first applies.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByName {
    /// Pattern: `*` matches any text, `?` one character. Case is ignored.
    pub name: String,
    /// Relative tolerance; falls back to the general one.
    pub rtol: Option<f64>,
    /// Absolute tolerance; falls back to the general one.
    pub atol: Option<f64>,
}

#[derive(Clone, Debug)]
pub struct Tolerance {
    rtol: Option<f64>,
    atol: f64,
    by_name: Vec<ByName>,
    bound: Bound,
    lambda: f64,
}

/// Index of the `by_name` entry that applies to a tensor.
pub type Rule = Option<u32>;

impl Tolerance {
    /// Validates the options.
    ///
    /// # Errors
    /// A tolerance is negative or not a finite number, or λ is not positive.
    pub fn new(options: &Options) -> Result<Self> {
        let own = [("rtol", options.rtol), ("atol", Some(options.atol))];
        let named = options.by_name.iter();
        let named = named.flat_map(|of| [("rtol", of.rtol), ("atol", of.atol)]);
        for (key, value) in own.into_iter().chain(named) {
            let value = value.unwrap_or(0.0);
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::bad_option(format!(
                    "`{key}` is {value}, expected 0 or more"
                )));
            }
        }
        if !(options.lambda > 0.0 && options.lambda.is_finite()) {
            let found = options.lambda;
            return Err(Error::bad_option(format!(
                "`lambda` is {found}, expected more than 0"
            )));
        }
        Ok(Self {
            rtol: options.rtol,
            atol: options.atol,
            by_name: options.by_name.clone(),
            bound: options.bound,
            lambda: options.lambda,
        })
    }

    pub fn rules(&self, names: &[String]) -> Vec<Rule> {
        let rule = |name: &String| {
            let first = self.by_name.iter().position(|of| matches(&of.name, name));
            first.map(|at| at as u32)
        };
        names.iter().map(rule).collect()
    }

    fn entry(&self, rule: Rule) -> Option<&ByName> {
        self.by_name.get(rule? as usize)
    }

    fn given(&self, rule: Rule) -> Option<f64> {
        self.entry(rule).and_then(|of| of.rtol).or(self.rtol)
    }

    pub fn absolute(&self, rule: Rule) -> f64 {
        let own = self.entry(rule).and_then(|of| of.atol);
        own.unwrap_or(self.atol)
    }

    /// Where the relative tolerance comes from: a name pattern, `given` by the user for all, or `computed`.
    pub fn by(&self, rule: Rule) -> &str {
        match self.entry(rule) {
            Some(of) if of.rtol.is_some() => &of.name,
            _ if self.rtol.is_some() => "given",
            _ => "computed",
        }
    }

    /// Text that derives a tolerance, with its numbers.
    pub fn formula(&self, rule: Rule, dtype: &str, steps: u64, stores: u64) -> String {
        let absolute = match self.absolute(rule) {
            0.0 => String::new(),
            atol => format!(", and atol = {atol:e} per element"),
        };
        if let Some(rtol) = self.given(rule) {
            let by = match self.by(rule) {
                "given" => "given for all".to_owned(),
                pattern => format!("given for {pattern:?}"),
            };
            return format!("rtol = {rtol:e} ({by}){absolute}");
        }
        let Some((adds, stored)) = roundoffs(dtype) else {
            return format!("0: {dtype} is exact{absolute}");
        };
        let power = |u: f64| format!("2^{}", u.log2());
        let gamma = match self.bound {
            Bound::Probabilistic => format!(
                "γ(m, u) = exp(λ·√m·u + m·u²/(1 − u)) − 1, λ = {}",
                self.lambda
            ),
            Bound::WorstCase => "γ(m, u) = m·u/(1 − m·u)".to_owned(),
        };
        format!(
            "γ({steps}, {}) + γ({stores}, {}){absolute}; {gamma}",
            power(adds),
            power(stored)
        )
    }

    /// Relative tolerance of a tensor of this type after `steps` operations and `stores` stored tensors.
    pub fn relative(&self, rule: Rule, dtype: &str, steps: u64, stores: u64) -> f64 {
        if let Some(rtol) = self.given(rule) {
            return rtol;
        }
        match roundoffs(dtype) {
            Some((adds, stored)) => self.gamma(steps, adds) + self.gamma(stores, stored),
            None => 0.0,
        }
    }

    fn gamma(&self, steps: u64, u: f64) -> f64 {
        let m = steps as f64;
        match self.bound {
            Bound::Probabilistic => (self.lambda * m.sqrt() * u + m * u * u / (1.0 - u)).exp_m1(),
            Bound::WorstCase if m * u < 1.0 => m * u / (1.0 - m * u),
            Bound::WorstCase => f64::INFINITY,
        }
    }
}

/// Unit roundoff of the sums and of the stored values; `None` if exact.
fn roundoffs(dtype: &str) -> Option<(f64, f64)> {
    const F32: f64 = 1.0 / (1u64 << 24) as f64;
    const F64: f64 = 1.0 / (1u64 << 53) as f64;
    match dtype {
        "f64" => Some((F64, F64)),
        "f32" => Some((F32, F32)),
        "f16" => Some((F32, 1.0 / 2048.0)),
        "bf16" => Some((F32, 1.0 / 256.0)),
        _ => None,
    }
}

/// The longest dimension of a shape such as `4x64`.
pub fn longest(shape: &str) -> u64 {
    shape
        .split('x')
        .filter_map(|part| part.parse().ok())
        .max()
        .unwrap_or(1)
}
