//! Reports as a page, opened by a browser where there is one; charts as files.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use trueno_format::run_json::RunJson;

use crate::harness::{Dir, ends};
use trueno_testing::{Made, Value};

fn dataset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../datasets")
        .join(name)
}

/// The first program in the search path that has one of these names.
pub fn installed(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut all = folders
        .iter()
        .flat_map(|folder| names.iter().map(|name| folder.join(name)));
    all.find(|file| file.is_file())
}

pub fn chromium() -> Option<PathBuf> {
    installed(&["chromium", "chromium-browser", "google-chrome"])
}

/// A headless browser with its profile in the test's folder. It logs to standard error.
pub fn headless(browser: &Path, dir: &Dir) -> Command {
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-extensions"])
        .args(["--disable-sync", "--enable-logging=stderr"])
        .arg(format!(
            "--user-data-dir={}",
            dir.folder("profile").display()
        ));
    command
}

pub fn page_errors(log: &str) -> Vec<&str> {
    let is_error = |line: &&str| {
        let words = ["Uncaught", "rror", "Refused", "violates"];
        line.contains(":CONSOLE") && words.iter().any(|word| line.contains(word))
    };
    log.lines().filter(is_error).collect()
}

/// Opens the page in a window of this width, and returns the result of its self-test.
fn selftest(browser: &Path, dir: &Dir, page: &str, width: u32) -> serde_json::Value {
    let address = format!("file://{}#selftest", dir.join(page).display());
    let (dom, log) = (dir.join("dom"), dir.join("log"));
    let file = |path: &Path| Stdio::from(std::fs::File::create(path).expect("a file of the test"));
    let mut child = headless(browser, dir)
        .args(["--virtual-time-budget=600000", "--dump-dom"])
        .arg(format!("--window-size={width},900"))
        .arg(&address)
        .stdout(file(&dom))
        .stderr(file(&log))
        .spawn()
        .expect("the browser starts");
    ends(&mut child, "the browser");
    let log = dir.read("log");
    let errors = page_errors(&log);
    assert!(errors.is_empty(), "the console shows errors: {errors:#?}");
    let dom = dir.read("dom");
    let begin = "<pre id=\"selftest\">";
    let result = dom
        .split_once(begin)
        .and_then(|(_, rest)| rest.split_once("</pre>"));
    let Some((result, _)) = result else {
        panic!("the page did not test itself:\n{log}");
    };
    let plain = result
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{error}: {plain}"))
}

