//! The operators of a run as a tree: who called whom on each thread, and the device time that each launched.

use std::collections::{BTreeMap, HashMap};

use trueno_engine::run::Run;
use trueno_execution_graph::{Class, Content, Graph, GraphError, Node};

/// Operators of a run in preorder. The first is the run itself; its children are threads and devices.
#[derive(Clone, Debug, Default)]
pub struct OperatorTree {
    pub(super) operators: Vec<Operator>,
    /// Device work, sorted by operator and name.
    pub(super) kernels: Vec<KernelSum>,
    pub(super) names: Vec<String>,
    pub(super) untimed: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Operator {
    pub name: u32,
    /// Operators in its subtree, including itself.
    pub size: u32,
    /// Number of calls; 1 except for device work without an operator.
    pub calls: u32,
    pub device_ns: i64,
    /// Time on its thread outside its child operators.
    pub host_self_ns: i64,
    pub is_iteration: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KernelSum {
    pub operator: u32,
    pub name: u32,
    pub calls: u32,
    pub device_ns: i64,
}

impl OperatorTree {
    /// Builds the operator tree of a run.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub fn read(run: &Run) -> Result<OperatorTree, GraphError> {
        let graph = trueno_execution_graph::load(
            run,
            Content {
                tiles: true,
                edges: false,
            },
        )?;
        Ok(Builder::new(graph).finish())
    }

    /// Number of operators, without threads, devices and the run.
    pub(super) fn count(&self) -> u64 {
        (self.operators.len() - 1 - self.children(0).len()) as u64
    }

    /// Children in order of their starts.
    pub(super) fn children(&self, at: u32) -> Vec<u32> {
        let end = at + self.operators[at as usize].size;
        let mut children = Vec::new();
        let mut next = at + 1;
        while next < end {
            children.push(next);
            next += self.operators[next as usize].size;
        }
        children
    }

    pub(super) fn kernels_of(&self, operators: std::ops::Range<u32>) -> &[KernelSum] {
        let before = |at: u32| self.kernels.partition_point(|sum| sum.operator < at);
        &self.kernels[before(operators.start)..before(operators.end)]
    }
}

struct Builder {
    graph: Graph,
    tree: OperatorTree,
    around: Vec<u32>,
    names: HashMap<String, u32>,
}

impl Builder {
    fn new(mut graph: Graph) -> Builder {
        let names = std::mem::take(&mut graph.names);
        Builder {
            graph,
            tree: OperatorTree {
                names,
                ..OperatorTree::default()
            },
            around: Vec::new(),
            names: HashMap::new(),
        }
    }

    fn finish(mut self) -> OperatorTree {
        let root = self.name("run");
        let root = self.add(root, 0);
        let mut device: Option<(u32, u32)> = None;
        for lane in self.graph.roots() {
            let info = &self.graph.lanes[lane as usize];
            let is_device = info.is_device;
            let name = if is_device {
                device_name(&info.name).to_owned()
            } else {
                thread_name(&info.name)
            };
            let name = self.name(&name);
            // Streams of a device are one: which of them work went to is no operator.
            let at = match device {
                Some((same, at)) if is_device && same == name => at,
                _ => self.add(name, root),
            };
            device = is_device.then_some((name, at));
            self.lane(lane, at);
        }
        // It is far larger than the tree.
        self.graph = Graph::default();
        self.kernels_without_operators();
        self.put_in_order();
        self.tree
    }

    fn add(&mut self, name: u32, around: u32) -> u32 {
        let at = self.tree.operators.len() as u32;
        self.around.push(around);
        self.tree.operators.push(Operator {
            name,
            size: 1,
            calls: 1,
            device_ns: 0,
            host_self_ns: 0,
            is_iteration: false,
        });
        at
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.names.get(name) {
            return number;
        }
        let number = self.tree.names.len() as u32;
        self.tree.names.push(name.to_owned());
        self.names.insert(name.to_owned(), number);
        number
    }

    /// Adds what is below a lane to the operator that stands for it.
    fn lane(&mut self, lane: u32, at: u32) {
        let mut open: Vec<(u32, u32)> = Vec::new();
        push_children(&mut open, &self.graph, &self.tree.names, lane, at);
        while let Some((node, around)) = open.pop() {
            let Node {
                class,
                name,
                self_ns,
                ..
            } = self.graph.node(node);
            let is_timed = self.graph.node(node).is_timed();
            let at = if self.graph.lane(node).is_device {
                self.tree.untimed += u64::from(!is_timed);
                self.tree.kernels.push(KernelSum {
                    operator: around,
                    name,
                    calls: 1,
                    device_ns: self_ns,
                });
                around
            } else if is_operator(class) {
                let name = match class {
                    Class::Iteration => {
                        let name = without_numbers(&self.tree.names[name as usize]);
                        self.name(&name)
                    }
                    _ => name,
                };
                let at = self.add(name, around);
                let operator = &mut self.tree.operators[at as usize];
                operator.is_iteration = class == Class::Iteration;
                operator.host_self_ns = self_ns;
                at
            } else {
                let host_self_ns = &mut self.tree.operators[around as usize].host_self_ns;
                *host_self_ns = host_self_ns.saturating_add(self_ns);
                around
            };
            push_children(&mut open, &self.graph, &self.tree.names, node, at);
        }
    }

