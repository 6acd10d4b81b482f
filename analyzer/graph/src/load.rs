//! From the tables of a run to the graph.

use std::collections::BTreeMap;

use trueno_engine::Lane;
use trueno_engine::attributes::Attributes;
use trueno_engine::query::{Database, RowBatch, TableWindow};
use trueno_engine::run::{Run, RunError};

use super::columns::{self, Names, NumberedNames, Place, TableColumns};
use super::detail_columns::{Details, NumberedDetails};
use super::durations::Durations;
use super::links::{self, NO_ID};
use super::node::Nodes;
use super::order::{Order, put_in_order};
use super::{Class, Graph, LaneInfo, Timing, pools, sums, sweep};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Loads tiles. Otherwise their time is self time of their parent.
    pub tiles: bool,
    pub edges: bool,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{table}: cannot be read: {why}")]
    Table {
        table: &'static str,
        /// What is wrong, in words.
        why: String,
    },
    #[error("the run has more than 4 billion rows, which are too many to show as a graph")]
    TooMany,
}

struct Source {
    table: &'static str,
    class: Class,
    /// Column with the row's name, and a fallback.
    names: [&'static str; 2],
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
    nodes: Nodes,
    /// For each row the id of its parent, as recorded.
    links: Vec<u64>,
    /// Ids shared by a call and the work that it launched; empty if no row has one.
    correlations: Vec<u64>,
    /// Declared elements; empty if no row has any.
    elements: Durations,
    /// Threads before streams, numbered in order of first appearance.
    lanes: BTreeMap<Lane, u32>,
    details: NumberedDetails,
    order: Order,
    spare: Spare,
}

#[derive(Default)]
struct Spare {
    bits: Vec<u64>,
    starts: Vec<Option<i64>>,
    durs: Vec<Option<i64>>,
}

struct Places {
    class: Class,
    id: Place,
    link: Place,
    kind: Place,
    names: [(Place, NumberedNames); 2],
    unnamed: u32,
    kinds: Vec<Class>,
    lane: [Place; 3],
    start: Place,
    dur: Place,
    elements: Place,
    correlation: Place,
    timing: Place,
    valid: Place,
    bound: Option<u64>,
}

impl Places {
    fn new(
        database: &Database,
        source: &Source,
        columns: &TableColumns,
        names: &mut Names,
    ) -> Result<Self, GraphError> {
        let [first, second] = source.names;
        let column = |name: &str| columns.place(name);
        let of_first = names.numbered(database, columns, source.table, first)?;
        let of_second = if second == first {
            NumberedNames::default()
        } else {
            names.numbered(database, columns, source.table, second)?
        };
        let unnamed = names.number("?");
        let kinds = match source.class {
            Class::Brick => names.numbered(database, columns, source.table, "kind")?,
            _ => NumberedNames::default(),
        };
        let class = |number| Class::of_kind(&names.names[number as usize]);
        let kinds = (kinds.all()).map(|kind| kind.map_or(Class::Brick, class));
        Ok(Self {
            class: source.class,
            id: column("id"),
            link: column(source.link),
            kind: column("kind"),
            names: [(column(first), of_first), (column(second), of_second)],
            unnamed,
            kinds: kinds.collect(),
            lane: ["thread", "device", "stream"].map(column),
            start: column("start_ns"),
            dur: column("dur_ns"),
            elements: column("elements"),
            correlation: column("correlation"),
            timing: column("timing"),
            valid: column("valid"),
            bound: columns.texts.number("bound"),
        })
    }
}

impl Loader {
    /// Reserves memory, because growing lists are copied and take up to twice the space. The number of rows
    /// comes from the run and may be wrong or 0.
    fn reserve(&mut self, run: &Run) {
        let rows = usize::try_from(run.facts().intervals()).unwrap_or(0);
        let nodes = &mut self.nodes;
        let _ = nodes.ids.try_reserve_exact(rows);
        let _ = nodes.starts_ns.try_reserve_exact(rows);
        let _ = nodes.names.try_reserve_exact(rows);
        let _ = nodes.lanes.try_reserve_exact(rows);
        let _ = nodes.details.try_reserve_exact(rows);
        let _ = nodes.classes.try_reserve_exact(rows);
        let _ = nodes.timings.try_reserve_exact(rows);
        nodes.durs_ns.reserve(rows);
        let _ = self.links.try_reserve_exact(rows);
    }

