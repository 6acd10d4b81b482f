//! A store, opened as its usual environment says.

use std::env;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};

use crate::redaction::redacted;
use crate::uri::StoreUri;

const CONNECTS: Duration = Duration::from_secs(5);
/// Timeout for one request with its response: a piece of a file, or a page of a listing.
const ANSWERS: Duration = Duration::from_secs(60);
/// Number of retries, and the time after which there are no more retries.
const RETRIES: usize = 4;
const RETRIES_END: Duration = Duration::from_secs(30);
/// Variables with the store's endpoint. The first one that is set counts.
const ENDPOINTS: [&str; 3] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];

pub struct Connection {
    pub store: Arc<dyn ObjectStore>,
    pub prefix: Path,
    uri: StoreUri,
}

impl Connection {
    /// Opens a store without sending a request.
    ///
    /// # Errors
    /// Its environment cannot be used; there is no such folder.
    pub fn open(uri: &StoreUri) -> anyhow::Result<Self> {
        let (store, prefix): (Arc<dyn ObjectStore>, &str) = match uri {
            StoreUri::S3 { bucket, prefix } => {
                let client = ClientOptions::new()
                    .with_connect_timeout(CONNECTS)
                    .with_timeout(ANSWERS)
                    // Of servers in one's own network; `AmazonS3Builder` asks for AWS_ALLOW_HTTP alone.
                    .with_allow_http(allows_http()?);
                let retries = RetryConfig {
                    backoff: BackoffConfig {
                        init_backoff: Duration::from_millis(100),
                        max_backoff: Duration::from_secs(5),
                        base: 2.0,
                    },
                    max_retries: RETRIES,
                    retry_timeout: RETRIES_END,
                };
                let store = AmazonS3Builder::from_env()
                    .with_client_options(client)
                    .with_retry(retries)
                    .with_bucket_name(bucket)
                    .build();
                (
                    Arc::new(store.map_err(|error| error_text(uri, &error))?),
                    prefix,
                )
            }
            StoreUri::File(folder) => {
                ensure!(folder.is_dir(), "{uri}: there is no such folder");
                let store = LocalFileSystem::new_with_prefix(folder);
                (
                    Arc::new(store.map_err(|error| error_text(uri, &error))?),
                    "",
                )
            }
        };
        let prefix = Path::parse(prefix).with_context(|| uri.to_string())?;
        let uri = uri.clone();
        Ok(Self { store, prefix, uri })
    }

    /// An error with its cause, behind the address of the folder.
    pub fn failed(&self, error: &object_store::Error) -> anyhow::Error {
        error_text(&self.uri, error)
    }
}

/// The address of the folder.
impl Display for Connection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.uri)
    }
}

/// The endpoint from the environment. The same address is another bucket there.
pub fn endpoint() -> Option<String> {
    let mut named = ENDPOINTS.iter().filter_map(|name| env::var(name).ok());
    named.find(|endpoint| !endpoint.is_empty())
}

/// Whether the environment allows credentials over unencrypted HTTP.
fn allows_http() -> anyhow::Result<bool> {
    ensure!(
        !endpoint().is_some_and(|endpoint| endpoint.contains('@')),
        "the endpoint of the store names a user (hint: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"
    );
    let is_allowed = env::var("AWS_ALLOW_HTTP")
        .unwrap_or_default()
        .to_lowercase();
    let is_allowed = ["true", "1", "yes", "on", "y"].contains(&is_allowed.as_str());
    let is_plain = endpoint().is_some_and(|endpoint| endpoint.starts_with("http://"));
    ensure!(
        is_allowed || !is_plain,
        "the endpoint of the store is plain http: what it sends can be read and changed on its way (hint: AWS_ALLOW_HTTP=true)"
    );
    Ok(is_allowed)
}

fn error_text(uri: &StoreUri, error: &object_store::Error) -> anyhow::Error {
    let mut text = format!("{error}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    let is_of_metadata = text.contains("169.254.169.254");
    // Of a listing, the client knows no more than the status.
    let is_refused = ["401 Unauthorized", "403 Forbidden"]
        .iter()
        .any(|status| text.contains(status));
    let hint = if is_of_metadata {
        " (hint: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set; AWS_SKIP_SIGNATURE=true reads public buckets)"
    } else if is_refused {
        " (hint: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION)"
    } else {
        ""
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    anyhow!("{uri}: {}{hint}", redacted(&text))
}
