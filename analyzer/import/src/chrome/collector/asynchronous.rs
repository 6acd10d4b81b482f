//! Intervals that belong to no thread.

use trueno_analysis::wording;
use xxhash_rust::xxh3::xxh3_64;

use super::Collector;
use crate::Error;
use crate::chrome::category::Class;
use crate::chrome::event::Event;
use crate::chrome::open_intervals::Open;
use crate::chrome::record::{Host, HostEvent};

/// Titles of asynchronous intervals in the message about a file that has nothing else.
const MAX_TITLES: usize = 3;

/// Durations of asynchronous intervals with the same name.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::chrome) struct Tasks {
    count: u64,
    total_ns: i64,
    longest_ns: i64,
}

impl Tasks {
    pub fn add(&mut self, dur_ns: i64) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(dur_ns);
        self.longest_ns = self.longest_ns.max(dur_ns);
    }
}

impl Collector<'_> {
    /// Says what a file holds that has asynchronous intervals, and no work of a thread or a device.
    pub fn name_tasks(&mut self) {
        let kept = &self.notes.kept;
        let kept = |table: &str| kept.get(table).copied().unwrap_or(0);
        let count: u64 = self.tasks.values().map(|tasks| tasks.count).sum();
        let of_device = kept("kernels") + kept("transfers");
        let of_host = kept("calls") + kept("syncs") + kept("samples");
        if count == 0 || kept("bricks") != count || of_device + of_host > 0 {
            return;
        }
        let mut names: Vec<(u32, Tasks)> =
            self.tasks.iter().map(|(name, of)| (*name, *of)).collect();
        names.sort_by_key(|(name, tasks)| (std::cmp::Reverse(tasks.count), *name));
        let titles = names.iter().take(MAX_TITLES).map(|(name, tasks)| {
            let name = self.into.str(self.texts[*name as usize]);
            let mean = wording::time((tasks.total_ns as f64 / tasks.count as f64).round() as i64);
            let longest = wording::time(tasks.longest_ns);
            format!(
                "{name} {} ({mean} on average, {longest} at most)",
                wording::count(tasks.count)
            )
        });
        let mut titles = titles.collect::<Vec<_>>().join(", ");
        if names.len() > MAX_TITLES {
            titles.push_str(&format!(" and {} more names", names.len() - MAX_TITLES));
        }
        self.notes.warn(format!(
            "the file holds asynchronous intervals and nothing else: {titles}; what ran in them was not recorded (hint: \
             trueno-analyze query FILE 'SELECT name, start_ns, dur_ns FROM bricks' lists them)"
        ));
    }

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
        // Of requests numbered by their names, the category says what they are.
        let is_number = event.name == event.id && event.name.iter().all(u8::is_ascii_digit);
        let name = match (is_number, event.category.as_slice()) {
            (false, _) | (true, b"") => event.name.as_slice(),
            (true, category) => category,
        };
        let name = self.name(name);
        if matches!(event.phase, b'b' | b'S') {
            let thread = [b"async ", event.category.as_slice()].concat();
            let lane = self.lanes.number(&event.process, &thread);
            self.lanes.name_thread(&event.process, &thread, &thread);
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
        // Those of one id nest, or each end states which it is.
        let Some(open) = self.asynchronous.end_named(key, Some(name)) else {
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
            event: HostEvent::Task { key },
            order: open.order,
            name: open.name,
            node: None,
        })
    }
}