    /// Adds device work that no operator launched: each name becomes an operator below its thread or device.
    fn kernels_without_operators(&mut self) {
        let is_lane = |around: &[u32], at: u32| at != 0 && around[at as usize] == 0;
        let mut sums: BTreeMap<(u32, String), (u32, u32, i64)> = BTreeMap::new();
        let kernels = std::mem::take(&mut self.tree.kernels);
        for kernel in &kernels {
            if is_lane(&self.around, kernel.operator) {
                let name = self.tree.names[kernel.name as usize].clone();
                let sum = sums.entry((kernel.operator, name));
                let sum = sum.or_insert((kernel.name, 0, 0));
                sum.1 += 1;
                sum.2 = sum.2.saturating_add(kernel.device_ns);
            }
        }
        let of_operators = kernels.into_iter();
        self.tree.kernels = of_operators
            .filter(|kernel| !is_lane(&self.around, kernel.operator))
            .collect();
        for ((lane, _), (name, calls, device_ns)) in sums {
            let at = self.add(name, lane);
            self.tree.operators[at as usize].calls = calls;
            self.tree.kernels.push(KernelSum {
                operator: at,
                name,
                calls,
                device_ns,
            });
        }
    }

    /// Sorts into preorder, and sums kernels by operator and name.
    fn put_in_order(&mut self) {
        let count = self.around.len();
        for at in (1..count).rev() {
            let size = self.tree.operators[at].size;
            self.tree.operators[self.around[at] as usize].size += size;
        }
        // Operators stand before those in them, but for the kernels of lanes, which were added last.
        let mut places = vec![0_u32; count];
        let mut next = vec![1_u32; count];
        for at in 1..count {
            let around = self.around[at] as usize;
            places[at] = places[around] + next[around];
            next[around] += self.tree.operators[at].size;
        }
        if !places.is_sorted() {
            let mut order: Vec<u32> = (0..count as u32).collect();
            order.sort_unstable_by_key(|at| places[*at as usize]);
            let operators = &self.tree.operators;
            let ordered = order.iter().map(|at| operators[*at as usize].clone());
            self.tree.operators = ordered.collect();
        }
        let kernels = &mut self.tree.kernels;
        for kernel in kernels.iter_mut() {
            kernel.operator = places[kernel.operator as usize];
            let operator = &mut self.tree.operators[kernel.operator as usize];
            operator.device_ns = operator.device_ns.saturating_add(kernel.device_ns);
        }
        kernels.sort_unstable_by_key(|kernel| (kernel.operator, kernel.name));
        kernels.dedup_by(|next, kept| {
            let is_same = (next.operator, next.name) == (kept.operator, kept.name);
            if is_same {
                kept.calls += next.calls;
                kept.device_ns = kept.device_ns.saturating_add(next.device_ns);
            }
            is_same
        });
    }
}

/// Pushes a node's children on the stack, the first on top. Children on other threads come last, sorted by name,
/// because the order in which threads start them varies.
fn push_children(open: &mut Vec<(u32, u32)>, graph: &Graph, names: &[String], node: u32, at: u32) {
    let children = graph.children(node);
    let of_another_thread = |child: u32| {
        let lane = graph.node(child).lane;
        lane != graph.node(node).lane && !graph.lanes[lane as usize].is_device
    };
    let first = open.len();
    open.extend(children.iter().map(|child| (*child, at)));
    if children.iter().any(|child| of_another_thread(*child)) {
        open[first..].sort_by_key(|(child, _)| {
            let name = graph.node(*child).name as usize;
            of_another_thread(*child).then(|| names[name].as_str())
        });
    }
    open[first..].reverse();
}

/// Calls, waits and host copies are details of an operator, not operators.
fn is_operator(class: Class) -> bool {
    match class {
        Class::Run
        | Class::Iteration
        | Class::Layer
        | Class::Brick
        | Class::Function
        | Class::Task
        | Class::Kernel => true,
        Class::Lane | Class::Tile | Class::Transfer | Class::Call | Class::Sync => false,
    }
}

fn device_name(lane: &str) -> &str {
    lane.split("/stream ").next().unwrap_or(lane)
}

/// Removes rank, thread and process ids, which differ between runs: `thread 0 main` becomes `main`.
pub(super) fn thread_name(lane: &str) -> String {
    let is_number = |word: &str| {
        let word = word
            .strip_prefix('(')
            .and_then(|word| word.strip_suffix(')'))
            .unwrap_or(word);
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut words: Vec<&str> = Vec::new();
    for word in lane.split(' ') {
        match words.last() {
            Some(&"thread") if is_number(word) => {}
            Some(&"rank") if is_number(word) => words.push("*"),
            Some(_) if word.starts_with('(') && is_number(word) => {}
            _ => words.push(word),
        }
    }
    // A name of its own says more.
    match words.iter().position(|word| *word == "thread") {
        Some(at) if at + 1 < words.len() => drop(words.remove(at)),
        _ => {}
    }
    words.join(" ")
}

fn without_numbers(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut was_digit = false;
    for c in name.chars() {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !was_digit {
            out.push('*');
        }
        was_digit = c.is_ascii_digit();
    }
    out
}
