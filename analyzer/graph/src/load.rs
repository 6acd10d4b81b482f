//! From the tables of a run to the graph.

use std::collections::{BTreeMap, HashMap};

use trueno_analysis::start_order::{Interval, sort_by_start, start_key};
use trueno_engine::Lane;
use trueno_engine::attributes::Attributes;
use trueno_engine::query::Database;
use trueno_engine::run::{Run, RunError};

use super::columns::{self, Names, NumberedNames, Place};
use super::detail_columns::Details;
use super::links::{self, Link};
use super::{Class, Detail, Graph, LaneInfo, NONE, Node, Timing, pools, sums, sweep};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Tiles; without them their time is self time of what they lie in.
    pub tiles: bool,
    pub edges: bool,
}

/// The reason why there is no graph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A table of the run cannot be published.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A table cannot be read.
    #[error("{table}: cannot be read: {why}")]
    Table {
        table: &'static str,
        /// Message of the engine.
        why: String,
    },
    /// More rows than a graph can number.
    #[error("the run has more than 4 billion rows, which are too many to show as a graph")]
    TooMany,
}

/// Columns of one table.
struct Source {
    table: &'static str,
    class: Class,
    /// Column with the text that names a row, and the one to fall back to.
    names: [&'static str; 2],
    /// Column that says what it lies in.
    link: &'static str,
    columns: &'static [&'static str],
}

const SOURCES: [Source; 6] = [
    Source {
        table: "bricks",
        class: Class::Brick,
        names: ["name", "name"],
        link: "parent",
        columns: &[
            "id",
            "parent",
            "kind",
            "name",
            "thread",
            "start_ns",
            "dur_ns",
            "timing",
            "iteration",
            "layer",
            "elements",
            "signature",
        ],
    },
    Source {
        table: "kernels",
        class: Class::Kernel,
        names: ["name", "name"],
        link: "brick",
        columns: &[
            "id",
            "brick",
            "name",
            "thread",
            "device",
            "stream",
            "correlation",
            "start_ns",
            "dur_ns",
            "timing",
            "valid",
            "grid_x",
            "grid_y",
            "grid_z",
            "block_x",
            "block_y",
            "block_z",
            "registers",
            "smem_static",
            "smem_dynamic",
            "ptx_hash",
            "reason",
            "elements",
        ],
    },
    Source {
        table: "tiles",
        class: Class::Tile,
        names: ["level", "level"],
        link: "parent",
        columns: &[
            "id", "parent", "level", "row", "col", "depth", "thread", "start_ns", "dur_ns",
            "elements",
        ],
    },
    Source {
        table: "transfers",
        class: Class::Transfer,
        names: ["direction", "direction"],
        link: "brick",
        columns: &[
            "id",
            "brick",
            "direction",
            "bytes",
            "thread",
            "device",
            "stream",
            "correlation",
            "start_ns",
            "dur_ns",
            "timing",
        ],
    },
    Source {
        table: "calls",
        class: Class::Call,
        names: ["name", "name"],
        link: "brick",
        columns: &[
            "id",
            "brick",
            "name",
            "thread",
            "correlation",
            "start_ns",
            "dur_ns",
        ],
    },
    Source {
        table: "syncs",
        class: Class::Sync,
        names: ["name", "kind"],
        link: "",
        columns: &[
            "id",
            "name",
            "kind",
            "thread",
            "device",
            "stream",
            "correlation",
            "start_ns",
            "dur_ns",
        ],
    },
];

/// Reads the graph of a run.
///
/// # Errors
/// See [`GraphError`].
pub fn load(run: &Run, content: Content) -> Result<Graph, GraphError> {
    let database = run.sql_context()?;
    let mut loader = Loader::default();
    loader.reserve(run);
    for source in &SOURCES {
        loader.table(&database, source)?;
    }
    let edges = links::edges(&database, &mut loader.names)?;
    loader.finish(&database, run, &edges, content)
}

#[derive(Default)]
struct Loader {
    names: Names,
    nodes: Vec<Node>,
    /// Links of the nodes, in the order of `nodes`.
    links: Vec<Link>,
    /// Declared elements of the nodes that have some.
    elements: Vec<(u32, u64)>,
    /// Threads before streams, with the order in which they were met.
    lanes: BTreeMap<Lane, u32>,
    details: Vec<Detail>,
    numbers: HashMap<Detail, u32>,
}

/// Lanes that rows and lanes need no second list for.
const MANY_LANES: usize = 1 << 12;

