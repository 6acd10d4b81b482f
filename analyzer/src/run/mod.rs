//! Opens run directories. Nothing else in the analyzer touches a run's files.
//!
//! `layout` lists the files, `manifest` and `journal` read what the recorder
//! wrote about them, `left` takes what it had not come to write, `verify` compares bytes with hashes, `read` decides what
//! can be read of a segment, `rebuild` makes tables of its good parts, and
//! `publish` gives tables their published columns. `assess` sums it all up. `stored` hands out
//! what an export writes down, and `exported` what it says of its source.
//! `recover` and `added` make new runs out of old ones.
//! `ranks` opens a folder of runs as one.

mod added;
mod assess;
mod exported;
mod facts;
mod faults;
mod flatbuffer;
mod gather;
mod ipc;
mod journal;
mod layout;
mod left;
mod manifest;
mod open;
pub(crate) mod own_hashes;
mod problem;
mod publish;
mod ranks;
mod reach;
mod read;
mod rebuild;
mod recover;
mod segment;
mod sources;
mod stored;
mod tables;
mod verify;

pub use added::{AddError, Adding};
pub use facts::{
    ClockFacts, HostFacts, ProgramFacts, RankFacts, RunFacts, RunState, TableFacts, WallSource,
};
pub use open::Run;
pub use problem::{Problem, RunError, Severity};
pub use ranks::{is_run, rank_numbers};
pub use recover::{Damage, RecoverError, Recovered, Recovery, recover};
pub use sources::SourceError;
