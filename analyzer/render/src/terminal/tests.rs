use std::sync::LazyLock;

use proptest::prelude::*;
use trueno_model::{Level, Problem, Section};
use trueno_plugin::Table;

use super::*;
use crate::testing;

fn page(width: usize) -> Page<'static> {
    static COMMANDS: LazyLock<Commands> = LazyLock::new(Commands::default);
    Page {
        width,
        top: 10,
        detail: Detail::Full,
        palette: Palette::new(false),
        commands: &COMMANDS,
    }
}

#[test]
fn a_complete_run_opens_with_what_a_hurried_reader_needs() {
    let text = render(&testing::report(vec![]), page(80));
    assert_eq!(
        text,
        "\
run       decode (00000000000000aa)
program   ./decode --tokens 64
host      box · A processor with a name that goes on and on · 2 CPUs · 16 GB
wall      1 s
coverage  97.3 % of wall lies within recorded bricks, kernels or calls
events    1,234, none dropped
recorder  31.5 ns a span × 1,234 ≈ 38.9 µs, <0.1 % of wall
complete  yes

no findings
"
    );
}

#[test]
fn an_incomplete_run_says_so_loudly_and_why() {
    let mut report = testing::report(vec![]);
    report.header.facts.complete = Some(false);
    report.header.facts.dropped = Some(12_000);
    report.header.facts.state = trueno_model::RunState::Recording;
    report.header.coverage = None;
    report.header.facts.cost_ns_per_span = None;
    let text = render(&report, page(80));
    assert!(
        text.starts_with("INCOMPLETE: the recording was not finished"),
        "{text}"
    );
    assert!(text.contains("\ncomplete  no:\n"), "{text}");
    assert!(
        text.contains("  - 12,000 events were dropped while recording\n"),
        "{text}"
    );
    assert!(text.contains("coverage  not measured"), "{text}");
    assert!(text.contains("recorder  cost not measured"), "{text}");
    assert!(!text.contains("complete  yes"), "{text}");
}

#[test]
fn the_three_worst_findings_come_first() {
    let mut one = testing::section("one", vec![]);
    one.findings = vec![
        testing::finding(Level::Info, "first"),
        testing::finding(Level::Warning, "second"),
    ];
    let mut two = testing::section("two", vec![]);
    two.findings = vec![
        testing::finding(Level::Error, "third"),
        testing::finding(Level::Warning, "fourth"),
    ];
    let text = render(&testing::report(vec![one, two]), page(80));
    let top = text.split("\n\n").nth(1).unwrap();
    assert_eq!(
        top,
        "findings (3 of 4, worst first)\n  high   third [two]\n  medium second [one]\n  medium fourth [two]"
    );
}

#[test]
fn a_failed_and_a_skipped_section_say_why() {
    let mut failed = testing::section("a", vec![]);
    failed.status = SectionStatus::Failed;
    failed.message = Some("panicked: index out of bounds".into());
    let mut skipped = testing::section("b", vec![]);
    skipped.status = SectionStatus::Skipped;
    skipped.message = Some("it reads a.t, and a failed".into());
    let text = render(&testing::report(vec![failed, skipped]), page(80));
    assert!(
        text.contains("\n  failed:  panicked: index out of bounds\n"),
        "{text}"
    );
    assert!(
        text.contains("\n  skipped: it reads a.t, and a failed\n"),
        "{text}"
    );
}

#[test]
fn a_failed_plugin_is_told_where_there_are_no_sections() {
    let mut failed = testing::section("a", vec![]);
    failed.status = SectionStatus::Failed;
    failed.message = Some("panicked: index out of bounds".into());
    let report = testing::report(vec![failed, testing::section("b", vec![])]);
    let detail = Detail::Head;
    let text = render(&report, Page { detail, ..page(80) });
    assert!(
        text.ends_with("\n\na failed: panicked: index out of bounds\n"),
        "{text}"
    );
}