/// Kernels under roofs, iterations of which one is slow, allocations, and malicious names.
fn full_run(dir: &Dir) -> PathBuf {
    let path = dir.join("full.run");
    let run = RunJson {
        label: Some("<b>full</b> & \"run\"".into()),
        ..RunJson::default()
    };
    let mut made = Made::with_facts(&path, run);
    made.row("threads", &[("thread", 0.into()), ("name", "main".into())]);
    let memory = |time_ns: i64, tag: &'static str, bytes: i64, address: i64| {
        [
            ("time_ns", Value::from(time_ns)),
            ("thread", 0.into()),
            ("tag", tag.into()),
            ("bytes", bytes.into()),
            ("address", address.into()),
        ]
    };
    made.row("allocations", &memory(0, "weights", 1_000_000, 1));
    let names = [
        "gemv",
        "void at::gemm_kernel<128, float, at::Add<float> >(float const*, float*)",
        "softmax",
        "</script><script>alert(1)</script>",
        "<!--",
        "日本語 \u{202e}",
    ];
    let (mut now_ns, mut id) = (1_000, 1);
    for iteration in 0..40 {
        let (enclosing, began_ns) = (id, now_ns);
        now_ns += 500;
        made.row(
            "allocations",
            &memory(now_ns, "cache", 10_000, 100 + iteration),
        );
        for (n, name) in (1..).zip(names) {
            let spent_ns = if iteration == 30 { 400_000 } else { 20_000 * n };
            let both = [
                ("thread", Value::from(0)),
                ("start_ns", now_ns.into()),
                ("backend", "avx2".into()),
            ];
            let brick = [
                ("id", Value::from(id + 1)),
                ("parent", enclosing.into()),
                ("kind", "brick".into()),
                ("name", "QkvProjection".into()),
                ("category", "attention".into()),
                ("dur_ns", (spent_ns + 200).into()),
                ("iteration", iteration.into()),
                ("flops", (20_000 * n).into()),
                ("bytes_read", 30_000.into()),
                ("bytes_written", 10_000.into()),
            ];
            made.row("bricks", &[&both[..], &brick].concat());
            let kernel = [
                ("id", Value::from(id + 2)),
                ("brick", (id + 1).into()),
                ("name", name.into()),
                ("dur_ns", spent_ns.into()),
                ("flops", (20_000 * n * n).into()),
                ("bytes", 40_000.into()),
                ("work_source", "declared".into()),
            ];
            made.row("kernels", &[&both[..], &kernel].concat());
            id += 2;
            now_ns += spent_ns + 300;
        }
        let whole = [
            ("id", Value::from(enclosing)),
            ("kind", "iteration".into()),
            ("name", "iteration".into()),
            ("thread", 0.into()),
            ("start_ns", began_ns.into()),
            ("dur_ns", (now_ns - began_ns).into()),
            ("iteration", iteration.into()),
        ];
        made.row("bricks", &whole);
        id += 1;
        now_ns += 100;
    }
    for (kind, level, precision, value, unit) in [
        ("compute", "avx2", Some("f32"), 4e10, "flop/s"),
        ("compute", "scalar", Some("f32"), 5e9, "flop/s"),
        ("bandwidth", "dram", None, 1e10, "bytes/s"),
        ("bandwidth", "l1", None, 1e11, "bytes/s"),
    ] {
        let mut row = vec![
            ("device", Value::from("cpu")),
            ("kind", kind.into()),
            ("level", level.into()),
            ("threads", 1.into()),
            ("value", value.into()),
            ("unit", unit.into()),
            ("source", "measured".into()),
        ];
        row.extend(precision.map(|precision| ("precision", precision.into())));
        made.row("ceilings", &row);
    }
    made.finish(now_ns);
    path
}

#[test]
fn a_browser_can_use_the_page() {
    let Some(browser) = chromium() else {
        eprintln!("skipped: no Chromium in PATH (.ci/chromium installs it)");
        return;
    };
    let dir = Dir::new();
    let full = full_run(&dir);
    let planted = dataset("divergence/planted.run");
    let base = dataset("divergence/base.run");
    let base = base.to_str().expect("a path in UTF-8");
    let runs: [(&Path, &[&str], u64); 3] = [
        (&full, &[], 6),
        (&dataset("decode/simd.run"), &[], 8),
        (&planted, &["--baseline", base], 1),
    ];
    for (run, more, charts) in runs {
        let args = [more, &["--html", "page.html", "-q"]].concat();
        dir.report(run, &args).exits(0);
        let size = dir.read("page.html").len();
        assert!(size < 4_000_000, "{}: {size} bytes", run.display());
        for width in [1280, 400] {
            let result = selftest(&browser, &dir, "page.html", width);
            assert_eq!(
                result["ok"],
                true,
                "{} at {width}: {result:#}",
                run.display()
            );
            let count = |what: &str| result[what].as_u64().unwrap_or(0);
            assert!(
                count("charts") >= charts && count("tables") >= 10 && count("checks") > 500,
                "{result:#}"
            );
            assert_eq!(result["timeline"], true);
        }
    }
}

