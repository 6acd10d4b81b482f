//! Rows of the table `kernels`.

use trueno_analysis::hash::FastMap;
use trueno_analysis::id_index::IdIndex;
use trueno_plugin::{Result, Run, Table};

use super::texts::{self, known};
use super::{NO_GROUP, Row, Rows, UNCATEGORISED};
use crate::counted::Counted;
use crate::label::{Group, Source};

impl Rows {
    pub(super) fn kernels(
        &mut self,
        run: &mut Run,
        prefix: &str,
        table: Table,
        groups: &IdIndex<u32>,
        counters: &FastMap<u64, Counted>,
    ) -> Result<()> {
        let names = self.read_texts(run, &format!("{prefix}kernel_names"))?;
        let backends = self.read_texts(run, &format!("{prefix}kernel_backends"))?;
        if table.rows() == 0 {
            return Ok(());
        }
        let ids = ["name_id", "backend_id"];
        let (numbers, texts) = texts::packed(&table, ids, |[name, backend]| {
            Ok((known(&names, name)?, known(&backends, backend)?))
        })?;
        let table = texts::without(table, &ids)?;
        let (id, brick) = (table.u64("id")?, table.u64("brick")?);
        let (thread, device) = (table.i64("thread")?, table.i64("device")?);
        let stream = table.i64("stream")?;
        let (start_ns, dur_ns) = (table.i64("start_ns")?, table.i64("dur_ns")?);
        let (flops, bytes) = (table.u64("flops")?, table.u64("bytes")?);
        let (is_bound, valid) = (table.bool("is_bound")?, table.bool("valid")?);
        for row in 0..table.rows() {
            let (name, backend) = texts[numbers[row] as usize];
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
                    None => (-1, thread.get(row).unwrap_or(-1)),
                },
                start_ns: start_ns.value(row),
                dur_ns: dur_ns.value(row),
                is_bound: is_bound.value(row),
                is_valid: valid.value(row),
                name,
                backend,
                device,
                flops: flops.get(row),
                bytes: bytes.get(row),
                group,
                is_top: true,
                tells: false,
            };
            self.row(&row, counters.get(&row.id));
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
