//! Intervals that belong to no thread.

use xxhash_rust::xxh3::xxh3_64;

use super::Collector;
use crate::Error;
use crate::chrome::category::Class;
use crate::chrome::event::Event;
use crate::chrome::open_intervals::Open;
use crate::chrome::record::{Host, HostEvent};

impl Collector<'_> {
    /// An asynchronous interval has an id and no thread: it gets a lane of its process and category. It says that something
    /// was open, and not that a thread worked, so it only bounds its work.
    pub(super) fn asynchronous(&mut self, event: &Event) -> Result<(), Error> {
        let Some(time_ns) = self.start(event) else {
            return Ok(());
        };
        let mut key = event.category.clone();
        if event.part > 0 {
            key.extend_from_slice(&event.part.to_le_bytes());
        }
        for text in [
            &event.id,
            if event.phase.is_ascii_uppercase() {
                &event.name
            } else {
                &event.id
            },
        ] {
            key.push(0);
            key.extend_from_slice(text);
        }
        let key = xxh3_64(&key);
        if matches!(event.phase, b'b' | b'S') {
            let thread = [b"async ", event.category.as_slice()].concat();
            let lane = self.lanes.number(&event.process, &thread);
            self.lanes.name_thread(&event.process, &thread, &thread);
            // Of requests numbered by their names, the category says what they are.
            let is_number = event.name == event.id && event.name.iter().all(u8::is_ascii_digit);
            let name = match (is_number, event.category.as_slice()) {
                (false, _) | (true, b"") => event.name.as_slice(),
                (true, category) => category,
            };
            let name = self.name(name);
            self.asynchronous.begin(
                key,
                Open {
                    start_ns: time_ns,
                    name,
                    lane,
                    class: Class::Function,
                    order: self.order,
                },
            );
            return Ok(());
        }
        let Some(open) = self.asynchronous.end(key) else {
            self.notes.leave_out("asynchronous end without its begin");
            return Ok(());
        };
        self.keep_arguments(open.order, event, true)?;
        if time_ns < open.start_ns {
            self.notes.leave_out("negative duration");
            return Ok(());
        }
        self.notes
            .warn("asynchronous intervals have no thread, and threads need not work in them: they are on separate lanes, as tasks whose times only bound their work");
        self.push_host(Host {
            lane: open.lane,
            start_ns: open.start_ns,
            end_ns: time_ns,
            event: HostEvent::Task,
            order: open.order,
            name: open.name,
            node: None,
        })
    }
}
