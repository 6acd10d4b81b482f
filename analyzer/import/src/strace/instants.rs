//! Instants for what has no duration, with what is known of it as JSON.

use std::borrow::Cow;

use serde::Serialize;
use trueno_format::run_writer::Text;
use trueno_format::schema::AnnotationRow;

use crate::{Error, Import};

pub(crate) const MAX_TEXT_BYTES: usize = 64 << 10;
/// Limit for all kept arguments, because a run holds each of its texts in memory.
const MAX_BYTES: usize = 64 << 20;

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Arguments<'a> {
    /// `syscall`, `signal` or `exit`.
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errno: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'a Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, Serialize)]
pub(crate) struct Source {
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Instants {
    kind: Option<Text>,
    bytes: usize,
}

impl Instants {
    pub fn add(
        &mut self,
        (thread, time_ns): (Option<u32>, i64),
        name: &str,
        mut arguments: Arguments<'_>,
        import: &mut Import<'_>,
    ) -> Result<(), Error> {
        if let Some(args) = &arguments.args {
            if self.bytes + args.len().min(MAX_TEXT_BYTES) > MAX_BYTES {
                import.notes.leave_out_argument("args");
                import
                    .notes
                    .warn("only the first 64 MiB of arguments of instants are kept");
                arguments.args = None;
            } else if args.len() > MAX_TEXT_BYTES {
                import.notes.warn("arguments longer than 64 KiB are cut");
                arguments.args = Some(cut(args).to_owned().into());
            }
        }
        let json = serde_json::to_string(&arguments).unwrap_or_default();
        self.bytes += json.len();
        self.add_json((thread, time_ns), name, &json, import)
    }

    pub fn add_json(
        &mut self,
        (thread, time_ns): (Option<u32>, i64),
        name: &str,
        json: &str,
        import: &mut Import<'_>,
    ) -> Result<(), Error> {
        let row = AnnotationRow {
            kind: *self.kind.get_or_insert_with(|| import.text("instant")),
            name: import.text(name),
            thread,
            time_ns,
            arguments: Some(import.text(json)),
            ..AnnotationRow::default()
        };
        import.add(&row)
    }
}

pub(crate) fn cut(text: &str) -> &str {
    if text.len() > MAX_TEXT_BYTES {
        &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
    } else {
        text
    }
}
