//! Rows of the table `bricks`.

use trueno_analysis::hash::FastMap;
use trueno_analysis::id_index::IdIndex;
use trueno_plugin::{Result, Run};

use super::row::{Row, lane_of_thread};
use super::texts::{TextSets, known};
use super::{NONE, Rows, count_of};
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
        let names = self.read_names(run, &format!("{prefix}brick_names"))?;
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
        let mut sets = TextSets::default();
        let mut batches = run.batches(&format!("{prefix}bricks"))?;
        while let Some(batch) = batches.next_batch()? {
            let (id, thread) = (batch.u64("id")?, batch.i64("thread")?);
            let is_frame = batch.bool("is_frame")?;
            let (start_ns, dur_ns) = (batch.i64("start_ns")?, batch.i64("dur_ns")?);
            let (flops, bytes) = (batch.u64("flops")?, batch.u64("bytes")?);
            let is_bound = batch.bool("is_bound")?;
            let columns = [
                batch.i64("name_id")?,
                batch.i64("category_id")?,
                batch.i64("backend_id")?,
            ];
            for row in 0..batch.rows() {
                let number = id.value(row);
                let set = sets.number(
                    columns.map(|column| column.get(row)),
                    |[name, category, backend]| {
                        Ok(Texts {
                            name: known(&names, name)?,
                            category: known(&categories, category)?,
                            backend: known(&backends, backend)?,
                            group: None,
                        })
                    },
                )?;
                let Texts {
                    name,
                    category,
                    backend,
                    group,
                } = sets.all[set as usize];
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
                let tells = other_threads
                    || (!self.on_device.is_empty() && self.on_device.contains(&number));
                if is_frame && !is_declared && !tells && !has_kernels {
                    continue;
                }
                let group = group.unwrap_or_else(|| self.group(Some(name), category));
                sets.all[set as usize].group = Some(group);
                if has_kernels {
                    of_kernels.set(number, group);
                }
                let row = Row {
                    source: Source::Brick,
                    id: number,
                    lane: lane_of_thread(thread.get(row), number),
                    start_ns: start_ns.value(row),
                    dur_ns: dur_ns.value(row),
                    is_bound: is_bound.value(row),
                    is_valid: true,
                    name,
                    backend,
                    texts: set,
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
                        let declared = self.declare(row.declared(NONE, group));
                        self.push(&row, declared, NONE);
                    }
                    continue;
                }
                self.row(&row, count_of(counters, number));
            }
        }
        // Kernels lie in bricks, mostly.
        for lane in self.lanes.values_mut() {
            lane.top.seal();
        }
        Ok(())
    }
}

/// Text numbers of a brick, and the group of such bricks once known.
#[derive(Clone, Copy)]
struct Texts {
    name: Option<u32>,
    category: Option<u32>,
    backend: Option<u32>,
    group: Option<u32>,
}
