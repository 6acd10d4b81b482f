//! Rows of the table `bricks`.

use std::collections::BTreeMap;

use trueno_analysis::hash::FastMap;
use trueno_analysis::id_index::IdIndex;
use trueno_plugin::{I64Column, Result, Run, U64Column};

use super::texts::{self, known};
use super::{NONE, Row, Rows};
use crate::counted::Counted;
use crate::label::Source;

impl Rows {
    pub(super) fn bricks(
        &mut self,
        run: &mut Run,
        prefix: &str,
        of_kernels: &mut IdIndex<u32>,
        counters: &FastMap<u64, Counted>,
    ) -> Result<()> {
        let names = self.read_texts(run, &format!("{prefix}brick_names"))?;
        let categories = self.read_texts(run, &format!("{prefix}brick_categories"))?;
        let backends = self.read_texts(run, &format!("{prefix}brick_backends"))?;
        // Threads of tasks by what spawned them.
        let tasks = run.table(&format!("{prefix}tasks"))?;
        let (parent, thread) = (tasks.u64("parent")?, tasks.i64("thread")?);
        let parents = parent.iter().map(Option::unwrap_or_default);
        let mut spawned: Vec<(u64, Option<i64>)> = parents.zip(thread.iter()).collect();
        spawned.sort();
        spawned.dedup();
        // By parent one past its last thread in the list.
        let past = IdIndex::new(|| {
            spawned
                .iter()
                .zip(1..)
                .map(|((parent, _), past)| (*parent, past))
        });
        let table = run.table(&format!("{prefix}bricks"))?;
        if table.rows() == 0 {
            return Ok(());
        }
        let ids = ["name_id", "category_id", "backend_id"];
        let (numbers, texts) = texts::packed(&table, ids, |[name, category, backend]| {
            Ok((
                known(&names, name)?,
                known(&categories, category)?,
                known(&backends, backend)?,
            ))
        })?;
        let table = texts::without(table, &ids)?;
        let (id, thread) = (table.u64("id")?, table.i64("thread")?);
        let is_frame = table.bool("is_frame")?;
        let (start_ns, dur_ns) = (table.i64("start_ns")?, table.i64("dur_ns")?);
        let (flops, bytes) = (table.u64("flops")?, table.u64("bytes")?);
        let is_bound = table.bool("is_bound")?;
        self.reserve(thread, flops, bytes);
        for row in 0..table.rows() {
            let number = id.value(row);
            let (name, category, backend) = texts[numbers[row] as usize];
            let name = name.unwrap_or_else(|| self.texts.number(""));
            let has_kernels = of_kernels.get(number).is_some();
            let is_declared = flops.get(row).is_some() || bytes.get(row).is_some();
            let last = past.get(number).map_or(0, |past| past as usize);
            let threads = spawned[..last].iter().rev();
            let mut threads = threads.take_while(|(parent, _)| *parent == number);
            let other_threads = threads.any(|(_, other)| *other != thread.get(row));
            if other_threads {
                self.several_threads.insert(number);
            }
            let is_frame = is_frame.value(row);
            let tells =
                other_threads || (!self.on_device.is_empty() && self.on_device.contains(&number));
            if is_frame && !is_declared && !tells && !has_kernels {
                continue;
            }
            let group = self.group(Some(name), category);
            if has_kernels {
                of_kernels.set(number, group);
            }
            let row = Row {
                source: Source::Brick,
                id: number,
                lane: (-1, thread.get(row).unwrap_or(-1)),
                start_ns: start_ns.value(row),
                dur_ns: dur_ns.value(row),
                is_bound: is_bound.value(row),
                is_valid: true,
                name,
                backend,
                device: None,
                flops: flops.get(row),
                bytes: bytes.get(row),
                group,
                is_top: !is_frame,
                tells,
            };
            if is_frame && !is_declared {
                // It has no work of its own to speak of, but it is around some.
                if tells {
                    self.push(&row, NONE, NONE);
                }
                continue;
            }
            self.row(&row, counters.get(&number));
        }
        Ok(())
    }

    /// Makes room for rows with work, so that large lanes are not moved while they grow.
    fn reserve(&mut self, thread: &I64Column, flops: &U64Column, bytes: &U64Column) {
        if self.window.is_some() {
            return; // most rows are left out
        }
        let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
        for row in 0..flops.len() {
            if flops.get(row).is_some() || bytes.get(row).is_some() {
                *counts.entry(thread.get(row).unwrap_or(-1)).or_default() += 1;
            }
        }
        for (thread, count) in counts {
            let lane = self.lanes.entry((-1, thread)).or_default();
            lane.work.reserve_exact(count);
        }
    }
}
