//! Outcomes of the rules, for people and as JSON.

use std::fmt::Write;

use serde_json::json;
use trueno_host::conformance::{Checked, Verdict};
use trueno_host::plugin::Descriptor;
use trueno_model::width::printable;
use trueno_render::style::{Meaning, Palette};

pub fn broken(all: &[Checked]) -> usize {
    count(all, Verdict::Broken)
}

fn count(all: &[Checked], verdict: Verdict) -> usize {
    all.iter()
        .filter(|checked| checked.verdict == verdict)
        .count()
}

/// One line per rule, with details below a broken one. Writing to a string cannot fail.
pub fn text(descriptor: &Descriptor, all: &[Checked], palette: Palette) -> String {
    let mut out = String::new();
    let heading = format!("{} {}", descriptor.id, descriptor.version);
    let _ = writeln!(
        out,
        "{}  {}",
        palette.paint(Meaning::Heading, &printable(heading.trim_end())),
        printable(&descriptor.summary)
    );
    for checked in all {
        let meaning = match checked.verdict {
            Verdict::Kept => Meaning::Good,
            Verdict::NotTried => Meaning::Faint,
            Verdict::Advice => Meaning::Warning,
            Verdict::Broken => Meaning::Error,
        };
        let word = format!("{:<9}", checked.verdict.word());
        let _ = writeln!(
            out,
            "{}  {:<14}  {}",
            palette.paint(meaning, &word),
            checked.rule,
            printable(&checked.seen)
        );
        if matches!(checked.verdict, Verdict::Advice | Verdict::Broken) {
            let _ = writeln!(out, "{:27}rule: {}", "", checked.says);
            if let Some(mend) = &checked.mend {
                let _ = writeln!(out, "{:27}mend: {mend}", "");
            }
        }
    }
    let mut counts = vec![format!(
        "{} rules: {} kept",
        all.len(),
        count(all, Verdict::Kept)
    )];
    for (verdict, words) in [
        (Verdict::Broken, "to mend"),
        (Verdict::Advice, "with advice"),
        (Verdict::NotTried, "not tried"),
    ] {
        match count(all, verdict) {
            0 => {}
            number => counts.push(format!("{number} {words}")),
        }
    }
    let _ = writeln!(out, "{}", counts.join(", "));
    out
}

pub fn json(descriptor: &Descriptor, file: &str, all: &[Checked]) -> String {
    let value = json!({
        "plugin": descriptor.id,
        "version": descriptor.version,
        "file": file,
        "to_mend": broken(all),
        "rules": all,
    });
    format!("{value:#}\n")
}
