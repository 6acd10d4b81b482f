//! Findings on a page for a terminal: in its head, and below the tables of a section of a full one.

use std::collections::HashMap;
use std::hash::Hash;

use trueno_model::{Finding, Level, Report, Section, width};
use trueno_plugin::counted;

use super::{INDENT, Out};
use crate::form::Detail;
use crate::opening::Opening;
use crate::style::Meaning;
use crate::top::{self, Top};

/// Findings at the top of a full page, where sections have all of them.
const OF_FULL: usize = 3;
/// Limit on findings of a brief page. Warnings take precedence over notes.
const OF_BRIEF: usize = 6;
const MAX_WARNINGS: usize = 8;
/// Limit on findings of one section of a full page. Findings that differ only in numbers count once.
const MAX_OF_SECTION: usize = 20;
const MAX_BOTTLENECKS: usize = 30;
const MIN_SEVERITY_WIDTH: usize = 6;
const INDENTED: &str = "; indented: part or cause of the one above";

/// The first rows of `bottleneck.top`, on a full page all of `bottleneck.bottlenecks`, or why there are none.
pub fn holds_back(report: &Report, out: &mut Out<'_>) {
    if !Top::is_asked(report) {
        return;
    }
    let top = Top::from_report(report);
    out.blank();
    let title = "what holds it back";
    if top.findings.is_empty() {
        let text = match Opening::new(report).and_then(|opening| opening.shown("bound_detail")) {
            Some(bound) => format!("{title}: {bound}; {}", top.none()),
            None => format!("{title}: {}", top.none()),
        };
        out.hanging(0, ("", Meaning::Faint), &text, Some(Meaning::Faint));
        if top.lacking().is_some() {
            out.command("missing data", &out.page.commands.plugin(top::PLUGIN));
        }
        return;
    }
    let shown = top.findings.len() + usize::from(top.best.is_some());
    let mut all = match out.page.detail {
        Detail::Full | Detail::Findings => Top::all(report),
        Detail::Head | Detail::Brief => Vec::new(),
    };
    let hidden = match out.page.detail {
        Detail::Full => all.len().saturating_sub(MAX_BOTTLENECKS),
        _ => 0,
    };
    all.truncate(all.len() - hidden);
    let has_below = all.iter().any(|(_, is_below)| *is_below);
    let of = match top.more {
        0 => String::new(),
        _ if hidden > 0 => format!("({MAX_BOTTLENECKS} of {}, most first)", all.len() + hidden),
        _ if has_below => format!("(all, most first{INDENTED})"),
        _ if !all.is_empty() => "(all, most first)".to_owned(),
        more => {
            let of = top.findings.len() as u64 + more;
            let is_below = top.best.as_ref().is_some_and(|best| best.below.is_some());
            let note = if is_below { INDENTED } else { "" };
            format!("({shown} of {of}, most first{note})")
        }
    };
    out.titled(title, &of);
    let lines = if all.is_empty() { top.with_best() } else { all };
    let digits = lines.len().to_string().len();
    let severities = lines.iter().map(|(line, _)| width::measure(&line.severity));
    let severity_width = severities.max().unwrap_or(0).max(MIN_SEVERITY_WIDTH);
    for (line, is_below) in lines {
        let rank = width::pad(&line.rank.to_string(), digits, true);
        let lead = format!(
            "{rank} {}",
            width::pad(&line.severity, severity_width, false)
        );
        let meaning = match line.severity.as_str() {
            "critical" => Meaning::Error,
            "high" => Meaning::Warning,
            _ => Meaning::Faint,
        };
        let indent = if is_below { 2 * INDENT } else { INDENT };
        out.hanging(indent, (&lead, meaning), &line.sentence, None);
    }
}

/// The findings at the top of a page. A brief page shows them only here.
pub fn head(report: &Report, out: &mut Out<'_>) {
    let mut findings = report.findings();
    let all = findings.len();
    // Those stand above already.
    findings.retain(|(plugin, _)| *plugin != top::PLUGIN);
    out.blank();
    if findings.is_empty() {
        let none = if all > 0 {
            "no other findings"
        } else {
            "no findings"
        };
        return out.titled("", none);
    }
    let count = findings.len();
    let full = out.page.detail == Detail::Full;
    let kinds = kinds(&findings);
    let chosen = if full {
        kinds.into_iter().take(OF_FULL).collect()
    } else {
        chosen(&kinds)
    };
    let shown = chosen.len();
    let of = match (shown < count, full) {
        (false, _) => String::new(),
        (true, true) => format!("({shown} of {count}, worst first)"),
        (true, false) => format!("({shown} of {count}, worst first; --findings shows all)"),
    };
    out.titled("findings", &of);
    for Kind {
        plugin,
        finding,
        like_it,
    } in chosen
    {
        let more = match like_it {
            0 => String::new(),
            more => format!(", and {more} like it"),
        };
        let text = format!("{}{more} [{plugin}]", finding.title);
        let lead = severity(finding.severity);
        out.hanging(INDENT, (lead, finding.severity.into()), &text, None);
        // What to do about a mere note is for those who ask.
        if let (false, true, Some(suggestion)) =
            (full, finding.severity > Level::Info, &finding.suggestion)
        {
            let under = INDENT + lead.len() + 1;
            out.hanging(
                under,
                ("", Meaning::Faint),
                suggestion,
                Some(Meaning::Faint),
            );
        }
    }
}

