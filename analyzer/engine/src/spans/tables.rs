//! Columns of the computed tables.

use polars::prelude::CategoricalMapping;
use trueno_analysis::id_index::{IdIndex, Vacant};
use trueno_analysis::lanes::{
    Class, INPUTS, Label, Lane, LaneKey, Lanes, NO_ELEMENTS, NO_INTERVAL, Nesting, Span, load,
};

use super::columns::{
    BRICK, CATEGORY, DEPTH, DUR_NS, ELEMENTS, ID, KIND, LANE, LANE_KIND, NAME, PARENT, SELF_NS,
    START_NS, lane_columns,
};
use super::inputs::{Ask, Inputs};
use crate::columns::Packed;

/// Limit for the rows of a batch. Times of neighbouring rows are close, so they pack well.
const BATCH_ROWS: usize = 1 << 14;

/// Tables whose rows may refer to the brick that they belong to.
const LINKED: [&str; 3] = ["kernels", "calls", "transfers"];

const NAMES_OF_WAITS: &str = "SELECT id, name_id FROM syncs WHERE name IS NOT NULL";

fn links_of(table: &str) -> String {
    format!("SELECT id, brick FROM {table} WHERE brick IS NOT NULL")
}

/// The queries from which some columns are computed; each runs once.
pub(crate) fn queries(columns: &[usize]) -> impl Iterator<Item = String> {
    let inputs = INPUTS.iter().map(|input| input.query().to_owned());
    let links = LINKED.iter().map(|table| links_of(table));
    let links = links.filter(|_| columns.contains(&BRICK));
    let waits = columns.contains(&NAME).then(|| NAMES_OF_WAITS.to_owned());
    inputs.chain(links).chain(waits)
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct BrickId(u64);

impl Vacant for BrickId {
    const VACANT: Self = Self(u64::MAX);
}

pub(crate) struct Tables {
    pub(crate) spans: Vec<Vec<Packed>>,
    pub(crate) lanes: Vec<Vec<Packed>>,
}

/// Computes some columns of the intervals, in the given order, and the lanes.
///
/// # Errors
/// A table of the run cannot be read; the message names it.
pub(crate) fn tables(
    ask: Ask<'_>,
    numbers: &CategoricalMapping,
    columns: &[usize],
) -> Result<Tables, String> {
    let mut inputs = Inputs { ask };
    let lanes = load(&mut inputs).map_err(|error| error.to_string())?;
    let (mut bricks, mut waits) = (IdIndex::default(), IdIndex::default());
    if columns.contains(&BRICK) {
        bricks = links(&inputs).map_err(|error| error.to_string())?;
    }
    if columns.contains(&NAME) {
        waits = names_of_waits(&inputs).map_err(|error| error.to_string())?;
    }
    let number = |text: &str| {
        let number = numbers.insert_cat(text);
        number.map_err(|error| error.to_string())
    };
    let texts = lanes.texts.all().iter().map(|text| number(text));
    let texts = texts.collect::<Result<Vec<u32>, String>>()?;
    made(lanes, &texts, (&bricks, &waits), &number, columns)
}

/// The brick of each row that refers to one, by row id.
fn links(inputs: &Inputs<'_>) -> trueno_plugin::Result<IdIndex<BrickId>> {
    let mut bricks = IdIndex::default();
    for table in LINKED {
        let Some(rows) = inputs.rows(table, &links_of(table))? else {
            continue;
        };
        let mut batches = rows.into_reader()?;
        while let Some(batch) = batches.next_batch()? {
            let (ids, of) = (batch.u64("id")?, batch.u64("brick")?);
            for (id, brick) in ids.iter().zip(of.iter()) {
                if let (Some(id), Some(brick)) = (id, brick) {
                    bricks.insert_first(id, BrickId(brick));
                }
            }
        }
    }
    Ok(bricks)
}

/// The program's names for waits, by row id. Lanes name waits by their kind instead.
fn names_of_waits(inputs: &Inputs<'_>) -> trueno_plugin::Result<IdIndex<u32>> {
    let mut names = IdIndex::default();
    if let Some(rows) = inputs.rows("syncs", NAMES_OF_WAITS)? {
        let mut batches = rows.into_reader()?;
        while let Some(batch) = batches.next_batch()? {
            let (ids, of) = (batch.u64("id")?, batch.i64("name_id")?);
            for (id, name) in ids.iter().zip(of.iter()) {
                let name = name.and_then(|name| u32::try_from(name).ok());
                if let (Some(id), Some(name)) = (id, name) {
                    names.insert_first(id, name);
                }
            }
        }
    }
    Ok(names)
}

fn made(
    mut run: Lanes,
    texts: &[u32],
    (links, waits): (&IdIndex<BrickId>, &IdIndex<u32>),
    number: &impl Fn(&str) -> Result<u32, String>,
    columns: &[usize],
) -> Result<Tables, String> {
    let mut spans: Vec<Vec<Packed>> = columns.iter().map(|_| Vec::new()).collect();
    let mut values = Vec::new();
    let mut lanes = Columns::new(lane_columns().len());
    let text = |number: u32| Some(u64::from(texts[number as usize]));
    let name_of = |span: &Span, label: Label| match label.class {
        Class::Wait => waits
            .get(span.id)
            .map(u64::from)
            .or_else(|| text(label.name)),
        _ => text(label.name),
    };
    let ends_ns = if run.is_part {
        (0, run.wall_ns)
    } else {
        (i64::MIN, i64::MAX)
    };
    for lane in std::mem::take(&mut run.lanes) {
        let name = Some(u64::from(number(&lane.name)?));
        let kind = Some(u64::from(number(lane.kind.name())?));
        let is_brick = |label| run.labels.get(label).class.is_brick();
        let nesting = Nesting::new(&lane.spans, is_brick, ends_ns);
        let id_of = |index: u32| (index != NO_INTERVAL).then(|| lane.spans[index as usize].id);
        for from in (0..lane.spans.len()).step_by(BATCH_ROWS) {
            let rows = from..lane.spans.len().min(from + BATCH_ROWS);
            let label = |span: &Span| run.labels.get(span.label);
            let of = &lane.spans[rows.clone()];
            let at = || rows.clone().zip(of);
            for (column, to) in columns.iter().zip(&mut spans) {
                match *column {
                    ID => push(to, &mut values, of.iter().map(|span| Some(span.id))),
                    LANE => push(to, &mut values, of.iter().map(|_| name)),
                    LANE_KIND => push(to, &mut values, of.iter().map(|_| kind)),
                    START_NS => {
                        push(
                            to,
                            &mut values,
                            of.iter().map(|span| bits(span.start_ns + run.origin_ns)),
                        );
                    }
                    DUR_NS => push(to, &mut values, of.iter().map(|span| bits(span.dur_ns()))),
                    SELF_NS => push(
                        to,
                        &mut values,
                        at().map(|(row, _)| bits(nesting.self_ns[row])),
                    ),
                    PARENT => push(
                        to,
                        &mut values,
                        at().map(|(row, _)| id_of(nesting.parents[row])),
                    ),
                    DEPTH => {
                        push(
                            to,
                            &mut values,
                            at().map(|(row, _)| Some(u64::from(nesting.depths[row]))),
                        );
                    }
                    KIND => push(
                        to,
                        &mut values,
                        of.iter().map(|span| text(label(span).kind)),
                    ),
                    NAME => push(
                        to,
                        &mut values,
                        of.iter().map(|span| name_of(span, label(span))),
                    ),
                    CATEGORY => push(
                        to,
                        &mut values,
                        of.iter().map(|span| text(label(span).category)),
                    ),
                    BRICK => push(
                        to,
                        &mut values,
                        at().map(|(row, span)| {
                            let link = links.get(span.id).map(|brick| brick.0);
                            link.or_else(|| id_of(nesting.bricks[row]))
                        }),
                    ),
                    ELEMENTS => push(
                        to,
                        &mut values,
                        of.iter().map(|span| match span.elements {
                            NO_ELEMENTS => None,
                            at => Some(run.elements[at as usize]),
                        }),
                    ),
                    other => return Err(format!("there is no column {other}")),
                }
            }
        }
        let self_ns = nesting.self_ns.iter().copied();
        let busy_ns = self_ns.fold(0, i64::saturating_add);
        lane_row(&mut lanes, &lane, (name, kind), run.origin_ns, busy_ns);
    }
    Ok(Tables {
        spans,
        lanes: lanes.columns,
    })
}

fn push(to: &mut Vec<Packed>, values: &mut Vec<u64>, rows: impl Iterator<Item = Option<u64>>) {
    to.push(Packed::of_rows(rows, values));
}

fn lane_row(
    to: &mut Columns,
    lane: &Lane,
    (name, kind): (Option<u64>, Option<u64>),
    origin_ns: i64,
    busy_ns: i64,
) {
    let (thread, device, stream) = match lane.key {
        LaneKey::Thread(thread) => (thread, None, None),
        LaneKey::ThreadOfRank(_) => (None, None, None),
        LaneKey::Stream(device, stream) => (None, Some(device), stream),
    };
    let life = lane.life.map(|(first_ns, last_ns)| {
        let counted = |ns: i64| ns.saturating_add(origin_ns);
        (counted(first_ns), counted(last_ns))
    });
    let values = [
        name,
        kind,
        thread.and_then(bits),
        device.and_then(bits),
        stream.and_then(bits),
        Some(lane.spans.len() as u64),
        bits(busy_ns),
        life.and_then(|(first_ns, _)| bits(first_ns)),
        life.and_then(|(_, last_ns)| bits(last_ns)),
    ];
    for value in values {
        to.push([value].into_iter());
    }
}

fn bits(value: i64) -> Option<u64> {
    Some(value.cast_unsigned())
}

/// Columns that receive batches in turn.
struct Columns {
    columns: Vec<Vec<Packed>>,
    next: usize,
    values: Vec<u64>,
}

impl Columns {
    fn new(count: usize) -> Self {
        Self {
            columns: vec![Vec::new(); count],
            next: 0,
            values: Vec::new(),
        }
    }

    fn push(&mut self, rows: impl Iterator<Item = Option<u64>>) {
        let packed = Packed::of_rows(rows, &mut self.values);
        self.columns[self.next].push(packed);
        self.next = (self.next + 1) % self.columns.len();
    }
}
