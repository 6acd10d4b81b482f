//! What recording threads hand to the writer beside their rings. The log of `live/` has it too, for when the process is
//! killed.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::Thread;

use trueno_format::live::Entry;
use trueno_format::timeline::ClockReading;
use trueno_format::{Ceiling, Collective};

use crate::error::Error;
use crate::live::Live;
use crate::lock::lock;
use crate::status::Summary;

/// An entry that is too rare for a ring. The writer takes it from a list.
pub(crate) enum Request {
    Ptx {
        hash: u64,
        name: String,
        source: Arc<str>,
    },
    Ceiling(Ceiling),
    /// Boxed because it is far larger than the others.
    Collective(Box<Collective>),
    /// Shapes of an operator: the id of their row and the number of their text.
    Signature {
        id: u32,
        text: u32,
    },
    DevicePair {
        pair: ClockReading,
        device: u32,
        device_ns: u64,
    },
}

/// A rolling window to be written as a separate run.
pub(crate) struct Cut {
    pub path: PathBuf,
    pub done: SyncSender<Result<Summary, Error>>,
}

pub(crate) struct Mailbox {
    live: Arc<Live>,
    pub writer: OnceLock<Thread>,
    pub requests: Mutex<Vec<Request>>,
    /// Ids of signatures whose rows were requested, by the number of their text.
    pub signatures: Mutex<HashMap<u32, u32>>,
    pub values: Mutex<BTreeMap<String, String>>,
    pub problems: Mutex<Vec<String>>,
    pub cuts: Mutex<Vec<Cut>>,
}

impl Mailbox {
    pub fn new(live: Arc<Live>) -> Self {
        Self {
            live,
            writer: OnceLock::new(),
            requests: Mutex::default(),
            signatures: Mutex::default(),
            values: Mutex::default(),
            problems: Mutex::default(),
            cuts: Mutex::default(),
        }
    }

    /// Hands something rare to the writer. It is kept from now on.
    pub fn request(&self, request: Request) {
        let entry = match &request {
            Request::Ceiling(ceiling) => Entry::Ceiling(ceiling.clone()),
            Request::Collective(of) => Entry::Collective((**of).clone()),
            Request::Signature { id, text } => Entry::Signature {
                id: *id,
                text: *text,
            },
            Request::Ptx { hash, name, source } => Entry::Ptx {
                hash: *hash,
                name: name.clone(),
                source: source.to_string(),
            },
            Request::DevicePair {
                pair,
                device,
                device_ns,
            } => Entry::DevicePair {
                pair: *pair,
                device: *device,
                device_ns: *device_ns,
            },
        };
        // Under the lock: the log has them in the order in which the writer takes them.
        let mut requests = lock(&self.requests);
        self.live.log(&[entry]);
        requests.push(request);
    }

    /// Keeps a fact about the run.
    pub fn keep_value(&self, key: String, value: String) {
        self.live.log(&[Entry::Value(key.clone(), value.clone())]);
        lock(&self.values).insert(key, value);
    }

    /// Lets the writer run now.
    pub fn wake(&self) {
        if let Some(writer) = self.writer.get() {
            writer.unpark();
        }
    }
}
