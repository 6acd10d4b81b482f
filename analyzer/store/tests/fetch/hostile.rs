//! Stores that lie: every fetch ends, with an error that says what was wrong, and no file lies outside the mirror.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::server::{Place, ends};

/// Header lines and body of each response, by the first line of the request.
type Respond = dyn Fn(&str) -> (String, Vec<u8>) + Send + Sync;

struct Liar {
    endpoint: String,
    /// The requests that came, with their headers.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Liar {
    fn new(respond: impl Fn(&str) -> (String, Vec<u8>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (respond, seen): (Arc<Respond>, _) = (Arc::new(respond), Arc::clone(&requests));
        // It ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (respond, seen) = (Arc::clone(&respond), Arc::clone(&seen));
                // The client may go before it has read all.
                thread::spawn(move || serve(stream, &*respond, &seen));
            }
        });
        Self { endpoint, requests }
    }

    /// A store whose only page lists these objects, with this content each.
    fn listing(objects: &[(&str, u64)], content: &'static [u8]) -> Self {
        let page = page(objects, None);
        Self::new(move |request| match request.contains("list-type=2") {
            true => ok(page.as_bytes()),
            false => ok(content),
        })
    }

    #[track_caller]
    fn refused(&self, place: &Place, why: &str) -> String {
        let args = ["fetch", "s3://traces/jobs/one", "mirror"];
        let mut command = place.command(&args);
        command.env("AWS_ENDPOINT_URL", &self.endpoint);
        let (stdout, stderr) = ends(&mut command, 2);
        assert_eq!(stdout, "");
        assert!(stderr.contains(why), "{why}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(
            !stderr.trim_end().chars().any(char::is_control),
            "{stderr:?}"
        );
        stderr
    }
}

fn serve(stream: TcpStream, respond: &Respond, seen: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut request = String::new();
    let mut lines = BufReader::new(stream.try_clone()?);
    while lines.read_line(&mut request)? > 2 {}
    let first = request.lines().next().unwrap_or_default().to_owned();
    seen.lock().expect("no panic").push(request);
    let (head, body) = respond(&first);
    let mut to = &stream;
    to.write_all(head.as_bytes())?;
    to.write_all(&body)
}

fn ok(body: &[u8]) -> (String, Vec<u8>) {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    (head, body.to_vec())
}

fn page(objects: &[(&str, u64)], next: Option<&str>) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><Name>traces</Name>",
    );
    for (name, bytes) in objects {
        out.push_str(&format!(
            "<Contents><Key>jobs/one/{name}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
             <ETag>\"1\"</ETag><Size>{bytes}</Size></Contents>"
        ));
    }
    if let Some(next) = next {
        out.push_str(&format!(
            "<IsTruncated>true</IsTruncated><NextContinuationToken>{next}</NextContinuationToken>"
        ));
    }
    out.push_str("</ListBucketResult>");
    out
}

#[test]
fn listings_that_are_none_are_refused() {
    let laughs: String = (1..10).fold("<!DOCTYPE x [<!ENTITY a0 \"ha\">".to_owned(), |text, at| {
        let ten = format!("&a{};", at - 1).repeat(10);
        text + &format!("<!ENTITY a{at} \"{ten}\">")
    });
    let bodies = [
        "",
        "<html>sign in</html>",
        "<ListBucketResult><Contents><Key>jobs/one/a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>jobs/one/a</Key>",
        &format!("{laughs}]><ListBucketResult><Name>&a9;</Name></ListBucketResult>"),
        "\u{1b}[2J",
    ];
    for body in bodies {
        let place = Place::new();
        let body = body.to_owned();
        let liar = Liar::new(move |_| ok(body.as_bytes()));
        liar.refused(&place, "s3://traces/jobs/one");
    }
}

#[test]
fn names_do_not_lead_out_of_the_mirror() {
    let odd = [
        "../../../evil",
        "rank=0/../../../../evil",
        "/evil",
        "rank=0//evil",
        "./evil",
        "..",
    ];
    for name in odd {
        let place = Place::new();
        let liar = Liar::listing(&[(name, 4)], b"evil");
        liar.refused(&place, "s3://traces/jobs/one");
        let files = fs::read_dir(place.join("")).expect("a folder").flatten();
        let mut names: Vec<_> = files.map(|entry| entry.file_name()).collect();
        names.sort();
        assert!(!names.iter().any(|found| found == "evil"), "{names:?}");
        let mirror = fs::read_dir(place.join("mirror")).into_iter().flatten();
        let files = mirror.flatten().map(|entry| entry.file_name());
        assert!(files.into_iter().all(|file| file == ".trueno-mirror"));
    }
}

#[test]
fn sizes_are_not_believed() {
    let place = Place::new();
    // Their sum is more than there is.
    Liar::listing(&[("a", u64::MAX - 1), ("b", u64::MAX - 1)], b"short")
        .refused(&place, "bytes are missing");
    // A long response to a request for four bytes.
    let listed = page(&[("a", 4)], None);
    let liar = Liar::new(move |request| {
        if request.contains("list-type=2") {
            return ok(listed.as_bytes());
        }
        let head = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/4\r\nETag: \"1\"\r\n\
                    Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 67108864\r\n\r\n";
        (head.to_owned(), vec![0; 64 << 20])
    });
    let place = Place::new();
    liar.refused(&place, "more than the 4 bytes");
    assert!(!place.join("mirror/a").exists());
}

#[test]
fn a_listing_that_begins_again_is_refused() {
    let again = page(&[("a", 4)], Some("again"));
    let liar = Liar::new(move |_| ok(again.as_bytes()));
    liar.refused(&Place::new(), "lists \"a\" twice");
}

#[test]
fn keys_do_not_follow_a_redirect() {
    let other = Liar::new(|_| ok(page(&[("a", 4)], None).as_bytes()));
    let to = other.endpoint.clone();
    let liar = Liar::new(move |_| {
        let head = format!(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: {to}/traces\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        (head, Vec::new())
    });
    liar.refused(&Place::new(), "s3://traces/jobs/one");
    for request in other.requests.lock().expect("no panic").iter() {
        let request = request.to_lowercase();
        assert!(!request.contains("authorization:"), "{request}");
    }
}
