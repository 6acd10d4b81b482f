//! Threads that ended waits of others.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::hash::FastMap;
use trueno_plugin::{Input, Result, Run, Table, TableBuilder};

use super::{WaitKey, WaitSum, Waits, WakerKey};

/// Which thread ended which wait. Only edges from `on_cpu` rows say so for these waits.
pub const WAKINGS: Input = Input::sql(
    "wakings",
    "SELECT e.\"to\" AS wait, c.thread AS waker, CASE WHEN e.kind = 'joins' THEN 1 ELSE 0 END AS by_end \
     FROM edges AS e JOIN calls AS c ON e.\"from\" = c.id WHERE c.kind = 'on_cpu'",
);
pub const STRETCHES: Input = Input::sql(
    "stretches",
    "SELECT COUNT(*) AS stretches FROM calls WHERE kind = 'on_cpu'",
);

/// By row of the wait: the thread that ended it, and true if by its own end.
#[derive(Debug, Default)]
pub struct Wakings(FastMap<u64, (i64, bool)>);

impl Wakings {
    /// Reads the edges.
    ///
    /// # Errors
    /// The input lacks a column or has it in another type.
    pub fn read(run: &mut Run) -> Result<Self> {
        let mut out = Self::default();
        let mut batches = run.batches("wakings")?;
        while let Some(batch) = batches.next_batch()? {
            let (wait, waker) = (batch.u64("wait")?, batch.i64("waker")?);
            let by_end = batch.i64("by_end")?;
            for row in 0..batch.rows() {
                if let Some((wait, waker)) = wait.get(row).zip(waker.get(row)) {
                    out.0.insert(wait, (waker, by_end.get(row) == Some(1)));
                }
            }
        }
        Ok(out)
    }

    pub fn key(&self, id: Option<u64>, wait: &WaitKey) -> Option<WakerKey> {
        let (waker, by_end) = *self.0.get(&id?)?;
        Some(WakerKey {
            wait: wait.clone(),
            waker,
            by_end,
        })
    }
}

/// Number of intervals in which threads ran.
///
/// # Errors
/// The input lacks a column or has it in another type.
pub fn stretches(run: &mut Run) -> Result<u64> {
    let table = run.table("stretches")?;
    let count = table.i64("stretches")?.iter().flatten().next();
    Ok(count
        .and_then(|count| u64::try_from(count).ok())
        .unwrap_or(0))
}

/// Table `wakers`: which thread ended waits of which place, most time first. Measured: the kernel reports each
/// waking.
///
/// `waker`: the thread that ended them; `by`: `wakes`, or `ends` if the wait was for that thread to end;
/// `waited_ns`: sum of those waits, not the time that a faster waker would save.
pub fn wakers(waits: &Waits) -> TableBuilder {
    let mut rows: Vec<(&WakerKey, &WaitSum)> = waits.wakers.iter().collect();
    rows.sort_by_key(|(_, sum)| Reverse(sum.time_ns));
    let rows = || rows.iter().copied();
    Table::build("wakers")
        .text("waiter", rows().map(|row| waits.label(row.0.wait.thread)))
        .text("call", rows().map(|row| row.0.wait.call.as_deref()))
        .text(
            "function",
            rows().map(|row| row.0.wait.function.name.as_deref()),
        )
        .text("waker", rows().map(|row| waits.label(row.0.waker)))
        .text(
            "by",
            rows().map(|row| if row.0.by_end { "ends" } else { "wakes" }),
        )
        .u64("waits", rows().map(|row| row.1.waits))
        .i64(
            "waited_ns",
            rows().map(|row| i64::try_from(row.1.time_ns).ok()),
        )
        .i64(
            "longest_ns",
            rows().map(|row| i64::try_from(row.1.longest_ns).ok()),
        )
        .i64("thread", rows().map(|row| row.0.wait.thread))
        .i64("waker_thread", rows().map(|row| row.0.waker))
}

/// By place: the thread that ended most of the waiting time, and the number of waits that some known thread ended.
pub fn by_place(waits: &Waits) -> BTreeMap<&WaitKey, (i64, u64)> {
    let mut out: BTreeMap<&WaitKey, BTreeMap<i64, WaitSum>> = BTreeMap::new();
    for (key, sum) in &waits.wakers {
        let of_place = out.entry(&key.wait).or_default();
        of_place.entry(key.waker).or_default().add(*sum);
    }
    let most = |of_place: BTreeMap<i64, WaitSum>| {
        let waits = of_place.values().map(|sum| sum.waits);
        let waits = waits.fold(0, u64::saturating_add);
        let most = of_place
            .iter()
            .max_by_key(|(waker, sum)| (sum.time_ns, Reverse(**waker)));
        most.map(|(waker, _)| (*waker, waits))
    };
    let places = out.into_iter();
    places
        .filter_map(|(place, of_place)| Some((place, most(of_place)?)))
        .collect()
}
