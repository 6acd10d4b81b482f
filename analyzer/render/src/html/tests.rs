use std::collections::BTreeMap;

use trueno_model::evidence::Evidence;
use trueno_model::timeline::{Frame, Row, Span, StackPicture, Timeline};
use trueno_model::{Level, Problem, Report};
use trueno_plugin::{Chart, Table};

use super::page::write;
use super::*;
use crate::testing::{finding, report, section};

const NASTY: &str = "</script><script>alert('x')</script><!--&\u{2028}";

fn nasty() -> (Report, Timeline) {
    let table = Table::build("by_name")
        .text("name", [NASTY, "b"])
        .i64("self_ns", [2_000, 1_000])
        .u64("id", [u64::MAX, 1])
        .f64("wall_share", [Some(0.5), None])
        .finish()
        .unwrap();
    let mut one = section(NASTY, vec![table]);
    one.charts = vec![Chart::bar(NASTY, "by_name", "name", "self_ns")];
    one.findings = vec![finding(Level::Error, NASTY)];
    one.findings[0].evidence = Some(NASTY.into());
    one.message = Some(NASTY.into());
    let mut report = report(vec![one]);
    report.header.facts.label = Some(NASTY.into());
    report.header.facts.values = BTreeMap::from([(NASTY.to_owned(), NASTY.to_owned())]);
    let span = Span {
        start_ns: 0,
        dur_ns: 900,
        name: 0,
        id: 1,
        detail: 1,
    };
    let timeline = Timeline {
        until_ns: 1_000,
        names: vec![NASTY.into()],
        categories: vec![Some(NASTY.into())],
        details: vec![String::new(), NASTY.into()],
        slices: 64,
        spans: 1,
        rows: vec![Row {
            lane: NASTY.into(),
            spans: vec![span],
            ..Row::default()
        }],
        ..Timeline::default()
    };
    (report, timeline)
}

