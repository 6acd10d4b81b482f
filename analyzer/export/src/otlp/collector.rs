//! Requests to a collector: repeated where the specification of OTLP asks for it, within a time.

use std::error::Error;
use std::io::Write as _;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use flate2::{Compression, write::GzEncoder};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::header::{LOCATION, RETRY_AFTER};
use reqwest::{Client, StatusCode, redirect};
use tokio::runtime::{Builder, Runtime};

use super::answer::{Answer, reason, retry_after};
use super::endpoint::{Endpoint, without_secrets};
use crate::error::ExportError;

/// Wait before the first retry. It doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const MAX_WAIT: Duration = Duration::from_secs(5);
const MAX_ANSWER: usize = 1 << 16;

pub(super) struct Collector {
    endpoint: Endpoint,
    client: Client,
    runtime: Runtime,
    is_known: bool,
}

enum Refusal {
    Final(String),
    /// A retry may succeed, after the wait that the collector requested.
    Transient(String, Option<Duration>),
    TimedOut,
}

use Refusal::{Final, TimedOut, Transient};

impl Collector {
    pub(super) fn new(endpoint: &Endpoint) -> Result<Self, ExportError> {
        let mut headers = endpoint.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if endpoint.gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        // Headers are for the address that was given, and for no other.
        let mut client = Client::builder()
            .default_headers(headers)
            .redirect(redirect::Policy::none())
            .user_agent(concat!("trueno-analyze/", env!("CARGO_PKG_VERSION")))
            .tls_built_in_root_certs(endpoint.url.scheme() == "https");
        if endpoint.is_local() {
            client = client.no_proxy();
        }
        if let Some(certificate) = &endpoint.certificate {
            client = client.add_root_certificate(certificate.clone());
        }
        let client = client.build().map_err(|error| {
            let why = cause(&error);
            ExportError::Collector(format!("{endpoint}: a client cannot be created: {why}"))
        })?;
        Ok(Self {
            endpoint: endpoint.clone(),
            client,
            runtime: Builder::new_current_thread().enable_all().build()?,
            is_known: false,
        })
    }

    /// Sends one request, with retries. The error contains the address.
    pub(super) fn send(&mut self, json: &[u8]) -> Result<Answer, String> {
        let body = self.pack(json);
        let deadline = Instant::now() + self.endpoint.timeout;
        let limit = self.endpoint.timeout;
        let mut backoff = FIRST_WAIT;
        let mut earlier = None;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let (why, asked) = match self.post(body.clone(), left) {
                Ok(answer) => return Ok(answer),
                Err(Final(why)) => return Err(self.failure(&why)),
                Err(Transient(why, asked)) => (why, asked),
                // What it said before is the cause.
                Err(TimedOut) => match earlier {
                    Some(why) => (why, Some(Duration::ZERO)),
                    None => {
                        let why = format!("did not answer within {limit:?} (hint: --timeout)");
                        return Err(self.failure(&why));
                    }
                },
            };
            let wait = asked.unwrap_or_else(|| jittered(backoff));
            if Instant::now() + wait >= deadline {
                let asks = match asked.filter(|wait| !wait.is_zero()) {
                    Some(wait) => format!(" and asks to wait for {} s", wait.as_secs()),
                    None => String::new(),
                };
                return Err(self.failure(&format!(
                    "{why}{asks}; a request may take {limit:?}, including retries (hint: --timeout)"
                )));
            }
            sleep(wait);
            earlier = Some(why);
            backoff = (backoff * 2).min(MAX_WAIT);
        }
    }

    fn pack(&self, json: &[u8]) -> Vec<u8> {
        if !self.endpoint.gzip {
            return json.to_vec();
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        let packed = packed.write_all(json).and_then(|()| packed.finish());
        packed.expect("memory takes all that is written")
    }

    fn failure(&self, why: &str) -> String {
        let why = self.endpoint.without_headers(why);
        format!("{}: {why}{}", self.endpoint, self.endpoint.port_hint())
    }

    fn post(&mut self, body: Vec<u8>, left: Duration) -> Result<Answer, Refusal> {
        let request = self.client.post(self.endpoint.url.clone());
        let request = request.timeout(left).body(body);
        let exchange = async {
            let mut response = request.send().await?;
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await? {
                body.extend_from_slice(&chunk);
                if body.len() > MAX_ANSWER {
                    break;
                }
            }
            Ok((response.status(), response.headers().clone(), body))
        };
        let (status, headers, body) = self
            .runtime
            .block_on(exchange)
            .map_err(|error: reqwest::Error| self.refusal(&error))?;
        self.is_known = true;
        if status.is_success() {
            let mut answer = Answer::read(&body).ok_or_else(|| {
                Final(format!("answered {status}, but not like an OTLP collector"))
            })?;
            let remark = answer.remark.as_deref();
            answer.remark = remark.map(|text| self.endpoint.without_headers(text));
            return Ok(answer);
        }
        Err(self.refused(status, &headers, &body))
    }

    fn refused(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Refusal {
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let said = format!("answered {status}{}", reason(body));
        let hint = match status.as_u16() {
            429 | 502 | 503 | 504 => {
                let wait = header(RETRY_AFTER);
                let wait = wait.and_then(|wait| retry_after(wait, SystemTime::now()));
                return Transient(said, wait);
            }
            300..=399 => {
                let to = header(LOCATION).and_then(|to| self.endpoint.url.join(to).ok());
                let to = to.map_or(String::new(), |to| format!(" to {}", without_secrets(to)));
                return Final(format!(
                    "{said}{to}, and headers are sent to no address but the one given (hint: --endpoint with that one)"
                ));
            }
            401 | 403 => " (hint: --header 'Authorization: …', or OTEL_EXPORTER_OTLP_HEADERS)",
            404 | 405 => " (hint: is there a collector of OTLP over HTTP at this address?)",
            415 if self.endpoint.gzip => " (hint: --compression none)",
            _ => "",
        };
        Final(format!("{said}{hint}"))
    }

    fn refusal(&self, error: &reqwest::Error) -> Refusal {
        match cause(error) {
            _ if error.is_timeout() => TimedOut,
            why if error.is_connect() && !self.is_known => {
                Final(format!("cannot be reached: {why}"))
            }
            why => Transient(format!("did not answer: {why}"), None),
        }
    }
}

/// The innermost cause of an error, which does not contain the address.
fn cause(error: &reqwest::Error) -> String {
    let mut inner: &dyn Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// A part of `wait` that differs between clients, so that they do not retry at the same time.
fn jittered(wait: Duration) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let nanos = now.map_or(0, |now| now.subsec_nanos());
    wait / 2 + wait / 2 * (nanos % 1000) / 1000
}
