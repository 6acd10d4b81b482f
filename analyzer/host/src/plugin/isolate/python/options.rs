//! Options of a plugin in Python: those that its manifest lists, of the types of their defaults.

use serde_json::{Map, Value};

/// Checks options from the user, a JSON object.
///
/// # Errors
/// An unknown key, told with the known ones as the SDK of Rust tells them, or a value of another type.
pub fn check(given: &str, known: &Map<String, Value>) -> Result<(), String> {
    let given: Map<String, Value> =
        serde_json::from_str(given).map_err(|error| format!("they cannot be read: {error}"))?;
    for (key, value) in &given {
        let Some(default) = known.get(key) else {
            let names: Vec<String> = known.keys().map(|name| format!("`{name}`")).collect();
            return Err(if names.is_empty() {
                format!("unknown option `{key}`: this plugin takes none")
            } else {
                format!(
                    "unknown option `{key}` (known options: {})",
                    names.join(", ")
                )
            });
        };
        if !fits(value, default) {
            return Err(format!(
                "`{key}` must have the type of its default {default}, and is {value}"
            ));
        }
    }
    Ok(())
}

/// An integer may stand for a float, but not the other way round.
fn fits(value: &Value, default: &Value) -> bool {
    match (value, default) {
        (Value::Number(value), Value::Number(default)) => default.is_f64() || !value.is_f64(),
        (Value::Array(values), Value::Array(defaults)) => match defaults.first() {
            Some(default) => values.iter().all(|value| fits(value, default)),
            None => true,
        },
        _ => std::mem::discriminant(value) == std::mem::discriminant(default),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn against(given: &Value, known: &Value) -> Result<(), String> {
        check(&given.to_string(), known.as_object().unwrap())
    }

    #[test]
    fn unknown_keys_are_told_as_the_sdk_tells_them() {
        let known = json!({"share": 0.5, "top": 3});
        let why = against(&json!({"?": 0}), &known).unwrap_err();
        assert_eq!(why, "unknown option `?` (known options: `share`, `top`)");
        let why = against(&json!({"?": 0}), &json!({})).unwrap_err();
        assert_eq!(why, "unknown option `?`: this plugin takes none");
    }

    #[test]
    fn values_are_of_the_types_of_their_defaults() {
        let known = json!({"share": 0.5, "top": 3, "names": ["a"], "on": true});
        let good = json!({"share": 1, "top": 4, "names": ["b", "c"], "on": false});
        against(&good, &known).unwrap();
        for bad in [
            json!({"top": 1.5}),
            json!({"top": "3"}),
            json!({"names": [1]}),
            json!({"names": "b"}),
            json!({"on": 1}),
            json!({"share": null}),
        ] {
            let why = against(&bad, &known).unwrap_err();
            assert!(why.contains("the type of its default"), "{bad}: {why}");
        }
    }
}