fn page(report: &Report, timeline: &Timeline) -> String {
    let evidence = Evidence::default();
    let extra = Extra {
        timeline: Some(timeline),
        stacks: &[],
        evidence: &evidence,
        is_summary: false,
        top: 10,
    };
    let mut out = Vec::new();
    write(report, &extra, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn names_cannot_leave_the_place_they_stand_in() {
    let (report, timeline) = nasty();
    let page = page(&report, &timeline);
    assert!(
        !page.contains("<script>alert") && !page.contains("<!--&"),
        "a name became markup"
    );
    // The block of data and the program: two elements that begin, two that end.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    let begin = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = begin + page[begin..].find("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(&page[begin..end]).unwrap();
    // What begins a line of its own elsewhere is spelled out.
    let spelled = NASTY.replace('\u{2028}', "\\u{2028}");
    assert_eq!(data["texts"][0], spelled);
    assert_eq!(data["timeline"]["names"][0], spelled);
    // Too long for a double, so as text.
    assert_eq!(
        data["tables"][0]["columns"][2]["c"][0],
        u64::MAX.to_string()
    );
}

#[test]
fn stacks_of_samples_and_of_waits_stand_side_by_side() {
    let frame = Frame {
        name: NASTY.into(),
        depth: 0,
        at_ns: 0,
        total_ns: 5_000,
        self_ns: 5_000,
    };
    let picture = |title| StackPicture {
        name: "stacks",
        title,
        frames: vec![frame.clone()],
    };
    let evidence = Evidence::default();
    let stacks = [picture("CPU time"), picture("time waited")];
    let mut extra = Extra {
        timeline: None,
        stacks: &stacks,
        evidence: &evidence,
        is_summary: false,
        top: 10,
    };
    let report = report(vec![section("samples", Vec::new())]);
    let written = |extra: &Extra<'_>| {
        let mut out = Vec::new();
        write(&report, extra, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let page = written(&extra);
    assert_eq!(page.matches("<section id=\"stacks\">").count(), 1);
    assert_eq!(page.matches("href=\"#stacks\"").count(), 1);
    for title in ["CPU time", "time waited"] {
        assert!(page.contains(&format!("<figcaption>{title}</figcaption>")));
    }
    assert!(!page.contains("<script>alert"), "a name became markup");
    extra.stacks = &[];
    assert!(!written(&extra).contains("#stacks"));
}

#[test]
fn nothing_is_fetched() {
    let (report, timeline) = nasty();
    let page = page(&report, &timeline);
    for fetched in [
        "src=",
        "@import",
        "url(",
        "http://",
        "https://",
        "fetch(",
        "XMLHttpRequest",
    ] {
        assert!(!page.contains(fetched), "the page holds {fetched}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    let (report, timeline) = nasty();
    assert_eq!(page(&report, &timeline), page(&report, &timeline));
}

#[test]
fn long_tables_are_cut_and_say_so() {
    let rows = 40_000;
    let table = Table::build("all")
        .text("name", (0..rows).map(|row| format!("name {row}")))
        .i64("self_ns", 0..rows)
        .finish()
        .unwrap();
    let report = report(vec![section("category", vec![table])]);
    let page = page(&report, &Timeline::default());
    assert!(page.contains("The page holds the first 1,000 of 40,000 rows"));
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

#[test]
fn the_three_that_gain_most_come_from_the_section_that_ranks_them() {
    let table = Table::build("top")
        .i64("rank", 1..=4)
        .text("severity", ["warning", "warning", "info", "info"])
        .i64("gain_ns", [5_000_000, 2_000_000, 1_000, 1])
        .f64("gain_share", [0.5, 0.2, 0.01, 0.0])
        .text(
            "confidence",
            ["measured", "measured", "modelled", "modelled"],
        )
        .text(
            "sentence",
            ["copies <wait>", "launches", "tails", "the fourth"],
        )
        .text("code", ["copies", "launches", "tails", "fourth"])
        .finish()
        .unwrap();
    let report = report(vec![section("bottleneck", vec![table])]);
    let page = page(&report, &Timeline::default());
    let summary = &page[..page.find("id=\"s-bottleneck\"").unwrap()];
    assert!(
        summary.contains("copies &lt;wait&gt;") && summary.contains("gains up to 5 ms, 50.0 %")
    );
    assert!(summary.contains("tails") && !summary.contains("the fourth"));
}

#[test]
fn a_bottleneck_has_one_severity_on_the_page() {
    let table = Table::build("bottlenecks")
        .text("severity", ["high"])
        .text("sentence", ["the GPU waits"])
        .finish()
        .unwrap();
    let mut bottleneck = section("bottleneck", vec![table]);
    let mut waits = finding(Level::Warning, "the GPU waits");
    waits.suggestion = Some("`num_workers=2` or `a 'cache`".into());
    bottleneck.findings = vec![waits];
    let page = page(&report(vec![bottleneck]), &Timeline::default());
    assert!(page.contains("<span class=\"badge\">high</span> <b>the GPU waits</b>"));
    assert!(page.contains("<p><code>num_workers=2</code> or <code>a &#39;cache</code></p>"));
}

#[test]
fn code_is_what_stands_between_two_backticks() {
    assert_eq!(prose("`a<b>` or c"), "<code>a&lt;b&gt;</code> or c");
    assert_eq!(prose("a ` b"), "a ` b");
}

#[test]
fn analyses_without_a_result_are_one_line() {
    let empty = Table::build("by_name")
        .text("name", Vec::<&str>::new())
        .finish()
        .unwrap();
    let mut skipped = section("samples", vec![]);
    skipped.status = trueno_model::SectionStatus::Skipped;
    skipped.message = Some("no samples were recorded".into());
    let report = report(vec![section("device", vec![empty]), skipped]);
    let page = page(&report, &Timeline::default());
    assert!(page.contains("<summary>No result: device, samples</summary>"));
    assert!(page.contains("no samples were recorded"));
    assert!(!page.contains("class=\"analysis\""));
}

#[test]
fn an_analysis_is_open_when_it_warns() {
    let table = || {
        Table::build("by_name")
            .text("name", ["a"])
            .i64("self_ns", [1])
            .finish()
            .unwrap()
    };
    let mut warns = section("roofline", vec![table()]);
    warns.findings = vec![finding(Level::Warning, "far from the roof")];
    let quiet = section("memory", vec![table()]);
    let page = page(&report(vec![quiet, warns]), &Timeline::default());
    assert!(page.contains("id=\"s-roofline\" open>"));
    assert!(page.contains("id=\"s-memory\">"));
    let order = ["q-roof", "q-memory"].map(|id| page.find(&format!("id=\"{id}\"")).unwrap());
    assert!(order[0] < order[1]);
}

#[test]
fn the_page_answers_by_question_and_keeps_plugins_of_others() {
    let table = Table::build("t").i64("self_ns", [1]).finish().unwrap();
    let report = report(vec![section("my_own", vec![table])]);
    let page = page(&report, &Timeline::default());
    assert!(page.contains("<a href=\"#q-other\">Other analyses</a>"));
    assert!(page.contains("id=\"s-my_own\""));
}

/// A page whose opening has these columns beside a sentence.
fn opened(columns: trueno_plugin::TableBuilder) -> String {
    let headline = columns.text("sentence", ["fine"]).finish().unwrap();
    let report = report(vec![section("summary", vec![headline])]);
    page(&report, &Timeline::default())
}

#[test]
fn a_rate_says_what_it_is_one_over() {
    let steps = |per_s: f64| {
        let headline = Table::build("headline").u64("steps", [4_u64]);
        opened(
            headline
                .f64("step_ns", [2.21e9])
                .f64("steps_per_s", [per_s]),
        )
    };
    assert!(steps(1.0 / 2.21).contains("<b>0.45 /s</b><small>1 / median</small>"));
    let page = steps(0.41);
    let words = "<b>0.41 /s</b><small>one every 2.44 s, from start to start</small>";
    assert!(page.contains(words));
}

#[test]
fn a_busy_share_is_a_lower_bound_where_launched_work_is_missing() {
    let busy = |at_least: bool| {
        let headline = Table::build("headline").text("accelerator", ["GPU"]);
        let headline = headline.f64("gpu_busy_share", [0.186]);
        opened(headline.bool("busy_at_least", [at_least]))
    };
    assert!(busy(true).contains("<span>GPU busy</span><b>at least 18.6 %</b>"));
    assert!(busy(false).contains("<span>GPU busy</span><b>18.6 %</b>"));
}

#[test]
fn notes_on_an_import_are_one_line_after_the_timeline() {
    let (mut report, timeline) = nasty();
    report.problems = vec![
        Problem::warning("import", "5 very long texts were cut"),
        Problem::warning("import", "no table NVTX_EVENTS: no bricks"),
        Problem::warning("rank_missing", "rank 2 is missing"),
    ];
    let page = page(&report, &timeline);
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(at("rank 2 is missing") < at("<section id=\"timeline\">"));
    assert!(at("<summary>2 notes on the import</summary>") > at("<section id=\"timeline\">"));
    assert!(at("5 very long texts were cut") > at("2 notes on the import"));
}

#[test]
fn the_summary_asks_for_nothing_where_there_is_nothing_to_do() {
    let asks = |level: Level| {
        let mut one = section("memory", Vec::new());
        one.findings = vec![finding(level, "no allocation was recorded")];
        page(&report(vec![one]), &Timeline::default()).contains("What to look at first")
    };
    assert!(asks(Level::Warning));
    assert!(!asks(Level::Info), "a mere note is in its section");
}

#[test]
fn a_table_that_repeats_the_cards_is_folded() {
    let is_open = |rows: i64| {
        let table = Table::build("top").i64("rank", 1..=rows);
        let table = table.text("sentence", (1..=rows).map(|row| format!("finding {row}")));
        let bottleneck = section("bottleneck", vec![table.finish().unwrap()]);
        let page = page(&report(vec![bottleneck]), &Timeline::default());
        page.contains("id=\"t-bottleneck-top\" open>")
    };
    assert!(is_open(4));
    assert!(!is_open(3));
}

#[test]
fn the_page_of_one_rank_says_so_in_its_head() {
    let mut report = report(Vec::new());
    let values = &mut report.header.facts.values;
    for (name, value) in [("rank", "0"), ("world_size", "2")] {
        values.insert(format!("trace.distributedInfo.{name}"), value.to_owned());
    }
    let page = page(&report, &Timeline::default());
    assert!(page.contains(" · rank 0 of 2; the others are not in this run</summary>"));
}
