//! Numbers as people say them.

pub use trueno_plugin::{agreeing, counted};

/// `12.3 ms`: three figures.
pub fn time(ns: i64) -> String {
    let value = ns as f64;
    let (value, unit) = match value.abs() {
        v if v >= 999.5e6 => (value / 1e9, "s"),
        v if v >= 999.5e3 => (value / 1e6, "ms"),
        v if v >= 999.5 => (value / 1e3, "µs"),
        _ => return format!("{ns} ns"),
    };
    format!("{} {unit}", figures(value))
}

/// Three figures.
pub fn figures(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// `38 %`.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p > 0.0 && p < 1.0 => "<1 %".to_owned(),
        p if p >= 99.5 && share < 1.0 - 1e-12 => ">99 %".to_owned(),
        p => format!("{p:.0} %"),
    }
}

/// `1,312`.
pub fn count(n: u64) -> String {
    trueno_plugin::grouped(n)
}

/// `1 gap`, `1,312 gaps`.
pub fn many(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// `4.2 MB`.
pub fn bytes(bytes: f64) -> String {
    for (unit, size) in [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] {
        if bytes.abs() >= size {
            return format!("{:.1} {unit}", bytes / size);
        }
    }
    format!("{bytes:.0} B")
}

/// The gain at the end of a sentence: `saves up to 12.3 ms (38 %)`.
pub fn gain(ns: i64, share: f64) -> String {
    format!("saves up to {} ({})", time(ns), percent(share))
}

/// A name that leaves room for the sentence around it: long ones (C++ kernels) lose unnamed namespaces and their arguments, then
/// their namespaces, then their middle, for what tells two of them apart stands at the end as often as at the start. The file
/// and line behind a name stay, as in `forward (conv.py:12)`.
pub fn short(name: &str) -> String {
    match with_location(name.trim()) {
        Some((name, location)) => format!("{} ({location})", short_alone(name)),
        None => short_alone(name.trim()),
    }
}

/// A name that ends with the location of its code, such as `forward (nn/conv.py:12)`: the name, and the file without its folders.
pub fn with_location(name: &str) -> Option<(&str, &str)> {
    let (function, location) = name.strip_suffix(')')?.rsplit_once(" (")?;
    let file = location.rsplit(['/', '\\']).next().unwrap_or(location);
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let path = match file.split_once(':') {
        Some((path, line)) if line.split(':').all(is_number) => path,
        _ => file,
    };
    // Arguments of C++ and suffixes of compilers are no files.
    let is_of_path = |of: char| of.is_alphanumeric() || "._-+@".contains(of);
    let (stem, ending) = path.rsplit_once('.')?;
    let is_file = !stem.is_empty()
        && path.chars().all(is_of_path)
        && (ending.starts_with(char::is_alphabetic) || stem.contains(".so"));
    (is_file && !function.trim().is_empty()).then(|| (function.trim(), file))
}

fn short_alone(name: &str) -> String {
    const MAX_LETTERS: usize = 28;
    let name = built_in(name).unwrap_or_else(|| without_folders(name));
    let name = &name.replace("(anonymous namespace)::", "");
    let plain = name.strip_prefix("void ").unwrap_or(name);
    let is_cpp = plain.len() < name.len() || plain.contains("::") || plain.ends_with(')');
    let head = if is_cpp {
        plain.split(['<', '(']).next().unwrap_or(plain)
    } else {
        plain
    };
    let head = if head.is_empty() { plain } else { head };
    let head = operator_of_wrapper(head).unwrap_or(head);
    let head = if head.chars().count() > MAX_LETTERS {
        head.rsplit("::").next().unwrap_or(head)
    } else {
        head
    };
    if head.chars().count() <= MAX_LETTERS {
        return head.to_owned();
    }
    let letters: Vec<char> = head.chars().collect();
    let (start, end) = (
        &letters[..MAX_LETTERS / 2],
        &letters[letters.len() + 1 - MAX_LETTERS / 2..],
    );
    start.iter().chain(&['…']).chain(end).collect()
}

/// The operator of a wrapper that PyTorch generates, such as `div_Tensor` of `at::_ops::div_Tensor::redispatch`.
fn operator_of_wrapper(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("at::_ops::")?;
    let operator = rest
        .strip_suffix("::redispatch")
        .or(rest.strip_suffix("::call"))?;
    (!operator.is_empty()).then_some(operator)
}

/// A frame of Python without the folders of its file: `dataloader.py(703): __next__`. Other names stay.
pub fn without_folders(name: &str) -> &str {
    let file_ends = name.find(".py(").filter(|_| name.contains("): "));
    let folders_end = file_ends.and_then(|end| name[..end].rfind('/'));
    folders_end.map_or(name, |end| &name[end + 1..])
}

/// The method of a frame of Python that is written in C, such as `<built-in method replay of …>`.
fn built_in(name: &str) -> Option<&str> {
    const FRAMES: [&str; 2] = ["<built-in method ", "<built-in function "];
    let mut frames = FRAMES.iter();
    let rest = frames.find_map(|frame| name.strip_prefix(frame))?;
    let rest = rest.strip_suffix('>')?;
    let method = rest.split_once(" of ").map_or(rest, |parts| parts.0);
    (!method.is_empty()).then_some(method)
}

/// The rank that a lane or a place names, 0 if none, and the rest: `rank 1 gpu0`.
pub fn without_rank(place: &str) -> (u64, &str) {
    let rest = place.strip_prefix("rank ");
    let parts = rest.and_then(|rest| rest.split_once(' '));
    let known = parts.and_then(|(rank, rest)| Some((rank.parse().ok()?, rest)));
    known.unwrap_or((0, place))
}

/// A text inside quotes of SQL.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_they_are_said() {
        assert_eq!(time(12_345_678), "12.3 ms");
        assert_eq!(time(999), "999 ns");
        assert_eq!(time(415_000), "415 µs");
        assert_eq!(percent(0.384), "38 %");
        assert_eq!(percent(0.002), "<1 %");
        assert_eq!(
            (percent(0.9974), percent(1.0)),
            (">99 %".to_owned(), "100 %".to_owned())
        );
        assert_eq!(count(1_312), "1,312");
        assert_eq!(count(12), "12");
        assert_eq!(many(1, "gap"), "1 gap");
        assert_eq!(many(1_312, "gap"), "1,312 gaps");
        assert_eq!(bytes(4_194_304.0), "4.2 MB");
    }

    #[test]
    fn names_are_cut_and_quoted() {
        assert_eq!(
            short("void at::native::gemm<float>(int)"),
            "at::native::gemm"
        );
        assert_eq!(
            short("void at::native::(anonymous namespace)::cat<float>(int)"),
            "at::native::cat"
        );
        for (wrapper, operator) in [
            (
                "at::_ops::div_Tensor::redispatch(c10::DispatchKeySet, at::Tensor const&)",
                "div_Tensor",
            ),
            (
                "at::_ops::bmm::call(at::Tensor const&, at::Tensor const&)",
                "bmm",
            ),
            ("at::_ops::redispatch", "at::_ops::redispatch"),
        ] {
            assert_eq!(short(wrapper), operator);
        }
        assert_eq!(short(&"ä".repeat(50)).chars().count(), 28);
        assert_eq!(
            short("ncclKernel_SendRecv(ncclDevComm*, unsigned long)"),
            "ncclKernel_SendRecv"
        );
        assert_eq!(
            short("ampere_sgemm_128x64_tn_splitK_stage_two"),
            "ampere_sgemm_1…itK_stage_two"
        );
        assert_eq!(quoted("it's"), "'it''s'");
        assert_eq!(without_rank("rank 12 gpu0"), (12, "gpu0"));
        assert_eq!(without_rank("rank 12"), (0, "rank 12"));
        assert_eq!(without_rank("gpu0"), (0, "gpu0"));
    }

    #[test]
    fn the_location_behind_a_name_is_not_cut() {
        let long = "a_name_of_a_function_that_is_longer_than_its_room";
        for (name, shown) in [
            ("forward (conv.py)", "forward (conv.py)"),
            (
                "forward (torch/nn/modules/conv.py:456)",
                "forward (conv.py:456)",
            ),
            (
                "ns::run(int, float) (src/run.cpp:7:3)",
                "ns::run (run.cpp:7:3)",
            ),
            (
                &format!("{long} (modeling_llama.py:512)"),
                "a_name_of_a_fu…than_its_room (modeling_llama.py:512)",
            ),
            ("read (libc.so.6)", "read (libc.so.6)"),
            // These are arguments and suffixes of compilers.
            ("run (int, float)", "run "),
            ("scale (0.5)", "scale "),
            ("f (.isra.0)", "f "),
        ] {
            assert_eq!(short(name).trim(), shown.trim(), "{name}");
        }
    }

    #[test]
    fn a_frame_of_python_keeps_its_file_and_function() {
        let frame = "torch/utils/data/dataloader.py(703): __next__";
        assert_eq!(short(frame), "dataloader.py(703): __next__");
        assert_eq!(without_folders("a/b.py"), "a/b.py");
        let method = "<built-in method replay of torch._C._CUDAGraph object at 0x7f>";
        assert_eq!(short(method), "replay");
    }
}
