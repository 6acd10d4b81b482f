//! Findings on samples. None is more than a warning: they are estimates, and a hot function is no defect.

use trueno_analysis::vendors::library_without_symbols;
use trueno_analysis::wording::{count, many, percent, short, time};
use trueno_plugin::{Finding, Severity};

use crate::function::Function;
use crate::interval::Share;
use crate::sums::{EventSum, FunctionSum, Sums};
use crate::tables::{NOT_KNOWN, estimated_ns};

/// With fewer samples, shares are not reliable.
pub const MIN_SAMPLES: u64 = 100;
pub const UNKNOWN_SHARE: f64 = 0.2;
/// From this share on the finding is a warning: the table says little about the program.
pub const MOSTLY_UNKNOWN_SHARE: f64 = 0.5;

const FUNCTIONS: &str = "SELECT event, function, module, self_samples, self_share, low_share, high_share, total_share FROM samples.functions";

/// The hottest function, unknown functions, too few samples, and broken stacks. If there are several events, the
/// findings are about the one that counts time, or else the one with most samples; the tables have all.
pub fn findings(sums: &Sums) -> Vec<Finding> {
    let mut out = Vec::new();
    let events = sums.events_in_order();
    let Some((name, event)) = events.first() else {
        return out;
    };
    let of_event = match events.len() {
        1 => String::new(),
        _ => format!(" of {name}"),
    };
    if event.all.samples < MIN_SAMPLES {
        let title = format!(
            "too few samples for shares: {}{of_event}",
            count(event.all.samples)
        );
        let few = Finding::new("few_samples", Severity::Info, title)
            .suggestion("record for longer, or sample more often")
            .evidence(FUNCTIONS);
        out.push(few);
    } else {
        out.extend(unknown(event, &of_event));
        out.extend(hottest(name, event, &of_event));
    }
    out.extend(broken(sums));
    out
}

fn file_name(module: &str) -> &str {
    let name = module.rsplit('/').next().unwrap_or(module);
    if name.is_empty() { module } else { name }
}

fn hottest(name: &str, event: &EventSum, of_event: &str) -> Option<Finding> {
    let functions = event.functions_in_order();
    let is_of_a_place = |of: &Function| of.name.is_some() || of.module.is_some();
    let (function, sum) = functions.into_iter().find(|(of, _)| is_of_a_place(of))?;
    let all = event.all.samples;
    let share = Share::new(sum.innermost.samples, all).filter(|of| of.share > 0.0)?;
    let module = function.module.as_deref().map(file_name);
    let place = match (&function.name, module) {
        (None, Some(module)) => format!("{module} (functions {NOT_KNOWN})"),
        (_, Some(module)) => format!("{} ({module})", short(function.shown_name())),
        (_, None) => short(function.shown_name()),
    };
    let title = format!(
        "{place} ran in {} of {} samples{of_event} ({})",
        percent(share.share),
        count(all),
        share.interval_text()
    );
    let mut details = Vec::new();
    if let Some(ns) = estimated_ns(name, sum.innermost) {
        details.push(format!("estimated CPU time: {}", time(ns)));
    }
    details.extend(hottest_line(sum));
    let finding = Finding::new("hottest", Severity::Info, title).evidence(FUNCTIONS);
    Some(if details.is_empty() {
        finding
    } else {
        finding.detail(details.join("; "))
    })
}

fn hottest_line(sum: &FunctionSum) -> Option<String> {
    let (line, samples) = sum.hottest_line()?;
    Some(format!(
        "its hottest line: {}:{}, {}",
        line.file,
        line.line,
        many(samples, "sample")
    ))
}

fn unknown(event: &EventSum, of_event: &str) -> Option<Finding> {
    let all = event.all.samples;
    let functions = event.functions_in_order();
    let unknown: Vec<(&Function, u64)> = functions
        .into_iter()
        .filter(|(function, _)| function.name.is_none())
        .map(|(function, sum)| (function, sum.innermost.samples))
        .collect();
    let samples = unknown.iter().map(|(_, samples)| samples).sum();
    let share = Share::new(samples, all).filter(|of| of.share > UNKNOWN_SHARE)?;
    let title = format!(
        "the function is {NOT_KNOWN} in {} of {} samples{of_event}",
        percent(share.share),
        count(all)
    );
    let (largest, of_largest) = unknown.first()?;
    let module = largest.module.as_deref();
    let closed = module.and_then(|module| library_without_symbols(file_name(module)));
    let severity = if share.share > MOSTLY_UNKNOWN_SHARE && closed.is_none() {
        Severity::Warning
    } else {
        Severity::Info
    };
    let (place, remedy) = match largest.module.as_deref() {
        None => (
            "in no known file".to_owned(),
            "record stacks; code generated at run time needs a symbol map".to_owned(),
        ),
        Some(module) if module.starts_with("[kernel") => (
            format!("in {module}"),
            "set `kernel.kptr_restrict` to 0 to see the kernel's names".to_owned(),
        ),
        Some(module) if let Some(library) = closed => (
            format!("in {module}"),
            format!(
                "{library} comes without symbols: record callers and API calls to see what it does"
            ),
        ),
        Some(module) => (
            format!("in {module}"),
            format!(
                "build {} with symbols, unstripped and with frame pointers, or install its debug symbols",
                file_name(module)
            ),
        ),
    };
    Some(
        Finding::new("unknown_functions", severity, title)
            .detail(format!(
                "the largest part {place}: {}",
                many(*of_largest, "sample")
            ))
            .suggestion(remedy)
            .evidence(FUNCTIONS),
    )
}

fn broken(sums: &Sums) -> Option<Finding> {
    let mut what = Vec::new();
    if sums.missing_stacks > 0 {
        what.push(format!(
            "{} to missing rows of `stacks`",
            many(sums.missing_stacks, "reference")
        ));
    }
    if sums.circular_stacks > 0 {
        what.push(format!(
            "{} of `stacks` in cycles",
            many(sums.circular_stacks, "row")
        ));
    }
    let title = format!("callers are not all known: {}", what.join(", "));
    let finding = Finding::new("broken_stacks", Severity::Warning, title)
        .detail("the function of a sample whose row is missing is not known, and callers above a missing row or a cycle are counted in too few samples")
        .evidence("SELECT id, caller, \"function\" FROM stacks WHERE caller IS NOT NULL AND caller NOT IN (SELECT id FROM stacks)");
    (!what.is_empty()).then_some(finding)
}
