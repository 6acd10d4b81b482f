//! Divergence of the tensors of two runs: the run against a baseline, neither presumed right.
//!
//! Rows of `checksums` are [aligned](align) by name, layer, iteration, position and occurrence; each
//! pair gets a [verdict](judge) against a [tolerance]; what diverges is local or inherited
//! by the [data flow](order) ([`origin`]). Runs with nothing in common are *not comparable*, which is
//! an error, and never "no divergence".
//!
//! Hashes see every bit. Statistics give a lower bound of the relative error, so *diverged* is certain,
//! while *within tolerance* says that what was recorded shows no more than rounding: values that only
//! changed places keep their statistics. Recorded samples narrow that.

pub mod align;
pub mod findings;
pub mod first;
pub mod growth;
pub mod inputs;
pub mod judge;
pub mod narrow;
pub mod order;
pub mod origin;
pub mod outcome;
pub mod reference;
pub mod rows;
pub mod samples;
pub mod sequence;
pub mod spans;
pub mod statistics;
pub mod tables;
pub mod tolerance;

use serde::Deserialize;
use trueno_analysis::interner::Texts;
use trueno_plugin::{Chart, Input, Plugin, Result, Run, Scale, export};

use crate::outcome::{Comparison, Outcome, Survey};
use crate::reference::Reference;
use crate::rows::{Context, Numbers, Side};
use crate::statistics::Reader;

pub struct Divergence;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    pub rtol: Option<f64>,
    /// Absolute tolerance of an element, in addition to the relative one.
    pub atol: f64,
    pub by_name: Vec<tolerance::ByName>,
    /// `probabilistic` or `worst_case`; see [`tolerance`].
    pub bound: tolerance::Bound,
    pub lambda: f64,
    pub pair_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rtol: None,
            atol: 0.0,
            by_name: Vec::new(),
            bound: tolerance::Bound::default(),
            lambda: 1.0,
            pair_rows: 100_000,
        }
    }
}

impl Plugin for Divergence {
    const ID: &'static str = "divergence";
    const SUMMARY: &'static str = "Where the tensors of two runs start to differ.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let scale = tolerance::Tolerance::new(&options)?;
        let mut texts = Texts::default();
        let (subject, baseline, reference) =
            (&inputs::SUBJECT, &inputs::BASELINE, &inputs::REFERENCE);
        let of_subject = Context::load(run, subject, &mut texts)?;
        let of_baseline = Context::load(run, baseline, &mut texts)?;
        let of_reference = Context::load(run, reference, &mut texts)?;
        let mut numbers = Numbers::default();
        let mut subject = Side::load(run, subject, of_subject, &mut numbers)?;
        let mut baseline = Side::load(run, baseline, of_baseline, &mut numbers)?;
        let mut reference = Side::load(run, reference, of_reference, &mut numbers)?;
        let places = numbers.places.into_all();
        let rules = scale.rules(texts.all());
        let of_subject = order::Rows::new(&mut subject, places.len());
        let of_baseline = order::Rows::new(&mut baseline, places.len());
        let of_reference = order::Rows::new(&mut reference, places.len());
        run.check_cancelled()?;
        let (sides, rows) = ([&subject, &baseline], [&of_subject, &of_baseline]);
        let flow = order::Flow::new(sides, rows, &places);
        let comparison = Comparison {
            sides,
            flow: &flow,
            scale: &scale,
            texts: &texts,
            listed: options.pair_rows,
        };
        let survey = Survey::new(&comparison, || run.check_cancelled())?;
        let [of_run, of_base] = &survey.needed;
        let statistics = [
            Reader::new(run, &inputs::SUBJECT, &subject, of_run)?,
            Reader::new(run, &inputs::BASELINE, &baseline, of_base)?,
        ];
        let all_rows = narrow::Bits::all(reference.len);
        let third = if reference.is_given {
            let statistics = Reader::new(run, &inputs::REFERENCE, &reference, &all_rows)?;
            let own = (&reference, &of_reference);
            let statistics = statistics.kept();
            Some(Reference::new(sides, rows, own, places.len(), statistics))
        } else {
            None
        };
        let judge = judge::Judge::new(sides, &scale, &rules, &texts);
        let all = Outcome::new(&comparison, &survey, judge, statistics, third, || {
            run.check_cancelled()
        })?;
        run.emit(tables::summary(&all))?;
        run.emit(first::table(&all))?;
        run.emit(growth::table(&all.growth))?;
        run.emit(tables::only_in_one(&all))?;
        run.emit(tables::pairs(&all))?;
        for finding in findings::findings(&all, &options) {
            run.finding(finding)?;
        }
        if !all.growth.is_empty() {
            run.chart(
                Chart::line(
                    "Growth of the relative error",
                    "growth",
                    "at",
                    "max_relative_error",
                )
                .series("over")
                .scales(Scale::Linear, Scale::Log),
            )?;
        }
        Ok(())
    }
}

export!(Divergence, as trueno_plugin_v1_divergence);
