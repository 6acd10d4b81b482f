//! Reads columns of sealed segments, many batches at once, without the query engine.
//!
//! Every batch is a message that stands alone but for its keys, and only the buffers of the columns that are asked
//! for are unpacked. The dictionary of a segment is mapped to the engine's numbers once, not once a row. Whatever is
//! not as the recorder writes it is an error here, and the engine reads it instead.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use polars::prelude::CategoricalMapping;
use trueno_format::regular_file;

use super::ipc::{self, Batch, Field, FieldType, Footer, Place};
use crate::columns::{Kind, Packed, ReadBatches, ReadColumns};
use crate::cores;

pub(super) struct ColumnReader {
    columns: Arc<[(String, Kind)]>,
    files: Vec<PathBuf>,
    numbers: Arc<CategoricalMapping>,
}

struct Opened {
    file: File,
    footer: Footer,
    /// For each column to read, its field; `None` if the file lacks it.
    fields: Vec<Option<FieldPlace>>,
    /// For each column to read, the numbers of its texts by dictionary key.
    texts: Vec<Vec<u64>>,
}

#[derive(Clone, Copy)]
struct FieldPlace {
    field: usize,
    of: FieldType,
}

#[derive(Default)]
struct Scratch {
    message: Vec<u8>,
    plain: Vec<u8>,
    values: Vec<u64>,
}

impl ColumnReader {
    pub(super) fn new(
        columns: Arc<[(String, Kind)]>,
        files: Vec<PathBuf>,
        numbers: Arc<CategoricalMapping>,
    ) -> Self {
        Self {
            columns,
            files,
            numbers,
        }
    }

    fn open(&self, path: &Path, wanted: &[usize]) -> Result<Opened, String> {
        let file = regular_file::open(path).map_err(|error| error.to_string())?;
        let length = file.metadata().map_err(|error| error.to_string())?.len();
        let footer = Footer::read(length, |from, bytes| {
            file.read_exact_at(bytes, from)
                .map_err(|error| error.to_string())
        })?;
        let mut fields = Vec::with_capacity(wanted.len());
        let mut texts = Vec::with_capacity(wanted.len());
        for &column in wanted {
            let (name, kind) = &self.columns[column];
            let field = footer.fields.iter().position(|field| field.name == *name);
            let place = field.map(|field| FieldPlace {
                field,
                of: footer.fields[field].of,
            });
            if place.is_some_and(|place| !fits(place.of, *kind)) {
                return Err(format!("column {name} is stored in another type"));
            }
            texts.push(match place.map(|place| place.of) {
                Some(FieldType::Text { dictionary }) => {
                    self.numbers_of(&file, &footer, dictionary)?
                }
                _ => Vec::new(),
            });
            fields.push(place);
        }
        Ok(Opened {
            file,
            footer,
            fields,
            texts,
        })
    }

    /// The engine's numbers of the texts of a dictionary, by key.
    fn numbers_of(&self, file: &File, footer: &Footer, id: i64) -> Result<Vec<u64>, String> {
        for place in &footer.dictionaries {
            let mut bytes = Vec::new();
            read_place(file, *place, &mut bytes)?;
            let (found, batch) = ipc::dictionary(&bytes)?;
            if found != id {
                continue;
            }
            let number = |text: &str| {
                let number = self.numbers.insert_cat(text).map(u64::from);
                number.map_err(|error| error.to_string())
            };
            return batch.texts()?.iter().map(|text| number(text)).collect();
        }
        // Without a text there is no dictionary.
        Ok(Vec::new())
    }
}

fn fits(found: FieldType, published: Kind) -> bool {
    matches!(
        (found, published),
        (FieldType::I64, Kind::I64)
            | (FieldType::U64, Kind::U64)
            | (FieldType::U32, Kind::U32)
            | (FieldType::F64, Kind::F64)
            | (FieldType::Bool, Kind::Bool)
            | (FieldType::Text { .. }, Kind::Text)
    )
}

