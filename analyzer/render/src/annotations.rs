//! Annotations of a build: workflow commands of GitHub Actions, a line each.
//!
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>: `::error title=T::MESSAGE`,
//! with `%`, carriage return and line feed as `%25`, `%0D` and `%0A`, and in a title `:` and `,` as `%3A` and `%2C`.

use trueno_model::width::is_hidden;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    Error,
    Warning,
    Notice,
}

/// A GitHub workflow command, without a line feed.
pub fn github(weight: Weight, title: &str, message: &str) -> String {
    let word = match weight {
        Weight::Error => "error",
        Weight::Warning => "warning",
        Weight::Notice => "notice",
    };
    let title = escaped(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{word} title={title}::{}", escaped(message))
}

fn escaped(text: &str) -> String {
    let text = text.replace('%', "%25");
    let text = text.replace('\r', "%0D").replace('\n', "%0A");
    // Nothing else may start a line or move a cursor.
    text.replace(is_hidden, " ")
}

#[cfg(test)]
mod tests {
    use super::{Weight, github};

    #[test]
    fn nothing_ends_a_command_before_its_end() {
        assert_eq!(
            github(
                Weight::Warning,
                "a:b, 5 %",
                "first\r\n::error::second\u{1b}[0m\u{202e}"
            ),
            "::warning title=a%3Ab%2C 5 %25::first%0D%0A::error::second [0m "
        );
    }
}