/// Tests a flame graph: clicks on a frame, searches, and goes back.
const FLAMEGRAPH_TEST: &str = r#"<script>
const { frames, zoom, mark } = document.querySelector('svg').flamegraph;
const width = frame => frame.g.style.display === 'none' ? 0 : parseFloat(frame.rect.getAttribute('width'));
const all = frames.map(width).join();
const chosen = frames.find(frame => frame.y > frames[0].y && frame.width < 600);
chosen.g.dispatchEvent(new MouseEvent('click', { bubbles: true }));
const wrong = [];
if (Math.abs(width(chosen) - 1180) > 0.1) wrong.push('a click does not widen a frame');
if (!frames.some(frame => width(frame) === 0)) wrong.push('nothing is out of sight');
if (frames.some(frame => width(frame) > 1180.1)) wrong.push('a frame is wider than the picture');
mark(chosen.name);
if (!/^[1-9][0-9]* frames, [0-9.]+ %$/.test(document.querySelector('.found').textContent)) wrong.push('a search tells nothing');
dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
if (frames.map(width).join() !== all || document.querySelector('.found').textContent) wrong.push('Escape does not undo');
const pre = document.createElement('pre');
pre.id = 'selftest';
pre.textContent = JSON.stringify({ ok: wrong.length === 0, wrong, frames: frames.length });
document.body.append(pre);
</script>"#;

#[test]
fn a_flame_graph_zooms_and_searches_by_itself() {
    let Some(browser) = chromium() else {
        eprintln!("skipped: no Chromium in PATH (.ci/chromium installs it)");
        return;
    };
    let dir = Dir::new();
    for run in [full_run(&dir), dataset("decode/simd.run")] {
        let run = run.to_str().expect("a path in UTF-8");
        let svg = dir.command(&["export", "flamegraph", run, "-o", "-"]);
        let page = format!(
            "<!DOCTYPE html><body>{}{FLAMEGRAPH_TEST}",
            svg.exits(0).stdout
        );
        std::fs::write(dir.join("flame.html"), page).expect("a page");
        let result = selftest(&browser, &dir, "flame.html", 1280);
        assert_eq!(result["ok"], true, "{result:#}");
    }
}

#[test]
fn the_page_of_a_run_is_the_same_each_time_and_tells_where_findings_are() {
    let dir = Dir::new();
    let run = dataset("decode/simd.run");
    for page in ["one.html", "two.html"] {
        dir.report(&run, &["--html", page])
            .exits(0)
            .stderr_has(&format!("wrote {page}, "));
    }
    let page = dir.read("one.html");
    assert!(
        page == dir.read("two.html"),
        "two reports of one run differ"
    );
    for part in [
        "id=\"summary\"",
        "id=\"timeline\"",
        "id=\"t-category-by_category\"",
        "evidence",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    let piped = dir.report(&run, &["--html", "-"]).exits(0);
    assert!(piped.stdout == page, "standard output holds something else");
}

#[test]
fn a_trace_of_a_device_has_its_streams_on_the_timeline() {
    let dir = Dir::new();
    let event = |cat: &str, name: &str, ts: f64, args: serde_json::Value| json!({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 80.0, "args": args});
    let on_device =
        |correlation: u64| json!({"correlation": correlation, "device": 0, "stream": 7});
    let trace = json!({"schemaVersion": 1, "traceEvents": [
        event("cpu_op", "aten::mm", 100.0, json!({})),
        event("cuda_runtime", "cudaLaunchKernel", 110.0, json!({"correlation": 7})),
        event("cuda_runtime", "cudaMemcpyAsync", 115.0, json!({"correlation": 8})),
        event("cuda_runtime", "cudaDeviceSynchronize", 400.0, json!({"correlation": 9})),
        event("kernel", "sgemm<float>", 200.0, on_device(7)),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 300.0, json!({"correlation": 8, "device": 0, "stream": 7, "bytes": 64})),
    ]});
    std::fs::write(dir.join("trace.json"), trace.to_string()).unwrap();
    dir.command(&["import", "trace.json", "-o", "trace.run"])
        .exits(0);
    dir.report(&dir.join("trace.run"), &["--html", "page.html", "-q"])
        .exits(0);
    let page = dir.read("page.html");
    assert!(
        !page.contains("the timeline cannot be drawn:"),
        "the timeline could not be read"
    );
    assert!(
        page.contains("\"lane\":\"gpu0/stream 7\"") && page.contains("sgemm\\u003cfloat\\u003e")
    );
    for curve in ["gpu0 queued", "gpu0 in flight", "gpu0 copies h2d"] {
        assert!(page.contains(&format!("\"name\":\"{curve}\"")), "{curve}");
    }
    assert!(
        page.contains("Queued: work whose launch has returned"),
        "the note does not say what queued means"
    );
}

