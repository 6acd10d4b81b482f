//! Launches of one name and shape beside the kernels of a run of that name and shape.
//!
//! Where both sides spell template arguments alike, those of one spelling meet each other. What
//! is left meets in order, if that is possible without contradiction: one spelling on one side
//! must always meet one and the same on the other.

use std::collections::BTreeMap;

use super::table::Launch;

const NOT_EQUALLY_MANY: &str =
    "profile and run have different numbers of them, so they cannot be matched";
const NO_ORDER: &str =
    "the kernels ran on several streams, and their launch order was not recorded";
const OTHER_ARGUMENTS: &str =
    "profile and run have kernels with different template arguments at the same positions";

#[derive(Clone, Debug)]
pub struct At {
    pub id: u64,
    pub start_ns: i64,
    /// Numbers launches in program order.
    pub launch: Option<u64>,
    pub lane: (Option<u32>, Option<u32>),
    pub arguments: Option<std::rc::Rc<str>>,
}

/// Indices of kernels and launches that can only match each other.
#[derive(Debug, Default)]
pub struct Pairing {
    pub kernels: Vec<usize>,
    pub launches: Vec<usize>,
}

/// Splits by template arguments that both sides have; the last pairing holds the rest.
pub fn pairings(kernels: &[At], launches: &[Launch]) -> Vec<Pairing> {
    let mut spelled: BTreeMap<&str, Pairing> = BTreeMap::new();
    let mut rest = Pairing::default();
    for (place, kernel) in kernels.iter().enumerate() {
        if let Some(arguments) = &kernel.arguments {
            spelled.entry(arguments).or_default().kernels.push(place);
        } else {
            rest.kernels.push(place);
        }
    }
    for (place, launch) in launches.iter().enumerate() {
        if let Some(arguments) = &launch.arguments {
            spelled.entry(arguments).or_default().launches.push(place);
        } else {
            rest.launches.push(place);
        }
    }
    let mut all = Vec::new();
    for pairing in spelled.into_values() {
        if pairing.kernels.is_empty() || pairing.launches.is_empty() {
            rest.kernels.extend(pairing.kernels);
            rest.launches.extend(pairing.launches);
        } else {
            all.push(pairing);
        }
    }
    rest.launches.sort_unstable();
    all.push(rest);
    all.retain(|pairing| !pairing.kernels.is_empty() || !pairing.launches.is_empty());
    all
}

impl Pairing {
    /// Pairs of kernel and launch, or why they cannot be determined.
    pub fn pairs<'l>(
        &self,
        kernels: &[At],
        launches: &'l [Launch],
    ) -> Result<Vec<(At, &'l Launch)>, &'static str> {
        if self.kernels.len() != self.launches.len() {
            return Err(NOT_EQUALLY_MANY);
        }
        let kernels: Vec<At> = self.kernels.iter().map(|at| kernels[*at].clone()).collect();
        let kernels = in_order_of_launch(kernels).ok_or(NO_ORDER)?;
        let launches = self.launches.iter().map(|at| &launches[*at]);
        let pairs: Vec<(At, &Launch)> = kernels.into_iter().zip(launches).collect();
        if is_one_to_one(&pairs) {
            Ok(pairs)
        } else {
            Err(OTHER_ARGUMENTS)
        }
    }

    /// Template arguments of its launches, if all have the same.
    pub fn shown_arguments(&self, launches: &[Launch]) -> String {
        let mut all = self.launches.iter().map(|at| &launches[*at].arguments);
        match all.next() {
            Some(Some(first)) if all.all(|other| other.as_ref() == Some(first)) => {
                format!("{first}>")
            }
            _ => String::new(),
        }
    }
}

/// True if each spelling of arguments always matches the same other one. Missing arguments match any.
fn is_one_to_one(pairs: &[(At, &Launch)]) -> bool {
    let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
    pairs.iter().all(|(kernel, launch)| {
        let (Some(a), Some(b)) = (&kernel.arguments, &launch.arguments) else {
            return true;
        };
        *there.entry(a).or_insert(b) == b && *back.entry(b).or_insert(a) == a
    })
}

/// ncu runs kernels in launch order, which equals the order of their starts on a single stream only. `None` if the
/// order is unknown.
fn in_order_of_launch(mut kernels: Vec<At>) -> Option<Vec<At>> {
    if kernels.iter().all(|kernel| kernel.launch.is_some()) {
        kernels.sort_by_key(|kernel| (kernel.launch, kernel.start_ns, kernel.id));
        // A graph puts many kernels on several streams by one launch.
        let unordered = |two: &[At]| two[0].launch == two[1].launch && two[0].lane != two[1].lane;
        if kernels.windows(2).any(unordered) {
            return None;
        }
    } else if kernels.windows(2).all(|two| two[0].lane == two[1].lane) {
        kernels.sort_by_key(|kernel| (kernel.start_ns, kernel.id));
    } else {
        return None;
    }
    Some(kernels)
}
