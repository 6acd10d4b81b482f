//! Addresses of schedulers.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, bail};

const SCHEME: &str = "ballista://";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name or IP address; an IPv6 address has no brackets.
    pub host: String,
    pub port: u16,
}

impl Address {
    pub fn url(&self) -> String {
        format!("http://{self}")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(to, "[{}]:{}", self.host, self.port)
        } else {
            write!(to, "{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for Address {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let hint = "hint: ballista://HOST:PORT";
        let rest = text.strip_prefix(SCHEME).unwrap_or(text);
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = rest
            .rsplit_once(':')
            .with_context(|| format!("{text}: it has no port ({hint})"))?;
        let port = port
            .parse()
            .ok()
            .filter(|port| *port != 0)
            .with_context(|| format!("{text}: {port:?} is not a port ({hint})"))?;
        let inner = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = inner.unwrap_or(host);
        let is_odd = |letter: char| !letter.is_ascii_alphanumeric() && !".-_:%".contains(letter);
        if host.is_empty() || host.contains(is_odd) || (inner.is_none() && host.contains(':')) {
            bail!("{text}: {host:?} is not a host ({hint})");
        }
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_host_and_port() {
        for (text, shown) in [
            ("ballista://127.0.0.1:50050", "127.0.0.1:50050"),
            ("ballista://head-node.local:7/", "head-node.local:7"),
            ("localhost:50050", "localhost:50050"),
            ("ballista://[::1]:50050", "[::1]:50050"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), shown);
        }
        for text in [
            "",
            "ballista://",
            "host",
            "host:",
            ":5",
            "host:0",
            "http://host:5",
            "::1:5",
            "a b:5",
            "h/x:5",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
