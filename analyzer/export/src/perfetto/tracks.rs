//! Tracks: of the process, its threads, devices, their streams, and counters.

use std::collections::BTreeMap;

use trueno_engine::Lane;

use super::flows::touch;
use super::packets::{Kind, begin_event};
use super::wire::Message;
use super::{Events, HOST, Touch, shifted};
use crate::error::ExportError;

/// Tracks of slices by lane, separate for slices without reliable times.
#[derive(Default)]
pub(super) struct LaneTracks {
    places: BTreeMap<(Lane, bool), usize>,
    tracks: Vec<Vec<Track>>,
    last: Option<((Lane, bool), usize)>,
}

impl LaneTracks {
    fn place(&mut self, lane: Lane, is_untimed: bool) -> usize {
        let key = (lane, is_untimed);
        if let Some((last, place)) = self.last
            && last == key
        {
            return place;
        }
        let place = *self.places.entry(key).or_insert_with(|| {
            self.tracks.push(Vec::new());
            self.tracks.len() - 1
        });
        self.last = Some((key, place));
        place
    }
}

pub(super) struct Track {
    pub(super) uuid: u64,
    /// End times and ids of open slices.
    open: Vec<(i64, u64)>,
}

impl Events<'_, '_, '_> {
    fn uuid(&mut self) -> u64 {
        self.last_uuid += 1;
        self.last_uuid
    }

    pub(super) fn first_track(&mut self, lane: Lane) -> Result<u64, ExportError> {
        let place = self.tracks.place(lane, false);
        if let Some(track) = self.tracks.tracks[place].first() {
            return Ok(track.uuid);
        }
        let uuid = self.new_track(lane, false)?;
        let open = Vec::new();
        self.tracks.tracks[place].push(Track { uuid, open });
        Ok(uuid)
    }

    fn new_track(&mut self, lane: Lane, is_untimed: bool) -> Result<u64, ExportError> {
        let own = self.tracks.place(lane, false);
        let is_first = !is_untimed && self.tracks.tracks[own].is_empty();
        let parent = match lane {
            _ if !is_first => self.first_track(lane)?,
            Lane::Thread(_) | Lane::ThreadOfRank(_) => HOST,
            Lane::Stream(device, _) => self.device(device)?,
        };
        let uuid = self.uuid();
        let mut track = Message::default();
        track.number(1, uuid);
        match lane {
            Lane::Thread(Some(number)) if is_first && number < i32::MAX as u64 => {
                let mut thread = Message::default();
                thread.number(1, self.pid).number(2, number + 1);
                thread.text(5, &lane.name(&self.threads, self.source.is_of_ranks()));
                track.message(4, &thread);
            }
            _ => {
                let mut name = lane.name(&self.threads, self.source.is_of_ranks());
                if !is_first {
                    name += if is_untimed {
                        " (not timed)"
                    } else {
                        " (overlapping)"
                    };
                }
                track.text(2, &name).number(5, parent);
            }
        }
        self.packets.put_track(&track)?;
        Ok(uuid)
    }

    fn device(&mut self, device: u64) -> Result<u64, ExportError> {
        if let Some(uuid) = self.devices.get(&device) {
            return Ok(*uuid);
        }
        let uuid = self.uuid();
        let mut track = Message::default();
        let name = match Lane::Stream(device, None).in_rank() {
            (rank, Lane::Stream(device, _)) if self.source.is_of_ranks() => {
                format!("rank {rank} gpu{device}")
            }
            _ => format!("gpu{device}"),
        };
        track.number(1, uuid).text(2, &name);
        self.packets.put_track(&track)?;
        self.devices.insert(device, uuid);
        Ok(uuid)
    }

    /// The first track of a lane on which the interval nests. The interval is open there afterwards.
    pub(super) fn place(
        &mut self,
        lane: Lane,
        is_untimed: bool,
        (start_ns, end_ns): (i64, i64),
        id: u64,
    ) -> Result<u64, ExportError> {
        let place = self.tracks.place(lane, is_untimed);
        for at in 0..self.tracks.tracks[place].len() {
            self.close(place, at, start_ns)?;
            let track = &mut self.tracks.tracks[place][at];
            let outer = track.open.last();
            if outer.is_none_or(|(outer_ns, _)| *outer_ns >= end_ns) {
                track.open.push((end_ns, id));
                return Ok(track.uuid);
            }
        }
        let uuid = self.new_track(lane, is_untimed)?;
        let open = vec![(end_ns, id)];
        self.tracks.tracks[place].push(Track { uuid, open });
        Ok(uuid)
    }

    /// Ends slices up to a time, innermost first.
    fn close(&mut self, place: usize, at: usize, until_ns: i64) -> Result<(), ExportError> {
        let track = &mut self.tracks.tracks[place][at];
        while let Some((end_ns, id)) = track.open.pop_if(|(end_ns, _)| *end_ns <= until_ns) {
            begin_event(&mut self.end_event, Kind::End, track.uuid);
            touch(&mut self.end_event, &self.flows, id, &[Touch::ToEnd]);
            let time = shifted(end_ns, self.shift_ns);
            self.packets.put_event(time, &self.end_event)?;
        }
        Ok(())
    }

    pub(super) fn end(&mut self) -> Result<(), ExportError> {
        let places: Vec<usize> = self.tracks.places.values().copied().collect();
        for place in places {
            for at in 0..self.tracks.tracks[place].len() {
                self.close(place, at, i64::MAX)?;
            }
        }
        Ok(())
    }

    /// The track of a counter. `describe` sets its unit.
    pub(super) fn counter(
        &mut self,
        name: &str,
        describe: impl FnOnce(&mut Message) -> &mut Message,
    ) -> Result<u64, ExportError> {
        if let Some(uuid) = self.counters.get(name) {
            return Ok(*uuid);
        }
        let uuid = self.uuid();
        let mut counter = Message::default();
        describe(&mut counter);
        let mut track = Message::default();
        track.number(1, uuid).text(2, name).number(5, HOST);
        track.message(8, &counter);
        self.packets.put_track(&track)?;
        self.counters.insert(name.to_owned(), uuid);
        Ok(uuid)
    }
}
