//! Tracks, and the names of what they are of.

use std::collections::HashMap;

use super::messages::{CounterDescriptor, ThreadDescriptor, TrackDescriptor};

/// Id of a track or, for packets without a track, of their sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrackKey {
    Uuid(u64),
    Sequence(u32),
}

#[derive(Clone, Debug, Default)]
pub struct Track {
    parent: Option<u64>,
    name: Option<String>,
    process: Option<i32>,
    process_name: Option<String>,
    thread: Option<i64>,
    pub counter: Option<Counter>,
}

#[derive(Clone, Debug, Default)]
pub struct Counter {
    pub unit: Option<String>,
    pub multiplier: i64,
    /// Values are increments.
    pub is_incremental: bool,
}

#[derive(Debug, Default)]
pub struct Tracks(HashMap<TrackKey, Track>);

fn words(bytes: Option<&Vec<u8>>) -> Option<String> {
    let text = String::from_utf8_lossy(bytes?);
    (!text.is_empty()).then(|| text.into_owned())
}

fn tell<T>(known: &mut Option<T>, told: Option<T>) {
    if told.is_some() {
        *known = told;
    }
}

impl Tracks {
    /// Adds a descriptor; later ones complete earlier ones.
    pub fn describe(&mut self, of: &TrackDescriptor) {
        let key = TrackKey::Uuid(of.uuid.unwrap_or(0));
        let track = self.0.entry(key).or_default();
        tell(&mut track.parent, of.parent_uuid);
        let names = [&of.name, &of.static_name, &of.atrace_name];
        tell(
            &mut track.name,
            names.iter().find_map(|name| words(name.as_ref())),
        );
        if let Some(process) = &of.process {
            tell(&mut track.process, process.pid);
            tell(
                &mut track.process_name,
                words(process.process_name.as_ref()),
            );
        }
        if let Some(counter) = &of.counter {
            track.counter = Some(counter_of(counter));
        }
        if let Some(thread) = &of.thread {
            self.describe_thread(key, thread);
        }
    }

    pub fn describe_thread(&mut self, key: TrackKey, thread: &ThreadDescriptor) {
        let track = self.0.entry(key).or_default();
        tell(&mut track.process, thread.pid);
        tell(&mut track.thread, thread.tid);
        tell(&mut track.name, words(thread.thread_name.as_ref()));
    }

    pub fn get(&self, key: TrackKey) -> Option<&Track> {
        self.0.get(&key)
    }

    /// A track and its parents, innermost first.
    fn ancestors(&self, key: TrackKey) -> impl Iterator<Item = &Track> {
        let parent = |track: &&Track| self.0.get(&TrackKey::Uuid(track.parent?));
        // A circle of tracks has no end.
        std::iter::successors(self.0.get(&key), parent).take(16)
    }

    pub fn thread(&self, key: TrackKey) -> Option<u64> {
        u64::try_from(self.0.get(&key)?.thread?).ok()
    }

    pub fn process(&self, key: TrackKey) -> Option<u64> {
        let process = self.ancestors(key).find_map(|track| track.process)?;
        u64::try_from(process).ok()
    }

    pub fn name(&self, key: TrackKey) -> String {
        let own = self.0.get(&key);
        if let Some(name) =
            own.and_then(|track| track.name.as_ref().or(track.process_name.as_ref()))
        {
            return name.clone();
        }
        match (self.thread(key), self.process(key), key) {
            (Some(thread), ..) => format!("thread {thread}"),
            (None, Some(process), _) => format!("process {process}"),
            (None, None, TrackKey::Sequence(number)) => format!("sequence {number}"),
            (None, None, TrackKey::Uuid(0)) => "whole trace".to_owned(),
            (None, None, TrackKey::Uuid(uuid)) => format!("track {uuid}"),
        }
    }

    pub fn only_process(&self) -> Option<&str> {
        let mut names = self
            .0
            .values()
            .filter_map(|track| track.process_name.as_deref());
        let first = names.next()?;
        names.all(|name| name == first).then_some(first)
    }
}

fn counter_of(counter: &CounterDescriptor) -> Counter {
    let unit = match counter.unit {
        Some(1) => Some("ns"),
        Some(2) => Some("count"),
        Some(3) => Some("byte"),
        _ => None,
    };
    Counter {
        unit: words(counter.unit_name.as_ref()).or(unit.map(str::to_owned)),
        multiplier: counter.unit_multiplier.filter(|by| *by != 0).unwrap_or(1),
        is_incremental: counter.is_incremental.unwrap_or(false),
    }
}