fn read_place(file: &File, place: Place, to: &mut Vec<u8>) -> Result<(), String> {
    to.resize(place.bytes, 0);
    file.read_exact_at(to, place.offset)
        .map_err(|error| error.to_string())
}

impl ReadColumns for ColumnReader {
    fn open(&self, columns: &[usize]) -> Result<Option<Box<dyn ReadBatches>>, String> {
        let files = self.files.iter().map(|path| self.open(path, columns));
        let files = files.collect::<Result<Vec<Opened>, String>>()?;
        let places = files.iter().enumerate().flat_map(|(at, opened)| {
            let batches = opened.footer.batches.iter();
            batches.map(move |place| (at, *place))
        });
        let places: Vec<(usize, Place)> = places.collect();
        let batches = OpenedBatches {
            places,
            files,
            scratch: RefCell::default(),
        };
        // Files that others wrote are not laid out so from their first batch on.
        for of_file in batches.places.chunk_by(|a, b| a.0 == b.0) {
            let (file, place) = of_file[0];
            batches.files[file].read(place, &mut batches.scratch.borrow_mut())?;
        }
        Ok(Some(Box::new(batches)))
    }

    fn read(&self, wanted: &[usize]) -> Result<Vec<Vec<Packed>>, String> {
        let opened = self.files.iter().map(|path| self.open(path, wanted));
        let opened = opened.collect::<Result<Vec<Opened>, String>>()?;
        let batches: Vec<(&Opened, Place)> = opened
            .iter()
            .flat_map(|opened| {
                opened
                    .footer
                    .batches
                    .iter()
                    .map(move |place| (opened, *place))
            })
            .collect();
        let next = AtomicUsize::new(0);
        let done: Mutex<BTreeMap<usize, Vec<Packed>>> = Mutex::default();
        let work = || -> Result<(), String> {
            let mut scratch = Scratch::default();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((opened, place)) = batches.get(at) else {
                    return Ok(());
                };
                let columns = opened.read(*place, &mut scratch)?;
                done.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(at, columns);
            }
        };
        let threads = cores::count();
        let threads = threads.min(batches.len());
        if threads < 2 {
            work()?;
        } else {
            thread::scope(|scope| {
                let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
                let own = work();
                let others = others.into_iter().map(|other| {
                    other
                        .join()
                        .unwrap_or_else(|_| Err("a thread that reads segments panicked".to_owned()))
                });
                others.fold(own, Result::and)
            })?;
        }
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut columns: Vec<Vec<Packed>> = wanted.iter().map(|_| Vec::new()).collect();
        for batch in done.into_values() {
            for (column, packed) in columns.iter_mut().zip(batch) {
                column.push(packed);
            }
        }
        Ok(columns)
    }
}

struct OpenedBatches {
    files: Vec<Opened>,
    /// File of each batch, and its position in the file.
    places: Vec<(usize, Place)>,
    scratch: RefCell<Scratch>,
}

impl ReadBatches for OpenedBatches {
    fn count(&self) -> usize {
        self.places.len()
    }

    fn batch(&self, number: usize) -> Result<Vec<Packed>, String> {
        let (file, place) = self.places[number];
        self.files[file].read(place, &mut self.scratch.borrow_mut())
    }
}

/// Buffers with fewer bytes between them are read together.
const NEAR_BYTES: usize = 4 << 10;

impl Opened {
    fn is_read(&self, buffer: usize) -> bool {
        let mut fields = self.fields.iter().flatten();
        fields.any(|place| place.field == buffer / 2)
    }

