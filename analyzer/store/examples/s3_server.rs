//! A server of a folder by the S3 protocol, for tests: each folder in it is a bucket, each file an object.
//!
//!     s3_server FOLDER KEY FAULTS
//!
//! It lists and gives, to requests signed with this key's id (the signature is not checked), and prints its address. The
//! file FAULTS says what goes wrong from now on: `cut` (half of each object comes), `stall` (nothing of an object comes
//! as long as it says so), `slow` (an object takes a moment); anything else: nothing.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Objects per page; few, so that listings have several pages.
const PAGE: usize = 5;

struct Server {
    folder: PathBuf,
    key: String,
    faults: PathBuf,
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = || arguments.next().expect("s3_server FOLDER KEY FAULTS");
    let server = Server {
        folder: argument().into(),
        key: argument(),
        faults: argument().into(),
    };
    let server: &'static Server = Box::leak(Box::new(server));
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("http://{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        thread::spawn(move || server.serve(stream));
    }
    Ok(())
}

impl Server {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
        let mut headers = Vec::new();
        for line in lines {
            let line = line?;
            match line.split_once(':') {
                Some((name, value)) => headers.push((name.to_lowercase(), value.trim().to_owned())),
                None => break,
            }
        }
        let header = |name: &str| {
            let mut found = headers.iter().filter(|(found, _)| found == name);
            found.next().map(|(_, value)| value.as_str())
        };
        let target = first.split(' ').nth(1).unwrap_or("/");
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let credential = format!("Credential={}/", self.key);
        if !header("authorization").is_some_and(|given| given.contains(&credential)) {
            let why = format!(
                "InvalidAccessKeyId: {}",
                header("authorization").unwrap_or("none")
            );
            return refuse(stream, "403 Forbidden", &why);
        }
        let path = decoded(path);
        let (bucket, key) = path
            .trim_start_matches('/')
            .split_once('/')
            .unwrap_or((path.trim_start_matches('/'), ""));
        let bucket = self.folder.join(bucket);
        if !bucket.is_dir() {
            return refuse(stream, "404 Not Found", "NoSuchBucket");
        }
        match key {
            "" => list(stream, &bucket, query),
            key => self.give(
                stream,
                &bucket.join(key),
                header("range"),
                header("if-match"),
            ),
        }
    }

    fn give(
        &self,
        mut stream: TcpStream,
        file: &Path,
        range: Option<&str>,
        expected: Option<&str>,
    ) -> io::Result<()> {
        let fault = || fs::read_to_string(&self.faults).unwrap_or_default();
        while fault() == "stall" {
            thread::sleep(Duration::from_millis(10));
        }
        let fault = fault();
        if fault == "slow" {
            thread::sleep(Duration::from_millis(100));
        }
        let Ok(mut open) = fs::File::open(file) else {
            return refuse(stream, "404 Not Found", "NoSuchKey");
        };
        let tag = tag(file)?;
        if expected.is_some_and(|expected| expected != tag) {
            return refuse(stream, "412 Precondition Failed", "PreconditionFailed");
        }
        let bytes = open.metadata()?.len();
        let range = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let (from, to) = match range {
            Some((from, "")) => (from.parse().unwrap_or(0), bytes),
            Some((from, to)) => (
                from.parse().unwrap_or(0),
                to.parse::<u64>().map_or(bytes, |last| last + 1),
            ),
            None => (0, bytes),
        };
        let (from, to) = (from.min(bytes), to.min(bytes));
        write!(
            stream,
            "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nContent-Length: {}\r\nContent-Range: bytes \
             {from}-{}/{bytes}\r\nETag: {tag}\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n\r\n",
            to - from,
            to.saturating_sub(1)
        )?;
        open.seek(SeekFrom::Start(from))?;
        let sent = if fault == "cut" {
            (to - from) / 2
        } else {
            to - from
        };
        io::copy(&mut open.take(sent), &mut stream)?;
        Ok(())
    }
}

fn list(mut stream: TcpStream, bucket: &Path, query: &str) -> io::Result<()> {
    let mut prefix = String::new();
    let mut after = String::new();
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        match name {
            "prefix" => prefix = decoded(value),
            "continuation-token" | "start-after" => after = decoded(value),
            _ => {}
        }
    }
    let mut keys = Vec::new();
    walk(bucket, bucket, &mut keys)?;
    keys.retain(|key| key.starts_with(&prefix) && *key > after);
    keys.sort();
    let is_truncated = keys.len() > PAGE;
    keys.truncate(PAGE);
    let mut contents = String::new();
    for key in &keys {
        let file = bucket.join(key);
        let shown = key.replace('&', "&amp;").replace('<', "&lt;");
        contents += &format!(
            "<Contents><Key>{shown}</Key><LastModified>2015-10-21T07:28:00.000Z</LastModified><ETag>{}</ETag><Size>{}</Size>\
             </Contents>",
            tag(&file)?.replace('"', "&quot;"),
            fs::metadata(&file)?.len()
        );
    }
    let token = match (is_truncated, keys.last()) {
        (true, Some(last)) => format!("<NextContinuationToken>{last}</NextContinuationToken>"),
        _ => String::new(),
    };
    let body = format!(
        "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>{is_truncated}</IsTruncated>{token}{contents}</ListBucketResult>"
    );
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn walk(folder: &Path, bucket: &Path, keys: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, bucket, keys)?
        } else {
            keys.push(
                path.strip_prefix(bucket)
                    .unwrap_or(&path)
                    .display()
                    .to_string(),
            )
        }
    }
    Ok(())
}

/// Changes with each write.
fn tag(file: &Path) -> io::Result<String> {
    let found = fs::metadata(file)?;
    Ok(format!(
        "\"{:x}-{:x}-{:x}\"",
        found.len(),
        found.mtime(),
        found.mtime_nsec()
    ))
}

fn refuse(mut stream: TcpStream, status: &str, why: &str) -> io::Result<()> {
    let body = format!("<Error><Code>{why}</Code></Error>");
    write!(
        stream,
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
                bytes.push(digit(*high) << 4 | digit(*low));
                rest = after;
            }
            (first, _) => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
