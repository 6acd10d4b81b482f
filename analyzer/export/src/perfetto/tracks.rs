//! Tracks: of the process, its threads, devices, their streams, and counters.

use trueno_engine::Lane;

use super::packets::Kind;
use super::wire::Message;
use super::{Events, HOST, Touch};
use crate::error::ExportError;

/// A track of slices that nest.
pub(super) struct Track {
    pub(super) uuid: u64,
    /// Ends and ids of the open ones.
    open: Vec<(i64, u64)>,
}

impl Events<'_, '_, '_> {
    fn uuid(&mut self) -> u64 {
        self.last_uuid += 1;
        self.last_uuid
    }

    /// The track of a lane itself.
    pub(super) fn first_track(&mut self, lane: Lane) -> Result<u64, ExportError> {
        if let Some(tracks) = self.tracks.get(&(lane, false)) {
            return Ok(tracks[0].uuid);
        }
        let uuid = self.new_track(lane, false)?;
        let open = Vec::new();
        self.tracks
            .insert((lane, false), vec![Track { uuid, open }]);
        Ok(uuid)
    }

    /// A track for slices of a lane, the first or one more.
    fn new_track(&mut self, lane: Lane, is_untimed: bool) -> Result<u64, ExportError> {
        let is_first = !is_untimed && !self.tracks.contains_key(&(lane, false));
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

    /// The first track of a lane on which the interval nests; it is open there now.
    pub(super) fn place(
        &mut self,
        lane: Lane,
        is_untimed: bool,
        (start_ns, end_ns): (i64, i64),
        id: u64,
    ) -> Result<u64, ExportError> {
        let key = (lane, is_untimed);
        let count = self.tracks.get(&key).map_or(0, Vec::len);
        for at in 0..count {
            self.close(key, at, start_ns)?;
            if let Some(tracks) = self.tracks.get_mut(&key)
                && tracks[at]
                    .open
                    .last()
                    .is_none_or(|(outer, _)| *outer >= end_ns)
            {
                tracks[at].open.push((end_ns, id));
                return Ok(tracks[at].uuid);
            }
        }
        let uuid = self.new_track(lane, is_untimed)?;
        let open = vec![(end_ns, id)];
        let tracks = self.tracks.entry(key).or_default();
        tracks.push(Track { uuid, open });
        Ok(uuid)
    }

    /// Ends what had ended by then, the innermost first.
    fn close(&mut self, key: (Lane, bool), at: usize, until_ns: i64) -> Result<(), ExportError> {
        loop {
            let Some(track) = self.tracks.get_mut(&key).and_then(|all| all.get_mut(at)) else {
                return Ok(());
            };
            let Some((end_ns, id)) = track.open.pop_if(|(end_ns, _)| *end_ns <= until_ns) else {
                return Ok(());
            };
            let uuid = track.uuid;
            let mut event = self.packets.track_event(Kind::End, uuid);
            self.touch(&mut event, id, &[Touch::ToEnd]);
            let time = self.time(end_ns);
            self.packets.put_event(time, &event)?;
        }
    }

    pub(super) fn end(&mut self) -> Result<(), ExportError> {
        let all: Vec<_> = self
            .tracks
            .iter()
            .map(|(key, of)| (*key, of.len()))
            .collect();
        for (key, count) in all {
            for at in 0..count {
                self.close(key, at, i64::MAX)?;
            }
        }
        Ok(())
    }

    /// The track of a counter; `describe` says its unit.
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
