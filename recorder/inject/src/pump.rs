//! Writes what arrived, on a thread of its own.

use std::collections::HashSet;
use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use trueno_cupti::kind;
use trueno_cupti::library::Refused;
use trueno_cupti::record::{kind_of, text_offset};
use trueno_cupti::spool::{Chunk, Severity};
use trueno_cupti::walk::records;

use crate::buffers::{BUFFER_BYTES, Full};
use crate::session::{Phase, Session, lock};
use crate::timing_check::TimingCheck;
use crate::{callbacks, flusher, graphs, names, shutdown};

const CLOCKS: Duration = Duration::from_secs(1);
/// A chunk of records is written once it reaches this size.
const CHUNK_BYTES: usize = 4 << 20;

pub fn run(session: &'static Session) {
    let mut clocks = Instant::now();
    loop {
        session.pool.wait(session.settings.flush);
        write(session);
        if clocks.elapsed() >= CLOCKS {
            clocks = Instant::now();
            flusher::read_clocks(session);
        }
        if session.phase() > Phase::Recording {
            break;
        }
    }
    // Without CUPTI there is no flusher to do it.
    if session.cupti.get().is_none() {
        shutdown::finish(session);
    }
}

/// Writes everything received so far. When it returns, the data is with the operating system.
pub fn drain(session: &Session) {
    write(session);
}

#[derive(Debug, Default)]
pub struct Known {
    callbacks: HashSet<(u32, u32)>,
    threads: HashSet<u32>,
    timing_check: TimingCheck,
}

fn write(session: &Session) {
    // Two threads may come here at the end. What one has taken is written before the other goes on: the program
    // ends behind it.
    let mut known = lock(&session.known);
    let mut framed = Vec::new();
    for full in session.pool.take_full() {
        frame(session, full, &mut known, &mut framed);
        if callbacks::is_last(full.buffer) {
            callbacks::last_is_back();
        } else {
            session.pool.give_back(full.buffer);
        }
        if framed.len() >= CHUNK_BYTES {
            write_records(session, &mut framed);
        }
    }
    // Events first: all names they refer to are in the list then.
    graphs::write(session);
    let ranges = std::mem::take(&mut *lock(&session.ranges));
    write_records(session, &mut framed);
    write_names(session);
    if !ranges.is_empty() {
        session.write(Chunk::Ranges, &[&ranges]);
    }
}

fn write_records(session: &Session, framed: &mut Vec<u8>) {
    write_names(session);
    if !framed.is_empty() {
        session.write(Chunk::Records, &[framed]);
        framed.clear();
    }
}

fn write_names(session: &Session) {
    let new = lock(&session.names).take_new();
    if !new.is_empty() {
        session.write(Chunk::Names, &[&new]);
    }
}

/// Copies the records of a buffer, each preceded by its length.
fn frame(session: &Session, full: Full, known: &mut Known, to: &mut Vec<u8>) {
    let (Some(cupti), Some(sizes)) = (session.cupti.get(), session.sizes.get()) else {
        return;
    };
    let (base, valid) = (full.buffer.base(), full.valid_bytes.min(BUFFER_BYTES));
    // SAFETY: a buffer of ours that CUPTI has given back: nobody writes to it any more.
    let bytes = unsafe { std::slice::from_raw_parts(base, valid) };
    let mut next = ptr::null_mut();
    let mut last: Option<usize> = None;
    let stop = loop {
        // SAFETY: as above; CUPTI only reads the kinds it steps over.
        if let Err(refused) = unsafe { cupti.get_next_record(base, valid, &mut next) } {
            break refused;
        }
        let at = (next as usize).wrapping_sub(base as usize);
        if at >= valid || last.is_some_and(|last| at <= last) {
            break Refused::Missing("record inside its buffer");
        }
        if let Some(last) = last {
            // The end of one record is where the next one begins.
            one(session, &bytes[last..at], known, to);
        }
        last = Some(at);
    };
    if let Some(last) = last {
        let rest = &bytes[last..];
        let own = kind_of(rest)
            .and_then(|number| sizes.get(number))
            .unwrap_or(rest.len());
        one(session, &rest[..own.min(rest.len())], known, to);
    }
    let problem = match &stop {
        Refused::Code(_, NO_MORE) => return,
        Refused::Missing(_) if last.is_none() => {
            // A library that cannot step over its own records.
            let mut walked = records(bytes, sizes);
            walked.find_map(|record| match record {
                Ok(record) => {
                    one(session, record, known, to);
                    None
                }
                Err(stop) => Some(stop.to_string()),
            })
        }
        refused => Some(refused.to_string()),
    };
    if let Some(problem) = problem {
        let text = format!("the rest of a buffer of records cannot be read: {problem}");
        session.note(Severity::Warning, "unreadable_buffer", &text);
    }
}

/// CUPTI's code for the end of a buffer.
const NO_MORE: i32 = 12;

fn one(session: &Session, bytes: &[u8], known: &mut Known, to: &mut Vec<u8>) {
    let Some(number) = kind_of(bytes) else {
        return;
    };
    let word =
        |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let is_call = matches!(number, kind::RUNTIME | kind::DRIVER) && bytes.len() >= 40;
    if is_call && word(28) == session.own_thread.load(Ordering::Acquire) {
        session.own_call_seen.store(true, Ordering::Release);
        return;
    }
    to.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    let from = to.len();
    to.extend_from_slice(bytes);
    let copy = &mut to[from..];
    if let Some(offset) = text_offset(number) {
        name_text(session, copy, offset);
    }
    if number == kind::CONCURRENT_KERNEL && known.timing_check.lost(bytes) {
        session.times_lost.store(true, Ordering::Release);
    }
    if is_call {
        let domain = if number == kind::DRIVER { 1 } else { 2 };
        name_callback(session, domain, word(4), known);
        name_thread(session, word(28), known);
    }
}

/// Replaces the address of a text by its number. CUPTI keeps these texts while it records.
fn name_text(session: &Session, record: &mut [u8], offset: usize) {
    let Some(slot) = record.get_mut(offset..offset + 8) else {
        return;
    };
    let mut address = [0; 8];
    address.copy_from_slice(slot);
    let address = u64::from_ne_bytes(address) as *const std::ffi::c_char;
    let number = if address.is_null() {
        0
    } else {
        // SAFETY: CUPTI's own text, which ends with a null byte.
        session.name(unsafe { CStr::from_ptr(address) }.to_bytes())
    };
    slot.copy_from_slice(&u64::from(number).to_ne_bytes());
}

fn name_callback(session: &Session, domain: u32, number: u32, known: &mut Known) {
    if !known.callbacks.insert((domain, number)) {
        return;
    }
    let name = session
        .cupti
        .get()
        .and_then(|cupti| cupti.callback_name(domain, number));
    if let Some(name) = name {
        let parts = [
            &domain.to_le_bytes()[..],
            &number.to_le_bytes(),
            name.as_bytes(),
        ];
        session.write(Chunk::Callback, &parts);
    }
}

fn name_thread(session: &Session, number: u32, known: &mut Known) {
    if !known.threads.insert(number) || lock(&session.named).contains(&number) {
        return;
    }
    if let Ok(name) = std::fs::read(format!("/proc/self/task/{number}/comm")) {
        let mut bytes = Vec::new();
        names::write(&mut bytes, number, name.trim_ascii_end());
        session.write(Chunk::Thread, &[&bytes]);
    }
}
