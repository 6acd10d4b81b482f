//! Counters of single kernels, kept until it is known which rows the kernels become.

use std::path::Path;

use trueno_format::schema::CounterRow;

use super::{Collector, sorted};
use crate::Error;
use crate::sorter::Sorter;

/// Marks keys of kernels whose counters come with their event.
const OF_EVENT: u64 = 1 << 63;

pub struct KernelCounters {
    /// Key of the kernel; time; name; value.
    values: Sorter<4>,
    /// Key of the kernel; its event.
    keys: Sorter<2>,
    /// Event; row.
    rows: Sorter<2>,
    has_any: bool,
}

impl KernelCounters {
    pub fn new(folder: &Path) -> Self {
        Self {
            values: Sorter::small(folder.join("import.kernel_counters")),
            keys: Sorter::small(folder.join("import.kernel_keys")),
            rows: Sorter::small(folder.join("import.kernel_rows")),
            has_any: false,
        }
    }
}

fn push<const N: usize>(to: &mut Sorter<N>, words: [u64; N]) -> Result<(), Error> {
    let done = to.push(words);
    done.map_err(|e| Error::io(to.path(), "write it", e))
}

impl Collector<'_> {
    /// States the key of the kernel that the last event is. Only keys that one kernel has lead to it.
    pub fn key_of_kernel(&mut self, key: u64) -> Result<(), Error> {
        let order = self.order;
        push(&mut self.kernel_counters.keys, [key & !OF_EVENT, order])
    }

    /// A counter of the kernel that the last event is.
    pub fn counter_of_event(&mut self, name: &str, time_ns: i64, value: f64) -> Result<(), Error> {
        let key = self.order | OF_EVENT;
        self.put_kernel_counter(key, name, time_ns, value)
    }

    /// A counter of the kernel with a key, wherever in the files it stands.
    pub fn counter_of_key(
        &mut self,
        key: u64,
        name: &str,
        time_ns: i64,
        value: f64,
    ) -> Result<(), Error> {
        self.categories.met(b'C', b"");
        self.reach(time_ns, time_ns);
        self.put_kernel_counter(key & !OF_EVENT, name, time_ns, value)
    }

    fn put_kernel_counter(
        &mut self,
        key: u64,
        name: &str,
        time_ns: i64,
        value: f64,
    ) -> Result<(), Error> {
        self.kernel_counters.has_any = true;
        let name = self.name(name.as_bytes());
        let words = [key, time_ns.cast_unsigned(), name.into(), value.to_bits()];
        push(&mut self.kernel_counters.values, words)
    }

    pub(super) fn kernel_became(&mut self, order: u64, id: u64) -> Result<(), Error> {
        if self.kernel_counters.has_any {
            push(&mut self.kernel_counters.rows, [order, id])?;
        }
        Ok(())
    }

    /// Writes the counters, each with its kernel where exactly one has its key.
    pub fn write_kernel_counters(&mut self, origin_ns: i64) -> Result<(), Error> {
        if !self.kernel_counters.has_any {
            return Ok(());
        }
        let path = self.kernel_counters.values.path().to_owned();
        let broken = |e| Error::io(&path, "read it", e);
        let mut values = sorted(&mut self.kernel_counters.values)?;
        let mut keys = sorted(&mut self.kernel_counters.keys)?;
        let mut by_event = Sorter::<4>::small(path.with_extension("kernel_values"));
        let mut next = keys.next().map_err(broken)?;
        // The event of the last key that was looked up, if it is the only one.
        let mut found: (u64, Option<u64>) = (OF_EVENT, None);
        while let Some([key, time, name, value]) = values.next().map_err(broken)? {
            let event = if key & OF_EVENT != 0 {
                Some(key & !OF_EVENT)
            } else if found.0 == key {
                found.1
            } else {
                let mut events = Vec::new();
                while let Some([of, event]) = next.filter(|[of, _]| *of <= key) {
                    if of == key && events.len() < 2 {
                        events.push(event);
                    }
                    next = keys.next().map_err(broken)?;
                }
                found = (key, events.first().copied().filter(|_| events.len() == 1));
                found.1
            };
            push(&mut by_event, [event.unwrap_or(0), time, name, value])?;
        }
        let measured = self.into.text("measured");
        let mut by_event = sorted(&mut by_event)?;
        let mut rows = sorted(&mut self.kernel_counters.rows)?;
        let mut row = rows.next().map_err(broken)?;
        while let Some([event, time, name, value]) = by_event.next().map_err(broken)? {
            while row.is_some_and(|[of, _]| of < event) {
                row = rows.next().map_err(broken)?;
            }
            self.add(&CounterRow {
                time_ns: time.cast_signed() - origin_ns,
                span: row.filter(|[of, _]| *of == event).map(|[_, id]| id),
                name: self.texts[name as usize],
                value: f64::from_bits(value),
                source: measured,
                ..CounterRow::default()
            })?;
        }
        Ok(())
    }
}
