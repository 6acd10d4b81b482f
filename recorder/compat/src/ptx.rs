//! Kernel sources by the original's hash.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use trueno_recorder::PtxHash;

use crate::profiler::BrickProfiler;

/// Kernel sources by hash. Kept in memory; [`BrickProfiler::keep_ptx`] puts them into the run.
#[derive(Debug, Default)]
pub struct PtxRegistry {
    kernels: BTreeMap<u64, Kernel>,
}

#[derive(Debug)]
struct Kernel {
    name: String,
    source: String,
    path: Option<PathBuf>,
}

impl PtxRegistry {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a source; of equal sources the last name stays.
    pub fn register(&mut self, name: &str, ptx: &str, path: Option<&Path>) {
        let kernel = Kernel {
            name: name.to_owned(),
            source: ptx.to_owned(),
            path: path.map(Path::to_owned),
        };
        self.kernels.insert(Self::hash_ptx(ptx), kernel);
    }

    /// 64-bit FNV-1a over the source's bytes.
    pub fn hash_ptx(ptx: &str) -> u64 {
        ptx.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// The source of that hash.
    pub fn lookup(&self, hash: u64) -> Option<&str> {
        Some(self.kernels.get(&hash)?.source.as_str())
    }

    /// The kernel of that hash.
    pub fn lookup_name(&self, hash: u64) -> Option<&str> {
        Some(self.kernels.get(&hash)?.name.as_str())
    }

    /// File that the source of that hash came from, if that was given.
    pub fn lookup_path(&self, hash: u64) -> Option<&Path> {
        self.kernels.get(&hash)?.path.as_deref()
    }

    /// Every hash, in order.
    pub fn hashes(&self) -> impl Iterator<Item = u64> + '_ {
        self.kernels.keys().copied()
    }

    /// Counts the sources.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }
}

/// Sources that the run keeps: from the original's hash to the one that names the file.
#[derive(Debug, Default)]
pub(super) struct Sources(HashMap<u64, PtxHash>);

impl Sources {
    pub fn get(&self, hash: u64) -> Option<PtxHash> {
        self.0.get(&hash).copied()
    }
}

impl BrickProfiler {
    /// Keeps all sources of a registry in the run, and links kernels recorded from now on to them.
    pub fn keep_ptx(&mut self, registry: &PtxRegistry) {
        for (hash, kernel) in &registry.kernels {
            let kept = self.rec.ptx(&kernel.name, &kernel.source);
            self.graph.sources.0.insert(*hash, kept);
        }
    }
}
