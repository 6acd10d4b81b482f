//! Spans of a run to a collector, in requests of bounded size.

use serde_json::Value;
use trueno_engine::run::Run;

use super::collector::Collector;
use super::document::Document;
use super::endpoint::Endpoint;
use super::{Sink, Spans};
use crate::error::ExportError;
use crate::rows::Source;

const MAX_SPANS: u64 = 4096;
/// Limit on uncompressed bytes per request. A larger span gets its own request.
const MAX_BYTES: usize = 1 << 20;
const MAX_REMARKS: usize = 5;

#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Pushed {
    pub spans: u64,
    pub taken: u64,
    pub rejected: u64,
    pub requests: u64,
    pub remarks: Vec<String>,
    pub failure: Option<String>,
}

/// Sends the spans of `run` to a collector, until one request fails finally.
///
/// # Errors
/// The run cannot be read. What the collector does is in [`Pushed`].
pub fn push(run: &Run, endpoint: &Endpoint) -> Result<Pushed, ExportError> {
    let source = Source::open(run)?;
    let spans = Spans::open(&source)?;
    let mut batches = Batches {
        collector: Collector::new(endpoint)?,
        resource: spans.resource(),
        scope: String::new(),
        open: None,
        pushed: Pushed {
            spans: source.span_tables().iter().map(|table| table.rows).sum(),
            ..Pushed::default()
        },
    };
    let handed = spans.hand_to(&mut batches).and_then(|()| batches.send());
    match handed {
        Err(ExportError::Collector(why)) => batches.pushed.failure = Some(why),
        other => other?,
    }
    Ok(batches.pushed)
}

struct Batches {
    collector: Collector,
    resource: Value,
    scope: String,
    open: Option<(Document<Vec<u8>>, u64)>,
    pushed: Pushed,
}

impl Batches {
    fn send(&mut self) -> Result<(), ExportError> {
        let Some((document, spans)) = self.open.take() else {
            return Ok(());
        };
        let answer = self.collector.send(&document.finish()?);
        let answer = answer.map_err(ExportError::Collector)?;
        let pushed = &mut self.pushed;
        let rejected = answer.rejected.min(spans);
        pushed.requests += 1;
        pushed.rejected += rejected;
        pushed.taken += spans - rejected;
        if let Some(remark) = answer.remark
            && pushed.remarks.len() < MAX_REMARKS
            && !pushed.remarks.contains(&remark)
        {
            pushed.remarks.push(remark);
        }
        Ok(())
    }
}

impl Sink for Batches {
    fn scope(&mut self, name: &str) -> Result<(), ExportError> {
        name.clone_into(&mut self.scope);
        match &mut self.open {
            Some((document, _)) => document.scope(name),
            None => Ok(()),
        }
    }

    fn span(&mut self, json: &str) -> Result<(), ExportError> {
        let is_full = |(document, spans): &(Document<Vec<u8>>, u64)| {
            *spans >= MAX_SPANS || document.written().len() + json.len() > MAX_BYTES
        };
        if self.open.as_ref().is_some_and(is_full) {
            self.send()?;
        }
        let (document, spans) = match &mut self.open {
            Some(open) => open,
            none => {
                let mut document = Document::begin(Vec::new(), &self.resource)?;
                document.scope(&self.scope)?;
                none.insert((document, 0))
            }
        };
        *spans += 1;
        document.span(json)
    }
}
