//! Source lines that a report names, for editors and code hosts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use trueno_analysis::waits::names_a_wait;
use trueno_model::timeline::Frame;
use trueno_model::{Cell, Finding, units, width};
use trueno_plugin::Table;

/// Source lines of a finding, and functions that are listed by their time.
const PLACES: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: u64,
}

/// Title, detail and suggestion of a finding.
pub(crate) fn texts(finding: &Finding) -> Vec<Cow<'_, str>> {
    let parts = [
        Some(&finding.title),
        finding.detail.as_ref(),
        finding.suggestion.as_ref(),
    ];
    let parts = parts.into_iter().flatten();
    parts.map(|text| width::printable(text)).collect()
}

pub(crate) fn time_text(ns: i64) -> String {
    let time = units::duration(ns as f64);
    format!("{time} here, including callees without a source line")
}

/// Source lines in rows with columns `file` and `line`, each once.
pub(crate) fn places(rows: &Table) -> Vec<Place> {
    let (Ok(files), Ok(lines)) = (rows.column("file"), rows.column("line")) else {
        return Vec::new();
    };
    let mut places: Vec<Place> = Vec::new();
    for row in 0..rows.rows() {
        let (Cell::Text(file), Some(line)) = (Cell::at(files, row), Cell::at(lines, row).number())
        else {
            continue;
        };
        let place = Place {
            file: file.to_owned(),
            line: line as u64,
        };
        if places.len() < PLACES && !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Functions with the most time, from names such as `FILE(LINE): FUNCTION`. Time of frames without a line counts for the
/// innermost function around them that has one. Functions that only wait are left out.
pub(crate) fn hottest(frames: &[Frame]) -> Vec<(Place, i64)> {
    let mut ordered: Vec<&Frame> = frames.iter().collect();
    ordered.sort_by_key(|frame| (frame.at_ns, frame.depth));
    let mut around: Vec<Option<Place>> = Vec::new();
    let mut times: BTreeMap<Place, i64> = BTreeMap::new();
    for frame in ordered {
        around.truncate(frame.depth);
        let place = place(&frame.name).or_else(|| around.last().cloned().flatten());
        if let Some(place) = place.as_ref().filter(|_| !names_a_wait(&frame.name, false)) {
            let ns = times.entry(place.clone()).or_default();
            *ns = ns.saturating_add(frame.self_ns);
        }
        around.resize(frame.depth, None);
        around.push(place);
    }
    let mut times: Vec<(Place, i64)> = times.into_iter().filter(|(_, ns)| *ns > 0).collect();
    times.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    times.truncate(PLACES);
    times
}

fn place(name: &str) -> Option<Place> {
    let (place, _) = name.split_once("): ")?;
    let (file, line) = place.rsplit_once('(')?;
    let line = line.parse().ok()?;
    let is_file = !file.is_empty() && !file.starts_with('<');
    is_file.then(|| Place {
        file: file.to_owned(),
        line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_a_line_counts_for_the_function_around_it() {
        let frame = |name: &str, depth, at_ns, total_ns, self_ns| Frame {
            name: name.into(),
            depth,
            at_ns,
            total_ns,
            self_ns,
        };
        let frames = vec![
            frame("thread 0", 0, 0, 100, 0),
            frame("a.py(3): f", 1, 0, 90, 10),
            frame("<built-in function sum>", 2, 0, 60, 60),
            frame("/x/b.py(4): g", 2, 60, 20, 20),
            frame("<string>(1): <module>", 1, 90, 10, 10),
            frame("threading.py(359): wait", 1, 100, 500, 500),
        ];
        let hottest = hottest(&frames);
        let places: Vec<(&str, i64)> = hottest
            .iter()
            .map(|(place, ns)| (place.file.as_str(), *ns))
            .collect();
        assert_eq!(places, [("a.py", 70), ("/x/b.py", 20)]);
    }
}
