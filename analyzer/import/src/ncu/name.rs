//! The part of a kernel's name on which profilers agree.

/// The function's own name: no return type, namespaces, template arguments or parameters.
pub fn base(name: &str) -> &str {
    let name = &name[..end_of_base(name)];
    let start = name.rfind([' ', ':']).map_or(0, |at| at + 1);
    &name[start..]
}

/// Template arguments without blanks and number casts, which only some profilers write: `<(int)4, T<float> >`
/// becomes `<4,T<float>>`. `None` if the name has none, or was cut to its base.
pub fn arguments(name: &str) -> Option<String> {
    let from = &name[end_of_base(name)..];
    let mut depth = 0_usize;
    let end = from.char_indices().find_map(|(at, c)| {
        depth = match c {
            '<' => depth + 1,
            '>' => depth.saturating_sub(1),
            _ => depth,
        };
        (depth == 0).then_some(at)
    })?;
    let text: String = from[..end].chars().filter(|c| *c != ' ').collect();
    let mut plain = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('(') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let cast = rest.find(')').map(|close| &rest[close + 1..]);
        let number = |text: &&str| text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        match cast.filter(number) {
            Some(number) => rest = number,
            None => {
                plain.push('(');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    (!plain.is_empty()).then_some(plain)
}

fn end_of_base(name: &str) -> usize {
    // Brackets of an unnamed namespace open no parameters and no arguments; ncu writes the second.
    const ANONYMOUS: [&str; 2] = ["(anonymous namespace)", "<unnamed>"];
    let mut from = 0;
    loop {
        let Some(at) = name[from..].find(['<', '(']).map(|at| from + at) else {
            break name.len();
        };
        let anonymous = ANONYMOUS.iter().find(|of| name[at..].starts_with(**of));
        match anonymous {
            Some(anonymous) => from = at + anonymous.len(),
            None if at == 0 => from = 1,
            None => break at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_kernel_have_one_base_name() {
        for name in [
            "saxpy",
            "saxpy(double *, int)",
            "void lib::saxpy<(int)4, T<float>>(T2, T3)",
            "void (anonymous namespace)::saxpy<float>(float)",
            "void at::native::<unnamed>::saxpy<float>(float)",
        ] {
            assert_eq!(base(name), "saxpy", "{name}");
        }
        assert_eq!(
            arguments("void lib::k<(int)4, T<float>, (bool)1>(T2, T3)"),
            arguments("void lib::k<4, T<float>, 1 >(int, float*)")
        );
        assert_eq!(arguments("k<f(int), (int)-1>").unwrap(), "<f(int),-1");
        assert_ne!(arguments("k<float>"), arguments("k<double>"));
        for bare in ["k", "k(float)", "", "k<unclosed", "(("] {
            assert_eq!(arguments(bare), None, "{bare}");
        }
        assert_eq!(base(""), "");
        assert_eq!(base("<"), "<");
        assert_eq!(base("é(("), "é");
    }
}
