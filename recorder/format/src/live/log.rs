//! The log: what is too rare for a ring and must survive the process all the same: one sealed line
//! of `live/log.jsonl` each, handed to the operating system before anything refers to it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ceiling::Ceiling;
use crate::collective::Collective;
use crate::folder::Folder;
use crate::held_file::{HeldFile, Identity};
use crate::journal;
use crate::text::Site;
use crate::timeline::{ClockReading, Knot};
use crate::{file_size_signal, regular_file};

/// Name of the log in `live/`. Its writer holds a lock on it for as long as it lives.
pub const LOG: &str = "log.jsonl";
/// Name of the log until it is locked.
const UNLOCKED: &str = "log.new";

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A text and its number. Logged before any record uses it.
    Name(u32, String),
    /// A name at a source location. Logged before any record uses it; see [`Site`].
    Site {
        /// Number of the site, without the bit `SITE`.
        number: u32,
        /// Number of the name.
        name: u32,
        /// Number of the file's text.
        file: u32,
        /// The line.
        line: u32,
    },
    /// A reading of the clocks that applies to later ticks. Logged before any tick is converted with it.
    Clock {
        /// Both clocks at one moment.
        pair: ClockReading,
        /// The point at which the timeline bends; `None` for the first reading.
        knot: Option<Knot>,
    },
    /// The clocks of host and device at one moment.
    DevicePair {
        /// Readings of the host's clocks.
        pair: ClockReading,
        /// Number of the device.
        device: u32,
        /// The device's clock, relative to its own origin.
        device_ns: u64,
    },
    /// Rows that one thread's use of a ring has dropped. Logged before the ring is free again.
    Dropped {
        /// Number of the ring.
        ring: u32,
        /// How often the ring had been used until then.
        uses: u64,
        /// Rows by table.
        rows: BTreeMap<String, u64>,
        /// Rows whose name is known: table, number of the name, and count.
        #[serde(default)]
        names: Vec<(String, u32, u64)>,
    },
    /// A thread that has ended.
    Thread(LoggedThread),
    /// A key and value from the program.
    Value(String, String),
    /// A ceiling from the program.
    Ceiling(Ceiling),
    /// A part in a collective.
    Collective(Collective),
    /// Shapes of an operator. Logged before any record uses them.
    Signature {
        /// Id of their row.
        id: u32,
        /// Number of their text.
        text: u32,
    },
    /// A kernel source.
    Ptx {
        /// Its hash, see [`crate::PtxHash`].
        hash: u64,
        /// Name of the module or kernel; may be empty.
        name: String,
        /// The text.
        source: String,
    },
}

impl Entry {
    /// The entry of a site.
    pub fn site(number: u32, site: Site) -> Self {
        Self::Site {
            number,
            name: site.name.number(),
            file: site.file.number(),
            line: site.line,
        }
    }
}

/// A thread that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedThread {
    /// Index of the thread.
    pub index: u32,
    /// Name that the program gave it.
    pub name: Option<String>,
    /// Number of the thread, by the operating system.
    pub os_id: u64,
    /// Clock of its first event.
    pub start_ticks: u64,
    /// Rows of all tables that were dropped.
    pub dropped: u64,
}

#[derive(Serialize, Deserialize)]
struct Line<E> {
    entry: E,
}

/// The open log.
pub struct Log {
    live: Arc<Folder>,
    file: HeldFile,
    /// True after a failure. Nothing more is appended, because later entries would lack the names before them.
    broken: bool,
}

impl Log {
    /// Makes the log in the folder `live/` of a run, and locks it.
    ///
    /// # Errors
    /// There is one, or the operating system refuses.
    pub fn create(live: &Arc<Folder>) -> io::Result<Self> {
        // It gets its name with the lock on it: a log without a lock has lost its writer.
        let mut file = HeldFile::create(live, UNLOCKED)?;
        file.lock();
        live.rename(UNLOCKED, LOG)?;
        file.renamed(LOG);
        Ok(Self {
            live: live.clone(),
            file,
            broken: false,
        })
    }

    /// Does nothing after a failure, and stays open: its lock says that the writer lives.
    pub fn append(&mut self, entries: &[Entry]) -> io::Result<()> {
        if self.broken {
            return Ok(());
        }
        let mut text = String::new();
        for entry in entries {
            text += &journal::seal(serde_json::to_string(&Line { entry })?);
        }
        let open = |name: &str| self.live.open_appended(name);
        let written = file_size_signal::without(|| self.file.append(open, text.as_bytes()));
        self.broken = written.is_err();
        if written? {
            self.file.lock();
        }
        Ok(())
    }

    /// Its file, for a forked process to close.
    pub fn descriptor(&self) -> (RawFd, Identity) {
        self.file.descriptor()
    }
}

/// Reads the file of a log; see [`parse`].
pub fn read(path: &Path) -> io::Result<(Vec<Entry>, u64)> {
    Ok(parse(&regular_file::read(path)?))
}

/// The log of these bytes as far as it goes: the whole lines, and how many are damaged. The last line
/// may be cut: nothing refers to it then.
pub fn parse(bytes: &[u8]) -> (Vec<Entry>, u64) {
    let mut entries = Vec::new();
    let mut damaged = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let line_read = journal::unseal(line).and_then(|text| serde_json::from_slice(text).ok());
        match line_read {
            Some(Line { entry }) => entries.push(entry),
            None => damaged += u64::from(line.ends_with(b"\n")),
        }
    }
    (entries, damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_a_cut_end_is_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOG);
        let live = Arc::new(Folder::open(folder.path()).unwrap());
        let entries = [
            Entry::Name(7, "q\"\n\u{e9}".into()),
            Entry::Value("a".into(), "b".into()),
            Entry::Dropped {
                ring: 1,
                uses: 2,
                rows: BTreeMap::from([("bricks".into(), 3)]),
                names: vec![("bricks".into(), 7, 3)],
            },
        ];
        Log::create(&live).unwrap().append(&entries).unwrap();
        assert_eq!(read(&path).unwrap(), (entries.to_vec(), 0));

        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        assert_eq!(read(&path).unwrap(), (entries[..2].to_vec(), 0));

        let mut flipped = whole.clone();
        flipped[12] ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        assert_eq!(read(&path).unwrap(), (entries[1..].to_vec(), 1));
    }

    #[test]
    fn a_full_disk_ends_the_log_and_leaves_it_open() {
        let folder = tempfile::tempdir().unwrap();
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut log = Log {
            live: Arc::new(Folder::open(folder.path()).unwrap()),
            file: HeldFile::of(full.unwrap()),
            broken: false,
        };
        let entry = [Entry::Name(7, "q".into())];
        assert!(log.append(&entry).is_err());
        assert!(log.append(&entry).is_ok(), "said once");
        let (number, file) = log.descriptor();
        assert!(file.is_of_number(number));
    }
}
