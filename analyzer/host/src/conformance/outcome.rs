//! Outcomes of runs of a plugin, compared.

use trueno_engine::closed_types;

use crate::plugin::isolate::to_bytes;
use crate::plugin::{Outcome, PluginOutput};

pub fn taken(outcome: &Outcome) -> Option<&PluginOutput> {
    match outcome {
        Outcome::Finished(taken) | Outcome::Failed { taken, .. } => Some(taken),
        Outcome::Skipped { .. } => None,
    }
}

pub fn message(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Finished(_) => None,
        Outcome::Failed { message, .. } | Outcome::Skipped { message } => Some(message),
    }
}

/// Describes the first difference between two outcomes, compared byte for byte; `None` if they are equal.
pub fn difference(a: &Outcome, b: &Outcome) -> Option<String> {
    if message(a) != message(b) {
        let words = |outcome| message(outcome).unwrap_or("finished").to_owned();
        return Some(format!("once {:?}, once {:?}", words(a), words(b)));
    }
    let (a, b) = (taken(a)?, taken(b)?);
    let names = |taken: &PluginOutput| -> Vec<String> {
        taken
            .tables
            .iter()
            .map(|table| table.name().to_owned())
            .collect()
    };
    if names(a) != names(b) {
        return Some(format!("tables: {:?}, then {:?}", names(a), names(b)));
    }
    for (one, two) in a.tables.iter().zip(&b.tables) {
        if to_bytes(one) == to_bytes(two) {
            continue;
        }
        let table = one.name();
        let (one, two) = match (closed_types::to_frame(one), closed_types::to_frame(two)) {
            (Ok(one), Ok(two)) => (one, two),
            _ => return Some(format!("table {table}")),
        };
        if one.height() != two.height() {
            return Some(format!(
                "table {table}: {} rows, then {}",
                one.height(),
                two.height()
            ));
        }
        let mut columns = one.columns().iter().zip(two.columns());
        let column = columns.find(|(one, two)| !one.equals_missing(two));
        return Some(match column {
            Some((column, _)) => format!("table {table}, column {}", column.name()),
            None => format!("table {table}"),
        });
    }
    let json = |value: serde_json::Result<String>| value.unwrap_or_default();
    if json(serde_json::to_string(&a.findings)) != json(serde_json::to_string(&b.findings)) {
        return Some("findings".into());
    }
    if json(serde_json::to_string(&a.charts)) != json(serde_json::to_string(&b.charts)) {
        return Some("charts".into());
    }
    None
}
