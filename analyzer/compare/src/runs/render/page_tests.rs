use super::*;
use crate::runs::{Aspect, Kind, Name, Options};

fn compared(name: &str, verdict: Verdict, base_ns: f64, run_ns: f64) -> Compared {
    let ratio = run_ns / base_ns;
    Compared {
        name: Name {
            kind: Kind::Brick,
            name: name.to_owned(),
        },
        verdict,
        why: (verdict == Verdict::CannotTell).then(|| "too much noise".to_owned()),
        base_median_ns: Some(base_ns),
        run_median_ns: Some(run_ns),
        ratio: Some(trueno_statistics::Ratio {
            value: ratio,
            low: ratio * 0.9,
            high: ratio * 1.1,
        }),
        own_ratio: None,
        mean_ratio: None,
        delta: Some(0.5),
        p: Some(0.01),
        q: Some(0.02),
        rank_p: Some(0.01),
        base_samples: 32,
        run_samples: 33,
        base_count: 32,
        run_count: 33,
        base_total_ns: base_ns * 32.0,
        run_total_ns: run_ns * 33.0,
    }
}

fn comparison(names: Vec<Compared>) -> Comparison {
    Comparison {
        options: Options::default(),
        base: vec!["runs/before.run".into()],
        run: vec!["after.run".into()],
        incomplete: Vec::new(),
        common: Vec::new(),
        comparability: vec![Aspect {
            aspect: "processor".into(),
            standing: Standing::Differs,
            base: "<i>one</i>".into(),
            run: "another".into(),
            is_detail: false,
        }],
        names,
        signatures: None,
        functions: None,
        jobs: None,
        operators: None,
        totals: Vec::new(),
        path: Vec::new(),
        counts: Vec::new(),
        capped: 0,
        devices: Default::default(),
        has_one_device: false,
    }
}

#[track_caller]
fn in_order(page: &str, texts: &[&str]) {
    let mut behind = 0;
    for text in texts {
        let at = page[behind..].find(text);
        behind += at.unwrap_or_else(|| panic!("{text:?} is not behind {behind}:\n{page}"));
    }
}

#[test]
fn what_got_slower_comes_first_and_doubts_before_it() {
    let page = page(
        &comparison(vec![
            compared("gemv", Verdict::Slower, 1_000.0, 3_000.0),
            compared("softmax", Verdict::Faster, 2_000.0, 1_500.0),
            compared("rope", Verdict::CannotTell, 100.0, 101.0),
        ]),
        10,
    );
    in_order(
        &page,
        &[
            "<h1>after.run compared with before.run</h1>",
            "processor differs:",
            "&lt;i&gt;one&lt;/i&gt;",
            "<h2>What got slower</h2>",
            "brick gemv: 1 µs → 3 µs, +200 %",
            "32 and 33 samples",
            "<h2>What got faster</h2>",
            "brick softmax",
            "<svg",
            "id=\"t-names\"",
            "id=\"t-undecided\"",
            "too much noise",
            "id=\"t-comparability\"",
        ],
    );
}

#[test]
fn names_stay_names() {
    let evil = "</script><script>alert(1)</script>";
    let page = page(
        &comparison(vec![compared(evil, Verdict::Slower, 1_000.0, 3_000.0)]),
        10,
    );
    assert!(!page.contains("<script>alert"), "{page}");
    assert_eq!(page.matches("</script>").count(), 2, "{page}");
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
}

#[test]
fn nothing_slower_is_said_and_so_is_nothing_measurable() {
    let same = compared("gemv", Verdict::Same, 1_000.0, 1_001.0);
    let page_of = |names| page(&comparison(names), 10);
    let text = page_of(vec![same]);
    assert!(text.contains("No certain change by more than 2.0 %."));
    assert!(!text.contains("What got faster") && !text.contains("Nothing could be compared"));
    let text = page_of(vec![]);
    assert!(text.contains("Nothing could be compared"), "{text}");
    assert!(!text.contains("id=\"ratios\"") && !text.contains("href=\"#ratios\""));
}
