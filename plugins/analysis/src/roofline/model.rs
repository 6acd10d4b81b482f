//! The roofline model: where work lies below the roof.
//!
//! Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
//! Intensity = FLOPs / bytes. Attainable = min(compute ceiling, intensity × bandwidth). Efficiency =
//! achieved / attainable. Ridge = compute ceiling / bandwidth: left of it memory binds.
//!
//! Nothing is clamped and nothing is guessed: what cannot be computed is a [`Reason`].

use std::fmt;

/// Work done and the time it took. Sums over calls are fine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes moved at the stated level of memory.
    pub bytes: f64,
    /// Time.
    pub dur_ns: f64,
}

/// The two ceilings over it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roof {
    /// FLOP/s.
    pub compute: f64,
    /// Bytes/s.
    pub bandwidth: f64,
}

/// The lower of the two ceilings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// The bandwidth: the intensity is left of the ridge.
    Memory,
    /// The arithmetic.
    Compute,
}

impl Bound {
    /// `memory` or `compute`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Compute => "compute",
        }
    }
}

/// The reason for a missing figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The row's time is only an upper bound: it contains the work.
    BoundRow,
    /// The row is marked as not valid.
    InvalidRow,
    /// The time is missing, zero or negative.
    NoTime,
    /// The time is partly outside of the window.
    Cut,
    /// The work ran on a device, but the time is the host's.
    OnDevice,
    /// Tasks on other threads did part of the work.
    SeveralThreads,
    /// FLOPs were not recorded.
    NoFlops,
    /// Bytes were not recorded.
    NoBytes,
    /// FLOPs were recorded as zero.
    ZeroFlops,
    /// Bytes were recorded as zero.
    ZeroBytes,
    /// FLOPs are negative, infinite or not a number.
    BadFlops,
    /// Bytes are negative, infinite or not a number.
    BadBytes,
    /// FLOPs were counted in several precisions, which have different ceilings.
    MixedPrecision,
    /// The ceiling is zero, negative, infinite or not a number.
    BadCeiling,
    /// A figure is out of the range of a double.
    OutOfRange,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BoundRow => "the time is only an upper bound of the work (timing = bound)",
            Self::InvalidRow => "the row is marked not valid",
            Self::NoTime => "the duration is not above zero",
            Self::Cut => "the window cuts the row, and its work cannot be divided",
            Self::OnDevice => {
                "the time is the host's, the work ran on a device (its kernels count)"
            }
            Self::SeveralThreads => "tasks on other threads did part of it (their rows count)",
            Self::NoFlops => "no FLOPs recorded",
            Self::NoBytes => "no bytes recorded",
            Self::ZeroFlops => "the FLOPs are 0, so there is no arithmetic intensity",
            Self::ZeroBytes => "the bytes are 0, so there is no arithmetic intensity",
            Self::BadFlops => "the FLOPs are negative or not finite",
            Self::BadBytes => "the bytes are negative or not finite",
            Self::MixedPrecision => "FLOPs of several precisions, each with a different ceiling",
            Self::BadCeiling => "the ceiling is not a positive finite number",
            Self::OutOfRange => "the figures are out of range",
        })
    }
}

/// Rates and intensity achieved, without regard to any roof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Achieved {
    /// FLOPs a byte.
    pub intensity: f64,
    /// FLOP/s.
    pub flops_per_s: f64,
    /// Bytes/s.
    pub bytes_per_s: f64,
}

/// Position of work below a roof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// FLOP/s the roof allows at this intensity.
    pub attainable: f64,
    /// Achieved / attainable. Above 1 the inputs contradict each other.
    pub efficiency: f64,
    /// Intensity at which both ceilings meet.
    pub ridge: f64,
    /// The lower ceiling.
    pub bound: Bound,
}

impl Place {
    /// 1 − efficiency.
    pub fn distance(&self) -> f64 {
        1.0 - self.efficiency
    }

    /// True if more was achieved than can be; beyond rounding.
    pub fn is_above(&self) -> bool {
        self.efficiency > 1.0 + 1e-9
    }
}

/// Rates and intensity.
///
/// # Errors
/// A [`Reason`] for the first input that is zero, negative, infinite or not a number.
#[inline]
pub fn achieved(work: &Work) -> Result<Achieved, Reason> {
    let bad = |value: f64| !value.is_finite() || value < 0.0;
    if bad(work.dur_ns) || work.dur_ns == 0.0 {
        return Err(Reason::NoTime);
    }
    if bad(work.flops) {
        return Err(Reason::BadFlops);
    }
    if bad(work.bytes) {
        return Err(Reason::BadBytes);
    }
    if work.flops == 0.0 {
        return Err(Reason::ZeroFlops);
    }
    if work.bytes == 0.0 {
        return Err(Reason::ZeroBytes);
    }
    let seconds = work.dur_ns / 1e9;
    let found = Achieved {
        intensity: work.flops / work.bytes,
        flops_per_s: work.flops / seconds,
        bytes_per_s: work.bytes / seconds,
    };
    let all = [found.intensity, found.flops_per_s, found.bytes_per_s];
    if all.iter().all(|value| value.is_finite() && *value > 0.0) {
        Ok(found)
    } else {
        Err(Reason::OutOfRange)
    }
}

/// Against a roof.
///
/// # Errors
/// As [`achieved`]; a ceiling that is none.
#[inline]
pub fn place(work: &Work, roof: &Roof) -> Result<Place, Reason> {
    let achieved = achieved(work)?;
    let is_ceiling = |value: f64| value.is_finite() && value > 0.0;
    if !is_ceiling(roof.compute) || !is_ceiling(roof.bandwidth) {
        return Err(Reason::BadCeiling);
    }
    let by_memory = achieved.intensity * roof.bandwidth;
    let (attainable, bound) = if by_memory < roof.compute {
        (by_memory, Bound::Memory)
    } else {
        (roof.compute, Bound::Compute)
    };
    let found = Place {
        attainable,
        efficiency: achieved.flops_per_s / attainable,
        ridge: roof.compute / roof.bandwidth,
        bound,
    };
    let all = [found.attainable, found.efficiency, found.ridge];
    if all.iter().all(|value| value.is_finite() && *value > 0.0) {
        Ok(found)
    } else {
        Err(Reason::OutOfRange)
    }
}

/// Up to this far above a ceiling, it is more likely that the ceiling is too low than that the work is wrong.
const JUST_ABOVE: f64 = 0.1;

/// Tells whether work is faster than a roof by more than ceilings of one machine differ.
pub fn is_clearly_above(work: &Work, roof: &Roof) -> bool {
    place(work, roof).is_ok_and(|place| place.efficiency > 1.0 + JUST_ABOVE)
}

/// The likely reason why work seems to be faster than the machine, from the ceiling that it passed.
pub fn why_above(work: &Work, roof: &Roof, faster_memory: Option<(&str, f64)>) -> String {
    let Ok(found) = achieved(work) else {
        return String::new();
    };
    if !is_clearly_above(work, roof) {
        return "just above its ceiling, which was measured too low: at a lower clock, or while other work ran (measure it again)"
            .to_owned();
    }
    if found.flops_per_s > roof.compute {
        return "faster than the arithmetic allows: FLOPs stated too high, another instruction set or precision \
                than stated, or a higher clock than when the ceiling was measured"
            .to_owned();
    }
    match faster_memory {
        Some((level, _)) => format!(
            "faster than the memory allows, but not faster than {level}: its data was in a cache, or the declared bytes are too high"
        ),
        None => "faster than the memory allows: its data was in a cache, or the declared bytes are too high".to_owned(),
    }
}
