//! Requests that are refused before anything is looked at, and headers of every answer.
//!
//! A page on the web can make a browser send requests here, and a name server can give this machine's address under the
//! page's own name (DNS rebinding). So a request must name this host and port, come from this page if it says where it
//! comes from, and have the token as the first part of its path.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::token::Token;

/// Allows only our own scripts and styles.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; \
    frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// A report contains its scripts and styles, and may only draw: it has no origin and fetches nothing.
const FRAME_POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; \
    style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

#[derive(Clone)]
pub(crate) struct Access {
    token: Arc<Token>,
    hosts: Arc<[String; 2]>,
}

impl Access {
    /// Accepts requests to this port that have the token.
    pub(crate) fn new(token: Token, port: u16) -> Self {
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}"));
        Self {
            token: Arc::new(token),
            hosts: Arc::new(hosts),
        }
    }

    fn is_own_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| host.eq_ignore_ascii_case(own))
    }

    fn refusal(&self, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        let named = uri.authority().map(|authority| authority.as_str());
        let mut hosts = headers.get_all(header::HOST).iter();
        let (host, more) = (hosts.next().map(HeaderValue::to_str), hosts.next());
        let is_own = matches!(host, Some(Ok(host)) if self.is_own_host(host));
        if !is_own || more.is_some() || named.is_some_and(|host| !self.is_own_host(host)) {
            return Some("the request is for another host");
        }
        let is_own_origin = |origin: &HeaderValue| {
            let origin = origin.to_str().ok();
            let host = origin.and_then(|origin| origin.strip_prefix("http://"));
            host.is_some_and(|host| self.is_own_host(host))
        };
        if !headers.get_all(header::ORIGIN).iter().all(is_own_origin) {
            return Some("the request comes from another page");
        }
        let given = uri.path().trim_start_matches('/').split('/').next();
        if given.is_some_and(|given| self.token.is(given)) {
            None
        } else {
            Some(
                "the address does not have the right token (hint: open the address that `trueno-analyze serve` printed)",
            )
        }
    }
}

/// Refuses a request or passes it on. The response always gets the security headers.
pub(crate) async fn check(State(access): State<Access>, request: Request, next: Next) -> Response {
    let refused = access.refusal(request.uri(), request.headers());
    let mut response = match refused {
        Some(why) => (StatusCode::FORBIDDEN, why).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    let fixed = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        let own = HeaderValue::from_static(PAGE_POLICY);
        headers.insert(header::CONTENT_SECURITY_POLICY, own);
        // A page in a sandbox may not have this one.
        let opener = HeaderName::from_static("cross-origin-opener-policy");
        headers.insert(opener, HeaderValue::from_static("same-origin"));
    }
    response
}

pub(crate) fn frame_policy() -> (HeaderName, HeaderValue) {
    let policy = HeaderValue::from_static(FRAME_POLICY);
    (header::CONTENT_SECURITY_POLICY, policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &str, headers: &[(HeaderName, &str)]) -> Option<&'static str> {
        let token = Token::random().unwrap();
        let path = path.replace("TOKEN", token.text());
        let access = Access::new(token, 4040);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value.parse().unwrap());
        }
        access.refusal(&path.parse().unwrap(), &map)
    }

    #[test]
    fn another_host_origin_or_token_is_refused() {
        let own = (header::HOST, "127.0.0.1:4040");
        assert_eq!(refusal("/TOKEN/", std::slice::from_ref(&own)), None);
        assert_eq!(
            refusal("/TOKEN/state", &[(header::HOST, "LocalHost:4040")]),
            None
        );
        let origin = |text| [own.clone(), (header::ORIGIN, text)];
        assert_eq!(
            refusal("/TOKEN/state", &origin("http://127.0.0.1:4040")),
            None
        );
        for host in [
            "evil.example:4040",
            "127.0.0.1",
            "127.0.0.1:4041",
            "127.0.0.1:4040.evil.example",
            "",
        ] {
            let why = refusal("/TOKEN/", &[(header::HOST, host)]);
            assert_eq!(why, Some("the request is for another host"), "{host}");
        }
        let no_host: [(HeaderName, &str); 0] = [];
        assert!(refusal("/TOKEN/", &no_host).is_some());
        assert!(refusal("/TOKEN/", &[own.clone(), (header::HOST, "evil.example")]).is_some());
        assert!(
            refusal(
                "http://evil.example:4040/TOKEN/",
                std::slice::from_ref(&own)
            )
            .is_some()
        );
        for text in [
            "http://evil.example",
            "null",
            "https://127.0.0.1:4040",
            "http://127.0.0.1:4041",
        ] {
            assert_eq!(
                refusal("/TOKEN/", &origin(text)),
                Some("the request comes from another page"),
                "{text}"
            );
        }
        for path in ["/", "/state", "/0123/state", "/TOKENx/", "/x/TOKEN/"] {
            assert!(
                refusal(path, std::slice::from_ref(&own)).is_some(),
                "{path}"
            );
        }
    }
}
