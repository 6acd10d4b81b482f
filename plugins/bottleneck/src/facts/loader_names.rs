//! Names of bricks that get input.

/// Words in names of bricks that get input. Others can have the category `data loading`. The input `loader_rows` looks
/// for the same.
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

/// Words beside `input` where input is read: alone it is what a layer works on (`input_layernorm`).
const BESIDE_INPUT: [&str; 7] = ["get", "next", "wait", "await", "pipeline", "queue", "batch"];

/// Words beside `load` where nothing is read.
const BESIDE_LOAD: [&str; 4] = ["balance", "balancing", "imbalance", "store"];

/// True of the name of something that gets input: one of its words is a loader's. Names of stack frames
/// (`dir/file.py(12): read`, `a::read`) say what code is called, not what the program does with it.
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
