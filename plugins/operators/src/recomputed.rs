//! Operators that are computed again for the backward pass: activation checkpointing.
//!
//! Within `CheckpointFunctionBackward` autograd calls the forward function once more, and then the backward
//! functions of what that made. Without reentering autograd, the same happens in a hook of
//! `torch/utils/checkpoint.py` when a saved tensor is asked for.

use crate::calls::Calls;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Context {
    Recomputes,
    Backward,
    Other,
}

pub struct Recomputed {
    of_names: Vec<Context>,
    is_any: bool,
}

impl Recomputed {
    pub fn new(calls: &Calls) -> Self {
        let of_names: Vec<Context> = calls.names.all().iter().map(|name| context(name)).collect();
        let is_any = of_names.contains(&Context::Recomputes);
        Self { of_names, is_any }
    }

    /// Returns whether this row is computed a second time.
    pub fn is(&self, calls: &Calls, place: u32) -> bool {
        if !self.is_any {
            return false;
        }
        let contexts = calls.outwards(place).map(|place| {
            let name = calls.rows[place as usize].name;
            self.of_names[name as usize]
        });
        let first = contexts.into_iter().find(|found| *found != Context::Other);
        first == Some(Context::Recomputes)
    }
}

fn context(name: &str) -> Context {
    let function = name
        .strip_prefix("autograd::engine::evaluate_function: ")
        .unwrap_or(name);
    if function.starts_with("CheckpointFunctionBackward") {
        return Context::Recomputes;
    }
    let is_hook = ["unpack_hook", "recompute_fn"];
    if name.contains("torch/utils/checkpoint.py") && is_hook.iter().any(|of| name.contains(of)) {
        return Context::Recomputes;
    }
    if function.len() < name.len() {
        Context::Backward
    } else {
        Context::Other
    }
}

#[cfg(test)]
mod tests {
    use super::{Context, context};

    #[test]
    fn what_autograd_evaluates_is_backward_but_for_the_checkpoint() {
        let evaluated = "autograd::engine::evaluate_function: ";
        let of = |name: &str| context(&format!("{evaluated}{name}"));
        assert_eq!(of("AddmmBackward0"), Context::Backward);
        assert_eq!(of("CheckpointFunctionBackward"), Context::Recomputes);
        assert_eq!(context("CheckpointFunctionBackward"), Context::Recomputes);
        assert_eq!(context("aten::mm"), Context::Other);
        let hook = "torch/utils/checkpoint.py(1072): unpack_hook";
        assert_eq!(context(hook), Context::Recomputes);
    }
}
