//! Python functions of a trace recorded `with_stack=True`.
//!
//! Their names tell where each is defined. Where in it an operator was called no event tells, so operators have no place:
//! the function around them has.

/// File and line in PyTorch's name of a Python function: file, line of the definition in parentheses, function.
/// Built-in functions have none. Annotations can look alike, so the file name must end in `.py` or, where there is
/// no file, in `>` as in `<string>`.
pub(super) fn python_place(name: &str) -> Option<(&str, u32)> {
    let (place, _) = name.split_once("): ")?;
    let (file, line) = place.rsplit_once('(')?;
    Some((file, line.parse().ok()?))
        .filter(|(file, _)| file.ends_with(".py") || file.ends_with('>'))
}

#[cfg(test)]
mod tests {
    use super::python_place;

    #[test]
    fn names_of_python_functions_tell_their_place() {
        let place = python_place("torch/nn/modules/module.py(1501): _call_impl");
        assert_eq!(place, Some(("torch/nn/modules/module.py", 1501)));
        assert_eq!(
            python_place("a (b)/c.py(7): <lambda>"),
            Some(("a (b)/c.py", 7))
        );
        for name in [
            "<built-in method linear of type object at 0x7f>",
            "nn.Module: Linear_0",
            "f(x): y",
            "(3): f",
        ] {
            assert_eq!(python_place(name), None, "{name}");
        }
    }
}
