use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use crate::timeline::{Curve, WindowRequest, WindowView};
use crate::{
    Answers, Cancel, Page, PageState, QueryRequest, QueryRows, Refusal, RunState, Server, State,
};

/// Fixed answers, and a query that only ends when it is cancelled.
struct Fake {
    begun: Mutex<Sender<()>>,
    cancelled: Mutex<Sender<()>>,
}

impl Answers for Fake {
    fn state(&self, _: Option<u64>) -> State {
        let run = RunState {
            path: "<script>alert(1)</script>".into(),
            ..RunState::default()
        };
        State {
            number: 1,
            runs: vec![run],
        }
    }

    fn window(&self, run: usize, window: &WindowRequest) -> Result<WindowView, Refusal> {
        assert!(run < 5, "this answer panics");
        let view = WindowView {
            from: window.from_ns,
            until: window.until_ns,
            ..WindowView::default()
        };
        Ok(view)
    }

    fn curves(&self, _run: usize) -> Result<Vec<Curve>, Refusal> {
        Ok(Vec::new())
    }

    fn query(&self, asked: &QueryRequest, cancel: &Cancel) -> Result<QueryRows, Refusal> {
        if asked.sql == "for ever" {
            let (send, receive) = channel();
            cancel.on_cancel(move || send.send(()).unwrap_or_default());
            self.begun.lock().unwrap().send(()).unwrap();
            receive.recv().unwrap();
            self.cancelled.lock().unwrap().send(()).unwrap();
        }
        Err(Refusal::Failed(format!("no: {}", asked.sql)))
    }

    fn page(&self, page: Page) -> Result<PageState, Refusal> {
        match page {
            Page::Report(0) => Ok(PageState::Ready(Arc::new(b"<!doctype html>made".to_vec()))),
            Page::Report(_) => Err(Refusal::Missing("there is no such run".into())),
            Page::Compare { .. } => Ok(PageState::Making("comparing".into())),
        }
    }

    fn read_again(&self, _: usize) -> Result<(), Refusal> {
        Ok(())
    }
}

/// The server's host and path, and receivers for the start and the end of the endless query.
fn served() -> (String, String, Receiver<()>, Receiver<()>) {
    let server = Server::bind(0).unwrap();
    let address = server.address();
    let (begun, has_begun) = channel();
    let (cancelled, was_cancelled) = channel();
    let fake = Fake {
        begun: Mutex::new(begun),
        cancelled: Mutex::new(cancelled),
    };
    server.start(Arc::new(fake)).unwrap();
    let rest = address.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    (
        host.to_owned(),
        format!("/{path}"),
        has_begun,
        was_cancelled,
    )
}

fn ask(host: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(host: &str, path: &str) -> String {
    ask(
        host,
        &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
    )
}

#[test]
fn each_answer_has_its_type_and_its_headers() {
    let (host, base, ..) = served();
    let answers = [
        ("", "text/html"),
        ("page.css", "text/css"),
        ("page.js", "text/javascript"),
        ("state", "application/json"),
        (
            "window?run=0&from=0&until=9&pixels=3&lanes=0,1",
            "application/json",
        ),
        ("made?run=0", "application/json"),
        ("made.html?run=0", "text/html"),
    ];
    for (path, kind) in answers {
        let answer = get(&host, &format!("{base}{path}"));
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n"),
            "{path}: {answer}"
        );
        let head = answer.split_once("\r\n\r\n").unwrap().0;
        for header in [
            format!("content-type: {kind}"),
            "cache-control: no-store".to_owned(),
            "x-content-type-options: nosniff".to_owned(),
            "referrer-policy: no-referrer".to_owned(),
            "content-security-policy: ".to_owned(),
        ] {
            assert!(head.contains(&header), "{path} lacks {header}: {head}");
        }
        // A page made elsewhere has no origin, ours no scripts of others.
        let is_made = path.starts_with("made.html");
        assert_eq!(head.contains("sandbox allow-scripts"), is_made, "{head}");
        assert_eq!(head.contains("unsafe-inline"), is_made, "{head}");
    }
}

#[test]
fn what_is_not_there_or_wrong_or_panics_is_an_answer() {
    let (host, base, ..) = served();
    let answers = [
        ("nothing", 404),
        ("window?run=x", 400),
        ("window?run=0&from=0&until=9&pixels=3&lanes=a", 400),
        (
            "window?run=0&from=0&until=99999999999999999999&pixels=3&lanes=0",
            400,
        ),
        ("window?run=7&from=0&until=9&pixels=3&lanes=0", 422),
        ("made?run=3", 404),
        ("made.html?run=1&base=0", 503),
        ("query", 405),
    ];
    for (path, code) in answers {
        let answer = get(&host, &format!("{base}{path}"));
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {code} ")),
            "{path}: {answer}"
        );
    }
    assert!(get(&host, "/").starts_with("HTTP/1.1 403 "));
    assert!(get(&host, "/state").starts_with("HTTP/1.1 403 "));
    // And it still answers.
    assert!(get(&host, &format!("{base}state")).contains("<script>alert(1)</script>"));
    let rebound =
        format!("GET {base}state HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert!(ask(&host, &rebound).starts_with("HTTP/1.1 403 "));
}

fn post(host: &str, base: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {base}query HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[test]
fn a_query_that_nobody_waits_for_ends() {
    let (host, base, begun, cancelled) = served();
    let answer = ask(&host, &post(&host, &base, r#"{"run": 0, "sql": "x"}"#));
    assert!(
        answer.starts_with("HTTP/1.1 422 ") && answer.ends_with("no: x"),
        "{answer}"
    );
    for wrong in [
        "",
        "{}",
        r#"{"run": 0, "sql": "x", "more": 1}"#,
        r#"{"run": -1, "sql": "x"}"#,
    ] {
        let answer = ask(&host, &post(&host, &base, wrong));
        assert!(answer.starts_with("HTTP/1.1 400 "), "{wrong}: {answer}");
    }
    let long = format!(r#"{{"run": 0, "sql": "{}"}}"#, "x".repeat(100_000));
    let mut stream = TcpStream::connect(&host).unwrap();
    // The server may close before it has read all.
    let _ = stream.write_all(post(&host, &base, &long).as_bytes());
    let mut answer = [0; 12];
    if stream.read_exact(&mut answer).is_ok() {
        assert_eq!(&answer, b"HTTP/1.1 413");
    }
    let mut stream = TcpStream::connect(&host).unwrap();
    let forever = post(&host, &base, r#"{"run": 0, "sql": "for ever"}"#);
    stream.write_all(forever.as_bytes()).unwrap();
    // A client that left sooner would leave nothing behind that could end.
    begun.recv().unwrap();
    assert!(cancelled.try_recv().is_err());
    drop(stream);
    cancelled.recv().unwrap();
}
