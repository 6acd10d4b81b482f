//! Shapes of operands as people write them: `10×64×56×56, 64×64×1×1`.

use serde_json::Value;

const MAX_LISTED: usize = 3;

/// Short form of operands with dimensions, in order, from a JSON list as in `signatures.input_dims`. `None` if no
/// operand has dimensions or it is not such a list.
pub fn short(input_dims: &str) -> Option<String> {
    let Ok(Value::Array(operands)) = serde_json::from_str(input_dims) else {
        return None;
    };
    let shown: Vec<String> = operands.iter().filter_map(operand).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

fn operand(of: &Value) -> Option<String> {
    let Value::Array(parts) = of else {
        return None;
    };
    if parts.iter().any(Value::is_array) {
        let tensors: Vec<String> = parts.iter().filter_map(tensor).collect();
        let mut words = tensors[..tensors.len().min(MAX_LISTED)].join(", ");
        if tensors.len() > MAX_LISTED {
            words.push_str(&format!(", … {} in all", tensors.len()));
        }
        return (!tensors.is_empty()).then(|| format!("[{words}]"));
    }
    tensor(of)
}

fn tensor(of: &Value) -> Option<String> {
    let sizes = of.as_array()?.iter();
    let sizes: Vec<String> = sizes.map(Value::to_string).collect();
    (!sizes.is_empty()).then(|| sizes.join("×"))
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn operands_without_dimensions_are_left_out() {
        for (recorded, shown) in [
            (
                "[[10,64,56,56],[64,64,1,1],[],[]]",
                Some("10×64×56×56, 64×64×1×1"),
            ),
            ("[[[4,4],[4]],[3]]", Some("[4×4, 4], 3")),
            ("[[[1],[2],[3],[4]]]", Some("[1, 2, 3, … 4 in all]")),
            ("[[],[]]", None),
            ("[[-1,2]]", Some("-1×2")),
            ("not a list", None),
            ("{}", None),
        ] {
            assert_eq!(short(recorded).as_deref(), shown, "{recorded}");
        }
    }
}
