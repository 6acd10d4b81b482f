//! Names of kernels and functions as people read them.
//!
//! | recorded | shown |
//! | --- | --- |
//! | `_Z3addPf` | `add` |
//! | `void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …>(…)` | `vectorized_elementwise<CUDAFunctor_add<float>>` |
//! | `void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_nn_align4>(…)` | `cutlass_80_tensorop_s1688gemm_128x64_nn_align4` |
//! | `autograd::engine::evaluate_function: AddmmBackward0` | `AddmmBackward0` |
//! | `Cijk_Ailk_Bjlk_BBS_BH_…_MT64x32x64_MI16x16x1_…` | `Cijk_Ailk_Bjlk_BBS_BH_MT64x32x64_MI16x16x1` |
//! | `<built-in method replay of torch._C._CUDAGraph object at 0x7f…>` | `replay` |
//! | `aten::mm, op_id = 317126` | `aten::mm` |
//! | `Dequeue@aclnnMatmul` | `aclnnMatmul` |
//! | `at::_ops::div_Tensor::redispatch(…)` | `div_Tensor` |
//!
//! Only what is a symbol, or reads as a C++ function with its parameters, is shortened: `enumerate(DataLoader)` and
//! `aten::add` stay. Names that would be shown as one keep more, until they differ. Work is bounded: names of more than
//! 16 KiB, and those of a table after its first two megabytes, stay as well.

mod cpp;
mod demangle;
mod fold;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use demangle::{Demangled, demangle, is_symbol};
use fold::Level;

/// Longer names are not shortened. The longest names in CUDA libraries have a few thousand bytes.
const MAX_BYTES: usize = 16 << 10;
/// Limit of the text processed for one table, because a run may have any number of names. Names beyond it are not
/// shortened.
const MAX_TABLE_BYTES: usize = 2 << 20;

/// Prefix that PyTorch adds to the name of an evaluated autograd node.
const EVALUATED: &str = "autograd::engine::evaluate_function: ";

/// The name as it is shown where no other is like it.
pub fn display_name(name: &str) -> String {
    let readable = Readable::new(name);
    readable.at_level(name, Level::Functor).into_owned()
}

/// The name behind a symbol of C++ or Rust in full, as its language spells it. `None`: it is no such symbol, or too long.
pub fn full_name(symbol: &str) -> Option<String> {
    if symbol.len() > MAX_BYTES {
        return None;
    }
    match demangle(symbol)? {
        Demangled::Cpp(name) | Demangled::Rust(name) => Some(name),
    }
}

/// Shown names of a table: different where the recorded ones are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisplayNames {
    shown: HashMap<String, String>,
}

impl DisplayNames {
    /// Names that stand beside each other.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known = HashSet::new();
        let mut room = MAX_TABLE_BYTES;
        let mut table = Table::default();
        for name in names {
            if !known.insert(name) {
                continue;
            }
            let readable = match room {
                0 => Readable::Recorded,
                _ => Readable::new(name),
            };
            room = room.saturating_sub(readable.bytes_read(name));
            table.push(name, readable);
        }
        table.tell_apart();
        let changed = table.shown.into_iter().filter(|one| one.name != one.text);
        let changed = changed.map(|one| (one.name.to_owned(), one.text));
        Self {
            shown: changed.collect(),
        }
    }

    /// The shown name of one of the table.
    pub fn shown<'a>(&'a self, name: &'a str) -> &'a str {
        self.shown.get(name).map_or(name, String::as_str)
    }
}

struct Shown<'a> {
    name: &'a str,
    readable: Readable<'a>,
    level: Level,
    text: String,
}

#[derive(Default)]
struct Table<'a> {
    shown: Vec<Shown<'a>>,
    by_text: HashMap<String, Vec<usize>>,
    shared: VecDeque<String>,
}

impl<'a> Table<'a> {
    fn push(&mut self, name: &'a str, readable: Readable<'a>) {
        let level = Level::Functor;
        let text = readable.at_level(name, level).into_owned();
        self.note(&text, self.shown.len());
        self.shown.push(Shown {
            name,
            readable,
            level,
            text,
        });
    }

    fn note(&mut self, text: &str, at: usize) {
        let names = self.by_text.entry(text.to_owned()).or_default();
        names.push(at);
        if names.len() == 2 {
            self.shared.push_back(text.to_owned());
        }
    }

    /// Raises the level of names that are shown with the same text until they differ. Ends because each name
    /// has a last level.
    fn tell_apart(&mut self) {
        while let Some(text) = self.shared.pop_front() {
            for at in self.by_text.remove(&text).unwrap_or_default() {
                let one = &mut self.shown[at];
                one.level = one.level.next();
                one.text = one.readable.at_level(one.name, one.level).into_owned();
                let text = one.text.clone();
                self.note(&text, at);
            }
        }
    }
}

