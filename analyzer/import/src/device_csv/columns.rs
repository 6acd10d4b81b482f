//! The columns of a table, by what they mean.

use xxhash_rust::xxh3::xxh3_64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Kernels,
    Copies,
    Calls,
    Markers,
    Counters,
    Allocations,
    Agents,
    Sums,
    Smi,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Name,
    Function,
    Domain,
    Kind,
    Direction,
    Operation,
    Start,
    End,
    Duration,
    Device,
    Source,
    Target,
    Stream,
    Queue,
    Process,
    Thread,
    Correlation,
    Dispatch,
    GridX,
    GridY,
    GridZ,
    Grid,
    BlockX,
    BlockY,
    BlockZ,
    Block,
    Registers,
    StaticShared,
    DynamicShared,
    Shared,
    Bytes,
    Address,
    /// The kinds of memory at both ends of a copy.
    SourceMemory,
    TargetMemory,
    CounterName,
    CounterValue,
    Count,
    Total,
    Least,
    Most,
    AgentType,
    AgentNode,
    Units,
    Product,
    Core,
    Level,
    /// Of the device, in samples of `nvidia-smi`.
    Place,
    Time,
}

use Column::*;

/// Column names in lower case, without spaces, punctuation and units.
const NAMES: &[(&str, Column)] = &[
    ("kernelname", Name),
    ("name", Name),
    ("opname", Name),
    ("optype", Name),
    ("function", Function),
    ("domain", Domain),
    ("kind", Kind),
    ("direction", Direction),
    ("operation", Operation),
    ("starttimestamp", Start),
    ("begins", Start),
    ("beginns", Start),
    ("start", Start),
    ("starttime", Start),
    ("taskstarttime", Start),
    ("taskstart", Start),
    ("endtimestamp", End),
    ("endns", End),
    ("end", End),
    ("taskstop", End),
    ("durationns", Duration),
    ("duration", Duration),
    ("taskduration", Duration),
    ("tasktime", Duration),
    ("agentid", Device),
    ("gpuid", Device),
    ("deviceid", Device),
    ("device", Device),
    ("index", Place),
    ("sourceagentid", Source),
    ("destinationagentid", Target),
    ("streamid", Stream),
    ("stream", Stream),
    ("strm", Stream),
    ("queueid", Queue),
    ("processid", Process),
    ("pid", Process),
    ("threadid", Thread),
    ("tid", Thread),
    ("correlationid", Correlation),
    ("corrid", Correlation),
    ("dispatchid", Dispatch),
    ("gridsizex", GridX),
    ("gridx", GridX),
    ("grdx", GridX),
    ("gridsizey", GridY),
    ("gridy", GridY),
    ("grdy", GridY),
    ("gridsizez", GridZ),
    ("gridz", GridZ),
    ("grdz", GridZ),
    ("gridsize", Grid),
    ("grd", Grid),
    ("workgroupsizex", BlockX),
    ("blockx", BlockX),
    ("blkx", BlockX),
    ("workgroupsizey", BlockY),
    ("blocky", BlockY),
    ("blky", BlockY),
    ("workgroupsizez", BlockZ),
    ("blockz", BlockZ),
    ("blkz", BlockZ),
    ("workgroupsize", Block),
    ("wgp", Block),
    ("vgprcount", Registers),
    ("archvgpr", Registers),
    ("registersperthread", Registers),
    ("regtrd", Registers),
    ("staticsmem", StaticShared),
    ("stcsmem", StaticShared),
    ("dynamicsmem", DynamicShared),
    ("dymsmem", DynamicShared),
    ("ldsblocksize", Shared),
    ("ldsperworkgroup", Shared),
    ("lds", Shared),
    ("groupsegmentsize", Shared),
    ("bytes", Bytes),
    ("size", Bytes),
    ("allocationsize", Bytes),
    ("address", Address),
    ("srcmemkd", SourceMemory),
    ("srcmemtype", SourceMemory),
    ("dstmemkd", TargetMemory),
    ("dstmemtype", TargetMemory),
    ("countername", CounterName),
    ("countervalue", CounterValue),
    ("calls", Count),
    ("instances", Count),
    ("count", Count),
    ("numcalls", Count),
    ("totaldurationns", Total),
    ("totaltime", Total),
    ("time", Time),
    ("min", Least),
    ("minns", Least),
    ("mintime", Least),
    ("max", Most),
    ("maxns", Most),
    ("maxtime", Most),
    ("agenttype", AgentType),
    ("nodeid", AgentNode),
    ("cucount", Units),
    ("productname", Product),
    ("acceleratorcore", Core),
    ("tasktype", Core),
    ("kerneltype", Core),
    ("level", Level),
    ("lvl", Level),
    ("timestamp", Time),
];

/// A unit of a column, as the factor to nanoseconds or bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit(pub f64);

impl Unit {
    /// Parses `(ns)`, `(us)`, `(MB)` and similar.
    pub fn of_word(word: &str) -> Option<Self> {
        Some(Self(match word.trim().trim_matches(['(', ')', '[', ']']) {
            "ns" | "B" => 1.0,
            "us" | "µs" | "KB" => 1e3,
            "ms" | "MB" => 1e6,
            "s" | "GB" => 1e9,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            _ => return None,
        }))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Column, position, and unit if the header states one.
    all: Vec<(Column, usize, Option<Unit>)>,
    pub titles: Vec<String>,
}

impl Columns {
    /// Parses a header line into the columns and the kind of table.
    pub fn new(head: &str) -> (Option<Table>, Self) {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .trim(csv::Trim::All)
            .from_reader(head.as_bytes());
        let mut record = csv::StringRecord::new();
        let mut columns = Self::default();
        if !matches!(reader.read_record(&mut record), Ok(true)) {
            return (None, columns);
        }
        for (place, title) in record.iter().enumerate() {
            let title = title.trim_start_matches('\u{feff}').trim();
            columns.titles.push(title.to_owned());
            let (plain, unit) = match title.find(['(', '[']) {
                Some(at) if at > 0 => (&title[..at], Unit::of_word(&title[at..])),
                _ => (title, None),
            };
            let plain: String = plain
                .chars()
                .filter(|c| c.is_alphanumeric())
                .flat_map(char::to_lowercase)
                .collect();
            let found = NAMES.iter().find(|(name, _)| *name == plain);
            if let Some((_, column)) = found
                && columns.place(*column).is_none()
            {
                columns.all.push((*column, place, unit));
            }
        }
        (columns.table(), columns)
    }

