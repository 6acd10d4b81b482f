//! What is left of a kernel's name when profilers disagree about the rest.

/// The function's own name: no return type, no namespaces, no template arguments, no parameters.
pub fn base(name: &str) -> &str {
    let anonymous = "(anonymous namespace)";
    let mut from = 0;
    // Parentheses of an unnamed namespace open no parameters.
    let end = loop {
        match name[from..].find(['<', '(']).map(|at| from + at) {
            Some(at) if name[at..].starts_with(anonymous) => from = at + anonymous.len(),
            Some(0) => from = 1,
            Some(at) => break at,
            None => break name.len(),
        }
    };
    let name = &name[..end];
    let start = name.rfind([' ', ':']).map_or(0, |at| at + 1);
    &name[start..]
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
        ] {
            assert_eq!(base(name), "saxpy", "{name}");
        }
        assert_eq!(base(""), "");
        assert_eq!(base("<"), "<");
        assert_eq!(base("é(("), "é");
    }
}