impl Loader {
    /// Lists that grow would be copied, and have room for nearly twice as many. The number of rows is only what the run
    /// says of itself, so none is fine too.
    fn reserve(&mut self, run: &Run) {
        let rows = usize::try_from(run.facts().intervals()).unwrap_or(0);
        let _ = self
            .nodes
            .try_reserve_exact(rows.saturating_add(MANY_LANES));
        let _ = self.links.try_reserve_exact(rows);
    }

    fn detail(&mut self, detail: Detail) -> u32 {
        if let Some(&number) = self.numbers.get(&detail) {
            return number;
        }
        let number = self.details.len() as u32;
        self.details.push(detail.clone());
        self.numbers.insert(detail, number);
        number
    }

    /// Lanes get their final numbers at the end, so far in the order in which they are met.
    fn lane(&mut self, lane: Lane) -> u32 {
        let next = self.lanes.len() as u32;
        *self.lanes.entry(lane).or_insert(next)
    }

    fn table(&mut self, database: &Database, source: &Source) -> Result<(), GraphError> {
        let (columns, windows) = columns::open(database, source.table, source.columns)?;
        let [first, second] = source.names;
        let names = self
            .names
            .numbered(database, &columns, source.table, first)?;
        let others = if second == first {
            NumberedNames::default()
        } else {
            self.names
                .numbered(database, &columns, source.table, second)?
        };
        let unnamed = self.names.number("?");
        let kinds = match source.class {
            Class::Brick => self
                .names
                .numbered(database, &columns, source.table, "kind")?,
            _ => NumberedNames::default(),
        };
        let column = |name: &str| columns.place(name);
        let (name, other) = (column(first), column(second));
        let (id, link, kind) = (column("id"), column(source.link), column("kind"));
        let (thread, device, stream) = (column("thread"), column("device"), column("stream"));
        let (start, dur) = (column("start_ns"), column("dur_ns"));
        let (elements, correlation) = (column("elements"), column("correlation"));
        let (timing, valid) = (column("timing"), column("valid"));
        let bound = columns.texts.number("bound");
        let details = Details::load(database, source.class, &columns, &mut self.names)?;
        let mut last = None;
        for window in windows {
            let window = window.map_err(|error| GraphError::Table {
                table: source.table,
                why: error.to_string(),
            })?;
            let rows = &window.tables[0];
            if u32::try_from(self.nodes.len() + rows.len()).is_err() {
                return Err(GraphError::TooMany);
            }
            let mut same_detail = None;
            let is_same_detail = rows.batches().all(|batch| details.is_same(batch));
            for row in rows.rows() {
                let row = &row;
                let lane = match device.u64(row) {
                    Some(device) if source.class != Class::Sync || thread.u64(row).is_none() => {
                        Lane::Stream(device, stream.u64(row))
                    }
                    _ => Lane::Thread(thread.u64(row)),
                };
                let lane = match last {
                    Some((seen, number)) if seen == lane => number,
                    _ => {
                        let number = self.lane(lane);
                        last = Some((lane, number));
                        number
                    }
                };
                let class = match kind.bits(row) {
                    Some(kind) if source.class == Class::Brick => {
                        kinds.get(kind).map_or(Class::Brick, |kind| {
                            Class::of_kind(&self.names.names[kind as usize])
                        })
                    }
                    _ => source.class,
                };
                let name_of = |column: Place, names: &NumberedNames| {
                    column.bits(row).and_then(|number| names.get(number))
                };
                let detail = match same_detail.filter(|_| is_same_detail) {
                    Some(detail) => detail,
                    None => {
                        let detail = details.detail(class, row, &self.names);
                        detail.map_or(NONE, |detail| self.detail(detail))
                    }
                };
                same_detail = Some(detail);
                let (start_ns, dur_ns) = (start.i64(row), dur.i64(row));
                let timing = if bound.is_some() && timing.bits(row) == bound {
                    Timing::Bound
                } else if valid.bits(row) == Some(0) {
                    Timing::Invalid
                } else if start_ns
                    .zip(dur_ns)
                    .is_none_or(|(start, dur)| dur < 0 || start.checked_add(dur).is_none())
                {
                    Timing::Impossible
                } else {
                    Timing::Measured
                };
                if let Some(elements) = elements.u64(row) {
                    self.elements.push((self.nodes.len() as u32, elements));
                }
                self.nodes.push(Node {
                    id: id.u64(row).unwrap_or_default(),
                    start_ns: start_ns.unwrap_or_default(),
                    dur_ns: dur_ns.unwrap_or_default(),
                    self_ns: 0,
                    device_ns: 0,
                    name: name_of(name, &names)
                        .or_else(|| name_of(other, &others))
                        .unwrap_or(unnamed),
                    parent: NONE,
                    lane,
                    detail,
                    class,
                    timing,
                    has_device: false,
                    has_untimed_device: false,
                });
                self.links
                    .push(Link::new(link.u64(row), correlation.u64(row)));
            }
        }
        Ok(())
    }

