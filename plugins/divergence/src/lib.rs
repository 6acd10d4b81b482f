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
pub mod order;
pub mod origin;
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
        let mut subject = rows::Side::load(run, &inputs::SUBJECT, &mut texts)?;
        let mut baseline = rows::Side::load(run, &inputs::BASELINE, &mut texts)?;
        let mut reference = rows::Side::load(run, &inputs::REFERENCE, &mut texts)?;
        let rules = scale.rules(texts.all());
        let mut groups = order::Groups::new([&subject, &baseline]);
        run.check_cancelled()?;
        let mut items = align::align([&subject, &baseline], &groups);
        groups.put_in_order([&subject, &baseline], &mut items);
        run.check_cancelled()?;
        let needed = statistics::needed([&subject, &baseline], &items, options.pair_rows);
        let all = vec![true; reference.len];
        for (side, names, needed) in [
            (&mut subject, &inputs::SUBJECT, &needed[0]),
            (&mut baseline, &inputs::BASELINE, &needed[1]),
            (&mut reference, &inputs::REFERENCE, &all),
        ] {
            side.statistics = statistics::Statistics::load(run, names, side, needed)?;
        }
        drop((needed, all));
        let sides = [&subject, &baseline];
        let mut judged = judge::judge(sides, &groups, &items, &scale, &rules, &texts);
        origin::origins([&subject, &baseline], &groups, &items, &mut judged);
        sequence::order_changed([&subject, &baseline], &items, &mut judged);
        run.check_cancelled()?;
        let third = reference
            .is_given
            .then(|| reference::against(sides, &reference, &items, &judged, (&scale, &rules)));

        let all = tables::All {
            sides,
            third: third
                .as_ref()
                .map(|(third, known)| (third.as_slice(), *known)),
            scale: &scale,
            rules: &rules,
            groups: &groups,
            items: &items,
            judged: &judged,
            texts: &texts,
        };
        let growth = growth::growth(&all);
        run.emit(tables::summary(&all))?;
        run.emit(first::table(&all))?;
        run.emit(growth::table(&growth))?;
        run.emit(tables::only_in_one(&all, options.pair_rows))?;
        run.emit(tables::pairs(&all, options.pair_rows))?;
        for finding in findings::findings(&all, &options) {
            run.finding(finding)?;
        }
        if !growth.is_empty() {
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
