//! Fingerprints of tensors, and the first that differs from a reference.

use std::collections::HashMap;
use std::fmt;

use trueno_recorder::finished::Enclosing;

use crate::profiler::BrickProfiler;

/// Limit on fingerprints kept for comparisons; the run has all of them.
const MAX_KEPT: usize = 1 << 20;
const FIRST_ELEMENTS: usize = 64;

/// Fingerprint of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelChecksum {
    /// Name of the tensor, or of what made it.
    pub name: String,
    /// Layer.
    pub layer_idx: usize,
    /// Position in the sequence.
    pub position: u32,
    /// [`fnv1a_f32_checksum`]: over the first 64 elements.
    pub checksum: u64,
    /// 64-bit FNV-1a over all elements.
    pub full_checksum: u64,
    /// Number of elements.
    pub elements: usize,
}

/// A tensor whose bits differ from the reference's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DivergenceInfo {
    /// Name of the tensor, or of what made it.
    pub kernel_name: String,
    /// Layer.
    pub layer_idx: usize,
    /// Position in the sequence.
    pub position: u32,
    /// Of the reference: over the first 64 elements, or over all where these 64 are equal.
    pub expected_checksum: u64,
    /// The same of the profiler that was asked.
    pub actual_checksum: u64,
    /// Elements of the reference, and of the profiler that was asked.
    pub elements: (usize, usize),
}

impl fmt::Display for DivergenceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DIVERGENCE at '{}' (layer {}, pos {}): expected 0x{:016X}, got 0x{:016X}",
            self.kernel_name,
            self.layer_idx,
            self.position,
            self.expected_checksum,
            self.actual_checksum
        )?;
        match self.elements {
            (expected, actual) if expected != actual => {
                write!(f, " ({expected} elements, got {actual})")
            }
            _ => Ok(()),
        }
    }
}

/// Outcome of a comparison of fingerprints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChecksumComparison {
    /// The first difference, in the order of recording of the profiler that was asked.
    pub first: Option<DivergenceInfo>,
    /// Fingerprints that both have.
    pub compared: usize,
    /// Those that the reference lacks.
    pub missing_in_reference: usize,
    /// Those that only the reference has.
    pub only_in_reference: usize,
}

/// 64-bit FNV-1a over the bits of the first 64 elements. What comes after them has no part in it.
pub fn fnv1a_f32_checksum(data: &[f32]) -> u64 {
    fnv1a(&data[..data.len().min(FIRST_ELEMENTS)])
}

fn fnv1a(data: &[f32]) -> u64 {
    let bytes = data.iter().flat_map(|value| value.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[derive(Debug, Default)]
pub(crate) struct Checksums {
    kept: Vec<KernelChecksum>,
    is_full: bool,
}

impl BrickProfiler {
    /// Records the fingerprint of a tensor, over all its elements, in `layer` of a model.
    pub fn record_checksum(&mut self, name: &str, layer: usize, position: u32, output: &[f32]) {
        if !self.is_enabled() {
            return;
        }
        let enclosing = self.graph.enclosing();
        let span = self.rec.enclosing_span(Enclosing {
            layer: u32::try_from(layer).ok().or(enclosing.layer),
            ..enclosing
        });
        let at = Some(u64::from(position));
        let shape = [output.len()];
        self.rec.checksum_of(span, name, at, output, &shape);
        if self.checksums.kept.len() == MAX_KEPT {
            if !std::mem::replace(&mut self.checksums.is_full, true) {
                self.rec.problem(format!(
                    "find_divergence compares the first {MAX_KEPT} checksums only (hint: reset_checksums)"
                ));
            }
            return;
        }
        self.checksums.kept.push(KernelChecksum {
            name: name.to_owned(),
            layer_idx: layer,
            position,
            checksum: fnv1a_f32_checksum(output),
            full_checksum: fnv1a(output),
            elements: output.len(),
        });
    }

    /// Fingerprints in the order of recording.
    pub fn get_checksums(&self) -> &[KernelChecksum] {
        &self.checksums.kept
    }

    /// Forgets the fingerprints; the run keeps its rows.
    pub fn reset_checksums(&mut self) {
        self.checksums = Checksums::default();
    }

    /// The first tensor whose bits differ from those of a reference: bit for bit, over all elements. `None` also where
    /// nothing could be compared, see [`BrickProfiler::compare_checksums`]. Within what tolerance values differ, and where
    /// a difference came from, the plugin `divergence` tells from two runs.
    pub fn find_divergence(&self, reference: &BrickProfiler) -> Option<DivergenceInfo> {
        self.compare_checksums(reference).first
    }

    /// Fingerprints of the same name, layer and position against a reference's, the first with the first, the second with
    /// the second where there are several.
    pub fn compare_checksums(&self, reference: &BrickProfiler) -> ChecksumComparison {
        let mut expected: HashMap<_, Vec<&KernelChecksum>> = HashMap::new();
        for one in reference.get_checksums().iter().rev() {
            let key = (one.name.as_str(), one.layer_idx, one.position);
            expected.entry(key).or_default().push(one);
        }
        let mut out = ChecksumComparison::default();
        for actual in self.get_checksums() {
            let key = (actual.name.as_str(), actual.layer_idx, actual.position);
            let Some(expected) = expected.get_mut(&key).and_then(Vec::pop) else {
                out.missing_in_reference += 1;
                continue;
            };
            out.compared += 1;
            if out.first.is_none() {
                out.first = difference(expected, actual);
            }
        }
        out.only_in_reference = expected.values().map(Vec::len).sum();
        out
    }
}

fn difference(expected: &KernelChecksum, actual: &KernelChecksum) -> Option<DivergenceInfo> {
    let (expected_checksum, actual_checksum) = if expected.checksum != actual.checksum {
        (expected.checksum, actual.checksum)
    } else {
        (expected.full_checksum, actual.full_checksum)
    };
    let elements = (expected.elements, actual.elements);
    (expected_checksum != actual_checksum || elements.0 != elements.1).then(|| DivergenceInfo {
        kernel_name: actual.name.clone(),
        layer_idx: actual.layer_idx,
        position: actual.position,
        expected_checksum,
        actual_checksum,
        elements,
    })
}
