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

/// `load` and `loader` do not count together with one of these either, but with one of [`INPUT`]: then code or a cache is
/// loaded, or a loader is made.
const CODE: [&str; 14] = [
    "cache",
    "code",
    "compile",
    "config",
    "create",
    "dll",
    "extension",
    "init",
    "kernel",
    "library",
    "module",
    "plugin",
    "setup",
    "state",
];

const INPUT: [&str; 7] = [
    "batch", "batches", "data", "next", "sample", "samples", "shard",
];

/// Returns whether a word of the name says that it loads input. Names of stack frames (`dir/file.py(12): read`,
/// `a::read`) do not count: they say which code ran, not what for.
pub fn is_loader(name: &str) -> bool {
    if name.contains(['/', '(', '<']) || name.contains("::") || name.contains(".py") {
        return false;
    }
    let words = words(name);
    let has = |list: &[&str]| {
        let mut words = words.iter();
        words.any(|word| list.iter().any(|other| word.eq_ignore_ascii_case(other)))
    };
    let is_input = has(&["input", "inputs"]) && (words.len() == 1 || has(&BESIDE_INPUT));
    let loads_code = has(&CODE) && !has(&INPUT) && !has(&LOADER_WORDS[3..]);
    is_input || (has(&LOADER_WORDS) && !has(&BESIDE_LOAD) && !loads_code)
}

/// The words of `load_batch`, `loadBatch` and `load17`, without numbers; `DataLoader` counts as a whole, too.
fn words(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for whole in name.split(|letter: char| !letter.is_alphanumeric()) {
        let (mut start, mut before) = (0, ' ');
        for (at, letter) in whole.char_indices() {
            if letter.is_uppercase() && before.is_lowercase() {
                words.push(&whole[start..at]);
                start = at;
            }
            before = letter;
        }
        if start > 0 {
            words.push(&whole[start..]);
        }
        words.push(whole);
    }
    let words = words
        .into_iter()
        .map(|word| word.trim_end_matches(char::is_numeric));
    words.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_a_capital_ends_a_word() {
        for loads in [
            "load_batch_17",
            "load17",
            "loadBatch17",
            "FetchShard-3f",
            "DataLoader",
            "dataloader0",
            "readNext",
            "input3",
            "DataModule.load_batch",
            "fetch_code_tokens",
            "read_state",
            "create_batch.read",
        ] {
            assert!(is_loader(loads), "{loads}");
        }
        for other in [
            "loadModel3",
            "h2dLoad",
            "loadWeights",
            "PyCodeCache.load_by_key_path",
            "TorchFramework.init_loader",
            "load_state_dict",
            "thread0",
            "input_layernorm",
            "upload",
            "Payload7",
            "spreader",
        ] {
            assert!(!is_loader(other), "{other}");
        }
    }
}
