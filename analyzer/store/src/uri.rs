//! Addresses of jobs: `s3://BUCKET/PREFIX` and `file:///FOLDER`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{bail, ensure};
use url::Url;

const S3: &str = "s3://";
const FILE: &str = "file://";
const HINT: &str = "hint: s3://BUCKET/PREFIX or file:///FOLDER";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUri {
    /// Bucket and prefix without slashes at its ends. Nothing is percent-decoded.
    S3 { bucket: String, prefix: String },
    /// A local folder.
    File(PathBuf),
}

impl fmt::Display for StoreUri {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::S3 { bucket, prefix } if prefix.is_empty() => write!(to, "{S3}{bucket}"),
            Self::S3 { bucket, prefix } => write!(to, "{S3}{bucket}/{prefix}"),
            Self::File(folder) => match Url::from_file_path(folder) {
                Ok(url) => write!(to, "{url}"),
                Err(()) => write!(to, "{FILE}{}", folder.display()),
            },
        }
    }
}

impl FromStr for StoreUri {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        if let Some(rest) = text.strip_prefix(S3) {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            // Who writes a key there finds it in no message.
            ensure!(
                !bucket.contains(['@', ':']),
                "s3://…: it names a user or a port (hint: credentials and the endpoint are taken from AWS_ACCESS_KEY_ID, \
                 AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL)"
            );
            let is_odd = |letter: char| !letter.is_ascii_alphanumeric() && !".-_".contains(letter);
            ensure!(
                !bucket.is_empty() && !bucket.contains(is_odd),
                "{text}: {bucket:?} is not a bucket ({HINT})"
            );
            let prefix = prefix.trim_end_matches('/').to_owned();
            let mut parts = prefix.split('/');
            ensure!(
                prefix.is_empty() || parts.all(|part| !["", ".", ".."].contains(&part)),
                "{text}: {prefix:?} is not a prefix ({HINT})"
            );
            let bucket = bucket.to_owned();
            return Ok(Self::S3 { bucket, prefix });
        }
        if text.starts_with(FILE) {
            let folder = Url::parse(text)
                .ok()
                .and_then(|url| url.to_file_path().ok());
            return match folder {
                Some(folder) => Ok(Self::File(folder)),
                None => bail!("{text}: it does not name a folder on this machine ({HINT})"),
            };
        }
        match text.split_once("://") {
            Some((scheme, _)) => bail!("{scheme}://…: unknown scheme ({HINT})"),
            None => bail!("{text}: it is not the address of a store ({HINT})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_bucket_and_prefix_or_a_folder() {
        for (text, shown) in [
            ("s3://traces/job", "s3://traces/job"),
            ("s3://traces/a/b=1/", "s3://traces/a/b=1"),
            ("s3://traces/a%20b", "s3://traces/a%20b"),
            ("s3://traces", "s3://traces"),
            ("file:///data/a%20b/", "file:///data/a%20b"),
        ] {
            assert_eq!(text.parse::<StoreUri>().unwrap().to_string(), shown);
        }
        for text in [
            "",
            "job",
            "/job",
            "s3://",
            "s3:///job",
            "s3://a b/c",
            "s3://b//c",
            "s3://b/../c",
            "gs://b/c",
            "file://elsewhere/data",
            "s3://b/./c",
        ] {
            assert!(text.parse::<StoreUri>().is_err(), "{text}");
        }
    }

    #[test]
    fn keys_in_addresses_are_refused_and_not_shown() {
        let why = "s3://AKIA:hidden@bucket/job".parse::<StoreUri>();
        let why = format!("{:#}", why.unwrap_err());
        assert!(why.contains("AWS_ACCESS_KEY_ID"), "{why}");
        assert!(!why.contains("hidden") && !why.contains("AKIA"), "{why}");
    }
}
