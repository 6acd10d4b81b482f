//! Addresses of collectors, as typed or as the environment has them by the specification of OTLP exporters.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Url};

use crate::error::ExportError;

/// Default timeout of a request including retries, from the specification.
const TIMEOUT: Duration = Duration::from_secs(10);
const TRACES: &str = "v1/traces";
/// Prefixes of environment variables for traces only, and for all signals.
const PREFIXES: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"];
/// Shorter header values are not treated as secrets.
const LEAST_SECRET: usize = 4;

#[derive(Clone, Debug)]
pub struct Endpoint {
    pub(super) url: Url,
    /// Values are secret and marked as sensitive.
    pub(super) headers: HeaderMap,
    pub(super) certificate: Option<Certificate>,
    pub timeout: Duration,
    pub gzip: bool,
}

/// The address without parts that may be secret.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_secrets(self.url.clone()))
    }
}

impl Endpoint {
    /// The collector at `url`, with `headers` as `Name: value`. `/v1/traces` is appended to the address.
    ///
    /// # Errors
    /// The address or a header is none. No message has a value in it.
    pub fn new(url: &str, headers: &[String]) -> Result<Self, ExportError> {
        let mut endpoint = Self::at(base(parse("--endpoint", url)?));
        endpoint.take(headers)?;
        Ok(endpoint)
    }

    /// The collector from the variables `OTEL_EXPORTER_OTLP_…`, with additional `headers`.
    ///
    /// # Errors
    /// A variable or a header is not as it must be. No message has a value in it.
    pub fn from_environment(
        variable: impl Fn(&str) -> Option<String>,
        headers: &[String],
    ) -> Result<Self, ExportError> {
        // Those for traces come first; an empty one is as one that is not set.
        let find = |what: &str| {
            let mut names = PREFIXES.iter().map(|prefix| format!("{prefix}{what}"));
            names.find_map(|name| Some((variable(&name).filter(|v| !v.is_empty())?, name)))
        };
        let url = match find("ENDPOINT") {
            // Taken as it is.
            Some((url, name)) if name.starts_with(PREFIXES[0]) => parse(&name, &url)?,
            Some((url, name)) => base(parse(&name, &url)?),
            None => base(parse("the default", "http://localhost:4318")?),
        };
        let mut endpoint = Self::at(url);
        if let Some((protocol, name)) = find("PROTOCOL")
            && protocol == "grpc"
        {
            return Err(wrong(format!(
                "{name} is grpc; expected http/json or http/protobuf, of a collector that takes HTTP (hint: --endpoint \
                 http://HOST:4318)"
            )));
        }
        if let Some((list, name)) = find("HEADERS") {
            for (number, pair) in list.split(',').enumerate() {
                let value = pair.split_once('=').and_then(|(key, value)| {
                    let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
                    header(key, &value)
                });
                endpoint.insert(value, &name, number, "name=value")?;
            }
        }
        endpoint.take(headers)?;
        if let Some((timeout, name)) = find("TIMEOUT") {
            let ms = timeout.parse().ok().filter(|ms| *ms > 0);
            let ms = ms.ok_or_else(|| {
                wrong(format!(
                    "{name} is {timeout:?}; expected milliseconds, as 10000"
                ))
            })?;
            endpoint.timeout = Duration::from_millis(ms);
        }
        if let Some((compression, name)) = find("COMPRESSION") {
            endpoint.gzip = match compression.as_str() {
                "gzip" => true,
                "none" => false,
                other => {
                    return Err(wrong(format!("{name} is {other:?}; expected gzip or none")));
                }
            };
        }
        if let Some((file, name)) = find("CERTIFICATE") {
            let read = |error: String| wrong(format!("{name}: {file}: {error}"));
            let pem = std::fs::read(&file).map_err(|error| read(error.to_string()))?;
            let certificate = Certificate::from_pem(&pem);
            endpoint.certificate =
                Some(certificate.map_err(|_| read("is not a PEM certificate".to_owned()))?);
        }
        Ok(endpoint)
    }

    fn at(url: Url) -> Self {
        Self {
            url,
            headers: HeaderMap::new(),
            certificate: None,
            timeout: TIMEOUT,
            gzip: true,
        }
    }

    fn take(&mut self, headers: &[String]) -> Result<(), ExportError> {
        for (number, text) in headers.iter().enumerate() {
            let value = text.split_once(':').and_then(|(k, v)| header(k, v.trim()));
            self.insert(value, "--header", number, "'Name: value'")?;
        }
        Ok(())
    }

    fn insert(
        &mut self,
        header: Option<(HeaderName, HeaderValue)>,
        place: &str,
        number: usize,
        expected: &str,
    ) -> Result<(), ExportError> {
        let (name, value) = header.ok_or_else(|| {
            wrong(format!(
                "{place}: number {} is not a header; expected {expected} (its text is not shown)",
                number + 1
            ))
        })?;
        self.headers.insert(name, value);
        Ok(())
    }

    /// Removes header values from `text`, because a collector may repeat them.
    pub(super) fn without_headers(&self, text: &str) -> String {
        let values = self
            .headers
            .values()
            .filter_map(|value| value.to_str().ok());
        // A scheme of authentication and its token.
        let parts = values.flat_map(|value| value.split_whitespace().chain([value]));
        let mut secrets: Vec<&str> = parts.filter(|part| part.len() >= LEAST_SECRET).collect();
        secrets.sort_by_key(|part| std::cmp::Reverse(part.len()));
        secrets
            .iter()
            .fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
    }

    /// Whether the collector is on this machine, which needs no proxy.
    pub(super) fn is_local(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let number = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || number.is_ok_and(|number| number.is_loopback())
    }

    pub(super) fn port_hint(&self) -> &'static str {
        match self.url.port() {
            Some(4317) => " (hint: 4317 is the port of gRPC; OTLP over HTTP has 4318)",
            _ => "",
        }
    }
}

fn parse(place: &str, text: &str) -> Result<Url, ExportError> {
    let url = Url::parse(text).ok();
    url.filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host())
        .ok_or_else(|| {
            wrong(format!(
                "{place} is not an http or https address; expected one like http://localhost:4318 (its text is not shown)"
            ))
        })
}

fn base(mut url: Url) -> Url {
    let path = url.path().trim_end_matches('/');
    if !path.ends_with(&format!("/{TRACES}")) {
        url.set_path(&format!("{path}/{TRACES}"));
    }
    url
}

fn header(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some((name.trim().parse().ok()?, value))
}

fn wrong(text: String) -> ExportError {
    ExportError::Collector(text)
}

/// Drops user, password and query.
pub(super) fn without_secrets(mut url: Url) -> String {
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
