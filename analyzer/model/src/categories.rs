//! Patterns of names, in the order they are tried.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The default rules, as a file.
pub const DEFAULT: &str = include_str!("categories.toml");

/// Rules that assign categories to names; see the comments in `categories.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategoryRules {
    rules: Vec<Rule>,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CategoriesError {
    #[error(
        "--categories: {}: cannot be read: {source} (hint: `trueno-analyze categories` prints a file to start from)",
        file.display()
    )]
    Read {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "--categories: {}, line {line}: {why}; expected [[rule]] tables, each with category = \"…\" and contains = [\"…\", …], words = [\"…\", …] or names = [\"…\", …] (hint: `trueno-analyze categories` prints an example)",
        file.display()
    )]
    Wrong {
        file: PathBuf,
        /// 1-based line.
        line: usize,
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rule: Vec<toml::Spanned<Rule>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    category: String,
    #[serde(default)]
    contains: Vec<String>,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    names: Vec<String>,
}

impl Rule {
    fn fits(&self, name: &str) -> bool {
        self.contains.iter().any(|pattern| name.contains(pattern))
            || self.words.iter().any(|word| has_word(name, word))
    }
}

/// A C++ function without its list of parameters: their types say nothing about what it does, such as
/// `cudnn::reduced_divisor`. Other names are returned as they are.
fn without_parameters(name: &str) -> &str {
    let Some(inner) = name.strip_suffix(')') else {
        return name;
    };
    let mut depth = 1;
    for (at, c) in inner.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let before = &name[..at];
            // `enumerate(DataLoader)` is no C++, and says what it does.
            let is_cpp = ["::", "<", "*"].iter().any(|part| name.contains(part));
            let is_function = before.ends_with(|c: char| c.is_alphanumeric() || "_>".contains(c));
            return if is_cpp && is_function { before } else { name };
        }
    }
    name
}

/// Whether `word` occurs in `name` without adjacent letters or digits.
fn has_word(name: &str, word: &str) -> bool {
    let ends = |beside: Option<char>| !beside.is_some_and(char::is_alphanumeric);
    name.match_indices(word).any(|(at, found)| {
        ends(name[..at].chars().next_back()) && ends(name[at + found.len()..].chars().next())
    })
}

impl Default for CategoryRules {
    fn default() -> Self {
        Self::parse(DEFAULT).unwrap_or_else(|(line, why)| {
            unreachable!("default.toml, line {line}: {why}; a test reads it")
        })
    }
}

impl CategoryRules {
    /// Reads a file of rules.
    ///
    /// # Errors
    /// See [`CategoriesError`].
    pub fn read(file: &Path) -> Result<Self, CategoriesError> {
        let text = std::fs::read_to_string(file).map_err(|source| CategoriesError::Read {
            file: file.to_owned(),
            source,
        })?;
        Self::parse(&text).map_err(|(line, why)| CategoriesError::Wrong {
            file: file.to_owned(),
            line,
            why,
        })
    }

    /// Parses rules.
    ///
    /// # Errors
    /// The line that is wrong, from 1, and why.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let line = |at: usize| {
            1 + text.as_bytes()[..at.min(text.len())]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count()
        };
        let file: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            (line(at), error.message().trim().replace('\n', ", "))
        })?;
        let mut rules = Vec::new();
        for rule in file.rule {
            let at = line(rule.span().start);
            let mut rule = rule.into_inner();
            if rule.category.trim().is_empty() {
                return Err((at, "the category is empty".to_owned()));
            }
            // An empty pattern is in every name: all later rules would be dead.
            let patterns = rule.contains.iter().chain(&rule.words);
            let mut patterns = patterns.chain(&rule.names).peekable();
            if patterns.peek().is_none() || patterns.any(String::is_empty) {
                let category = &rule.category;
                return Err((
                    at,
                    format!("the rule of {category:?} has no pattern, or an empty one"),
                ));
            }
            for pattern in rule.contains.iter_mut().chain(&mut rule.words) {
                *pattern = pattern.to_lowercase();
            }
            rules.push(rule);
        }
        Ok(Self { rules })
    }

    pub fn are_default(&self) -> bool {
        *self == Self::default()
    }

    pub fn category(&self, name: &str) -> Option<&str> {
        let names_it = |rule: &&Rule| rule.names.iter().any(|of| of == name);
        let fitting = self.rules.iter().find(names_it).or_else(|| {
            let name = without_parameters(name).to_lowercase();
            self.rules.iter().find(|rule| rule.fits(&name))
        });
        fitting.map(|rule| rule.category.as_str())
    }
}

#[cfg(test)]
#[path = "categories_tests.rs"]
mod tests;