    /// Reads the metadata of a batch and the buffers of the columns to read; the other bytes are arbitrary.
    fn read_buffers(&self, place: Place, to: &mut Vec<u8>) -> Result<(), String> {
        to.resize(place.bytes, 0);
        let read = |to: &mut Vec<u8>, range: Range<usize>| {
            let at = place.offset + range.start as u64;
            let read = self.file.read_exact_at(&mut to[range], at);
            read.map_err(|error| error.to_string())
        };
        read(to, 0..place.metadata_bytes)?;
        let ranges = ipc::buffers(to)?;
        let ranges = ranges.into_iter().enumerate();
        let ranges = ranges.filter(|(buffer, range)| !range.is_empty() && self.is_read(*buffer));
        let mut ranges: Vec<Range<usize>> = ranges.map(|(_, range)| range).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut next: Option<Range<usize>> = None;
        for range in ranges {
            match &mut next {
                Some(next) if range.start <= next.end + NEAR_BYTES => {
                    next.end = next.end.max(range.end);
                }
                _ => {
                    if let Some(range) = next.replace(range) {
                        read(to, range)?;
                    }
                }
            }
        }
        next.map_or(Ok(()), |range| read(to, range))
    }

    fn read(&self, place: Place, scratch: &mut Scratch) -> Result<Vec<Packed>, String> {
        let Scratch {
            message,
            plain,
            values,
        } = scratch;
        self.read_buffers(place, message)?;
        let batch = ipc::batch(message, |buffer| self.is_read(buffer))?;
        let of_field = |(place, texts): (&Option<FieldPlace>, &Vec<u64>)| match place {
            None => Ok(Packed::missing(batch.rows)),
            Some(place) => column(&batch, &self.footer.fields, *place, texts, plain, values),
        };
        let fields = self.fields.iter().zip(&self.texts);
        fields.map(of_field).collect()
    }
}

fn column(
    batch: &Batch<'_>,
    fields: &[Field],
    place: FieldPlace,
    texts: &[u64],
    plain: &mut Vec<u8>,
    values: &mut Vec<u64>,
) -> Result<Packed, String> {
    let rows = batch.rows;
    let (length, missing) = batch.node(place.field)?;
    if length != rows || fields.len() * 2 != batch.buffers() {
        return Err("a batch is not laid out as its schema says".to_owned());
    }
    if missing == rows {
        return Ok(Packed::missing(rows));
    }
    let valid = match missing {
        0 => None,
        _ => {
            batch.unpack(2 * place.field, rows.div_ceil(8), plain)?;
            Some(plain[..rows.div_ceil(8)].to_vec())
        }
    };
    let valid = valid.as_deref();
    let number = |key: u64| match texts.get(key as usize) {
        Some(number) => Ok(*number),
        None => Err("a key without a text".to_owned()),
    };
    let is_text = matches!(place.of, FieldType::Text { .. });
    let buffer = 2 * place.field + 1;
    if let Some(width) = place.of.width()
        && let Some(same) = batch.same_value(buffer, width, rows)?
    {
        let value = if is_text { number(same)? } else { same };
        return Ok(Packed::same(rows, value, valid));
    }
    values.clear();
    match place.of.width() {
        None => {
            batch.unpack(buffer, rows.div_ceil(8), plain)?;
            values.extend((0..rows).map(|row| u64::from(plain[row / 8] >> (row % 8) & 1)));
        }
        Some(4) => {
            batch.unpack(buffer, 4 * rows, plain)?;
            let halves = plain[..4 * rows].as_chunks::<4>().0;
            values.extend(
                halves
                    .iter()
                    .map(|half| u64::from(u32::from_le_bytes(*half))),
            );
        }
        Some(_) => {
            batch.unpack(buffer, 8 * rows, plain)?;
            let wholes = plain[..8 * rows].as_chunks::<8>().0;
            values.extend(wholes.iter().map(|whole| u64::from_le_bytes(*whole)));
        }
    }
    if is_text {
        for (row, value) in values.iter_mut().enumerate() {
            let is_there = valid.is_none_or(|bits| bits[row / 8] >> (row % 8) & 1 == 1);
            *value = if is_there { number(*value)? } else { 0 };
        }
    }
    Ok(Packed::pack(values, valid))
}
