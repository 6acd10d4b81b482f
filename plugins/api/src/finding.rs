//! Findings: what the plugin concluded, as data.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information; nothing needs to change.
    Info,
    /// Something is worth changing.
    Warning,
    /// The run cannot be trusted, or a budget is exceeded.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One conclusion. As JSON: `code`, `severity`, `title`, `detail`,
/// `suggestion`, `evidence`; a part that is missing is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[must_use = "a finding is seen only when it is emitted"]
pub struct Finding {
    /// Stable name to filter by, `[a-z][a-z0-9_]*`, unique in the plugin.
    pub code: String,
    /// Its severity.
    pub severity: Severity,
    /// Title: one line, with the figure in it.
    pub title: String,
    /// Detail, if needed.
    #[serde(default)]
    pub detail: Option<String>,
    /// Advice.
    #[serde(default)]
    pub suggestion: Option<String>,
    /// The rows it rests on.
    #[serde(default)]
    pub evidence: Option<Evidence>,
}

impl Finding {
    /// A finding with the parts each has.
    pub fn new(code: impl Into<String>, severity: Severity, title: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            severity,
            title: title.into(),
            detail: None,
            suggestion: None,
            evidence: None,
        }
    }

    /// Adds details that do not fit into the title.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds what to do about it.
    pub fn suggestion(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Adds the rows it rests on: a query that shows them, or their ids.
    pub fn evidence(mut self, evidence: impl Into<Evidence>) -> Self {
        self.evidence = Some(evidence.into());
        self
    }
}

/// The rows a finding rests on. As JSON: a string or an array of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Evidence {
    /// A query that selects the rows.
    Query(String),
    /// The ids of the rows.
    Ids(Vec<u64>),
}

impl From<&str> for Evidence {
    fn from(query: &str) -> Self {
        Self::Query(query.to_owned())
    }
}

impl From<String> for Evidence {
    fn from(query: String) -> Self {
        Self::Query(query)
    }
}

impl From<Vec<u64>> for Evidence {
    fn from(ids: Vec<u64>) -> Self {
        Self::Ids(ids)
    }
}

impl From<&[u64]> for Evidence {
    fn from(ids: &[u64]) -> Self {
        Self::Ids(ids.to_vec())
    }
}

impl<const N: usize> From<[u64; N]> for Evidence {
    fn from(ids: [u64; N]) -> Self {
        Self::Ids(ids.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_parts_are_null() {
        let json = serde_json::to_string(&Finding::new("slow", Severity::Warning, "slow by 3 ms"))
            .unwrap();
        assert_eq!(
            json,
            r#"{"code":"slow","severity":"warning","title":"slow by 3 ms","detail":null,"suggestion":null,"evidence":null}"#
        );
    }

    #[test]
    fn evidence_is_a_query_or_ids() {
        let finding = Finding::new("a", Severity::Info, "t")
            .detail("d")
            .suggestion("s");
        for evidence in [Evidence::from("SELECT 1"), Evidence::from([1, u64::MAX])] {
            let finding = finding.clone().evidence(evidence);
            let json = serde_json::to_string(&finding).unwrap();
            assert_eq!(
                serde_json::from_str::<Finding>(&json).unwrap(),
                finding,
                "{json}"
            );
        }
    }

    #[test]
    fn a_finding_by_hand_needs_three_parts_and_may_have_more() {
        let json = r#"{"code":"a","severity":"error","title":"t","later":1}"#;
        assert_eq!(
            serde_json::from_str::<Finding>(json).unwrap(),
            Finding::new("a", Severity::Error, "t")
        );
        assert!(
            serde_json::from_str::<Finding>(r#"{"code":"a","severity":"fatal","title":"t"}"#)
                .is_err()
        );
    }
}
