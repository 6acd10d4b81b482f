//! Counters of single kernels, kept until it is known which rows the kernels become.

use std::path::Path;

use trueno_format::schema::CounterRow;

use super::Collector;
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

impl Collector<'_> {
    /// States the key of the kernel that the last event is. Only keys that one kernel has lead to it.
    pub fn key_of_kernel(&mut self, key: u64) -> Result<(), Error> {
        let order = self.order;
        self.kernel_counters.keys.push([key & !OF_EVENT, order])
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
        self.kernel_counters.values.push(words)
    }

    pub(super) fn kernel_became(&mut self, order: u64, id: u64) -> Result<(), Error> {
        if self.kernel_counters.has_any {
            self.kernel_counters.rows.push([order, id])?;
        }
        Ok(())
    }

    /// Writes the counters, each with its kernel where exactly one has its key.
    pub fn write_kernel_counters(&mut self, origin_ns: i64) -> Result<(), Error> {
        if !self.kernel_counters.has_any {
            return Ok(());
        }
        let path = self.kernel_counters.values.path().to_owned();
        let mut values = self.kernel_counters.values.take()?;
        let mut keys = self.kernel_counters.keys.take()?;
        let mut by_event = Sorter::<4>::small(path.with_extension("kernel_values"));
        let mut next = keys.next()?;
        // The event of the last key that was looked up, if it is the only one.
        let mut found: (u64, Option<u64>) = (OF_EVENT, None);
        while let Some([key, time, name, value]) = values.next()? {
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
                    next = keys.next()?;
                }
                found = (key, events.first().copied().filter(|_| events.len() == 1));
                found.1
            };
            by_event.push([event.unwrap_or(0), time, name, value])?;
        }
        let measured = self.into.text("measured");
        let mut by_event = by_event.take()?;
        let mut rows = self.kernel_counters.rows.take()?;
        let mut row = rows.next()?;
        while let Some([event, time, name, value]) = by_event.next()? {
            while row.is_some_and(|[of, _]| of < event) {
                row = rows.next()?;
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
