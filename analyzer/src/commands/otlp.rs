//! `trueno-analyze export otlp --endpoint`.

use anyhow::bail;
use trueno_engine::run::Run;
use trueno_export::{Endpoint, ExportError};
use trueno_model::units::{self, Unit};
use trueno_model::{Cell, exit};
use trueno_plugin::counted;

use super::stderr::Stderr;
use crate::cli::{OtlpArgs, OtlpCompression};

pub fn endpoint(args: &OtlpArgs) -> Result<Endpoint, ExportError> {
    let mut endpoint = match args.endpoint.as_deref() {
        Some(url) if !url.is_empty() => Endpoint::new(url, &args.headers)?,
        _ => Endpoint::from_environment(|name| std::env::var(name).ok(), &args.headers)?,
    };
    endpoint.timeout = args.timeout.unwrap_or(endpoint.timeout);
    if let Some(compression) = args.compression {
        endpoint.gzip = compression == OtlpCompression::Gzip;
    }
    Ok(endpoint)
}

pub fn push(
    run: &Run,
    endpoint: &Endpoint,
    args: &OtlpArgs,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    let pushed = trueno_export::push(run, endpoint)?;
    let path = args.run.display();
    let spans = counted(pushed.spans, "span", "spans");
    for remark in &pushed.remarks {
        stderr.warn(&format!("{endpoint}: {remark}"));
    }
    let taken = units::show(Cell::U64(pushed.taken), Unit::None);
    let of_those = match pushed.rejected {
        0 => String::new(),
        rejected => format!(", {rejected} rejected"),
    };
    if let Some(why) = pushed.failure {
        bail!("{path}: {taken} of {spans} sent{of_those}, then it failed: {why}");
    }
    if pushed.rejected > 0 {
        stderr.fail(&format!(
            "{path}: {taken} of {spans} taken by {endpoint}{of_those}"
        ));
        return Ok(exit::CHECK_FAILED);
    }
    stderr.note(&format!(
        "{path}: {spans} sent to {endpoint} in {}",
        counted(pushed.requests, "request", "requests")
    ));
    Ok(exit::FINE)
}