    /// Number of a lane in order of appearance. Final numbers are assigned at the end.
    fn lane(&mut self, lane: Lane) -> u32 {
        let next = self.lanes.len() as u32;
        *self.lanes.entry(lane).or_insert(next)
    }

    fn table(&mut self, database: &Database, source: &Source) -> Result<(), GraphError> {
        let (columns, windows) = columns::open(database, source.table, source.columns)?;
        let places = Places::new(database, source, &columns, &mut self.names)?;
        let mut details = Details::load(database, source.class, &columns, &mut self.names)?;
        for window in windows {
            let window = window.map_err(|error| GraphError::Table {
                table: source.table,
                why: error.to_string(),
            })?;
            for batch in window.tables.iter().flat_map(TableWindow::batches) {
                if u32::try_from(self.nodes.len() + batch.rows()).is_err() {
                    return Err(GraphError::TooMany);
                }
                self.batch(&places, &mut details, batch);
            }
        }
        self.order.table(&self.nodes);
        Ok(())
    }

    fn batch(&mut self, places: &Places, details: &mut Details, batch: &RowBatch) {
        let first = self.nodes.len();
        self.lanes_of(places, batch);
        self.times_of(places, batch);
        let (nodes, bits) = (&mut self.nodes, &mut self.spare.bits);
        let or_zero = |value: Option<u64>| value.unwrap_or_default();
        places.id.u64_into(batch, bits, &mut nodes.ids, or_zero);
        let or_none = |value: Option<u64>| value.unwrap_or(NO_ID);
        places.link.u64_into(batch, bits, &mut self.links, or_none);
        let has_correlations = places.correlation.same(batch) != Some(None);
        if has_correlations || !self.correlations.is_empty() {
            self.correlations.resize(first, NO_ID);
            let correlations = &mut self.correlations;
            (places.correlation).u64_into(batch, bits, correlations, or_none);
        }
        self.elements_of(places, batch, first);
        let (nodes, bits) = (&mut self.nodes, &mut self.spare.bits);
        let [(name, names), (other, others)] = &places.names;
        if others.is_empty() {
            let number = |bits: Option<u64>| {
                let number = bits.and_then(|bits| names.get(bits));
                number.unwrap_or(places.unnamed)
            };
            name.bits_into(batch, bits, &mut nodes.names, number);
        } else {
            nodes.names.extend((0..batch.rows()).map(|row| {
                let number =
                    |column: Place, names: &NumberedNames| names.get(column.bits(batch, row)?);
                let number = number(*name, names).or_else(|| number(*other, others));
                number.unwrap_or(places.unnamed)
            }));
        }
        if places.class == Class::Brick {
            let class = |kind: Option<u64>| {
                let class = kind.and_then(|kind| places.kinds.get(kind as usize).copied());
                class.unwrap_or(Class::Brick)
            };
            places
                .kind
                .bits_into(batch, bits, &mut nodes.classes, class);
        } else {
            nodes.classes.resize(first + batch.rows(), places.class);
        }
        let classes = &nodes.classes[first..];
        details.numbers_into(
            batch,
            classes,
            &self.names,
            &mut self.details,
            &mut nodes.details,
        );
    }

    fn lanes_of(&mut self, places: &Places, batch: &RowBatch) {
        let of = |thread: Option<u64>, device: Option<u64>, stream: Option<u64>| match device {
            Some(device) if places.class != Class::Sync || thread.is_none() => {
                Lane::Stream(device, stream)
            }
            _ => Lane::Thread(thread),
        };
        let [thread, device, stream] = places.lane;
        if let [Some(thread), Some(device), Some(stream)] =
            places.lane.map(|column| column.same(batch))
        {
            let lane = self.lane(of(thread, device, stream));
            let length = self.nodes.lanes.len() + batch.rows();
            return self.nodes.lanes.resize(length, lane);
        }
        let mut last = None;
        for row in 0..batch.rows() {
            let lane = of(
                thread.u64(batch, row),
                device.u64(batch, row),
                stream.u64(batch, row),
            );
            let lane = match last {
                Some((seen, number)) if seen == lane => number,
                _ => {
                    let number = self.lane(lane);
                    last = Some((lane, number));
                    number
                }
            };
            self.nodes.lanes.push(lane);
        }
    }