#[test]
fn colours_add_nothing_but_escape_sequences() {
    let mut section = testing::section(
        "one",
        vec![Table::build("t").f64("wall_share", [0.5]).finish().unwrap()],
    );
    section.findings = vec![testing::finding(Level::Error, "bad")];
    let report = testing::report(vec![section]);
    let plain = render(&report, page(100));
    let painted = render(
        &report,
        Page {
            palette: Palette::new(true),
            ..page(100)
        },
    );
    assert_ne!(plain, painted);
    let mut stripped = String::new();
    let mut rest = painted.as_str();
    while let Some((before, after)) = rest.split_once('\x1b') {
        stripped.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
}

#[test]
fn a_brief_page_names_what_it_leaves_out_and_a_full_one_has_it() {
    let rows = |count: i64| (0..count).map(|i| i * 1_000).collect::<Vec<_>>();
    let table = |name: &str, column: &str, count| {
        Table::build(name)
            .i64(column, rows(count))
            .finish()
            .unwrap()
    };
    let mut one = testing::section(
        "one",
        vec![
            table("path", "seq", 900),
            table("by_name", "dur_ns", 40),
            table("by_kind", "dur_ns", 40),
            table("by_lane", "dur_ns", 40),
            table("holes", "dur_ns", 0),
        ],
    );
    one.findings = ["first", "second", "third"]
        .map(|title| testing::finding(Level::Info, title))
        .into();
    one.findings
        .push(testing::finding(Level::Warning, "important"));
    let report = testing::report(vec![one]);
    let of = |detail| render(&report, Page { detail, ..page(80) });
    let brief = of(Detail::Brief);
    for expected in [
        "\none What it is about.\n",
        "  also: by kind (40), by lane (40), path (900)\n",
        "findings\n",
        "medium important [one]\n         What to do.\n",
        "info   third [one]\n",
        "… and 30 more rows",
        "more:\n  all findings    trueno-analyze report RUN --findings\n",
        "  one analysis    trueno-analyze report RUN --plugin-id one\n",
        "  all rows        trueno-analyze query RUN 'SELECT * FROM one.path' --top 900\n",
        "  all tables      trueno-analyze report RUN -v\n",
    ] {
        assert!(brief.contains(expected), "{expected:?}:\n{brief}");
    }
    for not in ["What was seen", "some_code", "no rows"] {
        assert!(!brief.contains(not), "{not}:\n{brief}");
    }
    assert_eq!(brief.matches("important").count(), 1, "{brief}");
    let sentences = Table::build("top")
        .text("sentence", ["it waits"])
        .finish()
        .unwrap();
    let silent = testing::report(vec![testing::section("two", vec![sentences])]);
    let detail = Detail::Brief;
    let brief = render(&silent, Page { detail, ..page(80) });
    assert!(brief.contains("\ntwo also has: top (1)\n"), "{brief}");
    let full = of(Detail::Full);
    for expected in [
        "\n  by lane\n",
        "\n  path\n",
        "third (some_code)",
        "no rows: holes",
        "… and 890 more rows\n  all rows        trueno-analyze query RUN 'SELECT * FROM one.path' --top 900\n",
    ] {
        assert!(full.contains(expected), "{expected:?}:\n{full}");
    }
    assert!(!full.contains("more:"), "{full}");
    let head = of(Detail::Head);
    assert!(
        head.contains("medium important [one]") && !head.contains("What it is about"),
        "{head}"
    );
}

#[test]
fn notes_of_all_plugins_come_before_second_notes_of_one() {
    let mut one = testing::section("one", vec![]);
    one.findings = ('a'..='i')
        .map(|c| testing::finding(Level::Info, &format!("note {c}")))
        .collect();
    let mut two = testing::section("two", vec![]);
    two.findings = vec![testing::finding(Level::Info, "of the second")];
    let report = testing::report(vec![one, two]);
    let detail = Detail::Brief;
    let text = render(&report, Page { detail, ..page(80) });
    assert!(
        text.contains(
            "findings (6 of 10, worst first; --findings shows all)\n  info   note a [one]\n  \
             info   of the second [two]\n  info   note b [one]\n"
        ),
        "{text}"
    );
    assert!(!text.contains("note f"), "{text}");
}

#[test]
fn findings_of_several_ranks_are_one_line_with_their_number() {
    let mut one = testing::section("one", vec![]);
    let title = |rank| format!("rank {rank} is {rank}.5 % slower");
    let of_ranks = (0..8).map(|rank| testing::finding(Level::Warning, &title(rank)));
    let others = ["gemm_64 is slower", "gemm_128 is slower"];
    one.findings = of_ranks
        .chain(others.map(|title| testing::finding(Level::Warning, title)))
        .collect();
    let report = testing::report(vec![one]);
    let text = render(&report, page(80));
    assert!(
        text.contains(
            "findings (3 of 10, worst first)\n  \
             medium rank 0 is 0.5 % slower, and 7 like it [one]\n"
        ),
        "{text}"
    );
    assert!(
        others
            .iter()
            .all(|title| text.contains(&format!("\n  medium {title} [one]\n"))),
        "{text}"
    );
}

#[test]
fn a_section_with_gains_comes_first_and_a_skipped_one_is_a_line() {
    let table = |name: &str, column: &str| Table::build(name).i64(column, [1, 2]).finish().unwrap();
    let first = testing::section("first", vec![table("t", "dur_ns")]);
    let gains = testing::section("gains", vec![table("opportunity", "gain_50pct_ns")]);
    let mut skipped = testing::section("absent", vec![]);
    skipped.status = SectionStatus::Skipped;
    skipped.message = Some("no second run was given".into());
    let report = testing::report(vec![first, skipped, gains]);
    let detail = Detail::Brief;
    let text = render(&report, Page { detail, ..page(80) });
    assert!(text.find("\ngains ") < text.find("\nfirst "), "{text}");
    assert!(
        text.contains("\nabsent was skipped: no second run was given\n"),
        "{text}"
    );
}

/// Findings of `bottleneck` in groups, so that a full page opens with all of them.
fn judged(words: &str, severity: &str) -> Section {
    let table = |name: &str, rows: usize| {
        Table::build(name)
            .text("severity", (0..rows).map(|_| severity))
            .text("sentence", (0..rows).map(|_| words))
            .u64("group", (0..rows).map(|row| row as u64 / 2))
            .finish()
            .unwrap()
    };
    let tables = vec![table("top", 3), table("bottlenecks", 12)];
    testing::section(crate::top::PLUGIN, tables)
}

/// A section with only names: one table is summarized in a line, one cannot be shown on a brief page.
fn named(name: &str) -> Section {
    let told = Table::build(name).text("verdict", ["pass"]).finish();
    let said = Table::build(format!("{name}2")).text("sentence", [name]);
    testing::section(name, vec![told.unwrap(), said.finish().unwrap()])
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_page(
        words in "\\PC{0,300}",
        name in "[a-z][a-z_]{0,120}",
        rows in proptest::collection::vec(("\\PC{0,90}", any::<i64>(), 0.0..1.0_f64), 0..5),
        width in prop_oneof![Just(80_usize), 80..=200_usize],
    ) {
        let table = Table::build("t")
            .text("name", rows.iter().map(|row| row.0.clone()))
            .i64("self_ns", rows.iter().map(|row| row.1))
            .f64("wall_share", rows.iter().map(|row| row.2))
            .finish()
            .unwrap();
        let mut section = testing::section("one", vec![table]);
        section.summary = words.clone();
        section.findings = vec![testing::finding(Level::Warning, &words); 12];
        section.message = Some(words.clone());
        section.status = SectionStatus::Failed;
        let mut skipped = testing::section(&name, vec![]);
        skipped.status = SectionStatus::Skipped;
        let only_said = Table::build(&name).text("sentence", [words.as_str()]).finish().unwrap();
        let silent = testing::section(&name, vec![only_said]);
        let sections = vec![section, judged(&words, &name), named(&name), silent, skipped];
        let mut report = testing::report(sections);
        report.header.facts.program.argv = vec![words.clone()];
        report.header.facts.label = Some(words.clone());
        report.header.facts.host.name = Some(name.clone());
        report.header.facts.values.insert(name, words.clone());
        report.problems = vec![Problem { severity: Level::Info, code: "c".into(), text: words }];
        for detail in [Detail::Head, Detail::Brief, Detail::Findings, Detail::Full] {
            for line in render(&report, Page { detail, ..page(width) }).lines() {
                // One word of a command is never broken: a shell would not read it any more.
                let is_word = line.trim_end_matches(" \\").trim_start().split(' ').count() == 1;
                if is_word && line.starts_with(&" ".repeat(INDENT + MORE_WIDTH)) {
                    continue;
                }
                prop_assert!(width::measure(line) <= width, "{} > {width}: {line}", width::measure(line));
            }
        }
    }
}

#[test]
fn the_page_of_findings_has_each_in_full() {
    let mut one = testing::section("one", vec![]);
    one.findings = (0..40)
        .map(|rank| testing::finding(Level::Info, &format!("rank {rank} waits")))
        .collect();
    one.findings
        .push(testing::finding(Level::Warning, "it is slow"));
    let report = testing::report(vec![one]);
    let detail = Detail::Findings;
    let text = render(&report, Page { detail, ..page(80) });
    for expected in ["\none 41 findings\n", "info   rank 39 waits (some_code)\n"] {
        assert!(text.contains(expected), "{expected:?}:\n{text}");
    }
    assert_eq!(text.matches("What to do.").count(), 41, "{text}");
    // A full page has them as well, those that differ in numbers alone once.
    let full = render(&report, page(80));
    let line = "info   rank 0 waits, and 39 like it (some_code)\n";
    assert!(full.contains(line), "{full}");
    assert!(
        full.contains("all findings    trueno-analyze report RUN --findings\n"),
        "{full}"
    );
}

#[test]
fn what_an_import_left_out_comes_first() {
    let mut report = testing::report(vec![]);
    report.problems.push(Problem::error(
        trueno_model::IMPORT_LEFT_OUT,
        "the import of app.perf left out 59 records and kept 104 rows: 59 × line outside of a sample",
    ));
    report.header.facts.complete = None;
    report.header.facts.dropped = None;
    report.header.facts.imports = vec![trueno_format::run_json::ImportRecord::default()];
    let text = render(&report, page(80));
    assert!(
        text.starts_with("INCOMPLETE: the import of app.perf left out 59 records"),
        "{text}"
    );
}

#[test]
fn how_much_of_a_recording_a_window_is_comes_first() {
    let mut report = testing::report(vec![]);
    let said = "the last 30 s of 12 min: 9 earlier rows were discarded on request";
    report.problems.push(Problem::info("kept_last", said));
    let head = Page {
        detail: Detail::Head,
        ..page(200)
    };
    let text = render(&report, head);
    assert!(text.contains(said), "{text}");
}

#[test]
fn that_files_changed_meanwhile_comes_before_all_else() {
    let mut report = testing::report(vec![]);
    report.header.facts.complete = Some(false);
    report.problems.push(Problem::error(
        trueno_model::CHANGED_WHILE_READ,
        "a.run/bricks/000001.arrow changed while the run was read",
    ));
    let text = render(&report, page(80));
    assert!(
        text.starts_with("CHANGED WHILE READ: a.run/bricks/000001.arrow"),
        "{text}"
    );
}

#[test]
fn a_run_without_a_label_is_called_by_its_directory() {
    let mut report = testing::report(vec![]);
    report.header.facts.label = None;
    let text = render(&report, page(80));
    assert!(
        text.contains("run       decode.run (00000000000000aa)\n"),
        "{text}"
    );
}

#[test]
fn the_trace_of_one_rank_says_of_how_many() {
    let mut report = testing::report(vec![]);
    let values = &mut report.header.facts.values;
    for (name, value) in [("rank", "3"), ("world_size", "8")] {
        values.insert(format!("trace.distributedInfo.{name}"), value.to_owned());
    }
    let text = render(&report, page(80));
    assert!(
        text.contains("rank      3 of 8; the others are not in this run"),
        "{text}"
    );
}
