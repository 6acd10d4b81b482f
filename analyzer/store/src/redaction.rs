//! Messages of stores without what may not be shown: servers repeat keys in their errors.

use std::env;

use trueno_store::SECRETS;

/// Shorter values are not secret, and would match within words.
const LEAST_LETTERS: usize = 4;

/// Replaces values of secret variables by their names.
pub fn redacted(text: &str) -> String {
    let values = SECRETS.map(|name| (name, env::var(name).unwrap_or_default()));
    without(text, &values)
}

fn without(text: &str, secrets: &[(&str, String)]) -> String {
    let mut shown = text.to_owned();
    for (name, value) in secrets {
        if value.len() >= LEAST_LETTERS {
            shown = shown.replace(value.as_str(), &format!("<{name}>"));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_shown() {
        let secrets = [("KEY", "hush-hush".to_owned()), ("NONE", String::new())];
        let shown = without("403: hush-hush is not known", &secrets);
        assert_eq!(shown, "403: <KEY> is not known");
    }
}
