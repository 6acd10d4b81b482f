//! What comparing two runs found: sums over all items, and the few items that are shown.

use trueno_analysis::interner::Texts;
use trueno_plugin::Result;

use crate::align::Item;
use crate::growth::{Growth, Step};
use crate::judge::{Judge, Judged, Reason, Verdict};
use crate::narrow::Bits;
use crate::order::{Flow, Place};
use crate::origin::Origins;
use crate::reference::{Against, Moved, Reference};
use crate::rows::Side;
use crate::sequence::Sequences;
use crate::statistics::{Reader, Statistics};
use crate::tolerance::{Rule, Tolerance};

/// Two runs that are compared.
pub struct Comparison<'a, 'f> {
    /// The run under test, then the baseline.
    pub sides: [&'a Side; 2],
    pub flow: &'f Flow<'a>,
    pub scale: &'a Tolerance,
    pub texts: &'a Texts,
    /// Number of pairs that are listed at most.
    pub listed: usize,
}

/// What can be told before any statistics are read.
pub struct Survey {
    pub tensors: usize,
    /// Rows of both sides that need statistics.
    pub needed: [Bits; 2],
    /// Items whose order changed between the runs; `None` if there is none.
    moved: Option<Bits>,
    shares_any: bool,
    repeated: usize,
}

impl Survey {
    /// Goes over all items.
    ///
    /// # Errors
    /// The user wants to stop.
    pub fn new(of: &Comparison<'_, '_>, check_cancelled: impl Fn() -> Result<()>) -> Result<Self> {
        let (sides, flow) = (of.sides, of.flow);
        let mut survey = Self {
            tensors: 0,
            needed: sides.map(|side| Bits::new(side.len)),
            moved: None,
            shares_any: false,
            repeated: 0,
        };
        let mut sequences = Sequences::default();
        let (mut alone, mut equal) = (0, 0);
        flow.each(|_, item| -> Result<()> {
            if survey.tensors.is_multiple_of(CHECKED_EVERY) {
                check_cancelled()?;
            }
            survey.tensors += 1;
            survey.shares_any |= item.shared;
            survey.repeated += usize::from(item.repeated);
            sequences.next(sides, &item);
            let count = match (item.on(0), item.on(1)) {
                (Some(a), Some(b)) if sides[0].hash[a] != sides[1].hash[b] => None,
                (Some(_), Some(_)) => Some(&mut equal),
                _ => Some(&mut alone),
            };
            if let Some(count) = count {
                *count += 1;
                if *count > of.listed {
                    return Ok(());
                }
            }
            for side in 0..2 {
                if let Some(row) = item.on(side) {
                    survey.needed[side].set(row);
                }
            }
            Ok(())
        })?;
        survey.moved = sequences.moved(sides, flow, survey.tensors);
        Ok(survey)
    }
}

const CHECKED_EVERY: usize = 1 << 16;

/// An item with all that is known of it.
#[derive(Clone)]
pub struct Shown {
    /// Index among all items.
    at: usize,
    pub place: Place,
    pub item: Item,
    pub judged: Judged,
    pub tolerance: f64,
    pub rule: Rule,
    pub statistics: [Statistics; 2],
    pub against: Option<Against>,
}

/// An item without a partner.
pub struct Alone {
    pub place: Place,
    pub item: Item,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct VerdictSums {
    pub tensors: u64,
    pub max_relative_error: Option<f64>,
}

pub struct Outcome<'a> {
    /// The run under test, then the baseline.
    pub sides: [&'a Side; 2],
    pub texts: &'a Texts,
    pub scale: &'a Tolerance,
    pub tensors: usize,
    pub shares_any: bool,
    pub has_ranks: bool,
    /// By index in [`Verdict::ALL`].
    pub verdicts: [VerdictSums; Verdict::ALL.len()],
    /// The first of each in data-flow order.
    pub first_diverged: Option<Shown>,
    pub first_non_finite: Option<Shown>,
    pub first_other_form: Option<Shown>,
    pub first_only_in_one: Option<Shown>,
    pub first_duplicated: Option<Shown>,
    pub non_finite: usize,
    /// Tensors in one run only, by side.
    pub only_in: [u64; 2],
    pub order_changed: usize,
    pub only_bits_differ: usize,
    pub repeated: usize,
    /// Pairs that agree only because of a tolerance above [`WIDE`].
    pub wide: usize,
    /// With a third run: rows of both sides that it has too, and the pairs that diverged, by index in
    /// [`Moved::ALL`].
    pub moved: Option<(usize, [usize; Moved::ALL.len()])>,
    pub growth: Vec<Step>,
    /// Items to list, in data-flow order.
    pub listed: Vec<Shown>,
    pub alone: Vec<Alone>,
}

pub const WIDE: f64 = 0.1;

/// Items to list: those that differ, and as many of the others as there is room for.
struct Listed {
    most: usize,
    other: Vec<Shown>,
    alike: Vec<Shown>,
}

impl Listed {
    fn has_room(&self, judged: &Judged) -> bool {
        if judged.verdict.is_alike() {
            self.other.len() + self.alike.len() < self.most
        } else {
            self.other.len() < self.most
        }
    }

    fn add(&mut self, shown: Shown) {
        if shown.judged.verdict.is_alike() {
            self.alike.push(shown);
            return;
        }
        self.other.push(shown);
        if self.other.len() + self.alike.len() > self.most {
            self.alike.pop();
        }
    }

