//! Rows of a tree: one node each, or all of one name below one parent. Names that hold ids are one name.

use std::collections::{BTreeMap, HashMap};

use trueno_analysis::quantiles::middle_pair;
use trueno_analysis::unions::UnionLength;

use super::{Class, Detail, Filter, Graph, Launch, Timing};

/// One row of a tree: one or more nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub class: Class,
    /// Number of the nodes' name, or of their group's name.
    pub name: u32,
    pub members: Vec<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub count: u64,
    /// Rows without times of their own: bound, invalid, impossible.
    pub untimed: [u64; 3],
    /// Time on host threads: the union of the intervals on each thread. `None` if no host row has times.
    pub host_ns: Option<i64>,
    /// Self time, a part of `host_ns`.
    pub self_ns: Option<i64>,
    /// Time of device work in the rows and their descendants; `None` if there is none or it was not measured.
    pub device_ns: Option<i64>,
    pub lacks_device: bool,
    /// Time on the critical path, with descendants.
    pub path_ns: i64,
    /// Time on the critical path, without descendants.
    pub path_self_ns: i64,
    /// Sum of declared elements; `None` if no row has any.
    pub elements: Option<u64>,
    /// Shortest, median and longest duration of rows with times.
    pub spread_ns: Option<[i64; 3]>,
    pub slack_ns: Option<i64>,
}

impl Group {
    pub fn is_one(&self) -> bool {
        self.members.len() == 1
    }
}

impl Totals {
    pub fn weight_ns(&self) -> i64 {
        self.host_ns.max(self.device_ns).unwrap_or(0)
    }
}

impl Graph {
    /// The lanes. Merged, short-lived threads of one role are one row.
    pub fn top(&self, merge: bool, filter: Option<&Filter>) -> Vec<Group> {
        let mut roots = self.roots();
        roots.retain(|at| filter.is_none_or(|filter| filter.keeps(*at)));
        let mut groups: Vec<Group> = Vec::new();
        let mut pools: HashMap<u32, usize> = HashMap::new();
        for at in roots {
            let pooled = self.pooled_lanes.get(at as usize).copied().flatten();
            let Some((first, name)) = pooled.filter(|_| merge) else {
                groups.push(self.alone(at));
                continue;
            };
            match pools.get(&first) {
                Some(place) => groups[*place].members.push(at),
                None => {
                    pools.insert(first, groups.len());
                    groups.push(Group {
                        name,
                        ..self.alone(at)
                    });
                }
            }
        }
        groups
    }

    fn alone(&self, at: u32) -> Group {
        Group {
            class: self.node(at).class,
            name: self.node(at).name,
            members: vec![at],
        }
    }

    /// The children: each node in order of start, or one row per name in order of first appearance.
    pub fn below(&self, group: &Group, merge: bool, filter: Option<&Filter>) -> Vec<Group> {
        let children = group.members.iter().flat_map(|at| self.children(*at));
        let children = children
            .copied()
            .filter(|at| filter.is_none_or(|filter| filter.keeps(*at)));
        if !merge {
            return children.map(|at| self.alone(at)).collect();
        }
        let mut groups: Vec<Group> = Vec::new();
        let mut places: HashMap<(Class, u32, bool), usize> = HashMap::new();
        for at in children {
            let key = (
                self.node(at).class,
                self.merged_name(at),
                self.lane(at).is_device,
            );
            match places.get(&key) {
                Some(place) => {
                    let group = &mut groups[*place];
                    group.members.push(at);
                    if group.name != self.node(at).name {
                        group.name = self.merged_name(at);
                    }
                }
                None => {
                    places.insert(key, groups.len());
                    groups.push(self.alone(at));
                }
            }
        }
        groups
    }

    pub fn has_below(&self, group: &Group, filter: Option<&Filter>) -> bool {
        let mut children = group.members.iter().flat_map(|at| self.children(*at));
        children.any(|at| filter.is_none_or(|filter| filter.keeps(*at)))
    }

