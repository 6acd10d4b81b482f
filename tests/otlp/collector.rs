//! A collector of OTLP on loopback, which answers as it is told and keeps what it got.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

pub enum Reply {
    /// Status, more headers (each with its line ending), and body.
    Answer(&'static str, String, &'static str),
    Close,
    Hang,
}

/// A success response, as in the specification.
pub const TAKEN: Reply = Reply::Answer("200 OK", String::new(), "{\"partialSuccess\":{}}");

#[derive(Clone)]
pub struct Request {
    /// Request line and headers, in lower case.
    pub head: String,
    pub body: Vec<u8>,
}

impl Request {
    pub fn json(&self) -> Value {
        let unpacked = if self.head.contains("content-encoding: gzip") {
            let mut unpacked = Vec::new();
            let mut packed = flate2::read::GzDecoder::new(&self.body[..]);
            packed.read_to_end(&mut unpacked).expect("a packed body");
            unpacked
        } else {
            self.body.clone()
        };
        serde_json::from_slice(&unpacked).expect("the body is JSON")
    }
}

/// A collector that listens on a local port.
pub struct Collector {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

/// A stream, with or without TLS.
pub trait Connection: Read + Write + Send {}
impl<T: Read + Write + Send> Connection for T {}

impl Collector {
    /// Starts a collector that answers the nth request with the nth reply.
    pub fn start(reply: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Collector {
        Collector::over(|stream| Box::new(stream), reply)
    }

    /// As `start`, with `wrap` around each connection.
    pub fn over(
        wrap: impl Fn(TcpStream) -> Box<dyn Connection> + Send + 'static,
        reply: impl Fn(usize) -> Reply + Send + Sync + 'static,
    ) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback");
        let address = listener.local_addr().expect("it has an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = requests.clone();
        let reply = Arc::new(reply);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (connection, kept, reply) = (wrap(stream), kept.clone(), reply.clone());
                std::thread::spawn(move || serve(connection, &kept, reply.as_ref()));
            }
        });
        Collector { address, requests }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("nobody panics with it").clone()
    }
}

fn serve(
    connection: Box<dyn Connection>,
    kept: &Mutex<Vec<Request>>,
    reply: &dyn Fn(usize) -> Reply,
) {
    let mut connection = BufReader::new(connection);
    while let Some(request) = read(&mut connection) {
        let number = {
            let mut kept = kept.lock().expect("nobody panics with it");
            kept.push(request);
            kept.len() - 1
        };
        match reply(number) {
            Reply::Answer(status, headers, body) => {
                let length = body.len();
                let text =
                    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
                let to = connection.get_mut();
                if to.write_all(text.as_bytes()).is_err() || to.flush().is_err() {
                    return;
                }
            }
            Reply::Close => return,
            // Until the client goes.
            Reply::Hang => {
                let _ = connection.read(&mut [0]);
                return;
            }
        }
    }
}

fn read(connection: &mut impl BufRead) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if connection.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    // Values of headers stay as they are.
    let lines = head.lines().map(|line| match line.split_once(": ") {
        Some((name, value)) => format!("{}: {value}\n", name.to_lowercase()),
        None => format!("{line}\n"),
    });
    let head: String = lines.collect();
    let length = head.split_once("content-length: ")?.1.lines().next()?;
    let mut body = vec![0; length.parse().ok()?];
    connection.read_exact(&mut body).ok()?;
    Some(Request { head, body })
}