pub fn all(report: &Report, out: &mut Out<'_>) {
    let sections = report.sections.iter();
    let found = sections.filter(|section| !section.findings.is_empty());
    let count = report.findings().len();
    if count == 0 {
        out.blank();
        return out.titled("", "no findings");
    }
    for section in found {
        out.blank();
        let of = counted(section.findings.len(), "finding", "findings");
        out.titled(&width::printable(&section.plugin), &of);
        for finding in &section.findings {
            write(finding, 0, out);
        }
    }
}

/// A finding, and those that differ from it only in ranks, lanes and numbers.
#[derive(Clone, Copy)]
struct Kind<'a> {
    plugin: &'a str,
    finding: &'a Finding,
    like_it: usize,
}

/// A title without numbers and devices, which differ between ranks and lanes. Digits in names of kernels stay.
fn without_numbers(title: &str) -> String {
    let is_number = |word: &str| {
        let digits = word.strip_prefix("gpu").unwrap_or(word);
        let digits = digits.trim_end_matches([',', ':', ';', '.']);
        digits.starts_with(|c: char| c.is_ascii_digit())
            && digits
                .chars()
                .all(|c| c.is_ascii_digit() || c == '.' || c == ',')
    };
    let words = title
        .split(' ')
        .map(|word| if is_number(word) { "" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

fn kinds<'a>(findings: &[(&'a str, &'a Finding)]) -> Vec<Kind<'a>> {
    let mut places = HashMap::new();
    let mut out: Vec<Kind<'a>> = Vec::new();
    for (plugin, finding) in findings.iter().copied() {
        let title = without_numbers(&finding.title);
        let key = (plugin, &finding.code, finding.severity, title);
        let at = *places.entry(key).or_insert(out.len());
        match out.get_mut(at) {
            Some(kind) => kind.like_it += 1,
            None => out.push(Kind {
                plugin,
                finding,
                like_it: 0,
            }),
        }
    }
    out
}

/// Orders findings: warnings first, then one note of each plugin before a second note of any.
fn chosen<'a>(findings: &[Kind<'a>]) -> Vec<Kind<'a>> {
    let (notes, mut chosen): (Vec<_>, Vec<_>) = findings
        .iter()
        .copied()
        .partition(|kind| kind.finding.severity == Level::Info);
    chosen.truncate(MAX_WARNINGS);
    let turns = turns(notes.iter().map(|kind| kind.plugin));
    let mut order: Vec<usize> = (0..notes.len()).collect();
    order.sort_by_key(|at| turns[*at]);
    order.truncate(OF_BRIEF.saturating_sub(chosen.len()));
    chosen.extend(order.into_iter().map(|at| notes[at]));
    chosen
}

fn turns<K: Eq + Hash>(keys: impl Iterator<Item = K>) -> Vec<usize> {
    let mut seen = HashMap::new();
    let turn = |key| {
        let next: &mut usize = seen.entry(key).or_default();
        *next += 1;
        *next - 1
    };
    keys.map(turn).collect()
}

/// Padded to one width, so that titles are aligned.
pub fn severity(level: Level) -> &'static str {
    match level {
        Level::Info => "info  ",
        Level::Warning => "medium",
        Level::Error => "high  ",
    }
}

/// The findings of a section. Of many that differ only in numbers, the first.
pub fn write_section(section: &Section, out: &mut Out<'_>) {
    let findings = section.findings.iter();
    let findings: Vec<_> = findings
        .map(|finding| (section.plugin.as_str(), finding))
        .collect();
    let kinds = kinds(&findings);
    for kind in kinds.iter().take(MAX_OF_SECTION) {
        write(kind.finding, kind.like_it, out);
    }
    let left_out = kinds.iter().skip(MAX_OF_SECTION);
    let left_out: usize = left_out.map(|kind| kind.like_it + 1).sum();
    let folded = kinds
        .iter()
        .take(MAX_OF_SECTION)
        .any(|kind| kind.like_it > 0);
    if left_out > 0 || folded {
        let words = match left_out {
            0 => "all findings".to_owned(),
            more => format!("{more} more"),
        };
        out.command(&words, &out.page.commands.findings());
    }
}

fn write(finding: &Finding, like_it: usize, out: &mut Out<'_>) {
    let more = match like_it {
        0 => String::new(),
        more => format!(", and {more} like it"),
    };
    let title = format!("{}{more} ({})", finding.title, finding.code);
    let lead = severity(finding.severity);
    out.hanging(INDENT, (lead, finding.severity.into()), &title, None);
    let under = INDENT + lead.len() + 1;
    for text in finding.detail.iter().chain(&finding.suggestion) {
        out.hanging(under, ("", Meaning::Faint), text, None);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;

    use super::*;

    /// A key that counts how often it is compared.
    struct Counted<'a>(&'a str, &'a Cell<usize>);

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.1.set(self.1.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted<'_> {}

    impl Hash for Counted<'_> {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.1.set(self.1.get() + 1);
            self.0.hash(state);
        }
    }

    #[test]
    fn each_plugin_has_its_first_turn_before_a_second_of_any() {
        assert_eq!(turns("aababcb".chars()), [0, 1, 0, 2, 1, 0, 2]);
        assert!(turns("".chars()).is_empty());
    }

    #[test]
    fn the_work_of_many_findings_grows_as_their_number() {
        let looks = |findings: usize| {
            let looks = Cell::new(0);
            let plugins = ["sanity", "memory", "category"].into_iter().cycle();
            let keys = plugins.map(|plugin| Counted(plugin, &looks));
            assert_eq!(turns(keys.take(findings)).len(), findings);
            looks.get()
        };
        // A table may ask about one a few times, as where it grows.
        for findings in [1_000, 10_000, 100_000] {
            let looks = looks(findings);
            assert!(looks <= 4 * findings, "{findings}: {looks} looks");
        }
    }
}
