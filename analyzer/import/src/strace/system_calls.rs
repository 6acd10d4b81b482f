//! Rows of system calls, as the tracer of this project writes them.
//!
//! A call with a duration is a row of `calls` and, where it waits, one of `syncs` with the same thread and times. One
//! without is an instant.

use std::borrow::Cow;

use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::{CallRow, EdgeRow, SyncRow};

use super::call_kind;
use super::instants::{Arguments, Instants, Source};
use super::outcome::Outcome;
use crate::{Error, Import};

#[derive(Clone, Debug, Default)]
pub(crate) struct SystemCall<'a> {
    pub name: &'a str,
    pub arguments: &'a [&'a str],
    pub text: &'a str,
    pub thread: u32,
    pub start_ns: i64,
    pub dur_ns: Option<i64>,
    pub outcome: Outcome<'a>,
    pub stack: Option<u64>,
    pub source: Option<&'a Source>,
    /// Last row of the process that it waited for.
    pub joined: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct SystemCalls {
    pub instants: Instants,
    texts: Option<KindTexts>,
    last_id: u64,
    /// Calls that returned but have no duration, which the tracer did not measure. Calls that end their thread
    /// are not counted.
    pub untimed: u64,
}

#[derive(Clone, Copy, Debug)]
struct KindTexts {
    syscall: Text,
    call: Text,
    join: Text,
    joins: Text,
    spawns: Text,
}

impl SystemCalls {
    pub fn add(
        &mut self,
        call: &SystemCall<'_>,
        import: &mut Import<'_>,
    ) -> Result<Option<u64>, Error> {
        let target = call_kind::target(call.name, call.arguments);
        let (target, errno) = (target.as_deref(), call.outcome.errno.as_deref());
        let status = call.outcome.status;
        let bytes = call_kind::bytes(call.name, call.arguments, status);
        let Some(dur_ns) = call.dur_ns else {
            self.untimed += u64::from(status.is_some());
            let arguments = Arguments {
                kind: "syscall",
                status,
                errno,
                target,
                bytes,
                args: Some(call.text.into()).filter(|text: &Cow<'_, str>| !text.is_empty()),
                source: call.source,
                stack: call.stack,
                ..Arguments::default()
            };
            let place = (Some(call.thread), call.start_ns);
            self.instants.add(place, call.name, arguments, import)?;
            return Ok(None);
        };
        if !call.text.is_empty() {
            import.notes.leave_out_argument("args");
        }
        let texts = self.texts(import.into);
        let row = CallRow {
            id: self.next_id(),
            name: import.text(call.name),
            thread: call.thread,
            start_ns: call.start_ns,
            dur_ns,
            status,
            kind: Some(texts.syscall),
            target: target.map(|text| import.text(text)),
            bytes,
            errno: errno.map(|text| import.text(text)),
            stack: call.stack,
            ..CallRow::default()
        };
        import.add(&row)?;
        if call_kind::waits(call.name, call.arguments, target) {
            let wait = SyncRow {
                id: self.next_id(),
                kind: match call.joined {
                    Some(_) => texts.join,
                    None => texts.call,
                },
                name: Some(row.name),
                thread: Some(row.thread),
                start_ns: row.start_ns,
                dur_ns,
                ..SyncRow::default()
            };
            if let Some(from) = call.joined {
                let edge = EdgeRow {
                    from,
                    to: wait.id,
                    kind: texts.joins,
                };
                import.add(&edge)?;
            }
            import.add(&wait)?;
        }
        Ok(Some(row.id))
    }

    /// Writes the edge from the call that started a thread to the thread's first row.
    pub fn spawn(&mut self, (from, to): (u64, u64), import: &mut Import<'_>) -> Result<(), Error> {
        let kind = self.texts(import.into).spawns;
        import.add(&EdgeRow { from, to, kind })
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn texts(&mut self, into: &mut RunWriter) -> KindTexts {
        *self.texts.get_or_insert_with(|| KindTexts {
            syscall: into.text("syscall"),
            call: into.text("call"),
            join: into.text("join"),
            joins: into.text("joins"),
            spawns: into.text("spawns"),
        })
    }
}
