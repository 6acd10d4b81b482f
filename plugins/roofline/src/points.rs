//! One point of the roofline for each label: sums of its calls against the ceilings that fit.

use trueno_analysis::interner::Texts;
use trueno_analysis::roofline::ceilings::{Ceilings, Choice, Need};
use trueno_analysis::roofline::instruction_set::{Backend, backend, precision as said_precision};
use trueno_analysis::roofline::model::{Achieved, Place, Roof, achieved};
use trueno_plugin::{agreeing, counted};

use crate::Options;
use crate::above_roof::{give_places, is_most};
use crate::calls::Calls;
use crate::label::Label;
use crate::sums::{Sum, Sums};

#[derive(Clone, Debug)]
pub struct Point {
    pub label: Label,
    /// `cpu` or `gpu:<number>`.
    pub device: String,
    pub sum: Sum,
    /// `None` if the sums are out of range.
    pub achieved: Option<Achieved>,
    /// Precision of the ceiling, or the assumed one.
    pub precision: String,
    pub memory: &'static str,
    /// The level was inferred from its rate.
    pub is_memory_inferred: bool,
    pub choice: Result<Choice, String>,
    /// `None` without ceilings.
    pub place: Option<Place>,
    /// Why it has no place, or cannot be right.
    pub reason: Option<String>,
    pub above: Sum,
    /// A memory level other than the chosen one that would allow what lies above the roof.
    pub served_by: Option<&'static str>,
}

impl Point {
    /// Its place if it is plausible: the sum and more than half of the calls lie below the roof.
    pub fn sound(&self) -> Option<&Place> {
        let place = self.place.as_ref()?;
        (!place.is_above() && !self.is_mostly_above()).then_some(place)
    }

    pub fn is_mostly_above(&self) -> bool {
        is_most(self.above.calls, self.sum.calls)
    }

    /// Efficiency of the sum, never clamped. `None` also if the sum lies below the roof but most calls above
    /// it: it is the efficiency of none of them.
    pub fn efficiency(&self) -> Option<f64> {
        let place = self.place.as_ref()?;
        (place.is_above() || !self.is_mostly_above()).then_some(place.efficiency)
    }
}

/// Points in the order of the labels.
pub fn points(
    sums: &Sums,
    calls: &impl Calls,
    ceilings: &Ceilings,
    options: &Options,
) -> Vec<Point> {
    let of_labels = sums.labels.iter().zip(&sums.points);
    let mut out: Vec<Point> = of_labels
        .map(|(label, sum)| point(&sums.texts, *label, *sum, ceilings, options))
        .collect();
    let levels: Vec<&'static str> = options.levels().collect();
    give_places(calls, ceilings, &levels, &mut out);
    out
}

fn point(texts: &Texts, label: Label, sum: Sum, ceilings: &Ceilings, options: &Options) -> Point {
    let device = match label.device {
        Some(device) => format!("gpu:{device}"),
        None => "cpu".to_owned(),
    };
    let named = label.backend.map(|name| texts.text(name));
    let counted = label
        .precision
        .map(|precision| texts.text(precision).to_lowercase());
    let known = counted.or_else(|| Some(named.and_then(said_precision)?.to_owned()));
    let is_assumed = known.is_none();
    let precision = known.unwrap_or_else(|| options.precision.to_lowercase());
    let instruction_set = match named.map(backend) {
        Some(Backend::Cpu(set)) if label.device.is_none() => Ok(Some(set)),
        Some(Backend::Unknown) if label.device.is_none() => Err(format!(
            "backend {} is not a known instruction set",
            named.unwrap_or_default()
        )),
        _ => Ok(None),
    };
    let memory = options.levels().next().unwrap_or("dram");
    let mut choice = instruction_set.and_then(|instruction_set| {
        ceilings.choose(&Need {
            device: &device,
            instruction_set,
            precision: &precision,
            memory,
        })
    });
    if let Ok(choice) = &mut choice {
        if is_assumed {
            choice.assumed.insert(0, format!("precision {precision}"));
        }
        if named.is_some_and(|name| name.contains('+')) && label.device.is_none() {
            choice
                .assumed
                .push("the widest of its instruction sets".to_owned());
        }
    }
    let work = sum.work();
    let mut out = Point {
        label,
        device,
        sum,
        achieved: None,
        precision,
        memory,
        is_memory_inferred: false,
        choice,
        place: None,
        reason: None,
        above: Sum::default(),
        served_by: None,
    };
    match (achieved(&work), &out.choice) {
        (Err(reason), _) => out.reason = Some(reason.to_string()),
        (Ok(found), choice) => {
            out.achieved = Some(found);
            out.reason = choice.as_ref().err().cloned();
        }
    }
    out
}

pub fn doubt_of_ceiling(point: &Point, ceilings: &Ceilings) -> Option<String> {
    let (choice, place) = (point.choice.as_ref().ok()?, point.place?);
    ceilings.binding(choice, place.bound).doubt()
}

/// Why the efficiency of a point may be wrong: a doubtful ceiling, some calls above the roof, or an inferred memory
/// level.
pub fn doubt(point: &Point, ceilings: &Ceilings) -> Option<String> {
    let (above, calls) = (point.above.calls, point.sum.calls);
    let of_calls = (above > 0 && point.sound().is_some()).then(|| {
        let (of, lie) = (
            counted(calls, "call", "calls"),
            agreeing(above, "lies", "lie"),
        );
        format!("{above} of {of} {lie} above the roof")
    });
    let of_memory = point.is_memory_inferred.then(|| {
        format!(
            "it is faster than more distant memory allows, so {} is assumed as its level; some bytes may still come from farther away",
            point.memory
        )
    });
    let all: Vec<String> = doubt_of_ceiling(point, ceilings)
        .into_iter()
        .chain(of_calls)
        .chain(of_memory)
        .collect();
    (!all.is_empty()).then(|| all.join("; "))
}

pub fn roof(ceilings: &Ceilings, choice: &Choice) -> Roof {
    Roof {
        compute: ceilings.rows[choice.compute].value,
        bandwidth: ceilings.rows[choice.bandwidth].value,
    }
}
