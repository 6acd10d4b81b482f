//! Sums over the rows of a rank, or of several: all that results are made of, but for what [`Calls`](crate::calls::Calls)
//! tell.
//!
//! FLOPs and bytes are added as whole numbers, and texts and labels are numbered in their order, so that neither the
//! order of rows nor the grouping of ranks reaches a result.

use std::collections::BTreeMap;

use trueno_analysis::interner::{Interner, Texts};
use trueno_analysis::roofline::model::Work;

use crate::excluded;
use crate::label::{Group, Label, OneFigure};
use crate::nesting::Standing;
use crate::rows::{NONE, Rows};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub calls: u64,
    pub dur_ns: i64,
    pub flops: u128,
    pub bytes: u128,
}

impl Sum {
    #[inline]
    pub fn add(&mut self, dur_ns: i64, flops: u64, bytes: u64) {
        self.calls += 1;
        self.dur_ns = self.dur_ns.saturating_add(dur_ns);
        self.flops += u128::from(flops);
        self.bytes += u128::from(bytes);
    }

    #[inline]
    pub fn add_times(&mut self, dur_ns: i64, flops: u64, bytes: u64, calls: u64) {
        let times = i64::try_from(calls).unwrap_or(i64::MAX);
        self.merge(&Self {
            calls,
            dur_ns: dur_ns.saturating_mul(times),
            flops: u128::from(flops) * u128::from(calls),
            bytes: u128::from(bytes) * u128::from(calls),
        });
    }