    /// Sums over nodes, none of which may be a descendant of another.
    pub fn totals(&self, members: &[u32]) -> Totals {
        let mut totals = Totals::default();
        let mut host = Vec::new();
        let mut device = Vec::new();
        let mut spread = Vec::new();
        for &at in members {
            let node = self.node(at);
            let is_device = self.lane(at).is_device;
            let on_path = self.on_path(at);
            totals.path_ns += on_path.all_ns;
            totals.path_self_ns += on_path.self_ns;
            totals.lacks_device |= node.has_untimed_device;
            if let Some(elements) = self.elements(at) {
                totals.elements = Some(totals.elements.unwrap_or(0).saturating_add(elements));
            }
            if let Some(slack_ns) = self.slack_ns(at) {
                totals.slack_ns = Some(
                    totals
                        .slack_ns
                        .map_or(slack_ns, |least| least.min(slack_ns)),
                );
            }
            if node.class == Class::Lane {
                // Busy time is a union already.
                if !is_device {
                    *totals.host_ns.get_or_insert(0) += node.dur_ns;
                }
            } else {
                totals.count += 1;
                match node.timing {
                    Timing::Measured if is_device => {
                        device.push((node.lane, node.start_ns, node.end_ns()))
                    }
                    Timing::Measured => {
                        host.push((node.lane, node.start_ns, node.end_ns()));
                        *totals.self_ns.get_or_insert(0) += node.self_ns;
                    }
                    untimed => totals.untimed[untimed as usize - 1] += 1,
                }
                if node.is_timed() {
                    spread.push(node.dur_ns);
                }
            }
            // A device row has its own interval, below; all others have what is below them.
            let own = is_device && node.class != Class::Lane && node.is_timed();
            if node.has_device {
                let below = if own {
                    node.device_ns - node.self_ns
                } else {
                    node.device_ns
                };
                *totals.device_ns.get_or_insert(0) += below;
            }
        }
        if !host.is_empty() {
            totals.host_ns = Some(totals.host_ns.unwrap_or(0) + union(host));
        }
        if !device.is_empty() {
            totals.device_ns = Some(totals.device_ns.unwrap_or(0) + union(device));
        }
        if !spread.is_empty() {
            // Of an even number the mean of the middle two, rounded down.
            let middle = middle_pair(&mut spread, i64::cmp).unwrap_or_default();
            let median = middle.0 + (middle.1 - middle.0) / 2;
            let min = spread.iter().min().copied().unwrap_or(median);
            let max = spread.iter().max().copied().unwrap_or(median);
            totals.spread_ns = Some([min, median, max]);
        }
        totals
    }

    /// Launch configurations of kernels among these nodes, with counts; the most frequent first.
    pub fn launches(&self, members: &[u32]) -> Vec<(&Launch, u64)> {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for &at in members {
            if let Some(Detail::Launch(_)) = self.detail(at) {
                *counts.entry(self.node(at).detail).or_default() += 1;
            }
        }
        let launch = |(number, count): (u32, u64)| match &self.details[number as usize] {
            Detail::Launch(launch) => Some((launch, count)),
            _ => None,
        };
        let mut launches: Vec<_> = counts.into_iter().filter_map(launch).collect();
        launches.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        launches
    }

    pub fn share(&self, ns: Option<i64>) -> Option<f64> {
        let wall_ns = self.wall_ns.filter(|wall_ns| *wall_ns > 0)?;
        Some(ns? as f64 / wall_ns as f64)
    }
}

/// Time in which at least one interval was open on its lane, summed over lanes.
fn union(mut intervals: Vec<(u32, i64, i64)>) -> i64 {
    intervals.sort_unstable();
    let mut union = UnionLength::default();
    for lane in intervals.chunk_by(|a, b| a.0 == b.0) {
        union.next_lane();
        for (_, start_ns, end_ns) in lane {
            union.add(*start_ns, *end_ns);
        }
    }
    union.total_ns()
}
