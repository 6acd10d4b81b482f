//! One `ExportTraceServiceRequest` as JSON, written span by span.

use std::io::{self, Write};

use serde_json::Value;

use super::Sink;
use crate::error::ExportError;

pub(super) struct Document<W> {
    to: W,
    scopes: usize,
    spans: usize,
}

impl<W: Write> Document<W> {
    pub(super) fn begin(mut to: W, resource: &Value) -> io::Result<Self> {
        write!(
            to,
            "{{\"resourceSpans\":[{{\"resource\":{resource},\"scopeSpans\":["
        )?;
        Ok(Self {
            to,
            scopes: 0,
            spans: 0,
        })
    }

    pub(super) fn written(&self) -> &W {
        &self.to
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        if self.scopes > 0 {
            self.to.write_all(b"]}")?;
        }
        self.to.write_all(b"]}]}")?;
        Ok(self.to)
    }
}

impl<W: Write> Sink for Document<W> {
    fn scope(&mut self, name: &str) -> Result<(), ExportError> {
        let before = if self.scopes > 0 { "]}," } else { "" };
        write!(
            self.to,
            "{before}{{\"scope\":{{\"name\":\"trueno.{name}\"}},\"spans\":["
        )?;
        self.scopes += 1;
        self.spans = 0;
        Ok(())
    }

    fn span(&mut self, json: &str) -> Result<(), ExportError> {
        self.to.write_all(match self.spans {
            0 => b"\n",
            _ => b",\n",
        })?;
        self.to.write_all(json.as_bytes())?;
        self.spans += 1;
        Ok(())
    }
}