    pub fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.dur_ns = self.dur_ns.saturating_add(other.dur_ns);
        self.flops = self.flops.saturating_add(other.flops);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    pub fn work(&self) -> Work {
        Work {
            flops: self.flops as f64,
            bytes: self.bytes as f64,
            dur_ns: self.dur_ns as f64,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InnermostKey {
    /// 0 for host lanes, 1 for devices.
    pub lane_kind: usize,
    pub group: Group,
    /// Label of declared work, or [`NONE`].
    pub declared: u32,
    /// Label of counted work, or [`NONE`].
    pub counted: u32,
}

/// Sums over innermost rows; work without a label is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Innermost {
    pub declared: Sum,
    pub counted: Sum,
}

#[derive(Debug, Default)]
pub struct Sums {
    pub texts: Texts,
    pub labels: Vec<Label>,
    /// By label: sum of its calls, including nested ones.
    pub points: Vec<Sum>,
    /// Innermost rows do not overlap, so their sum is the length of their union.
    pub innermost: BTreeMap<InnermostKey, Innermost>,
    /// Union of bricks and kernels, summed over the lanes of the host and of devices; `None` without such
    /// lanes.
    pub busy_ns: [Option<i64>; 2],
    pub excluded: BTreeMap<excluded::Key, excluded::Sum>,
    pub one_figure: BTreeMap<OneFigure, Sum>,
}

impl Sums {
    /// Sums up rows, whose labels are then renumbered. Rows that cannot be used are counted but belong to no
    /// point.
    pub fn of_rows(rows: &mut Rows, standing: &[Vec<Standing>]) -> Self {
        let mut out = Self {
            labels: rows.labels.all().to_vec(),
            points: vec![Sum::default(); rows.labels.all().len()],
            ..Self::default()
        };
        let mut one_figure = vec![Sum::default(); rows.one_figure.all().len()];
        let Rows {
            lanes,
            declared,
            counted,
            groups,
            excluded,
            ..
        } = rows;
        for ((key, lane), standing) in lanes.iter_mut().zip(standing) {
            let lane_kind = usize::from(key.0 >= 0);
            let mut keys: Interner<(u32, u32, u32)> = Interner::default();
            let mut booked: Vec<Innermost> = Vec::new();
            for (row, standing) in lane.work.iter().zip(standing) {
                let dur_ns = row.end_ns - row.start_ns;
                let work = &declared[row.declared as usize];
                if let Standing::Excluded(reason) = standing {
                    if work.label != NONE {
                        let label = out.labels[work.label as usize];
                        excluded.add(label.source, *reason, label.name, dur_ns);
                    }
                    continue;
                }
                let count = (row.counted != NONE).then(|| &counted[row.counted as usize]);
                let counted_label = count.map_or(NONE, |count| count.label);
                if work.label == NONE && count.is_none() {
                    if work.flops > 0 || work.bytes > 0 {
                        one_figure[work.group as usize].add(dur_ns, work.flops, work.bytes);
                    }
                    continue;
                }
                if work.label != NONE {
                    out.points[work.label as usize].add(dur_ns, work.flops, work.bytes);
                }
                if let Some(count) = count {
                    out.points[count.label as usize].add(dur_ns, count.flops, count.bytes);
                }
                if *standing != Standing::Innermost {
                    continue;
                }
                let number = keys.number((work.group, work.label, counted_label)) as usize;
                if number == booked.len() {
                    booked.push(Innermost::default());
                }
                let sums = &mut booked[number];
                if work.label != NONE {
                    sums.declared.add(dur_ns, work.flops, work.bytes);
                }
                if let Some(count) = count {
                    sums.counted.add(dur_ns, count.flops, count.bytes);
                }
            }
            for (&(group, declared, counted), sums) in keys.all().iter().zip(&booked) {
                let key = InnermostKey {
                    lane_kind,
                    group: groups.get(group),
                    declared,
                    counted,
                };
                let all = out.innermost.entry(key).or_default();
                all.declared.merge(&sums.declared);
                all.counted.merge(&sums.counted);
            }
            let busy_ns = std::mem::take(&mut lane.top).finish().total_ns();
            out.add_busy(lane_kind, busy_ns);
        }
        let labels = rows.one_figure.all().iter().copied();
        let known = labels.zip(one_figure).filter(|(_, sum)| sum.calls > 0);
        out.one_figure = known.collect();
        out.excluded = rows.excluded.sums();
        out.texts = std::mem::take(&mut rows.texts);
        rows.renumber_labels(&out.sort());
        out
    }

    pub fn add_busy(&mut self, lane_kind: usize, busy_ns: i64) {
        let busy = self.busy_ns[lane_kind].get_or_insert_default();
        *busy = busy.saturating_add(busy_ns);
    }

    /// Renumbers texts and labels in sorted order. Returns new label numbers by old ones.
    pub fn sort(&mut self) -> Vec<u32> {
        let order = order_of(self.texts.all());
        let all = order.iter().map(|old| self.texts.text(*old as u32));
        let texts: Texts = all.collect();
        self.texts = texts;
        let of_text = inverted(&order);
        let text = |old: u32| of_text[old as usize];
        for label in &mut self.labels {
            label.name = text(label.name);
            label.backend = label.backend.map(text);
            label.precision = label.precision.map(text);
        }
        let order = order_of(&self.labels);
        self.labels = order.iter().map(|old| self.labels[*old]).collect();
        self.points = order.iter().map(|old| self.points[*old]).collect();
        let labels = inverted(&order);
        let label = |old: u32| labels.get(old as usize).copied().unwrap_or(NONE);
        let innermost = std::mem::take(&mut self.innermost).into_iter();
        let renumbered = innermost.map(|(key, sums)| {
            let group = Group {
                brick: key.group.brick.map(text),
                category: text(key.group.category),
            };
            let key = InnermostKey {
                group,
                declared: label(key.declared),
                counted: label(key.counted),
                ..key
            };
            (key, sums)
        });
        self.innermost = renumbered.collect();
        let excluded = std::mem::take(&mut self.excluded).into_iter();
        let renumbered =
            excluded.map(|((source, reason, name), sum)| ((source, reason, text(name)), sum));
        self.excluded = renumbered.collect();
        let one_figure = std::mem::take(&mut self.one_figure).into_iter();
        let renumbered = one_figure.map(|(of, sum)| {
            let of = OneFigure {
                name: text(of.name),
                backend: of.backend.map(text),
                ..of
            };
            (of, sum)
        });
        self.one_figure = renumbered.collect();
        labels
    }
}

fn order_of<T: Ord>(items: &[T]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|index| &items[*index]);
    order
}

fn inverted(order: &[usize]) -> Vec<u32> {
    let mut out = vec![0; order.len()];
    for (new, old) in order.iter().enumerate() {
        out[*old] = new as u32;
    }
    out
}
