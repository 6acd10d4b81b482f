//! Sums of a run by operator and signature, to which those of other ranks can be added.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run};

use crate::Options;
use crate::calls::{Calls, NONE, Recorded, WithoutSignatures};
use crate::device_classes::DeviceClasses;
use crate::device_time::{DeviceTime, Totals};
use crate::groups::{self, Shape, Sums};
use crate::inputs::Side;
use crate::operations::Operations;
use crate::ranks::Ranks;
use crate::work::{self, Work, Works};

/// An operator with its signature, comparable between ranks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub name: String,
    pub recorded: Recorded,
    /// Work of one call, or why it is unknown. It is part of the key because it may depend on the kernels and
    /// other operators of a rank.
    pub work: std::result::Result<Work, String>,
    /// Class of the device that it ran on, or the device itself before classes are known; `None`: it launched
    /// no device work.
    pub device_class: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorSums {
    pub sums: Sums,
    /// Time of the kernels for which it was the innermost modelled operator, by name.
    pub kernels: BTreeMap<String, i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub has_signatures: bool,
    pub is_pytorch: bool,
    pub is_any_known: bool,
    pub device: Totals,
}

impl Facts {
    pub fn add(&mut self, other: &Self) {
        self.has_signatures |= other.has_signatures;
        self.is_pytorch |= other.is_pytorch;
        self.is_any_known |= other.is_any_known;
        self.device.add(&other.device);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSums {
    pub facts: Facts,
    /// The lowest rank with signatures.
    pub first_rank: u64,
    pub operators: BTreeMap<Key, OperatorSums>,
}

impl RunSums {
    /// Computes the sums from the inputs.
    ///
    /// # Errors
    /// The rules of the user are wrong, or an input lacks a column or has it in another type.
    pub fn load(
        run: &mut Run,
        side: Side,
        window: Option<Window>,
        without: WithoutSignatures,
        options: &Options,
    ) -> Result<Self> {
        let ranks = Ranks::read(run, side)?;
        let made = OnceCell::new();
        let models = || match made.get() {
            Some(models) => Ok(models),
            None => {
                let models = work::models(&options.rules)?;
                Ok(made.get_or_init(|| models))
            }
        };
        let calls = Calls::load(run, side, ranks, window, without, models)?;
        let mut facts = Facts {
            has_signatures: !calls.signatures.is_empty(),
            is_pytorch: calls.is_pytorch(),
            ..Facts::default()
        };
        let first_rank = calls.signature_ranks.iter().copied().min().unwrap_or(0);
        if !calls.are_read || !facts.has_signatures && calls.rows.is_empty() {
            return Ok(Self {
                facts,
                first_rank,
                ..Self::default()
            });
        }
        run.check_cancelled()?;
        let operations = Operations::load(run, side, ranks, &calls, window)?;
        run.check_cancelled()?;
        let works = if facts.has_signatures {
            Works::new(&calls, &operations, models()?)
        } else {
            Works::default()
        };
        let is_modelled = |place: u32| {
            let call = &calls.rows[place as usize];
            call.signature != NONE && works.of((call.name, call.signature)).is_ok()
        };
        let device = DeviceTime::new(&operations, &calls, &is_modelled);
        run.check_cancelled()?;
        facts.device = device.total(&calls.ranks_with_operators);
        facts.is_any_known = works.is_any_known();
        let has_device_work = facts.device.count > 0;
        let mut kernels = kernels_of_shapes(&device, &operations);
        let mut out = Self {
            facts,
            first_rank,
            ..Self::default()
        };
        for (shape, sums) in groups::by_shape(&calls, &device, has_device_work, &works) {
            let key = Key {
                name: calls.names.text(shape.0).to_owned(),
                recorded: calls.signatures[shape.1 as usize].clone(),
                work: works.of(shape).cloned().map_err(str::to_owned),
                device_class: (sums.device_calls > 0).then_some(sums.device),
            };
            let kernels = kernels.remove(&shape).unwrap_or_default();
            out.add(key, &OperatorSums { sums, kernels });
        }
        Ok(out)
    }

    pub fn add(&mut self, key: Key, more: &OperatorSums) {
        let of = self.operators.entry(key).or_default();
        of.sums.add(&more.sums);
        for (name, dur_ns) in &more.kernels {
            of.add_kernel(name.clone(), *dur_ns);
        }
    }

    /// Merges operators that ran on equal devices.
    #[must_use]
    pub fn by_device_class(mut self, classes: &DeviceClasses) -> Self {
        for (key, of) in std::mem::take(&mut self.operators) {
            let device_class = key.device_class.map(|_| classes.of(of.sums.device));
            self.add(
                Key {
                    device_class,
                    ..key
                },
                &of,
            );
        }
        self
    }
}

impl OperatorSums {
    pub fn add_kernel(&mut self, name: String, dur_ns: i64) {
        let sum = self.kernels.entry(name).or_default();
        *sum = sum.saturating_add(dur_ns);
    }
}

fn kernels_of_shapes(
    device: &DeviceTime,
    operations: &Operations,
) -> BTreeMap<Shape, BTreeMap<String, i64>> {
    let mut out: BTreeMap<Shape, BTreeMap<String, i64>> = BTreeMap::new();
    for ((kernel, shape), dur_ns) in &device.of_kernels {
        let name = operations.kernel_names.text(*kernel).to_owned();
        out.entry(*shape).or_default().insert(name, *dur_ns);
    }
    out
}
