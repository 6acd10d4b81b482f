//! `export otlp --endpoint`: spans to a collector, whatever that does.

mod collector;
mod tls;

use std::collections::BTreeMap;
use std::net::TcpListener;

use serde_json::Value;

use crate::check::dataset;
use crate::harness::{Dir, Done, Run};
use collector::{Collector, Reply, Request, TAKEN};

/// Returns the reply to a request by its number.
type Script = fn(usize) -> Reply;

const UNAVAILABLE: &str = "503 Service Unavailable";

/// `export otlp` of a dataset of some thousand spans, isolated from the developer's environment.
fn export(dir: &Dir, more: &[&str]) -> Run {
    let run = dataset("simd.run");
    let mut run = dir.command(&[&["export", "otlp", &run], more].concat());
    for (name, _) in std::env::vars() {
        if name.starts_with("OTEL_") || name.to_lowercase().ends_with("_proxy") {
            run.command.env_remove(name);
        }
    }
    run
}

fn push(collector: &Collector, more: &[&str], code: i32) -> Done {
    let url = collector.url();
    export(&Dir::new(), &[&["--endpoint", &url], more].concat()).exits(code)
}

fn answer(status: &'static str, headers: &str, body: &'static str) -> Reply {
    Reply::Answer(status, headers.to_owned(), body)
}

/// Spans by scope, in order.
fn spans<'a>(documents: impl IntoIterator<Item = &'a Value>) -> BTreeMap<String, Vec<Value>> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for document in documents {
        for scope in document["resourceSpans"][0]["scopeSpans"]
            .as_array()
            .expect("scopes")
        {
            let name = scope["scope"]["name"].as_str().expect("a name").to_owned();
            let spans = scope["spans"].as_array().expect("spans");
            all.entry(name).or_default().extend(spans.iter().cloned());
        }
    }
    all
}

fn file() -> Value {
    let dir = Dir::new();
    export(&dir, &["-o", "file.json"]).exits(0);
    serde_json::from_str(&dir.read("file.json")).expect("OTLP/JSON")
}

/// Number of spans in a file export.
fn count() -> usize {
    spans([&file()]).values().map(Vec::len).sum()
}

/// As messages show it: `1,274`.
fn shown(count: usize) -> String {
    trueno_analysis::wording::count(count as u64)
}

#[test]
fn all_spans_arrive_once_in_bounded_requests_and_are_those_of_the_file() {
    let file = file();
    for (more, packed) in [(&[][..], true), (&["--compression", "none"], false)] {
        let collector = Collector::start(|_| TAKEN);
        let header = ["--header", "X-Tenant: a: b"];
        push(&collector, &[&header, more].concat(), 0)
            .stderr_has("spans sent to http://127.0.0.1:");
        let requests = collector.requests();
        assert!(requests.len() > 1, "{} requests", requests.len());
        let documents: Vec<Value> = requests.iter().map(Request::json).collect();
        assert_eq!(spans(&documents), spans([&file]));
        for (request, document) in requests.iter().zip(&documents) {
            let head = &request.head;
            assert!(head.starts_with("POST /v1/traces HTTP/1.1\n"), "{head}");
            assert!(
                head.contains("\ncontent-type: application/json\n"),
                "{head}"
            );
            assert!(head.contains("\nx-tenant: a: b\n"), "{head}");
            assert_eq!(
                head.contains("\ncontent-encoding: gzip\n"),
                packed,
                "{head}"
            );
            let resource = |of: &Value| of["resourceSpans"][0]["resource"].clone();
            assert_eq!(resource(document), resource(&file));
            assert!(spans([document]).values().map(Vec::len).sum::<usize>() <= 4096);
            assert!(document.to_string().len() < (1 << 20) + 4096);
        }
    }
}

#[test]
fn a_request_that_may_succeed_later_is_repeated_as_it_was() {
    let again: [(Script, &str); 4] = [
        (|_| answer(UNAVAILABLE, "", ""), "503"),
        (
            |_| answer("429 Too Many Requests", "Retry-After: 0\r\n", "{}"),
            "429",
        ),
        (
            |_| {
                let date = "Retry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n";
                answer("504 Gateway Timeout", date, "<html>")
            },
            "504",
        ),
        (|_| Reply::Close, "closed"),
    ];
    for (reply, what) in again {
        let collector = Collector::start(move |number| match number {
            0 | 2 => reply(number),
            _ => TAKEN,
        });
        push(&collector, &["--timeout", "60s"], 0);
        let requests = collector.requests();
        for first in [0, 2] {
            assert_eq!(requests[first].body, requests[first + 1].body, "{what}");
        }
        let taken = requests
            .iter()
            .enumerate()
            .filter(|(n, _)| ![0, 2].contains(n));
        let documents: Vec<Value> = taken.map(|(_, request)| request.json()).collect();
        assert_eq!(spans(&documents), spans([&file()]), "{what}");
    }
}

#[test]
fn a_collector_that_stays_away_ends_the_push_in_time() {
    let waits: [(Script, &str); 4] = [
        (
            |_| answer(UNAVAILABLE, "", "full"),
            "answered 503 Service Unavailable: full",
        ),
        (
            |_| answer(UNAVAILABLE, "Retry-After: 3600\r\n", ""),
            "asks to wait for 3600 s",
        ),
        (|_| Reply::Close, "did not answer: "),
        (|_| Reply::Hang, "did not answer within 2s"),
    ];
    for (reply, said) in waits {
        let collector = Collector::start(reply);
        push(&collector, &["--timeout", "2s"], 2)
            .stderr_has(said)
            .stderr_has("0 of ")
            .stderr_has("--timeout");
    }
}

