//! One file a rule: the evidence it needs, its formula, its thresholds, what else was considered.
//!
//! A rule is a struct of its thresholds that implements [`Rule`], and a line in `registry!`. What several rules share stands
//! beside them: `draft` and `phases` make findings, `gaps`, `calls_between`, `linear_fit` and `roofs` weigh evidence.

mod blocking_copies;
mod busy_machine;
mod by_category;
mod calls_between;
mod category;
mod communication;
mod compute;
mod device_memory;
mod draft;
mod file_access;
mod fp32_gemm;
mod fragments;
mod fusion;
mod gaps;
mod growth;
pub(crate) mod idle_stretch;
mod imbalance;
mod late_ranks;
mod latency;
mod launch;
mod linear_fit;
mod loader;
mod out_of_memory;
mod partial_warps;
mod phases;
mod preprocessing;
mod recompute;
mod redundant;
mod roofs;
mod serial;
mod serialised;
mod set_up;
mod small_batches;
mod stragglers;
mod sync;
mod tear_down;
mod tight_loop;
mod transfer;

use std::fmt;
use std::sync::LazyLock;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::class::Class;
use crate::facts::Facts;
use crate::options::{General, Thresholds};
use crate::verdict::Verdicts;

/// A rule. Its fields are its own thresholds.
pub trait Rule {
    /// Classes that this rule is the first to report.
    fn classes(&self) -> &'static [Class] {
        &[]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts);
}

macro_rules! registry {
    ($($module:ident::$rule:ident),* $(,)?) => {
        /// All options, set with `--set bottleneck.KEY=VALUE`: a group of thresholds per rule.
        #[derive(Clone, Debug, Default)]
        pub struct Options {
            pub general: General,
            pub gaps: gaps::Gaps,
            $(pub $module: $module::$rule,)*
        }

        impl Options {
            pub fn rules(&self) -> Vec<&dyn Rule> {
                vec![$(&self.$module),*]
            }

            fn names() -> Vec<&'static str> {
                [General::NAMES, gaps::Gaps::NAMES, $($module::$rule::NAMES),*].concat()
            }

            fn set<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
                Ok(self.general.set(name, map)? || self.gaps.set(name, map)? $(|| self.$module.set(name, map)?)*)
            }
        }
    };
}

// `serial` asks whether `sync` found joins; `by_category` splits what all others found, and comes last.
registry![
    compute::Compute,
    latency::Latency,
    small_batches::SmallBatches,
    tight_loop::TightLoop,
    imbalance::Imbalance,
    recompute::Recomputation,
    transfer::Transfer,
    communication::ExposedCommunication,
    fusion::Unfused,
    redundant::RedundantTransfers,
    out_of_memory::OutOfMemory,
    growth::MemoryGrowth,
    fragments::Fragmentation,
    blocking_copies::BlockingCopies,
    busy_machine::BusyMachine,
    sync::SyncBound,
    serial::Serialisation,
    serialised::Serialised,
    fp32_gemm::Fp32Gemm,
    partial_warps::PartialWarps,
    set_up::SetUp,
    preprocessing::Preprocessing,
    launch::LaunchBound,
    idle_stretch::IdleStretch,
    file_access::FileAccess,
    device_memory::DeviceMemory,
    loader::DataLoad,
    late_ranks::LateRanks,
    stragglers::Stragglers,
    category::Categories,
    by_category::CategoryParts,
];

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static NAMES: LazyLock<Vec<&str>> = LazyLock::new(Options::names);
        deserializer.deserialize_struct("Options", &NAMES, Given)
    }
}

struct Given;

impl<'de> Visitor<'de> for Given {
    type Value = Options;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("options")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Options, A::Error> {
        let mut options = Options::default();
        while let Some(name) = map.next_key::<String>()? {
            if !options.set(&name, &mut map)? {
                return Err(A::Error::custom(format_args!("unknown option `{name}`")));
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Users see this list when they mistype a key.
    #[test]
    fn options_are_listed_by_rule() {
        let names = Options::names();
        assert_eq!(
            names.join(" "),
            "findings least_share medium_share high_share critical_share least_gaps launch_ns prepare_ns near_roof far_roof \
             latency_bytes_per_s miss_ns few_blocks small_share tight_calls tight_ns imbalance repeats read_back_bytes \
             exposed_share round_trips touch_bytes_per_ns growth_share least_growth_bytes memory_bytes full_soon_s full_later_s \
             fragmentation free_share least_free_bytes alone_share lanes_busy fp32_gemm_share partial_warp_share set_up_share \
             first_call_share preprocessing_share stretch_share"
        );
    }

    #[test]
    fn classes_have_an_order_and_explain_known_ones() {
        let options = Options::default();
        let mut classes: Vec<Class> = options
            .rules()
            .iter()
            .flat_map(|rule| rule.classes())
            .copied()
            .collect();
        classes.sort_unstable();
        assert!(
            classes.windows(2).all(|pair| pair[0] < pair[1]),
            "{classes:?}"
        );
        for name in classes.iter().flat_map(|class| class.explained()) {
            assert!(
                classes.iter().any(|class| class.name() == *name),
                "no class {name}"
            );
        }
    }
}
