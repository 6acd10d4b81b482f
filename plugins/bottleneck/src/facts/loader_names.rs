//! Names of bricks that get input.

/// Words in names of bricks that load input. Bricks with other names can use the category `data loading`. Keep in
/// step with the input `loader_rows`.
const LOADER_WORDS: [&str; 8] = [
    "load",
    "loader",
    "dataloader",
    "fetch",
    "prefetch",
    "dataset",
    "ingest",
    "read",
];

/// `input` counts only together with one of these words: alone it is a layer's argument (`input_layernorm`).
const BESIDE_INPUT: [&str; 7] = ["get", "next", "wait", "await", "pipeline", "queue", "batch"];

/// A word of [`LOADER_WORDS`] does not count together with one of these: then a model or its state is loaded, or work
/// is balanced.
const BESIDE_LOAD: [&str; 19] = [
    "balance",
    "balancing",
    "checkpoint",
    "d2h",
    "experts",
    "h2d",
    "imbalance",
    "kv",
    "kvcache",
    "layer",
    "layers",
    "model",
    "param",
    "parameters",
    "params",
    "store",
    "tensors",
    "weight",
    "weights",
];

/// Returns whether a word of the name says that it loads input. Names of stack frames (`dir/file.py(12): read`,
/// `a::read`) do not count: they say which code ran, not what for.
pub fn is_loader(name: &str) -> bool {
    if name.contains(['/', '(', '<']) || name.contains("::") || name.contains(".py") {
        return false;
    }
    let words = || {
        let words = name.split(|letter: char| !letter.is_alphanumeric());
        words.filter(|word| !word.is_empty())
    };
    let has = |list: &[&str]| {
        words().any(|word| list.iter().any(|other| word.eq_ignore_ascii_case(other)))
    };
    let is_input = has(&["input", "inputs"]) && (words().count() == 1 || has(&BESIDE_INPUT));
    is_input || (has(&LOADER_WORDS) && !has(&BESIDE_LOAD))
}
