//! Lanes that short-lived threads of one role share: hundreds of rows with a piece each show nothing.

use std::collections::BTreeMap;

use trueno_analysis::pools::{Pools, ThreadLife};

use super::read::{Lanes, OfLane};

/// Merges threads of a pool that never existed at the same time into one lane, in the position of the first.
/// Returns the lanes of threads by the threads' former names. Intervals are sorted before and after.
pub(super) fn share_lanes(all: &mut Lanes) -> BTreeMap<String, String> {
    let life = |lane: &OfLane| {
        let first = lane.intervals.first()?;
        let last_ns = lane.intervals.iter().map(|one| one.end_ns).max()?;
        Some((first.start_ns, last_ns, first.name))
    };
    let lives = all.lanes.iter().map(|lane| {
        let (first_ns, last_ns, begins_with) = life(lane).filter(|_| !lane.is_device)?;
        Some(ThreadLife {
            lane: &lane.name,
            begins_with: &all.names[begins_with as usize],
            first_ns,
            last_ns,
        })
    });
    let pools = Pools::new(lives);
    let mut shared = BTreeMap::new();
    let mut places = BTreeMap::new();
    let mut lanes: Vec<OfLane> = Vec::with_capacity(all.lanes.len());
    for (at, mut lane) in std::mem::take(&mut all.lanes).into_iter().enumerate() {
        let Some(place) = pools.place(at) else {
            lanes.push(lane);
            continue;
        };
        let pool = &pools.pools[place.pool];
        let name = match pool.slots {
            1 => pool.name.clone(),
            slots => format!("{} ({} of {slots})", pool.name, place.slot + 1),
        };
        shared.insert(lane.name.clone(), name.clone());
        match places.get(&place) {
            Some(at) => {
                let of: &mut OfLane = &mut lanes[*at];
                of.intervals.append(&mut lane.intervals);
            }
            None => {
                places.insert(place, lanes.len());
                lane.pool = Some(pool.name.clone());
                lane.name = name;
                lanes.push(lane);
            }
        }
    }
    for at in places.into_values() {
        lanes[at].sort();
    }
    all.lanes = lanes;
    shared
}
