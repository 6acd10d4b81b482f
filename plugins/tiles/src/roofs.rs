//! Levels against the memory they are blocked for.

use std::collections::BTreeSet;

use trueno_analysis::roofline::ceilings::{Ceilings, Choice, Need};
use trueno_analysis::roofline::instruction_set::{Backend, backend, precision as said_precision};
use trueno_analysis::roofline::model::{Roof, Work, achieved, place, why_above};

use crate::Options;
use crate::levels::Level;

/// Memory levels for a level of tiles; the first one with a ceiling counts. If empty, the level has no roof.
pub fn memories(level: &str) -> &'static [&'static str] {
    match level {
        "macro" => &["dram"],
        "midi" => &["l2", "l3"],
        "micro" => &["l1"],
        _ => &[],
    }
}

/// Places each level under its roof, or sets the reason why it has none.
pub fn place_all(
    levels: &mut [Level],
    backends: &BTreeSet<String>,
    ceilings: &Ceilings,
    options: &Options,
) {
    for level in levels {
        if let Err(why) = place_one(level, backends, ceilings, options) {
            level.reason = Some(why);
        }
    }
}

fn place_one(
    level: &mut Level,
    backends: &BTreeSet<String>,
    ceilings: &Ceilings,
    options: &Options,
) -> Result<(), String> {
    let memories = memories(&level.name);
    level.memory = memories.first().map(|memory| (*memory).to_owned());
    if level.flops.is_none() {
        return Err("no FLOPs recorded".to_owned());
    }
    if level.bytes.is_none() {
        return Err("no bytes recorded".to_owned());
    }
    if level.with_both == 0 {
        return Err("no tile has both FLOPs and bytes recorded".to_owned());
    }
    let work = Work {
        flops: level.work.0,
        bytes: level.work.1,
        dur_ns: level.work_ns as f64,
    };
    // Of several it is not known which a tile had.
    let only = (backends.len() == 1).then(|| backends.first()).flatten();
    level.achieved = Some(achieved(&work).map_err(|reason| reason.to_string())?);
    let said = only.and_then(|one| said_precision(one).map(str::to_owned));
    let mut assumed = Vec::new();
    let precision = said.unwrap_or_else(|| {
        let precision = options.precision.to_lowercase();
        assumed.push(format!("precision {precision}"));
        precision
    });
    let instruction_set = match only {
        Some(one) => match backend(one) {
            Backend::Cpu(set) => Some(set),
            Backend::Unsaid => None,
            _ => return Err(format!("backend {one} is not a known instruction set")),
        },
        None => None,
    };
    let (mut choice, mut missing) = (None, String::from("this level has no roof"));
    for memory in memories {
        match ceilings.choose(&Need {
            device: "cpu",
            instruction_set,
            precision: &precision,
            memory,
        }) {
            Ok(found) => {
                level.memory = Some((*memory).to_owned());
                choice = Some(found);
                break;
            }
            Err(why) => missing = why,
        }
    }
    let mut choice = choice.ok_or(missing)?;
    let roof = |choice: &Choice| Roof {
        compute: ceilings.rows[choice.compute].value,
        bandwidth: ceilings.rows[choice.bandwidth].value,
    };
    let mut found = place(&work, &roof(&choice)).map_err(|reason| reason.to_string())?;
    if found.is_above()
        && let Some(streaming) = ceilings.streaming(&choice)
        && let Ok(below) = place(&work, &roof(&streaming))
        && !below.is_above()
    {
        (found, choice) = (below, streaming);
    }
    let roof = roof(&choice);
    assumed.extend(choice.assumed.iter().cloned());
    level.assumed = (!assumed.is_empty()).then(|| assumed.join("; "));
    level.place = Some(found);
    level.doubt = ceilings.binding(&choice, found.bound).doubt();
    if found.is_above() {
        return Err(format!("above the roof: {}", why_above(&work, &roof, None)));
    }
    Ok(())
}
