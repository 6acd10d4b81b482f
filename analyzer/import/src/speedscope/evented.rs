//! Evented profiles: functions that are entered and left.

use trueno_format::schema::BrickRow;

use super::document::Profile;
use super::{Out, Scale};
use crate::Error;

struct Open {
    id: u64,
    frame: u32,
    start_ns: i64,
}

impl Out<'_> {
    pub(super) fn evented(
        &mut self,
        profile: &Profile,
        thread: u32,
        scale: Scale,
    ) -> Result<(), Error> {
        let mut open: Vec<Open> = Vec::new();
        let mut last_ns = i64::MIN;
        for event in &profile.events {
            let Some(time_ns) = scale.time_ns(event.at) else {
                self.import.notes.leave_out("event with an impossible time");
                continue;
            };
            if time_ns < last_ns {
                self.import.notes.warn(
                    "events are not in order of time: functions that end before they begin are left out",
                );
            }
            last_ns = last_ns.max(time_ns);
            self.reach(Some(time_ns));
            if event.is_open {
                self.import.notes.read("function entered");
                self.last_id += 1;
                open.push(Open {
                    id: self.last_id,
                    frame: event.frame,
                    start_ns: time_ns,
                });
                continue;
            }
            self.import.notes.read("function left");
            let Some(at) = open.iter().rposition(|open| open.frame == event.frame) else {
                self.import
                    .notes
                    .leave_out("end of a function that was not entered");
                continue;
            };
            // What was entered later has no end: speedscope requires that inner functions end first.
            for _ in at + 1..open.len() {
                self.import.notes.leave_out("function without an end");
            }
            open.truncate(at + 1);
            let parent = at.checked_sub(1).map(|at| open[at].id);
            if let Some(ended) = open.pop() {
                self.function(&ended, parent, thread, time_ns)?;
            }
        }
        for _ in open {
            self.import.notes.leave_out("function without an end");
        }
        Ok(())
    }

    fn function(
        &mut self,
        open: &Open,
        parent: Option<u64>,
        thread: u32,
        end_ns: i64,
    ) -> Result<(), Error> {
        let Some(dur_ns) = end_ns.checked_sub(open.start_ns).filter(|ns| *ns >= 0) else {
            self.import
                .notes
                .leave_out("function that ends before it begins");
            return Ok(());
        };
        let frame = self.frame(open.frame);
        let row = BrickRow {
            id: open.id,
            parent,
            kind: self.import.text("function"),
            name: frame
                .function
                .unwrap_or_else(|| self.import.text("unknown")),
            thread,
            start_ns: open.start_ns,
            dur_ns,
            timing: self.import.text("host"),
            file: frame.file,
            line: frame.line,
            ..BrickRow::default()
        };
        self.import.add(&row)
    }
}