enum Readable<'a> {
    /// Nothing: the name stays as recorded.
    Recorded,
    /// A part of the name that says what the rest does not.
    Part(&'a str),
    Tensile(String),
    Rust(String),
    /// A C++ function with namespaces and parameters.
    Cpp(Cow<'a, str>),
}

impl<'a> Readable<'a> {
    fn new(name: &'a str) -> Self {
        if name.len() > MAX_BYTES {
            return Readable::Recorded;
        }
        let node = name.strip_prefix(EVALUATED);
        let part = node.or_else(|| operator(name)).or_else(|| built_in(name));
        if let Some(part) = part.or_else(|| operator_of_wrapper(name)) {
            return Readable::Part(part);
        }
        if let Some(tile) = tensile(name) {
            return Readable::Tensile(tile);
        }
        let cpp = match demangle(name) {
            Some(Demangled::Rust(rust)) => return Readable::Rust(rust),
            Some(Demangled::Cpp(cpp)) => Cow::Owned(cpp),
            None => match cpp::unified(name) {
                text if cpp::function(&text).is_some() => text,
                _ => return Readable::Recorded,
            },
        };
        Readable::Cpp(cpp)
    }

    fn bytes_read(&self, name: &str) -> usize {
        match self {
            Readable::Recorded if is_symbol(name) => name.len(),
            Readable::Recorded => 0,
            Readable::Part(text) => text.len(),
            Readable::Tensile(text) | Readable::Rust(text) => text.len(),
            Readable::Cpp(text) => text.len(),
        }
    }

    fn at_level<'s>(&'s self, name: &'s str, level: Level) -> Cow<'s, str> {
        let cpp = match (self, level) {
            (Readable::Recorded, _) | (_, Level::Recorded) => return name.into(),
            (Readable::Part(part), Level::Functor) => return (*part).into(),
            (Readable::Tensile(tile), Level::Functor) => return tile.into(),
            (Readable::Part(_) | Readable::Tensile(_), _) => return name.into(),
            (Readable::Rust(rust), _) => return rust.into(),
            (Readable::Cpp(cpp), Level::Demangled) => return cpp.as_ref().into(),
            (Readable::Cpp(cpp), _) => cpp,
        };
        match cpp::function(cpp).map(|parts| fold::function(&parts, level)) {
            Some(short) if !short.is_empty() => short.into(),
            _ => cpp.as_ref().into(),
        }
    }
}

/// The operator of a range of `torch.autograd.profiler.emit_nvtx`, or of one that Ascend's queue of tasks runs.
fn operator(name: &str) -> Option<&str> {
    const NUMBERS: [&str; 3] = [", op_id = ", ", seq = ", ", sizes = "];
    const QUEUES: [&str; 2] = ["Dequeue@", "Enqueue@"];
    let ends = NUMBERS.iter().filter_map(|text| name.find(text));
    let of_range = ends.min().map(|end| &name[..end]);
    let mut queues = QUEUES.iter();
    let queued = || queues.find_map(|queue| name.strip_prefix(queue));
    of_range.or_else(queued).filter(|part| !part.is_empty())
}

/// The method of a frame of Python that is written in C.
fn built_in(name: &str) -> Option<&str> {
    const FRAMES: [&str; 2] = ["<built-in method ", "<built-in function "];
    let mut frames = FRAMES.iter();
    let rest = frames.find_map(|frame| name.strip_prefix(frame))?;
    let rest = rest.strip_suffix('>')?;
    let method = rest.split_once(" of ").map_or(rest, |parts| parts.0);
    (!method.is_empty()).then_some(method)
}

/// The operator of a function that PyTorch generates to call it: `at::_ops::div_Tensor::redispatch(…)`.
fn operator_of_wrapper(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("at::_ops::")?;
    let path = rest.split('(').next().unwrap_or(rest);
    let operator = path
        .strip_suffix("::redispatch")
        .or(path.strip_suffix("::call"))?;
    (!operator.is_empty()).then_some(operator)
}

/// Keeps the problem, the macro tile and the matrix instruction of a Tensile kernel; the rest are a hundred
/// parameters.
fn tensile(name: &str) -> Option<String> {
    let rest = name.strip_prefix("Cijk_")?;
    let mut kept = vec!["Cijk"];
    let words: Vec<&str> = rest.split('_').collect();
    let tile = words.iter().position(|word| is_sized(word, "MT"))?;
    let problem = words[..tile].iter();
    let is_problem = |word: &&&str| !matches!(**word, "Bias" | "HAS" | "SAV" | "UserArgs");
    kept.extend(problem.filter(is_problem));
    kept.push(words[tile]);
    kept.extend(words[tile..].iter().find(|word| is_sized(word, "MI")));
    Some(kept.join("_"))
}

fn is_sized(word: &str, kind: &str) -> bool {
    let sizes = word.strip_prefix(kind).unwrap_or_default();
    sizes.starts_with(|c: char| c.is_ascii_digit()) && sizes.contains('x')
}