#[test]
fn a_report_is_a_picture_a_page_for_paper_and_problems_of_an_editor() {
    let dir = Dir::new();
    let run = full_run(&dir);
    dir.report(
        &run,
        &[
            "--card",
            "card.png",
            "--sarif",
            "run.sarif",
            "--editor",
            "run.err",
            "--summary",
            "--html",
            "page.html",
        ],
    )
    .exits(0);
    let card = std::fs::read(dir.join("card.png")).unwrap();
    assert!(card.starts_with(b"\x89PNG"));
    let page = dir.read("page.html");
    assert!(page.contains("id=\"timeline\"") && !page.contains("id=\"roofline\""));
    for link in page.split("href=\"#").skip(1) {
        let id = link.split('"').next().unwrap();
        assert!(
            page.contains(&format!("id=\"{id}\"")),
            "{id} is not on the page"
        );
    }
    let log: serde_json::Value = serde_json::from_str(&dir.read("run.sarif")).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().unwrap();
    let rules = log["runs"][0]["tool"]["driver"]["rules"].to_string();
    assert!(!results.is_empty());
    for result in results {
        assert!(rules.contains(&result["ruleId"].to_string()), "{result}");
        assert!(result["message"]["text"].is_string(), "{result}");
    }
    let lines = dir.read("run.err");
    let places = results
        .iter()
        .map(|of| of["locations"].as_array().unwrap().len());
    let is_placed = |line: &&str| line.contains(":1: warning: ") || line.contains(":1: error: ");
    let placed = lines.lines().filter(is_placed).count();
    assert_eq!(placed, places.sum::<usize>(), "{lines}");
    dir.report(&run, &["--card", "-", "--sarif", "-"])
        .exits(2)
        .stderr_has("--card - and --sarif - both write to standard output");
    dir.report(&run, &["--pdf", "page.pdf"])
        .env("PATH", "/nonexistent")
        .exits(2)
        .stderr_has("--pdf: no Chromium or Chrome in PATH (hint: give --html FILE");
    if chromium().is_none() {
        return;
    }
    dir.report(&run, &["--pdf", "page.pdf", "-q"]).exits(0);
    let pdf = std::fs::read(dir.join("page.pdf")).unwrap();
    assert!(pdf.starts_with(b"%PDF-") && pdf.len() > 10_000);
}

#[test]
fn kernels_of_no_length_are_evidence_like_others() {
    let dir = Dir::new();
    // The kernel begins before its launch and lasts 0 ns: findings cite it, and it has a point as its place.
    let trace = json!({"traceEvents": [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 100, "dur": 5, "args": {"correlation": 7}},
        {"ph": "X", "cat": "kernel", "name": "empty", "pid": 0, "tid": 7, "ts": 90, "dur": 0, "args": {"correlation": 7, "device": 0, "stream": 7}},
    ]});
    std::fs::write(dir.join("trace.json"), trace.to_string()).unwrap();
    dir.command(&["import", "trace.json", "-o", "trace.run"])
        .exits(0);
    dir.report(&dir.join("trace.run"), &["--html", "page.html", "-q"])
        .exits(0);
    let page = dir.read("page.html");
    assert!(
        page.contains("data-from=\"0\" data-until=\"0\""),
        "the kernel's place is not shown"
    );
}

