//! Answers of a collector.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

const MAX_SHOWN: usize = 300;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) rejected: u64,
    pub(super) remark: Option<String>,
}

impl Answer {
    /// Parses an `ExportTraceServiceResponse`; `None` if the body is none.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        if body.trim_ascii().is_empty() {
            return Some(Self::default());
        }
        let response: Map<String, Value> = serde_json::from_slice(body).ok()?;
        let partial = response.get("partialSuccess").unwrap_or(&Value::Null);
        // A text in the JSON of protobuf; some write a number.
        let rejected = match &partial["rejectedSpans"] {
            Value::Null => 0,
            Value::String(number) => number.parse().ok()?,
            number => number.as_u64()?,
        };
        let remark = shown(partial["errorMessage"].as_str().unwrap_or_default());
        let remark = Some(remark).filter(|remark| !remark.is_empty());
        Some(Self { rejected, remark })
    }
}

/// The error message in a response, preceded by a colon; empty if there is none.
pub(super) fn reason(body: &[u8]) -> String {
    let status: Option<Value> = serde_json::from_slice(body).ok();
    let message = status
        .as_ref()
        .and_then(|status| status["message"].as_str());
    let text = message.map_or_else(|| String::from_utf8_lossy(body), Into::into);
    match shown(&text) {
        text if text.is_empty() || text.starts_with('<') => String::new(),
        text => format!(": {text}"),
    }
}

fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_SHOWN).collect()
}

/// Parses `Retry-After`: seconds or an HTTP date.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = chrono::DateTime::parse_from_rfc2822(value).ok()?;
    let wait = SystemTime::from(date).duration_since(now);
    Some(wait.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_success_is_read_as_texts_and_as_numbers() {
        let answer = |rejected, remark: Option<&str>| {
            let remark = remark.map(str::to_owned);
            Some(Answer { rejected, remark })
        };
        for (body, expected) in [
            ("", answer(0, None)),
            ("{}", answer(0, None)),
            ("{\"partialSuccess\":{}}", answer(0, None)),
            ("{\"partialSuccess\":null}", answer(0, None)),
            (
                "{\"partialSuccess\":{\"rejectedSpans\":3}}",
                answer(3, None),
            ),
            (
                "{\"partialSuccess\":{\"rejectedSpans\":\"3\",\"errorMessage\":\"too\\nold\"}}",
                answer(3, Some("too old")),
            ),
            ("{\"partialSuccess\":{\"rejectedSpans\":\"-3\"}}", None),
            ("<html>", None),
            ("[]", None),
        ] {
            assert_eq!(Answer::read(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn a_failure_has_the_words_of_its_status_or_of_its_body() {
        let long = "x".repeat(1000);
        for (body, expected) in [
            ("", String::new()),
            ("<html>no</html>", String::new()),
            ("no\n such \u{1b}[1m", ": no such \u{1b}[1m".to_owned()),
            ("{\"code\":3,\"message\":\"bad id\"}", ": bad id".to_owned()),
            (&long, format!(": {}", &long[..MAX_SHOWN])),
        ] {
            assert_eq!(reason(body.as_bytes()), expected);
        }
    }

    #[test]
    fn a_wait_is_seconds_or_a_date() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let date = "Thu, 01 Jan 1970 00:01:00 GMT";
        for (value, now, expected) in [
            ("7", 0, Some(7)),
            (" 0 ", 0, Some(0)),
            (date, 50, Some(10)),
            (date, 90, Some(0)),
            ("soon", 0, None),
            ("-1", 0, None),
        ] {
            let expected = expected.map(Duration::from_secs);
            assert_eq!(retry_after(value, at(now)), expected, "{value}");
        }
    }
}
