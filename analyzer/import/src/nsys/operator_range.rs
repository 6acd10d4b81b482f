//! Ranges that PyTorch makes of its operators: `torch.autograd.profiler.emit_nvtx(record_shapes=True)`.
//!
//! Their text is `name, seq = 4, op_id = 7, sizes = [[64, 128], []], input_op_ids = [(3,0), (0,-1)]`, where all but the
//! name may be missing. Element types are not stated. A list of tensors is not told apart: its dimensions stand
//! among those of the other arguments.

#[derive(Debug, PartialEq, Eq)]
pub struct OperatorRange<'a> {
    pub name: &'a str,
    /// Dimensions of its arguments: a list of lists of integers.
    pub sizes: &'a str,
    pub numbers: Vec<&'static str>,
}

impl<'a> OperatorRange<'a> {
    /// Parses the text of a range; `None` if it is not one of these.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (head, behind) = text.split_once(", sizes = ")?;
        let (sizes, inputs) = behind.split_at(behind.find("]]")? + 2);
        serde_json::from_str::<Vec<Vec<i64>>>(sizes).ok()?;
        let has_inputs = inputs.starts_with(", input_op_ids = [");
        if !inputs.is_empty() && !has_inputs {
            return None;
        }
        let (name, has_id) = without_number(head, ", op_id = ");
        let (name, has_sequence) = without_number(name, ", seq = ");
        let numbers = [
            (has_sequence, "seq"),
            (has_id, "op_id"),
            (has_inputs, "input_op_ids"),
        ];
        let numbers = numbers.into_iter().filter(|(is_there, _)| *is_there);
        Some(Self {
            name,
            sizes,
            numbers: numbers.map(|(_, name)| name).collect(),
        })
    }
}

/// Removes `label` and a number from the end of the text. Returns whether they were there.
fn without_number<'a>(text: &'a str, label: &str) -> (&'a str, bool) {
    match text.rsplit_once(label) {
        Some((before, number)) if number.parse::<u64>().is_ok() => (before, true),
        _ => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_call_are_no_part_of_its_name() {
        for (text, name, sizes, numbers) in [
            (
                "aten::mm, seq = 12, op_id = 34, sizes = [[64, 128], [128, 32]], input_op_ids = [(3,0), (0,-1)]",
                "aten::mm",
                "[[64, 128], [128, 32]]",
                vec!["seq", "op_id", "input_op_ids"],
            ),
            (
                "aten::add_, op_id = 5, sizes = [[2], []]",
                "aten::add_",
                "[[2], []]",
                vec!["op_id"],
            ),
            ("a, b, sizes = [[]]", "a, b", "[[]]", vec![]),
        ] {
            let range = OperatorRange::parse(text).unwrap();
            assert_eq!(
                (range.name, range.sizes, range.numbers),
                (name, sizes, numbers)
            );
        }
    }

    #[test]
    fn other_texts_are_left_as_they_are() {
        for text in [
            "aten::mm",
            "aten::mm, seq = 12, op_id = 34",
            "a, sizes = [[64, x]]",
            "a, sizes = [64]",
            "a, sizes = [[64]",
            "a, sizes = [[99999999999999999999]]",
            "a, sizes = [[64]], and more",
            ", sizes = ",
        ] {
            assert_eq!(OperatorRange::parse(text), None, "{text}");
        }
    }
}