#[test]
fn what_was_taken_before_a_failure_is_counted() {
    let collector = Collector::start(|number| match number {
        0 => TAKEN,
        _ => answer(
            "400 Bad Request",
            "",
            "{\"code\":3,\"message\":\"no such\\u001b[1m id\"}",
        ),
    });
    let done = push(&collector, &[], 2).stderr_has("answered 400 Bad Request: no such");
    let requests = collector.requests();
    assert_eq!(requests.len(), 2, "a refusal for good is not repeated");
    let first: usize = spans([&requests[0].json()]).values().map(Vec::len).sum();
    done.stderr_has(&format!(
        "{} of {} spans sent, then",
        shown(first),
        shown(count())
    ));
}

#[test]
fn rejected_spans_are_counted_and_fail_the_command() {
    let collector = Collector::start(|number| match number {
        0 => answer(
            "200 OK",
            "",
            "{\"partialSuccess\":{\"rejectedSpans\":\"3\",\"errorMessage\":\"too old\"}}",
        ),
        _ => TAKEN,
    });
    let spans = count();
    push(&collector, &[], 1)
        .stderr_has("too old")
        .stderr_has(&format!(
            "{} of {} spans taken",
            shown(spans - 3),
            shown(spans)
        ))
        .stderr_has("3 rejected");
    // A remark alone is a warning.
    let collector = Collector::start(|_| {
        let body = "{\"partialSuccess\":{\"errorMessage\":\"use HTTP/2\"}}";
        answer("200 OK", "", body)
    });
    let done = push(&collector, &[], 0).stderr_has("use HTTP/2");
    assert_eq!(
        done.stderr.matches("use HTTP/2").count(),
        1,
        "once is enough"
    );
}

#[test]
fn what_is_no_collector_is_told() {
    let gone = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", gone.local_addr().expect("an address"));
    drop(gone);
    export(&Dir::new(), &["--endpoint", &url])
        .exits(2)
        .stderr_has("cannot be reached: ")
        .stderr_has("refused");
    for (reply, said) in [
        ("200 OK", "not like an OTLP collector"),
        ("404 Not Found", "is there a collector of OTLP"),
        ("415 Unsupported Media Type", "--compression none"),
    ] {
        let collector = Collector::start(move |_| answer(reply, "", "<html>hello</html>"));
        let done = push(&collector, &[], 2).stderr_has(said);
        assert!(!done.stderr.contains("html"), "{}", done.stderr);
        assert_eq!(collector.requests().len(), 1);
    }
}

#[test]
fn a_redirect_is_told_and_not_followed() {
    let other = Collector::start(|_| TAKEN);
    let url = other.url();
    let collector = Collector::start(move |_| {
        let to = format!("Location: {url}/moved?key=s3cr3t\r\n");
        answer("307 Temporary Redirect", &to, "")
    });
    let done = push(&collector, &["--header", "Authorization: Bearer s3cr3t"], 2)
        .stderr_has(&format!("307 Temporary Redirect to {}/moved,", other.url()));
    assert!(!done.stderr.contains("s3cr3t"), "{}", done.stderr);
    assert!(other.requests().is_empty());
}

#[test]
fn no_message_has_a_secret_in_it() {
    let collector = Collector::start(|_| {
        answer(
            "401 Unauthorized",
            "",
            "{\"message\":\"no such token: s3cr3t\"}",
        )
    });
    let address = collector.address;
    let url = format!("http://user:s3cr3t@{address}/?key=s3cr3t");
    let header = ["--header", "Authorization: Bearer s3cr3t"];
    for more in [&header[..], &["--header", "Authorization Bearer s3cr3t"]] {
        let done = export(&Dir::new(), &[&["-v", "--endpoint", &url], more].concat()).exits(2);
        assert!(!done.stderr.contains("s3cr3t"), "{}", done.stderr);
        done.stderr_has("header");
    }
    assert_eq!(collector.requests().len(), 1);
}

#[test]
fn the_environment_counts_where_it_is_asked_for_and_nothing_is_sent_unasked() {
    let collector = Collector::start(|_| TAKEN);
    let variables = |run: Run| {
        run.env(
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            format!("{}/base", collector.url()),
        )
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20s3cr3t")
        .env("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    };
    let dir = Dir::new();
    variables(export(&dir, &["-o", "file.json"])).exits(0);
    variables(export(&dir, &[]))
        .exits(2)
        .stderr_has("--endpoint");
    assert!(collector.requests().is_empty());
    variables(export(&dir, &["--endpoint"])).exits(0);
    let head = collector.requests()[0].head.clone();
    assert!(head.starts_with("POST /base/v1/traces "), "{head}");
    assert!(head.contains("authorization: Basic s3cr3t\n"), "{head}");
    assert!(!head.contains("gzip"), "{head}");
    // What is typed names another collector: it does not get the secrets of the first.
    let other = Collector::start(|_| TAKEN);
    variables(export(&dir, &["--endpoint", &other.url()])).exits(0);
    let head = other.requests()[0].head.clone();
    assert!(head.starts_with("POST /v1/traces "), "{head}");
    assert!(!head.contains("authorization"), "{head}");
}