    /// The declared elements by node, where any row has some.
    fn elements_in_order(&mut self, order: &[u32], lanes: usize) -> Vec<Option<u64>> {
        if self.elements.is_empty() {
            return Vec::new();
        }
        let mut by_row = vec![None; order.len()];
        for (row, elements) in std::mem::take(&mut self.elements) {
            by_row[row as usize] = Some(elements);
        }
        let of_lanes = std::iter::repeat_n(None, lanes);
        let of_rows = order.iter().map(|row| by_row[*row as usize]);
        of_lanes.chain(of_rows).collect()
    }

    fn finish(
        mut self,
        database: &Database,
        run: &Run,
        edges: &[links::Edge],
        content: Content,
    ) -> Result<Graph, GraphError> {
        let threads = links::thread_names(database)?;
        let of_ranks = !run.ranks().is_empty();
        let count = self.lanes.len();
        let mut lanes = Vec::with_capacity(count);
        let mut final_number = vec![0_u32; count];
        let mut lane_nodes = Vec::with_capacity(count);
        for (at, (lane, met)) in self.lanes.iter().enumerate() {
            final_number[*met as usize] = at as u32;
            let name = lane.name(&threads, of_ranks);
            lane_nodes.push(lane_node(at as u32, self.names.number(&name)));
            lanes.push(LaneInfo {
                name,
                is_device: matches!(lane, Lane::Stream(..)),
            });
        }
        let merged_names = self.names.merged(database)?;
        // The outer first, so that children follow what they lie in.
        let order = in_order(&self.nodes);
        let elements = self.elements_in_order(&order, lanes.len());
        let links: Vec<Link> = order.iter().map(|at| self.links[*at as usize]).collect();
        put_in_order(&mut self.nodes, order);
        for node in &mut self.nodes {
            node.lane = final_number[node.lane as usize];
        }
        self.nodes.splice(0..0, lane_nodes);
        let attributes = Attributes::read(database).map_err(|error| GraphError::Table {
            table: "attributes",
            why: error.to_string(),
        })?;
        let mut graph = Graph {
            attributes,
            nodes: self.nodes,
            elements,
            lanes,
            names: self.names.names,
            merged_names,
            details: self.details,
            wall_ns: run.facts().wall_ns,
            without_tiles: !content.tiles,
            ..Graph::default()
        };
        pools::find(&mut graph);
        let around = sweep::sweep(&mut graph);
        links::hang(&mut graph, &links, &around, edges);
        if content.edges {
            links::keep_edges(&mut graph, edges);
        }
        sums::index(&mut graph);
        sums::add_up(&mut graph);
        Ok(graph)
    }
}

/// Times of a node, and its place.
#[derive(Clone, Copy)]
struct Times {
    start_ns: i64,
    end_ns: i64,
    id: u64,
    at: u32,
}

impl Interval for Times {
    #[inline]
    fn times(&self) -> (i64, i64, u64) {
        (self.start_ns, self.end_ns, self.id)
    }
}

/// Places of the nodes in the order of their starts, the outer first; those that nothing tells apart stay in theirs.
fn in_order(nodes: &[Node]) -> Vec<u32> {
    let times = (0..).zip(nodes).map(|(at, node)| Times {
        start_ns: node.start_ns,
        end_ns: node.end_ns(),
        id: node.id,
        at,
    });
    let mut order: Vec<Times> = times.collect();
    sort_by_start(&mut order);
    for same in order.chunk_by_mut(|a, b| start_key(a) == start_key(b)) {
        if same.len() > 1 {
            same.sort_unstable_by_key(|times| times.at);
        }
    }
    order.into_iter().map(|times| times.at).collect()
}

/// Moves each node to where the order has its place: there may be too many for a second list of them.
fn put_in_order(nodes: &mut [Node], mut order: Vec<u32>) {
    for first in 0..order.len() {
        let mut to = first;
        loop {
            let from = std::mem::replace(&mut order[to], to as u32) as usize;
            if from == first {
                break;
            }
            nodes.swap(to, from);
            to = from;
        }
    }
}

fn lane_node(lane: u32, name: u32) -> Node {
    Node {
        id: 0,
        start_ns: 0,
        dur_ns: 0,
        self_ns: 0,
        device_ns: 0,
        name,
        parent: NONE,
        lane,
        detail: NONE,
        class: Class::Lane,
        timing: Timing::Measured,
        has_device: false,
        has_untimed_device: false,
    }
}