#[test]
fn charts_are_written_as_both_kinds_of_pictures() {
    let dir = Dir::new();
    let run = full_run(&dir);
    dir.report(&run, &["--charts", "charts", "-q"]).exits(0);
    let mut names: Vec<String> = std::fs::read_dir(dir.join("charts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for chart in [
        "category.1-self-time-by-category",
        "critical_path.1-critical-path-by-kind",
        "critical_path.2-critical-path-over-lanes",
        "memory.1-live-bytes",
        "roofline.1-roofline",
        "stacks",
        "throughput.1-wall-time-of-iterations",
    ] {
        for kind in ["svg", "png"] {
            assert!(
                names.contains(&format!("{chart}.{kind}")),
                "{chart}.{kind} is not among {names:?}"
            );
        }
    }
    let roofline = dir.read("charts/roofline.1-roofline.svg");
    assert!(
        roofline.contains("gemv") && roofline.contains("ridge of "),
        "{roofline}"
    );
    let outliers = dir.read("charts/throughput.1-wall-time-of-iterations.svg");
    assert!(outliers.contains(">\nslow\n<"), "{outliers}");
    assert!(!names.iter().any(|name| name.starts_with(".")), "{names:?}");
}

#[test]
fn a_comparison_can_be_seen() {
    let dir = Dir::new();
    let (base, run) = (dataset("decode/simd.run"), dataset("decode/simd_slow.run"));
    let path = |path: &PathBuf| path.to_str().expect("a path in UTF-8").to_owned();
    dir.command(&[
        "compare",
        &path(&base),
        &path(&run),
        "--no-path",
        "--charts",
        "seen",
        "--html",
        "page.html",
    ])
    .exits(0)
    .stdout_has("What got slower");
    let piped = [
        "compare",
        &path(&base),
        &path(&run),
        "--no-path",
        "--html",
        "-",
    ];
    let piped = dir.command(&piped).exits(0).stdout;
    assert!(piped == dir.read("page.html"), "not the same page");
    let both = [
        "compare",
        &path(&base),
        &path(&run),
        "--html",
        "-",
        "--format",
        "json",
    ];
    dir.command(&both)
        .exits(2)
        .stderr_has("both write to standard output");
    let page = dir.read("page.html");
    let order = [
        "What got slower",
        "brick DownProjection",
        "<svg",
        "id=\"t-names\"",
    ];
    let order = order.map(|text| {
        page.find(text)
            .unwrap_or_else(|| panic!("{text} is missing"))
    });
    assert!(order.is_sorted(), "{order:?}");
    if let Some(browser) = chromium() {
        for width in [1280, 400] {
            let result = selftest(&browser, &dir, "page.html", width);
            assert_eq!(result["ok"], true, "{width}: {result:#}");
            let count = |what: &str| result[what].as_u64().unwrap_or(0);
            assert!(
                count("charts") == 1 && count("tables") >= 3 && count("checks") > 200,
                "{result:#}"
            );
        }
    } else {
        eprintln!("skipped: no Chromium in PATH (.ci/chromium installs it)");
    }
    let svg = dir.read("seen/compare.svg");
    assert!(
        svg.contains("brick DownProjection") && svg.contains("times the base"),
        "{svg}"
    );
    assert!(dir.join("seen/compare.png").is_file());
}

#[test]
fn one_thing_goes_to_standard_output() {
    let dir = Dir::new();
    let run = dir.run();
    dir.report(&run, &["--html", "-", "--format", "markdown"])
        .exits(2)
        .stderr_has("--html - and --format markdown both write to standard output");
    dir.report(&run, &["--html", "nowhere/page.html"])
        .exits(2)
        .stderr_has("cannot be written");
    std::fs::write(dir.join("file"), "").unwrap();
    dir.report(&run, &["--charts", "file/charts"])
        .exits(2)
        .stderr_has("no files can be made there");
    let markdown = dir.report(&run, &["--format", "markdown"]).exits(0);
    assert!(
        markdown.stdout.starts_with("## test\n"),
        "{}",
        markdown.stdout
    );
    assert_eq!(
        markdown.stdout.matches("<details").count(),
        markdown.stdout.matches("</details>").count()
    );
}
