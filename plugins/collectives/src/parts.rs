//! Parts of all ranks, numbered alike whether they were read at once or rank by rank.

use std::collections::BTreeMap;

use trueno_analysis::collectives::{Part, Recorded};
use trueno_analysis::interner::Texts;
use trueno_analysis::steps::Step;

use crate::rows::{Around, PartFacts, Rows};

pub struct Loaded {
    pub parts: Vec<Part>,
    /// Parallel to `parts`.
    pub facts: Vec<PartFacts>,
    /// Ranks of each communicator that programs state.
    pub groups: Vec<Vec<u32>>,
    pub texts: Texts,
    pub steps: Vec<Step>,
    pub recorded: Recorded,
    /// When the recording of a rank began, by its own clock.
    pub begins_ns: BTreeMap<u32, i64>,
    pub around: Around,
}

impl Loaded {
    /// Combines the rows of one rank or of several. `begins` are times on the run's timeline.
    pub fn new(rows: Rows, mut recorded: Recorded, mut begins: BTreeMap<u32, i64>) -> Self {
        let Rows {
            mut parts,
            texts: given,
            groups: given_groups,
            steps,
            around,
        } = rows;
        for begin_ns in begins.values_mut() {
            *begin_ns = begin_ns.saturating_sub(around.origin_ns);
        }
        parts.sort_by_key(|(part, _)| part.rank);
        if recorded.ranks.is_empty() {
            recorded
                .ranks
                .extend(parts.iter().map(|(part, _)| part.rank).take(1));
        }
        let parsed = given_groups.all().iter();
        let parsed: Vec<Option<Vec<u32>>> =
            parsed.map(|text| serde_json::from_str(text).ok()).collect();
        let (mut texts, mut groups) = (Texts::default(), Texts::default());
        let mut members = Vec::new();
        for (part, _) in &mut parts {
            let mut number = |given_number: u32| texts.number(given.text(given_number));
            part.communicator = part.communicator.map(&mut number);
            part.name = part.name.map(&mut number);
            part.group = part.group.and_then(|group| {
                let ranks = parsed[group as usize].as_ref()?;
                let number = groups.number(given_groups.text(group));
                if number as usize == members.len() {
                    members.push(ranks.clone());
                }
                Some(number)
            });
        }
        let (parts, facts) = parts.into_iter().unzip();
        Self {
            parts,
            facts,
            groups: members,
            texts,
            steps,
            recorded,
            begins_ns: begins,
            around,
        }
    }
}
