use std::sync::LazyLock;

use super::*;
use crate::commands::Commands;
use crate::form::Detail;
use crate::style::Palette;
use crate::terminal::{Page, render};
use crate::{json, markdown, testing};

fn section(rows: usize) -> Section {
    let sentence = |row: usize| format!("finding {row}; fixing it saves up to {row} ms");
    let top = Table::build("top")
        .u64("rank", 1..=rows as u64)
        .text("class", (0..rows).map(|_| "sync_bound"))
        .text("severity", (0..rows).map(|_| "high"))
        .i64(
            "gain_ns",
            (0..rows).map(|row| (row > 0).then_some(row as i64 * 1_000_000)),
        )
        .f64("gain_share", (0..rows).map(|row| row as f64 / 100.0))
        .text("sentence", (0..rows).map(sentence));
    let cannot = Table::build("not_measurable").text("class", ["memory_bound", "compute_bound"]);
    let tables = vec![top.finish().unwrap(), cannot.finish().unwrap()];
    testing::section(PLUGIN, tables)
}

fn page() -> Page<'static> {
    static COMMANDS: LazyLock<Commands> = LazyLock::new(Commands::default);
    Page {
        width: 100,
        top: 10,
        detail: Detail::Full,
        palette: Palette::new(false),
        commands: &COMMANDS,
    }
}

#[test]
fn three_lines_open_the_report_before_any_section() {
    let mut section = section(4);
    section.findings = vec![testing::finding(trueno_model::Level::Warning, "finding 0")];
    let report = testing::report(vec![testing::section("category", vec![]), section]);
    let text = render(&report, page());
    let head = text.split("\n\n").nth(1).unwrap();
    assert_eq!(
        head,
        "what holds it back (3 of 4, most first)\n  1 high   finding 0; fixing it saves up to 0 ms\n  \
         2 high   finding 1; fixing it saves up to 1 ms\n  3 high   finding 2; fixing it saves up to 2 ms"
    );
    assert!(text.find("what holds it back").unwrap() < text.find("category 0.1.0").unwrap());
    // The same is not said again among the findings of all plugins.
    assert!(text.contains("\nno other findings\n"), "{text}");
    let text = markdown::render(&report, 10);
    assert!(
        text.contains("### What holds it back\n\n1. **high** finding 0; fixing it"),
        "{text}"
    );
}

#[test]
fn json_has_the_same_as_key_top() {
    let mut out = Vec::new();
    json::write(&testing::report(vec![section(2)]), &mut out).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let top = &value["top"];
    assert_eq!(
        (&top["status"], &top["more"], &top["not_measurable"]),
        (&"found".into(), &0.into(), &2.into())
    );
    assert_eq!(top["findings"][0]["gain_ns"], serde_json::Value::Null);
    assert_eq!(top["findings"][1]["gain_ns"], 1_000_000);
    assert_eq!(top["findings"][1]["rank"], 2);
}

#[test]
fn what_was_not_judged_is_not_called_fine() {
    let absent = testing::report(vec![]);
    assert_eq!(
        Top::from_report(&absent).none(),
        "not judged: the plugin bottleneck did not run"
    );
    assert!(!render(&absent, page()).contains("what holds it back"));
    let mut failed = section(0);
    failed.status = SectionStatus::Failed;
    failed.message = Some("panicked".into());
    assert_eq!(
        Top::from_report(&testing::report(vec![failed])).status,
        Judged::NotJudged
    );
    let nothing = Top::from_report(&testing::report(vec![section(0)]));
    assert_eq!(nothing.status, Judged::NothingFound);
    assert_eq!(nothing.none(), "no bottleneck found; 2 checks lacked data");
}

/// With -v the page opens with all findings. Members of a group are below their representative.
#[test]
fn a_full_page_lists_all_findings() {
    let all = Table::build("bottlenecks")
        .text("severity", ["high", "high", "low", "low"])
        .text("sentence", ["first", "its part", "second", "third"])
        .u64("group", [1_u64, 1, 2, 3]);
    let mut section = section(3);
    section.tables.push(all.finish().unwrap());
    let report = testing::report(vec![section]);
    let head = |detail| {
        let text = render(&report, Page { detail, ..page() });
        text.split("\n\n").nth(1).unwrap().to_owned()
    };
    assert_eq!(
        head(Detail::Full),
        "what holds it back (all, most first; indented: part or cause of the one above)\n  1 high   first\n    \
         2 high   its part\n  3 low    second\n  4 low    third"
    );
    assert!(
        head(Detail::Brief)
            .starts_with("what holds it back (3 of 4, most first)\n  1 high   finding 0")
    );
}

/// The first sentence names the best fix, so it is to be found below.
#[test]
fn the_best_fix_is_listed_below_the_finding_that_it_belongs_to() {
    let all = Table::build("bottlenecks")
        .text("severity", ["high", "high", "high", "high", "low"])
        .i64(
            "gain_ns",
            [None, Some(9_000_000), Some(1), Some(2), Some(8_000_000)],
        )
        .text(
            "sentence",
            [
                "finding 0; fixing it saves up to 0 ms",
                "a part; mending it saves up to 9 ms",
                "finding 1; fixing it saves up to 1 ms",
                "finding 2; fixing it saves up to 2 ms",
                "finding 3; ending it saves up to 8 ms",
            ],
        )
        .u64("group", [1_u64, 1, 2, 3, 4])
        .finish()
        .unwrap();
    let head = |fix: &str, gain_ns: i64| {
        let headline = Table::build("headline")
            .text("sentence", ["the run"])
            .text("gain_by", [fix])
            .i64("gain_ns", [gain_ns])
            .text("gain_source", ["bottleneck.bottlenecks"]);
        let mut section = section(4);
        section.tables.push(all.clone());
        let summary = testing::section("summary", vec![headline.finish().unwrap()]);
        let report = testing::report(vec![summary, section]);
        let brief = Page {
            detail: Detail::Brief,
            ..page()
        };
        let text = render(&report, brief);
        let text = text
            .split("\n\n")
            .find(|part| part.starts_with("what holds"));
        (text.unwrap().to_owned(), markdown::render(&report, 10))
    };
    let (text, page) = head("mending it", 9_000_000);
    assert_eq!(
        text,
        "what holds it back (4 of 5, most first; indented: part or cause of the one above)\n  \
         1 high   finding 0; fixing it saves up to 0 ms\n    2 high   a part; mending it saves up to 9 ms\n  \
         3 high   finding 1; fixing it saves up to 1 ms\n  4 high   finding 2; fixing it saves up to 2 ms"
    );
    assert!(
        page.contains("1. **high** finding 0; fixing it saves up to 0 ms\n   - **high** a part")
    );
    let (text, _) = head("ending it", 8_000_000);
    assert!(text.contains("(4 of 5, most first)"), "{text}");
    assert!(
        text.ends_with("finding 3; ending it saves up to 8 ms"),
        "{text}"
    );
    // One that is shown anyway is not shown twice.
    let (text, _) = head("fixing it", 2_000_000);
    assert!(
        text.starts_with("what holds it back (3 of 5, most first)"),
        "{text}"
    );
}
