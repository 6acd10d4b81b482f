//! Sums over the calls of an operator with the same shapes.

use std::collections::BTreeMap;

use trueno_analysis::hash::FastMap;

use crate::calls::{Call, Calls, NONE};
use crate::device_time::DeviceTime;
use crate::recomputed::Recomputed;
use crate::work::Works;

/// An operator with one signature: indexes into [`Calls::names`] and [`Calls::signatures`].
pub type Shape = (u32, u32);

pub fn shape(call: &Call) -> Option<Shape> {
    (call.signature != NONE).then_some((call.name, call.signature))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedOn {
    Device,
    /// The calls themselves, in a run without devices.
    Host,
}

impl TimedOn {
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Host => "host",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub calls: u64,
    /// Calls that compute again what the forward pass did, for the backward pass.
    pub recomputed_calls: u64,
    pub host_ns: i64,
    /// The part of `host_ns` without nested rows.
    pub host_self_ns: i64,
    /// Calls that launched device work, directly or in nested calls.
    pub device_calls: u64,
    /// Busy time of that work, summed over calls.
    pub device_ns: i64,
    /// The part not launched by a modelled operator within the call.
    pub counted_ns: i64,
    pub counted_calls: u64,
    /// Host duration not covered by modelled operators within the call, for ranks without device work.
    pub host_counted_ns: i64,
    pub host_counted_calls: u64,
    /// The part not launched by any modelled operator; counted for the innermost call with a signature.
    pub not_modelled_ns: i64,
    /// Time of work launched before the recording that is attributed to this shape.
    pub inferred_ns: i64,
    pub operations: u64,
    /// The lowest device number on which their work ran.
    pub device: u32,
}

impl Sums {
    pub fn add(&mut self, other: &Self) {
        let plus = |to: &mut i64, more: i64| *to = to.saturating_add(more);
        plus(&mut self.host_ns, other.host_ns);
        plus(&mut self.host_self_ns, other.host_self_ns);
        plus(&mut self.device_ns, other.device_ns);
        plus(&mut self.counted_ns, other.counted_ns);
        plus(&mut self.not_modelled_ns, other.not_modelled_ns);
        plus(&mut self.inferred_ns, other.inferred_ns);
        plus(&mut self.host_counted_ns, other.host_counted_ns);
        if other.device_calls > 0 {
            let first = if self.device_calls > 0 {
                self.device
            } else {
                NONE
            };
            self.device = first.min(other.device);
        }
        let plus = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        plus(&mut self.calls, other.calls);
        plus(&mut self.recomputed_calls, other.recomputed_calls);
        plus(&mut self.device_calls, other.device_calls);
        plus(&mut self.counted_calls, other.counted_calls);
        plus(&mut self.host_counted_calls, other.host_counted_calls);
        plus(&mut self.operations, other.operations);
    }

    /// Uses host times for what is counted if `on` is the host.
    pub fn count_on(&mut self, on: Option<TimedOn>) {
        if on == Some(TimedOn::Host) {
            self.counted_ns = self.host_counted_ns;
            self.counted_calls = self.host_counted_calls;
        }
    }

    /// The time from which rates are computed, and the number of its calls.
    pub fn timed(&self, on: TimedOn) -> Option<(i64, u64)> {
        let (time_ns, calls) = match on {
            TimedOn::Device => (self.device_ns, self.device_calls),
            TimedOn::Host => (self.host_ns, self.calls),
        };
        (time_ns > 0 && calls > 0).then_some((time_ns, calls))
    }
}

/// Sums by shape, sorted by name and signature index.
pub fn by_shape(
    calls: &Calls,
    device: &DeviceTime,
    has_device_work: bool,
    works: &Works,
) -> BTreeMap<Shape, Sums> {
    let recomputed = Recomputed::new(calls);
    let on_host = if has_device_work {
        Vec::new()
    } else {
        counted_on_host(calls, works)
    };
    let mut out: FastMap<Shape, Sums> = FastMap::default();
    for (place, call) in calls.rows.iter().enumerate() {
        let Some(shape) = shape(call).filter(|_| call.is_in_window) else {
            continue;
        };
        let of = &device.of_calls[place];
        let has_work = of.count > 0;
        let host_counted_ns = on_host.get(place).copied().unwrap_or(0);
        out.entry(shape).or_default().add(&Sums {
            calls: 1,
            recomputed_calls: u64::from(recomputed.is(calls, place as u32)),
            host_ns: call.dur_ns,
            host_self_ns: call.self_ns(),
            device_calls: u64::from(has_work),
            device_ns: of.busy_ns(),
            counted_ns: of.counted_ns,
            counted_calls: u64::from(of.counted_ns > 0),
            host_counted_ns,
            host_counted_calls: u64::from(host_counted_ns > 0),
            not_modelled_ns: of.not_modelled_ns,
            inferred_ns: 0,
            operations: u64::from(of.count),
            device: of.device,
        });
    }
    for (shape, inferred_ns) in &device.inferred {
        if let Some(sums) = out.get_mut(shape) {
            sums.inferred_ns = *inferred_ns;
        }
    }
    out.into_iter().collect()
}

/// Host time of each modelled row without modelled operators within it. For a container with modelled operators
/// within it, 0.
fn counted_on_host(calls: &Calls, works: &Works) -> Vec<i64> {
    let work = |place: u32| {
        let call = &calls.rows[place as usize];
        works.of(shape(call)?).ok()
    };
    let places = 0..calls.rows.len() as u32;
    let mut out: Vec<i64> = calls.rows.iter().map(|call| call.dur_ns).collect();
    let mut is_passed_on = vec![false; calls.rows.len()];
    for place in places.clone().filter(|place| work(*place).is_some()) {
        let mut around = calls.outwards(place).skip(1);
        if let Some(outer) = around.find(|place| work(*place).is_some()) {
            let dur_ns = calls.rows[place as usize].dur_ns;
            out[outer as usize] = out[outer as usize].saturating_sub(dur_ns).max(0);
            is_passed_on[outer as usize] = true;
        }
    }
    for place in places {
        let is_container = work(place).is_none_or(|work| work.is_container);
        if is_container && (is_passed_on[place as usize] || work(place).is_none()) {
            out[place as usize] = 0;
        }
    }
    out
}
