//! Kernel sources by the original's hash.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use trueno_recorder::{PtxHash, Recorder};

static KNOWN: LazyLock<Mutex<HashMap<u64, KnownSource>>> = LazyLock::new(Mutex::default);

#[derive(Clone, Debug)]
struct KnownSource {
    hash: PtxHash,
    registered: Option<(Arc<str>, Arc<str>)>,
}

impl KnownSource {
    fn of(hash: u64) -> Option<Self> {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&hash).cloned()
    }

    fn note(hash: u64, source: &str, registered: Option<(Arc<str>, Arc<str>)>) {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Self {
            hash: PtxHash::from_source(source),
            registered: None,
        };
        let of_it = known.entry(hash).or_insert_with(new);
        if registered.is_some() {
            of_it.registered = registered;
        }
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Kernel sources by hash. Each that a recorded kernel names goes into its run, in whatever order the two are told;
/// [`BrickProfiler::keep_ptx`](crate::BrickProfiler::keep_ptx) puts all of them there. So sources stay in memory as long as the process.
#[derive(Debug, Default)]
pub struct PtxRegistry {
    kernels: BTreeMap<u64, Kernel>,
}

#[derive(Debug)]
struct Kernel {
    name: Arc<str>,
    source: Arc<str>,
    path: Option<PathBuf>,
}

impl PtxRegistry {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a source; of equal sources the last name stays.
    pub fn register(&mut self, name: &str, ptx: &str, path: Option<&Path>) {
        let (hash, name, source): (_, Arc<str>, Arc<str>) =
            (fnv1a(ptx.as_bytes()), name.into(), ptx.into());
        KnownSource::note(hash, ptx, Some((name.clone(), source.clone())));
        let path = path.map(Path::to_owned);
        self.kernels.insert(hash, Kernel { name, source, path });
    }

    /// 64-bit FNV-1a over the source's bytes. Kernels recorded by it are linked to the source.
    pub fn hash_ptx(ptx: &str) -> u64 {
        let hash = fnv1a(ptx.as_bytes());
        KnownSource::note(hash, ptx, None);
        hash
    }

    /// The source of that hash.
    pub fn lookup(&self, hash: u64) -> Option<&str> {
        Some(&self.kernels.get(&hash)?.source)
    }

    /// The kernel of that hash.
    pub fn lookup_name(&self, hash: u64) -> Option<&str> {
        Some(&self.kernels.get(&hash)?.name)
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

#[derive(Debug, Default)]
pub(crate) struct Sources {
    kept: HashSet<u64>,
    /// Named by kernels, but not in the run yet; true if named by the program's own hash.
    missing: BTreeMap<u64, bool>,
}

impl Sources {
    /// The hash for a kernel's row: that of the file where the source was ever hashed or registered, else the program's
    /// own; 0 names none. The run keeps the source as soon as it is registered.
    pub fn linked(&mut self, rec: &Recorder, hash: u64) -> Option<PtxHash> {
        if hash == 0 {
            return None;
        }
        let known = KnownSource::of(hash);
        if !self.kept.contains(&hash) && !self.keep(rec, hash) {
            self.missing.entry(hash).or_insert(known.is_none());
        }
        Some(known.map_or(PtxHash::from_number(hash), |source| source.hash))
    }

    /// Keeps a source in the run, if it is registered.
    pub fn keep(&mut self, rec: &Recorder, hash: u64) -> bool {
        let by_own_hash = self.missing.get(&hash) == Some(&true);
        if !keep_registered(rec, hash, by_own_hash) {
            return false;
        }
        self.kept.insert(hash);
        self.missing.remove(&hash);
        true
    }

    /// Keeps the sources that were registered after the kernels were recorded.
    pub fn keep_missing(&self, rec: &Recorder) {
        for (hash, by_own_hash) in &self.missing {
            keep_registered(rec, *hash, *by_own_hash);
        }
    }
}

fn keep_registered(rec: &Recorder, hash: u64, by_own_hash: bool) -> bool {
    let source = KnownSource::of(hash).and_then(|source| source.registered);
    let Some((name, text)) = source else {
        return false;
    };
    let file = rec.ptx(&name, &text);
    if by_own_hash {
        // Rows are written already: this tells which file their hash means.
        rec.value(format!("compat.ptx.{hash:016x}"), file.to_string());
    }
    true
}