    pub fn place(&self, column: Column) -> Option<usize> {
        let found = self.all.iter().find(|(of, ..)| *of == column);
        found.map(|(_, place, _)| *place)
    }

    pub fn unit(&self, column: Column) -> Option<Unit> {
        self.all.iter().find(|(of, ..)| *of == column)?.2
    }

    fn has(&self, columns: &[Column]) -> bool {
        columns.iter().all(|column| self.place(*column).is_some())
    }

    fn table(&self) -> Option<Table> {
        let has_times = self.has(&[Start]) && (self.has(&[End]) || self.has(&[Duration]));
        let is_smi = self
            .titles
            .iter()
            .any(|title| title.starts_with("utilization.gpu"))
            || self
                .titles
                .first()
                .is_some_and(|title| title == "timestamp")
                && self
                    .titles
                    .iter()
                    .any(|title| title.contains('.') && title.contains('['));
        Some(if is_smi && self.has(&[Time]) {
            Table::Smi
        } else if self.has(&[CounterName, CounterValue]) {
            Table::Counters
        } else if self.has(&[AgentType, AgentNode]) {
            Table::Agents
        } else if has_times && self.has(&[Operation, Bytes]) {
            Table::Allocations
        } else if has_times && self.has(&[Direction]) {
            Table::Copies
        } else if has_times && self.has(&[Function]) {
            Table::Calls
        } else if has_times && self.has(&[Name]) && self.is_of_device() {
            Table::Kernels
        } else if has_times && self.has(&[Name, Thread]) && self.has(&[Level]) {
            Table::Markers
        } else if has_times && self.has(&[Name, Thread]) {
            Table::Calls
        } else if self.has(&[Name, Count]) && (self.has(&[Total]) || self.has(&[Least, Most])) {
            Table::Sums
        } else {
            return None;
        })
    }

    fn is_of_device(&self) -> bool {
        [Queue, Stream, GridX, Grid, Core, Dispatch]
            .iter()
            .any(|column| self.place(*column).is_some())
    }
}

/// A row with the meaning of its cells.
#[derive(Clone, Copy)]
pub struct Row<'r> {
    pub columns: &'r Columns,
    pub record: &'r csv::ByteRecord,
}

impl<'r> Row<'r> {
    pub fn cell(self, place: usize) -> Option<&'r str> {
        Some(std::str::from_utf8(self.record.get(place)?).ok()?.trim())
    }

    pub fn text(self, column: Column) -> Option<&'r str> {
        let cell = self.cell(self.columns.place(column)?)?;
        (!cell.is_empty()).then_some(cell)
    }

    /// A whole number, also in `Agent 4` or `NVIDIA A100 (0)`.
    pub fn number(self, column: Column) -> Option<u64> {
        let cell = self.text(column)?;
        if let Ok(number) = cell.parse() {
            return Some(number);
        }
        let hexadecimal = cell.strip_prefix("0x").or(cell.strip_prefix("0X"));
        if let Some(digits) = hexadecimal {
            return u64::from_str_radix(digits, 16).ok();
        }
        let inside = cell
            .rsplit_once('(')
            .map(|(_, inside)| inside.trim_end_matches(')'));
        let word = inside.or(cell.rsplit([' ', '_', '-']).next())?;
        word.parse().ok()
    }

    pub fn small(self, column: Column) -> Option<u32> {
        u32::try_from(self.number(column)?).ok()
    }

    pub fn axes(self, of: [Column; 3]) -> Option<[u32; 3]> {
        let x = self.small(of[0])?;
        let rest = [of[1], of[2]].map(|column| self.small(column).unwrap_or(1));
        Some([x, rest[0], rest[1]])
    }

    /// What rows of counters and the row of their kernel have in common. The trace of kernels states no process, and
    /// ids begin anew in each run: times tell kernels apart.
    pub fn dispatch_key(self) -> Option<u64> {
        let mut key = self.text(Dispatch)?.as_bytes().to_vec();
        for column in [Correlation, Name, Start] {
            key.push(0);
            key.extend(self.text(column).unwrap_or("").bytes());
        }
        Some(xxh3_64(&key))
    }

    /// Titles and cells of the columns that have no meaning here.
    pub fn unread(self) -> impl Iterator<Item = (&'r str, &'r str)> {
        let Self { columns, .. } = self;
        let is_read = |place: usize| columns.all.iter().any(|(_, of, _)| *of == place);
        let titles = columns.titles.iter().enumerate();
        titles.filter_map(move |(place, title)| {
            let cell = self.cell(place)?;
            (!is_read(place)).then_some((title.as_str(), cell))
        })
    }
}

impl Table {
    pub fn of_header(line: &str) -> Option<Self> {
        // No head is without a comma, and none is that long.
        if !line.contains(',') || line.len() > 1 << 14 {
            return None;
        }
        Columns::new(line).0
    }

    pub fn has_times(self) -> bool {
        !matches!(self, Self::Agents | Self::Sums)
    }
}