    fn times_of(&mut self, places: &Places, batch: &RowBatch) {
        let Spare { bits, starts, durs } = &mut self.spare;
        starts.clear();
        durs.clear();
        places.start.i64_into(batch, bits, starts);
        places.dur.i64_into(batch, bits, durs);
        let is_bound =
            |row| places.bound.is_some() && places.timing.bits(batch, row) == places.bound;
        let is_invalid = |row| places.valid.bits(batch, row) == Some(0);
        let are_same = places.timing.is_same(batch) && places.valid.is_same(batch);
        let of_first = (!starts.is_empty()).then(|| (is_bound(0), is_invalid(0)));
        for (row, (start_ns, dur_ns)) in starts.iter().zip(durs.iter()).enumerate() {
            let (is_bound, is_invalid) = match of_first {
                Some(first) if are_same => first,
                _ => (is_bound(row), is_invalid(row)),
            };
            let times = start_ns.zip(*dur_ns);
            let timing = if is_bound {
                Timing::Bound
            } else if is_invalid {
                Timing::Invalid
            } else if times.is_none_or(|(start, dur)| dur < 0 || start.checked_add(dur).is_none()) {
                Timing::Impossible
            } else {
                Timing::Measured
            };
            self.nodes.starts_ns.push(start_ns.unwrap_or_default());
            self.nodes.durs_ns.push(dur_ns.unwrap_or_default());
            self.nodes.timings.push(timing);
        }
    }

    fn elements_of(&mut self, places: &Places, batch: &RowBatch, first: usize) {
        if places.elements.same(batch) == Some(None) {
            return;
        }
        self.elements.extend_missing(first + batch.rows());
        for row in 0..batch.rows() {
            if let Some(elements) = places.elements.u64(batch, row) {
                self.elements.set(first + row, elements.cast_signed());
            }
        }
    }

    fn finish(
        mut self,
        database: &Database,
        run: &Run,
        edges: &[links::Edge],
        content: Content,
    ) -> Result<Graph, GraphError> {
        self.spare = Spare::default();
        let threads = links::thread_names(database)?;
        let of_ranks = !run.ranks().is_empty();
        let count = self.lanes.len();
        let mut lanes = Vec::with_capacity(count);
        let mut lane_names = Vec::with_capacity(count);
        let mut final_number = vec![0_u32; count];
        for (at, (lane, met)) in self.lanes.iter().enumerate() {
            final_number[*met as usize] = at as u32;
            let name = lane.name(&threads, of_ranks);
            lane_names.push(self.names.number(&name));
            lanes.push(LaneInfo {
                name,
                is_device: matches!(lane, Lane::Stream(..)),
            });
        }
        let merged_names = self.names.merged(database)?;
        // The outer first, so that children follow what they lie in.
        let order = self.order.into_places();
        let elements = match self.elements.is_empty() {
            true => Durations::default(),
            false => {
                self.elements.extend_missing(order.len());
                let mut elements = self.elements.gathered(count, &order);
                (0..count).for_each(|lane| elements.unset(lane));
                elements
            }
        };
        let attributes = Attributes::read(database).map_err(|error| GraphError::Table {
            table: "attributes",
            why: error.to_string(),
        })?;
        let nodes = put_in_order(self.nodes, &order, &lane_names, &final_number);
        let mut graph = Graph {
            attributes,
            nodes,
            elements,
            lanes,
            names: self.names.names,
            merged_names,
            details: self.details.details,
            wall_ns: run.facts().wall_ns,
            without_tiles: !content.tiles,
            ..Graph::default()
        };
        pools::find(&mut graph);
        links::hang_by_name(&mut graph, &self.links, &order);
        self.links = Vec::new();
        let correlations = match self.correlations.is_empty() {
            true => Vec::new(),
            false => {
                self.correlations.resize(order.len(), NO_ID);
                order
                    .iter()
                    .map(|at| self.correlations[*at as usize])
                    .collect()
            }
        };
        drop((order, self.correlations));
        sweep::sweep(&mut graph);
        links::hang_others(&mut graph, &correlations, edges);
        if content.edges {
            links::keep_edges(&mut graph, edges);
        }
        sums::index(&mut graph);
        sums::add_up(&mut graph);
        Ok(graph)
    }
}
