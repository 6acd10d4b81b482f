//! `serve`: who is answered, what is answered, and the page in a browser where there is one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use trueno_format::run_json::RunJson;

use crate::harness::{Dir, copy, ends, heed_interrupts, until};
use crate::html::chromium;

fn dataset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../datasets")
        .join(name)
}

struct Served {
    child: Child,
    address: String,
    host: String,
    base: String,
}

struct Answer {
    code: u16,
    head: String,
    body: String,
}

impl Answer {
    #[track_caller]
    fn json(&self) -> Value {
        assert_eq!(self.code, 200, "{}", self.body);
        serde_json::from_str(&self.body).expect("an answer in JSON")
    }
}

impl Served {
    fn start(dir: &Dir, args: &[&str]) -> Served {
        let mut command = dir
            .command_with_plugins(&[&["serve"], args].concat())
            .command;
        heed_interrupts(&mut command);
        let streams = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = streams.stderr(Stdio::null()).spawn().expect("it starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut address = String::new();
        stdout.read_line(&mut address).expect("an address");
        child.stdout = Some(stdout.into_inner());
        let address = address.trim_end().to_owned();
        let rest = address.strip_prefix("http://").expect("an address");
        let (host, base) = rest.split_once('/').expect("an address with a path");
        let (host, base) = (host.to_owned(), format!("/{base}"));
        Served {
            child,
            address,
            host,
            base,
        }
    }

    fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        let answer = String::from_utf8(answer).expect("an answer in UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            code: code.expect("a code"),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    fn get(&self, path: &str) -> Answer {
        let (host, base) = (&self.host, &self.base);
        self.send(&format!(
            "GET {base}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        ))
    }

    fn post(&self, path: &str, body: &str) -> Answer {
        let (host, base, length) = (&self.host, &self.base, body.len());
        self.send(&format!(
            "POST {base}{path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        ))
    }

    fn query(&self, run: usize, sql: &str) -> Answer {
        self.post("query", &json!({"run": run, "sql": sql}).to_string())
    }

    /// Waits until no run is being loaded, and returns the state.
    fn read(&self) -> Value {
        until("all runs are read", || {
            let state = self.get("state").json();
            let runs = state["runs"].as_array().expect("runs");
            let is_done =
                |run: &Value| matches!(run["status"]["is"].as_str(), Some("ready" | "failed"));
            runs.iter().all(is_done).then_some(state)
        })
    }

    /// Waits for a report or a comparison, and returns its page.
    fn made(&self, asked: &str) -> Result<String, String> {
        let state = until("the page is made", || {
            let state = self.get(&format!("made?{asked}")).json();
            (state["is"] != "making").then_some(state)
        });
        match state["is"].as_str() {
            Some("ready") => Ok(self.get(&format!("made.html?{asked}")).body),
            _ => Err(state["why"].to_string()),
        }
    }

    fn interrupt(&mut self) -> Option<i32> {
        let id = i32::try_from(self.child.id()).expect("a small number");
        // SAFETY: a call with numbers; the child has not been waited for.
        unsafe { libc::kill(id, libc::SIGINT) };
        ends(&mut self.child, "the server").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn path(run: &Path) -> &str {
    run.to_str().expect("a path in UTF-8")
}

#[test]
fn it_answers_whoever_has_its_address_and_nobody_else() {
    let dir = Dir::new();
    let run = dir.run();
    let mut served = Served::start(&dir, &[path(&run)]);
    assert!(served.host.starts_with("127.0.0.1:"), "{}", served.address);
    let page = served.get("");
    assert_eq!(page.code, 200);
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
    ] {
        assert!(page.head.contains(header), "{}", page.head);
    }
    let (host, base) = (&served.host, &served.base);
    let with = |path: &str, host: &str, more: &str| {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n");
        served.send(&request).code
    };
    let state = format!("{base}state");
    let wrong_token = format!("/{}/state", "0".repeat(base.len() - 2));
    assert_eq!(with(&state, host, ""), 200);
    assert_eq!(with("/", host, ""), 403);
    assert_eq!(with("/state", host, ""), 403);
    assert_eq!(with(&wrong_token, host, ""), 403);
    assert_eq!(with(&state, "evil.example", ""), 403);
    assert_eq!(with(&state, host, "Origin: http://evil.example\r\n"), 403);
    let own = format!("Origin: http://{host}\r\n");
    assert_eq!(with(&state, host, &own), 200);
    // Another one cannot have its port, and says so.
    let port = host.rsplit(':').next().expect("a port").to_owned();
    dir.command(&["serve", path(&run), "--port", &port])
        .exits(2)
        .stderr_has("is not available");
    let taken = Served::start(&dir, &[path(&run), "--port", "0"]);
    assert_ne!(taken.base, served.base, "a token is new each time");
    drop(taken);
    assert_eq!(served.interrupt(), Some(0));
    let mut rest = String::new();
    let stdout = served.child.stdout.as_mut().expect("a pipe");
    stdout.read_to_string(&mut rest).expect("an end");
    assert_eq!(rest, "", "standard output is the address alone");
}

#[test]
fn what_is_no_run_is_refused_at_once() {
    let dir = Dir::new();
    std::fs::create_dir(dir.join("empty")).expect("a folder");
    for nothing in ["missing.run", "empty"] {
        dir.command(&["serve", nothing])
            .exits(2)
            .stderr_has(nothing);
    }
    dir.command(&["serve"]).exits(2);
}

/// Number of intervals in a window, and how many of them are not merged.
fn counted(window: &Value) -> (u64, u64) {
    let rows = window["rows"].as_array().expect("rows");
    let each = |key: &str| {
        let of = rows
            .iter()
            .flat_map(|row| row[key].as_array().expect("a list").clone());
        of.collect::<Vec<Value>>()
    };
    let alone = each("spans").len() as u64;
    let merged: u64 = each("merged")
        .iter()
        .map(|block| block[2].as_u64().expect("a count"))
        .sum();
    (alone + merged, alone)
}

#[test]
fn a_window_has_the_rows_that_a_query_finds() {
    let dir = Dir::new();
    let full = dir.join("full.run");
    trueno_testing::full_of(&full, RunJson::default(), ["<script>", "b", "c"]);
    let runs = [dataset("decode/simd.run"), dir.run(), full];
    let served = Served::start(&dir, &runs.each_ref().map(|run| path(run)));
    let state = served.read();
    for (number, run) in runs.iter().enumerate() {
        let of = &state["runs"][number];
        assert_eq!(of["status"]["is"], "ready", "{of}");
        let lanes = of["lanes"].as_array().expect("lanes");
        let all: Vec<String> = (0..lanes.len()).map(|lane| lane.to_string()).collect();
        let end = |at: usize| of["extent_ns"][at].as_i64().expect("a time");
        let (from, until) = (end(0), end(1));
        let part = |share: i64| from + (until - from) / 16 * share;
        let windows = [
            (from, until),
            (part(3), part(5)),
            (part(7), part(7) + 900),
            (until, until + 9),
        ];
        for (from, until) in windows {
            let sql = format!(
                "SELECT COUNT(*) AS n FROM timeline.spans WHERE start_ns < {until} AND (start_ns + dur_ns > {from} OR start_ns >= {from})"
            );
            let found = dir
                .command(&["query", path(run), &sql, "--format", "json"])
                .exits(0)
                .json();
            let mut alone = Vec::new();
            for pixels in [1, 40, 8192] {
                let asked = format!(
                    "window?run={number}&from={from}&until={until}&pixels={pixels}&lanes={}",
                    all.join(",")
                );
                let answer = served.get(&asked);
                let window = answer.json();
                let (count, of_them) = counted(&window);
                assert_eq!(found[0]["n"], count, "{asked}");
                assert_eq!(window["spans"], count);
                alone.push(of_them);
                assert!(
                    answer.body == served.get(&asked).body,
                    "{asked}: other bytes the second time"
                );
            }
            assert!(alone.is_sorted(), "more pixels show more: {alone:?}");
        }
    }
    // Names are text within JSON, whatever they look like.
    assert!(
        served
            .get("window?run=2&from=0&until=1000&pixels=800&lanes=0,1,2")
            .body
            .contains("<script>")
    );
}

#[test]
fn curves_are_those_of_the_report() {
    let dir = Dir::new();
    let event = |cat: &str, name: &str, ts: u32, args: Value| json!({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 80, "args": args});
    let on_device = |correlation: u32| json!({"correlation": correlation, "device": 0, "stream": 7, "bytes": 64});
    let trace = json!({"schemaVersion": 1, "traceEvents": [
        event("cuda_runtime", "cudaLaunchKernel", 110, json!({"correlation": 7})),
        event("cuda_runtime", "cudaMemcpyAsync", 200, json!({"correlation": 8})),
        event("kernel", "sgemm", 300, on_device(7)),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 400, on_device(8)),
    ]});
    std::fs::write(dir.join("trace.json"), trace.to_string()).expect("a trace");
    let served = Served::start(&dir, &["trace.json"]);
    let lanes = served.read()["runs"][0]["lanes"].clone();
    let curves = served.get("curves?run=0").json();
    let named = |name: &str| {
        let curves = curves.as_array().expect("curves");
        let found = curves.iter().find(|curve| curve["name"] == name);
        found
            .unwrap_or_else(|| panic!("no curve {name}: {curves:#?}"))
            .clone()
    };
    let queued = named("gpu0 queued");
    // Both calls have returned before the kernel starts, and the copy starts 100 µs later.
    assert_eq!(queued["values"], json!([1.0, 2.0, 1.0, 0.0]));
    let above = queued["after"].as_u64().expect("a number") as usize - 1;
    assert_eq!(lanes[above]["name"], "gpu0/stream 7");
    assert_eq!(named("gpu0 copies h2d")["values"], json!([800_000.0, 0.0]));
    assert_eq!(served.get("curves?run=1").code, 404);
    if let Some(browser) = chromium() {
        let dom = dom(&browser, &dir, &served.address);
        assert!(dom.contains(" 3 curves."), "{dom}");
    }
}

#[test]
fn a_query_is_answered_as_the_command_answers_and_writes_nothing() {
    let dir = Dir::new();
    let run = dir.run();
    let other = dir.join("other.run");
    copy(&dataset("decode/scalar.run"), &other);
    let files = || {
        let files = trueno_testing::damage::files(&run);
        let read = |file: &PathBuf| (file.clone(), std::fs::read(run.join(file)).expect("a file"));
        files.iter().map(read).collect::<Vec<_>>()
    };
    let before = files();
    let served = Served::start(
        &dir,
        &[
            path(&run),
            path(&other),
            "--query-rows",
            "3",
            "--query-timeout",
            "60s",
        ],
    );
    let sql =
        "SELECT name, COUNT(*) AS n, SUM(dur_ns) AS ns FROM kernels GROUP BY name ORDER BY name";
    let answer = served.query(0, sql).json();
    let wanted = dir
        .command(&["query", path(&run), sql, "--format", "json"])
        .exits(0)
        .json();
    for (row, wanted) in answer["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .zip(wanted.as_array().expect("rows"))
    {
        assert_eq!(row[0], wanted["name"]);
        assert_eq!(row[1], wanted["n"].to_string());
        assert_eq!(row[2], wanted["ns"].to_string());
    }
    assert_eq!(answer["numeric"], json!([false, true, true]));
    assert_eq!(served.query(0, sql).body, served.query(0, sql).body);
    // The first rows of many, and rows of another run and of a plugin.
    let many = served.query(0, "SELECT id FROM bricks ORDER BY id").json();
    assert_eq!(
        (
            many["is_cut"].as_bool(),
            many["rows"].as_array().map(Vec::len)
        ),
        (Some(true), Some(3))
    );
    let both = served
        .query(0, "SELECT COUNT(*) AS n FROM other.bricks")
        .body;
    assert!(both.contains("1041"), "{both}");
    let slack = served
        .query(0, "SELECT COUNT(*) AS n FROM critical_path.slack")
        .json();
    assert_ne!(slack["rows"][0][0], "0");
    let outside = dir.join("outside.csv");
    std::fs::write(&outside, "a\n1\n").expect("a file");
    let outside = path(&outside);
    for sql in [
        "CREATE TABLE t AS SELECT * FROM bricks".to_owned(),
        "DROP TABLE bricks".to_owned(),
        "DELETE FROM bricks".to_owned(),
        "TRUNCATE TABLE bricks".to_owned(),
        "INSERT INTO bricks SELECT * FROM bricks".to_owned(),
        "UPDATE bricks SET name = 'x'".to_owned(),
        format!("COPY bricks TO '{outside}'"),
        format!("SELECT * FROM read_csv('{outside}')"),
        format!("SELECT * FROM '{outside}'"),
        "SELECT 1 AS a; DROP TABLE bricks".to_owned(),
        "SELECT * FROM nothing".to_owned(),
        "--help".to_owned(),
        "\u{0}".to_owned(),
        "x".repeat(40_000),
    ] {
        let answer = served.query(0, &sql);
        let is_harmless = answer.code == 200 && !sql.contains("outside");
        assert!(
            answer.code == 422 || is_harmless,
            "{sql}: {} {}",
            answer.code,
            answer.body
        );
        assert!(!answer.body.is_empty());
    }
    assert_eq!(
        served.query(0, "SELECT COUNT(*) AS n FROM bricks").code,
        200
    );
    assert!(files() == before, "a query has changed the run");
}

#[test]
fn a_query_takes_no_more_time_than_it_may() {
    let dir = Dir::new();
    let served = Served::start(&dir, &[path(&dir.run()), "--query-timeout", "1ms"]);
    let answer = served.query(0, "SELECT COUNT(*) AS n FROM critical_path.slack");
    assert_eq!(answer.code, 422);
    assert!(answer.body.contains("its time limit"), "{}", answer.body);
}

#[test]
fn its_processes_end_with_it_also_when_it_is_killed() {
    let dir = Dir::new();
    let run = dir.run();
    let mut served = Served::start(&dir, &[path(&run)]);
    served.read();
    let server = served.child.id().to_string();
    let children = || {
        let processes = std::fs::read_dir("/proc").expect("processes");
        let processes = processes.flatten().filter_map(|entry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // State and parent stand behind the name, which is in brackets.
            let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
            let (state, parent) = (fields.next()?, fields.next()?);
            let is_child = parent == server && state != "Z";
            is_child.then(|| entry.path())
        });
        processes.collect::<Vec<_>>()
    };
    until("its first pages are made", || {
        children().is_empty().then_some(())
    });
    // A count of all pairs is a product of lengths; with a condition each combination is made, of which there are
    // 9 to the power of 12.
    let tables = ('a'..='l').map(|of| format!("bricks {of}"));
    let starts = ('a'..='l').map(|of| format!("{of}.start_ns"));
    let (tables, starts) = (tables.collect::<Vec<_>>(), starts.collect::<Vec<_>>());
    let (tables, starts) = (tables.join(", "), starts.join(" + "));
    let endless = format!("SELECT COUNT(*) FROM {tables} WHERE {starts} > 0");
    let body = json!({"run": 0, "sql": endless}).to_string();
    let (host, base, length) = (&served.host, &served.base, body.len());
    let mut stream = TcpStream::connect(host).expect("it listens");
    let request = format!(
        "POST {base}query HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let child = until("a query runs", || children().pop());
    served.child.kill().expect("it runs");
    served.child.wait().expect("it ends");
    until("the query ends", || {
        let now = std::fs::read_to_string(child.join("stat")).ok();
        now.is_none_or(|now| now.contains(") Z ")).then_some(())
    });
}

#[test]
fn reports_and_comparisons_are_those_of_the_commands() {
    let dir = Dir::new();
    let run = dir.run();
    let other = dataset("tiny/test.run");
    let served = Served::start(&dir, &[path(&run), path(&other)]);
    dir.report(&run, &["--html", "report.html"]).exits(0);
    assert!(
        served.made("run=0") == Ok(dir.read("report.html")),
        "another report"
    );
    let compare = [
        "compare",
        path(&other),
        path(&run),
        "--html",
        "compare.html",
    ];
    // One run a side: nothing is sure.
    dir.command_with_plugins(&compare).exits(3);
    assert!(
        served.made("run=0&base=1") == Ok(dir.read("compare.html")),
        "another comparison"
    );
    assert_eq!(served.get("made?run=2").code, 404);
    assert_eq!(served.get("made?run=0&base=2").code, 404);
}

#[test]
fn a_run_that_is_damaged_changes_or_vanishes_is_told() {
    let dir = Dir::new();
    let run = dir.run();
    let damaged = dir.join("damaged.run");
    copy(&run, &damaged);
    let segment = damaged.join("kernels/000000.arrow");
    let bytes = std::fs::read(&segment).expect("a segment");
    std::fs::write(&segment, &bytes[..bytes.len() / 2]).expect("a cut segment");
    let served = Served::start(&dir, &[path(&run), path(&damaged)]);
    let state = served.read();
    assert_eq!(state["runs"][0]["head"]["is_complete"], true);
    assert_eq!(state["runs"][1]["head"]["is_complete"], false);
    assert_ne!(state["runs"][1]["head"]["doubts"], json!([]));
    assert_eq!(state["runs"][0]["changed"], Value::Null);
    std::fs::remove_file(run.join("batches.jsonl")).expect("a journal");
    let changed = |state: &Value| state["runs"][0]["changed"].as_str().map(str::to_owned);
    assert!(changed(&served.get("state").json()).is_some_and(|why| why.contains("have changed")));
    std::fs::remove_dir_all(&run).expect("a run");
    assert!(changed(&served.get("state").json()).is_some_and(|why| why.contains("is gone")));
    // What was read is still there; what has to be read is not.
    assert_eq!(
        served
            .get("window?run=0&from=0&until=1000&pixels=9&lanes=0")
            .code,
        200
    );
    let answer = served.query(0, "SELECT COUNT(*) AS n FROM bricks");
    assert!(
        answer.code == 422 && answer.body.contains("test.run"),
        "{}",
        answer.body
    );
    assert!(
        served
            .made("run=0&base=1")
            .is_err_and(|why| why.contains("test.run"))
    );
    assert_eq!(served.post("again?run=0", "").code, 200);
    let state = until("it is read again", || {
        let state = served.get("state").json();
        (state["runs"][0]["status"]["is"] == "failed").then_some(state)
    });
    assert!(
        state["runs"][0]["status"]["why"]
            .as_str()
            .is_some_and(|why| why.contains("test.run"))
    );
    assert_eq!(
        served
            .get("window?run=0&from=0&until=1000&pixels=9&lanes=0")
            .code,
        503
    );
    assert_eq!(
        served.query(1, "SELECT COUNT(*) AS n FROM bricks").code,
        200
    );
}

/// The page at an address as a browser builds it. Messages on its console fail the test.
fn dom(browser: &Path, dir: &Dir, address: &str) -> String {
    let profile = dir.folder("profile");
    let (dom, log) = (dir.join("dom"), dir.join("log"));
    let file = |path: &Path| Stdio::from(std::fs::File::create(path).expect("a file of the test"));
    let flags = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-extensions \
                 --disable-background-networking --disable-sync --enable-logging=stderr --virtual-time-budget=20000 \
                 --dump-dom --window-size=1280,800";
    let mut child = Command::new(browser)
        .args(flags.split_whitespace())
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(address)
        .stdout(file(&dom))
        .stderr(file(&log))
        .spawn()
        .expect("the browser starts");
    ends(&mut child, "the browser");
    let log = dir.read("log");
    let said: Vec<&str> = log
        .lines()
        .filter(|line| line.contains(":CONSOLE"))
        .collect();
    assert!(said.is_empty(), "{address}: the console says {said:#?}");
    dir.read("dom")
}

#[test]
fn a_browser_shows_what_a_link_carries() {
    let Some(browser) = chromium() else {
        eprintln!("skipped: no Chromium in PATH (.ci/chromium installs it)");
        return;
    };
    let dir = Dir::new();
    let hostile = dir.join("<img src=x>.run");
    let name = "<script>document.title = 'taken'</script>";
    let facts = RunJson {
        label: Some(name.into()),
        ..RunJson::default()
    };
    trueno_testing::full_of(&hostile, facts, [name, "</script>", "<b>"]);
    let simd = dataset("decode/simd.run");
    let served = Served::start(&dir, &[path(&simd), path(&hostile)]);
    served.read();
    let shows = |link: &str, texts: &[&str]| {
        let dom = dom(&browser, &dir, &format!("{}{link}", served.address));
        for text in texts {
            assert!(dom.contains(text), "{link} does not show {text}:\n{dom}");
        }
        dom
    };
    let whole = shows(
        "",
        &[
            "decode, avx512",
            "3 lanes, 5,589 intervals: ",
            "0.0 ms to 6.6 ms",
            "data-is=\"ready\"",
        ],
    );
    assert!(whole.contains("<section id=\"sql\" hidden"));
    shows(
        "#tab=timeline&run=0&from=3700000&until=4300000&lanes=0&highlight=layer",
        &["1 lane, ", "3.70 ms to 4.30 ms (600 µs)"],
    );
    shows(
        "#tab=timeline&run=0&lanes=1,2&from=1&until=9999999",
        &["2 lanes, "],
    );
    shows(
        "#tab=sql&run=0&sql=SELECT+COUNT(*)+AS+n+FROM+bricks",
        &["1 row, in ", "<td class=\"r\">1041</td>"],
    );
    let escaped = "&lt;script&gt;document.title = 'taken'&lt;/script&gt;";
    let dom = shows("#run=1", &[escaped, "&lt;img src=x&gt;.run", "intervals: "]);
    assert!(
        !dom.contains("<script>document") && !dom.contains("<img"),
        "{dom}"
    );
    assert!(
        dom.contains(&format!("<title>{escaped} · trueno-analyze</title>")),
        "{dom}"
    );
    let dom = shows(
        "#tab=sql&run=1&sql=SELECT+name+FROM+kernels+WHERE+id+%3E+900+ORDER+BY+id",
        &[escaped],
    );
    assert!(!dom.contains("<script>document"), "{dom}");
    // What is no number, no run and no tab is as if it were not there.
    shows(
        "#tab=x&run=99&from=a&until=&lanes=x,&base=7",
        &["3 lanes, "],
    );
    assert!(served.made("run=1").is_ok());
    shows(
        "#tab=report&run=1",
        &[
            "<iframe src=\"made.html?run=1\"",
            "sandbox=\"allow-scripts\"",
        ],
    );
}

/// A folder with a program `xdg-open` that writes down its argument.
fn fake_opener(dir: &Dir) -> std::ffi::OsString {
    use std::os::unix::fs::PermissionsExt;
    let folder = dir.folder("programs");
    let file = folder.join("xdg-open");
    let note = dir.join("opened");
    // Whole at once: the test must not read half of it.
    let script = format!(
        "#!/bin/sh\nprintf %s \"$1\" > '{0}.part' && mv '{0}.part' '{0}'\n",
        note.display()
    );
    std::fs::write(&file, script).expect("a script");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let old = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&old));
    std::env::join_paths(folders).expect("a search path")
}

#[test]
fn the_page_opens_in_a_browser_where_there_is_one() {
    let dir = Dir::new();
    let run = dir.run();
    let run = run.to_str().expect("a path in UTF-8");
    let path = fake_opener(&dir);
    let address_of = |display: &str, path: &std::ffi::OsStr| {
        let mut command = dir.command(&["serve", run, "--open"]).command;
        command.env_remove("WAYLAND_DISPLAY").env_remove("BROWSER");
        let command = command.env("DISPLAY", display).env("PATH", path);
        let streams = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = streams.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut address = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        stdout.read_line(&mut address).expect("an address");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut first = String::new();
        said.read_line(&mut first).expect("a line");
        if display.is_empty() {
            child.kill().expect("it runs");
        } else {
            let note = dir.join("opened");
            let opened = until("the browser", || std::fs::read_to_string(&note).ok());
            assert_eq!(opened, address.trim_end());
            child.kill().expect("it runs");
        }
        ends(&mut child, "serve");
        first
    };
    let said = address_of(":0", &path);
    assert!(
        said.contains("opening this address in the browser"),
        "{said}"
    );
    let said = address_of("", &path);
    assert!(
        said.contains("no browser was opened: there is no display"),
        "{said}"
    );
}
