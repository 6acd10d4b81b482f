//! Answers that are short enough, and say what they leave out.

use serde_json::{Map, Value};

/// Limit on bytes of JSON in an answer: some eight thousand tokens.
pub(crate) const MAX_BYTES: usize = 24 * 1024;
/// Suffix of the key that counts omitted entries of a list.
const LEFT_OUT: &str = "_left_out";

/// Keeps the first entries of a list in an object, and adds a count of the others.
pub(crate) fn cut(object: &mut Map<String, Value>, key: &str, most: usize) {
    let Some(Value::Array(list)) = object.get_mut(key) else {
        return;
    };
    if list.len() <= most {
        return;
    }
    let fewer = list.len() - most;
    list.truncate(most);
    count(object, key, fewer as u64);
}

pub(crate) fn count(object: &mut Map<String, Value>, key: &str, fewer: u64) {
    if fewer > 0 {
        let counted = object.entry(format!("{key}{LEFT_OUT}")).or_insert(0.into());
        *counted = (counted.as_u64().unwrap_or(0) + fewer).into();
    }
}

pub(crate) fn is_cut(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            map.keys().any(|key| key.ends_with(LEFT_OUT)) || map.values().any(is_cut)
        }
        Value::Array(list) => list.iter().any(is_cut),
        _ => false,
    }
}

/// Halves the largest list repeatedly until the answer is short enough.
pub(crate) fn fit(value: &mut Value, most_bytes: usize) {
    while length(value) > most_bytes {
        let Some((path, key)) = longest(value) else {
            return;
        };
        let Some(Value::Object(object)) = value.pointer_mut(&path) else {
            return;
        };
        let half = object[&key].as_array().map_or(0, |list| list.len() / 2);
        cut(object, &key, half);
    }
}

fn length(value: &Value) -> usize {
    value.to_string().len()
}

/// JSON pointer of the object and the key of the largest list that can be shortened, not counting lists inside it.
fn longest(value: &Value) -> Option<(String, String)> {
    let mut found = Longest::default();
    found.walk(value, "");
    (found.bytes > 0).then_some((found.path, found.key))
}

#[derive(Default)]
struct Longest {
    bytes: usize,
    path: String,
    key: String,
}

impl Longest {
    /// Returns the bytes of the lists in `value` that can be shortened.
    fn walk(&mut self, value: &Value, path: &str) -> usize {
        match value {
            Value::Object(map) => {
                let mut all = 0;
                for (key, value) in map {
                    let below = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                    let within = self.walk(value, &below);
                    // Cells of rows belong to columns by their places.
                    let is_head = key == "columns" && map.contains_key("rows");
                    let is_list = value.as_array().is_some_and(|list| list.len() > 1);
                    if is_head || !is_list {
                        all += within;
                        continue;
                    }
                    let bytes = length(value);
                    if bytes - within > self.bytes {
                        *self = Self {
                            bytes: bytes - within,
                            path: path.to_owned(),
                            key: key.clone(),
                        };
                    }
                    all += bytes;
                }
                all
            }
            Value::Array(list) => {
                let entries = list.iter().enumerate();
                entries
                    .map(|(nth, value)| self.walk(value, &format!("{path}/{nth}")))
                    .sum()
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_too_long_is_cut_and_counted() {
        let rows: Vec<Value> = (0..1000).map(|n| json!([n, "name"])).collect();
        let mut value = json!({"head": "kept", "few": [1, 2], "table": {"rows": rows}});
        fit(&mut value, 2_000);
        assert!(length(&value) <= 2_000);
        assert_eq!(
            (&value["head"], &value["few"]),
            (&json!("kept"), &json!([1, 2]))
        );
        let shown = value["table"]["rows"].as_array().unwrap().len();
        assert_eq!(value["table"]["rows_left_out"], json!(1000 - shown));
        assert!(shown > 50 && is_cut(&value));
    }

    #[test]
    fn rows_of_tables_are_cut_before_tables() {
        let table = |rows: usize| json!({"name": "t", "columns": ["a", "b"], "rows": vec![json!([1, 2]); rows]});
        let mut value = json!({"tables": [table(500), table(3), table(400)]});
        fit(&mut value, 1_000);
        let tables = value["tables"].as_array().unwrap();
        assert_eq!(tables.len(), 3);
        assert!(tables[0]["rows"].as_array().unwrap().len() > 10);
        assert_eq!(tables[1]["rows"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn counts_of_several_cuts_add_up() {
        let mut value = json!({"rows": [1, 2, 3, 4, 5]});
        let object = value.as_object_mut().unwrap();
        cut(object, "rows", 4);
        cut(object, "rows", 1);
        cut(object, "nothing", 1);
        assert_eq!(value, json!({"rows": [1], "rows_left_out": 4}));
    }

    #[test]
    fn what_cannot_be_cut_ends() {
        let mut value = json!({"text": "x".repeat(100), "rows": ["y".repeat(100)]});
        fit(&mut value, 10);
        assert_eq!(value["rows"].as_array().unwrap().len(), 1);
    }
}
