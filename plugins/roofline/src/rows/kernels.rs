//! Rows of the table `kernels`.

use trueno_analysis::hash::FastMap;
use trueno_analysis::id_index::IdIndex;
use trueno_plugin::{Result, Run};

use super::row::{Row, lane_of_thread};
use super::texts::{TextSets, known};
use super::{NO_GROUP, Rows, UNCATEGORISED, count_of};
use crate::counted::Counted;
use crate::label::{Group, Source};

impl Rows {
    pub(super) fn kernels(
        &mut self,
        run: &mut Run,
        prefix: &str,
        groups: &IdIndex<u32>,
        counters: &FastMap<u64, Counted>,
    ) -> Result<()> {
        let names = self.read_names(run, &format!("{prefix}kernel_names"))?;
        let backends = self.read_texts(run, &format!("{prefix}kernel_backends"))?;
        let mut sets = TextSets::default();
        let mut batches = run.batches(&format!("{prefix}kernels"))?;
        while let Some(batch) = batches.next_batch()? {
            let (id, brick) = (batch.u64("id")?, batch.u64("brick")?);
            let (thread, device) = (batch.i64("thread")?, batch.i64("device")?);
            let stream = batch.i64("stream")?;
            let (start_ns, dur_ns) = (batch.i64("start_ns")?, batch.i64("dur_ns")?);
            let (flops, bytes) = (batch.u64("flops")?, batch.u64("bytes")?);
            let (is_bound, valid) = (batch.bool("is_bound")?, batch.bool("valid")?);
            let columns = [batch.i64("name_id")?, batch.i64("backend_id")?];
            for row in 0..batch.rows() {
                let set = sets
                    .number(columns.map(|column| column.get(row)), |[name, backend]| {
                        Ok((known(&names, name)?, known(&backends, backend)?))
                    })?;
                let (name, backend) = sets.all[set as usize];
                let name = name.unwrap_or_else(|| self.texts.number(""));
                let group = brick.get(row).and_then(|brick| groups.get(brick));
                let group = match group.filter(|group| *group != NO_GROUP) {
                    Some(group) => group,
                    None => self.group_of_kernel(name),
                };
                let device = device.get(row);
                let row = Row {
                    source: Source::Kernel,
                    id: id.value(row),
                    lane: match device {
                        Some(device) => (device, stream.get(row).unwrap_or(-1)),
                        None => lane_of_thread(thread.get(row), id.value(row)),
                    },
                    start_ns: start_ns.value(row),
                    dur_ns: dur_ns.value(row),
                    is_bound: is_bound.value(row),
                    is_valid: valid.value(row),
                    name,
                    backend,
                    texts: set,
                    device,
                    flops: flops.get(row),
                    bytes: bytes.get(row),
                    group,
                    is_top: true,
                    tells: false,
                };
                self.row(&row, count_of(counters, row.id));
            }
        }
        Ok(())
    }

    fn group_of_kernel(&mut self, name: u32) -> u32 {
        if let Some(&group) = self.kernel_groups.get(&name) {
            return group;
        }
        let rule = self.rules.get(self.texts.text(name)).cloned();
        let category = self.texts.number(rule.as_deref().unwrap_or(UNCATEGORISED));
        let group = self.groups.number(Group {
            brick: None,
            category,
        });
        self.kernel_groups.insert(name, group);
        group
    }
}
