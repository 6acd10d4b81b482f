//! One file in Python, which needs nothing beside it.

const SOURCE: &str = include_str!("plugin.py");

pub fn file_name(id: &str) -> String {
    format!("trueno_plugin_{id}.py")
}

pub fn files(id: &str) -> Vec<(String, String)> {
    vec![(file_name(id), SOURCE.replace("@ID@", id))]
}
