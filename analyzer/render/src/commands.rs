//! Commands that a report points to: what to type to see the rest.

/// Prefixes of commands, with each word quoted for a shell.
#[derive(Clone, Debug)]
pub struct Commands {
    pub report: Vec<String>,
    /// `trueno-analyze query RUN`. `None` if a query would see other data than the report, for example with
    /// `--window`.
    pub query: Option<Vec<String>>,
    pub info: Vec<String>,
    /// False if the options already select plugins, so that `--plugin-id` cannot be added.
    pub takes_plugin: bool,
}

impl Default for Commands {
    fn default() -> Self {
        Self::for_run("RUN", &[])
    }
}

impl Commands {
    /// Commands for the run at this path, with more words for `report`. Nothing is quoted yet.
    pub fn for_run(run: &str, options: &[String]) -> Self {
        let base = |command: &str| -> Vec<String> {
            let words = ["trueno-analyze", command, run].into_iter();
            words.map(quoted).collect()
        };
        let mut report = base("report");
        report.extend(options.iter().map(|word| quoted(word)));
        Self {
            report,
            query: Some(base("query")),
            info: base("info"),
            takes_plugin: true,
        }
    }

    pub(crate) fn findings(&self) -> Vec<String> {
        self.with(&["--findings"])
    }

    pub(crate) fn everything(&self) -> Vec<String> {
        self.with(&["-v"])
    }

    pub(crate) fn plugin(&self, plugin: &str) -> Vec<String> {
        if self.takes_plugin {
            self.with(&["--plugin-id", plugin])
        } else {
            self.report.clone()
        }
    }

    pub(crate) fn rows(&self, plugin: &str, table: &str, rows: usize) -> Vec<String> {
        let rows = rows.to_string();
        match &self.query {
            Some(query) => {
                let mut words = query.clone();
                words.push(quoted(&format!("SELECT * FROM {plugin}.{table}")));
                words.extend(["--top".to_owned(), rows]);
                words
            }
            None => {
                let mut words = self.plugin(plugin);
                words.extend(["--top".to_owned(), rows]);
                words
            }
        }
    }

    fn with(&self, more: &[&str]) -> Vec<String> {
        let mut words = self.report.clone();
        words.extend(more.iter().map(|word| quoted(word)));
        words
    }
}

pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=@%+".contains(c);
    let word = trueno_model::width::printable(word);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Splits a command into lines of at most `room` columns that a shell reads as one. Words are never broken.
pub(crate) fn lines(words: &[String], room: usize) -> Vec<String> {
    const NEXT: &str = " \\";
    let mut lines: Vec<String> = Vec::new();
    let last = words.len().saturating_sub(1);
    for (at, word) in words.iter().enumerate() {
        let more = if at == last { 0 } else { NEXT.len() };
        let width = trueno_model::width::measure(word);
        match lines.last_mut() {
            Some(line) if trueno_model::width::measure(line) + 1 + width + more <= room => {
                line.push(' ');
                line.push_str(word);
            }
            Some(line) => {
                line.push_str(NEXT);
                lines.push(word.clone());
            }
            None => lines.push(word.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        assert_eq!(quoted("a/b-1.run"), "a/b-1.run");
        assert_eq!(quoted("my run"), "'my run'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_long_command_is_continued() {
        let words = Commands::for_run("decode.run", &[]).rows("critical_path", "path", 12);
        assert_eq!(
            lines(&words, 50),
            [
                "trueno-analyze query decode.run \\",
                "'SELECT * FROM critical_path.path' --top 12"
            ]
        );
        assert_eq!(lines(&words, 80).len(), 1);
    }

    #[test]
    fn a_report_of_a_part_points_to_reports() {
        let mut commands = Commands::for_run("a.run", &["--window=id=3".to_owned()]);
        commands.query = None;
        assert_eq!(
            commands.rows("tiles", "by_tile", 9).join(" "),
            "trueno-analyze report a.run --window=id=3 --plugin-id tiles --top 9"
        );
    }
}