    fn into_all(self) -> Vec<Shown> {
        let mut all = self.other;
        all.extend(self.alike);
        all.sort_unstable_by_key(|shown| shown.at);
        all
    }
}

impl<'a> Outcome<'a> {
    /// Judges all items. `statistics` are those of both sides.
    ///
    /// # Errors
    /// Statistics cannot be read, or the user wants to stop.
    pub fn new(
        of: &Comparison<'a, '_>,
        survey: &Survey,
        mut judge: Judge<'_>,
        mut statistics: [Reader<'_>; 2],
        mut reference: Option<Reference<'_>>,
        check_cancelled: impl Fn() -> Result<()>,
    ) -> Result<Self> {
        let Comparison {
            sides,
            flow,
            scale,
            texts,
            listed,
        } = *of;
        let mut out = Self {
            sides,
            texts,
            scale,
            tensors: survey.tensors,
            shares_any: survey.shares_any,
            has_ranks: flow.places().any(|place| place.rank > 0),
            verdicts: Default::default(),
            first_diverged: None,
            first_non_finite: None,
            first_other_form: None,
            first_only_in_one: None,
            first_duplicated: None,
            non_finite: 0,
            only_in: [0; 2],
            order_changed: 0,
            only_bits_differ: 0,
            repeated: survey.repeated,
            wide: 0,
            moved: reference
                .as_ref()
                .map(|of| (of.known(), Default::default())),
            growth: Vec::new(),
            listed: Vec::new(),
            alone: Vec::new(),
        };
        let mut growth = Growth::new(flow);
        let mut origins = Origins::default();
        let mut to_list = Listed {
            most: listed,
            other: Vec::new(),
            alike: Vec::new(),
        };
        let mut at = 0_usize;
        flow.each(|place, item| -> Result<()> {
            if at.is_multiple_of(CHECKED_EVERY) {
                check_cancelled()?;
            }
            let mut of_item = [Statistics::default(); 2];
            for side in 0..2 {
                if let Some(row) = item.on(side) {
                    of_item[side] = statistics[side].take(row)?;
                }
            }
            let mut judged = judge.judge(place, &item, &of_item);
            let lane = item.tensor(sides).lane;
            judged.origin = origins.next(place, &item, lane, judged.verdict);
            judged.order_changed = survey.moved.as_ref().is_some_and(|moved| moved.get(at));
            growth.add(place, &judged, || judge.tolerance(&item, &judged));
            let mut against = None;
            if let Some(reference) = &mut reference
                && judged.verdict == Verdict::Diverged
            {
                let rtol = judge.tolerance(&item, &judged);
                let atol = scale.absolute(judge.rule(&item));
                against = reference.against(sides, &item, &of_item, (rtol, atol))?;
            }
            let is_first = out.count(&item, &judged, against, || judge.tolerance(&item, &judged));
            if item.rows.contains(&crate::rows::NONE) && out.alone.len() < listed {
                out.alone.push(Alone {
                    place: *place,
                    item,
                    verdict: judged.verdict,
                });
            }
            let is_listed = to_list.has_room(&judged);
            if is_first || is_listed {
                let shown = Shown {
                    at,
                    place: *place,
                    item,
                    judged,
                    tolerance: judge.tolerance(&item, &judged),
                    rule: judge.rule(&item),
                    statistics: of_item,
                    against,
                };
                if is_first {
                    out.note_first(&shown);
                }
                if is_listed {
                    to_list.add(shown);
                }
            }
            at += 1;
            Ok(())
        })?;
        out.growth = growth.into_steps();
        out.listed = to_list.into_all();
        Ok(out)
    }

    /// Adds an item to the sums. Returns whether it may be the first of something.
    fn count(
        &mut self,
        item: &Item,
        judged: &Judged,
        against: Option<Against>,
        tolerance: impl FnOnce() -> f64,
    ) -> bool {
        let sums = &mut self.verdicts[judged.verdict as usize];
        sums.tensors += 1;
        if let Some(error) = judged.relative_error {
            let most = sums
                .max_relative_error
                .map_or(error, |most| most.max(error));
            sums.max_relative_error = Some(most);
        }
        let is_first = sums.tensors == 1;
        self.order_changed += usize::from(judged.order_changed);
        if let (Some((_, moved)), Some(against)) = (&mut self.moved, against) {
            moved[against.moved as usize] += 1;
        }
        match judged.verdict {
            Verdict::OnlyInOne => self.only_in[item.row().0] += 1,
            Verdict::Within => {
                self.only_bits_differ += usize::from(judged.reason == Reason::OnlyBits);
                self.wide += usize::from(tolerance() > WIDE);
            }
            Verdict::Diverged if judged.reason == Reason::NonFinite => {
                self.non_finite += 1;
                return is_first || self.non_finite == 1;
            }
            _ => {}
        }
        is_first
    }

    fn note_first(&mut self, shown: &Shown) {
        let first = match shown.judged.verdict {
            Verdict::Diverged => &mut self.first_diverged,
            Verdict::NotComparable => &mut self.first_other_form,
            Verdict::OnlyInOne => &mut self.first_only_in_one,
            Verdict::Duplicated => &mut self.first_duplicated,
            Verdict::Identical | Verdict::Within => return,
        };
        first.get_or_insert_with(|| shown.clone());
        if shown.judged.reason == Reason::NonFinite {
            self.first_non_finite.get_or_insert_with(|| shown.clone());
        }
    }

    pub fn count_of(&self, verdict: Verdict) -> u64 {
        self.verdicts[verdict as usize].tensors
    }

    pub fn name(&self, item: &Item) -> &str {
        self.texts.get(item.tensor(self.sides).name).unwrap_or("")
    }
}
