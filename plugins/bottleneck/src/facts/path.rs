//! Results of `critical_path`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::intervals::{IntervalSet, SaturatingSum};
use trueno_plugin::rank::of_key;
use trueno_plugin::{Result, Run, Table};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opportunity {
    /// Time on the path, including what is attributed to the name.
    pub path_ns: i64,
    /// Gains if the name took half its time and if it took none; `None`: not computed.
    pub gains_ns: Option<(i64, i64)>,
}

#[derive(Clone, Debug)]
pub enum Without<'a> {
    Host,
    HostBeforeDevices,
    Waits,
    /// Copies and the calls that start them.
    Copies,
    Communication,
    Elementwise,
    Names(Vec<&'a str>),
    /// There is no prediction, so the gain has no bound.
    Unbounded,
}

impl Without<'_> {
    pub fn keeps_devices_busy(&self) -> bool {
        matches!(self, Self::Host | Self::HostBeforeDevices | Self::Waits)
    }

    /// Only work of devices, or the calls that start it.
    pub fn is_device_work(&self) -> bool {
        matches!(self, Self::Copies | Self::Communication | Self::Elementwise)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub kind: String,
    pub name: Option<String>,
    /// Number of its lane.
    pub lane: Option<usize>,
    /// Rank of its lane; `None`: a sum, or a lane without rows on the path.
    pub rank: Option<i64>,
    /// For a sum, the start of its first piece.
    pub start_ns: i64,
    pub dur_ns: i64,
}

/// Work on the path of one name while all other lanes were idle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alone {
    pub name: String,
    pub category: String,
    pub ns: i64,
    /// What is left of it if all threads that had begun by then share it.
    pub shared_ns: i64,
    /// The longest part of it in one row.
    pub longest_ns: i64,
}

#[derive(Clone, Debug, Default)]
pub struct Path {
    pub is_known: bool,
    pub kinds: BTreeMap<String, i64>,
    /// Own time by name, longest first: name, kind, category, nanoseconds.
    pub names: Vec<(String, String, Option<String>, i64)>,
    pub pieces: Vec<Piece>,
    pub opportunities: BTreeMap<String, Opportunity>,
    without: BTreeMap<String, i64>,
    pub alone: Vec<Alone>,
    /// Gains if a name reached its roof, by source and name.
    pub at_roof: BTreeMap<(String, String), i64>,
}

impl Path {
    /// Reads the inputs from `critical_path`.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run) -> Result<Self> {
        let mut out = Self::default();
        let kinds = run.table("path_kinds")?;
        out.is_known = !kinds.is_empty();
        let (kind, dur) = (kinds.text("kind")?, kinds.i64("dur_ns")?);
        for row in 0..kinds.rows() {
            if let (Some(kind), Some(dur)) = (kind.get(row), dur.get(row)) {
                out.kinds.insert(kind.to_owned(), dur);
            }
        }
        let names = run.table("path_names")?;
        let (name, kind) = (names.text("name")?, names.text("kind")?);
        let (category, dur) = (names.text("category")?, names.i64("dur_ns")?);
        for row in 0..names.rows() {
            if let (Some(name), Some(kind), Some(dur)) =
                (name.get(row), kind.get(row), dur.get(row))
            {
                let category = category.get(row).map(str::to_owned);
                out.names
                    .push((name.to_owned(), kind.to_owned(), category, dur));
            }
        }
        out.pieces = pieces(&run.table("path_pieces")?)?;
        let table = run.table("opportunity")?;
        let (name, path) = (table.text("name")?, table.i64("path_ns")?);
        let (half, all) = (table.i64("gain_50pct_ns")?, table.i64("gain_100pct_ns")?);
        for row in 0..table.rows() {
            let (Some(name), Some(path_ns)) = (name.get(row), path.get(row)) else {
                continue;
            };
            let gains_ns = half.get(row).zip(all.get(row));
            let one = Opportunity { path_ns, gains_ns };
            out.opportunities.insert(name.to_owned(), one);
        }
        let table = run.table("path_without")?;
        let (target, gain) = (table.text("target")?, table.i64("gain_ns")?);
        for row in 0..table.rows() {
            if let (Some(target), Some(gain)) = (target.get(row), gain.get(row)) {
                out.without.insert(target.to_owned(), gain);
            }
        }
        let table = run.table("path_alone")?;
        let (name, category) = (table.text("name")?, table.text("category")?);
        let alone = table.i64("alone_ns")?;
        let (shared, longest) = (table.i64("shared_ns")?, table.i64("longest_ns")?);
        for row in 0..table.rows() {
            if let (Some(name), Some(ns)) = (name.get(row), alone.get(row)) {
                out.alone.push(Alone {
                    name: name.to_owned(),
                    category: category.get(row).unwrap_or_default().to_owned(),
                    ns,
                    shared_ns: shared.get(row).unwrap_or(0),
                    longest_ns: longest.get(row).unwrap_or(0),
                });
            }
        }
        let table = run.table("at_roof")?;
        let (source, name, gain) = (
            table.text("source")?,
            table.text("name")?,
            table.i64("gain_ns")?,
        );
        for row in 0..table.rows() {
            if let (Some(source), Some(name), Some(gain)) =
                (source.get(row), name.get(row), gain.get(row))
            {
                out.at_roof
                    .insert((source.to_owned(), name.to_owned()), gain);
            }
        }
        Ok(out)
    }

    pub fn kind_ns(&self, kind: &str) -> i64 {
        self.kinds.get(kind).copied().unwrap_or(0)
    }

    /// Work on the path before `until_ns`, of the names that `counts` accepts, and outside of the times that `except` gives
    /// for a piece; without pieces, all work on the path.
    pub fn work_before_ns<'e>(
        &self,
        until_ns: i64,
        except: impl Fn(&Piece) -> &'e IntervalSet<i64>,
        counts: impl Fn(&str) -> bool,
    ) -> i64 {
        if self.pieces.is_empty() {
            return self.kind_ns("work");
        }
        let pieces = self
            .pieces
            .iter()
            .filter(|piece| piece.kind == "work" && piece.name.as_deref().is_none_or(&counts));
        let before = |piece: &Piece| {
            let end_ns = piece.start_ns.saturating_add(piece.dur_ns).min(until_ns);
            let ns = end_ns.saturating_sub(piece.start_ns).max(0);
            ns - except(piece).within_ns(piece.start_ns, end_ns)
        };
        pieces.map(before).saturating_sum()
    }

    /// Lanes with a piece of a name that `is_of` accepts.
    pub fn lanes_of(&self, is_of: impl Fn(&str) -> bool) -> BTreeSet<Option<usize>> {
        let pieces = self.pieces.iter();
        let pieces = pieces.filter(|piece| piece.name.as_deref().is_some_and(&is_of));
        pieces.map(|piece| piece.lane).collect()
    }

    /// Work on the path within `times`, of the names that `counts` accepts.
    pub fn work_within_ns(&self, times: &IntervalSet<i64>, counts: impl Fn(&str) -> bool) -> i64 {
        let pieces = self
            .pieces
            .iter()
            .filter(|piece| piece.kind == "work" && piece.name.as_deref().is_none_or(&counts));
        let within = |piece: &Piece| {
            let end_ns = piece.start_ns.saturating_add(piece.dur_ns);
            times.within_ns(piece.start_ns, end_ns)
        };
        pieces.map(within).saturating_sum()
    }

    /// Time on the path within `times` of which nothing was recorded.
    pub fn gaps_within_ns(&self, times: &IntervalSet<i64>) -> i64 {
        let gaps = self.pieces.iter().filter(|piece| piece.kind == "gap");
        let within = |piece: &Piece| {
            let end_ns = piece.start_ns.saturating_add(piece.dur_ns);
            times.within_ns(piece.start_ns, end_ns)
        };
        gaps.map(within).saturating_sum()
    }

    /// Pieces in which `name` works.
    pub fn work_of(&self, name: &str) -> impl Iterator<Item = &Piece> {
        let pieces = self.pieces.iter();
        pieces.filter(move |piece| piece.kind == "work" && piece.name.as_deref() == Some(name))
    }

    pub fn work_between(
        &self,
        name: &str,
        from_ns: i64,
        until_ns: i64,
    ) -> impl Iterator<Item = &Piece> {
        self.work_of(name)
            .filter(move |piece| (from_ns..until_ns).contains(&piece.start_ns))
    }

    /// Names with work on the path within `times`, among those that `counts` accepts, and their times, longest first.
    pub fn names_within(
        &self,
        times: &IntervalSet<i64>,
        counts: impl Fn(&str) -> bool,
    ) -> Vec<(&str, i64)> {
        let mut names: BTreeMap<&str, i64> = BTreeMap::new();
        for piece in self.pieces.iter().filter(|piece| piece.kind == "work") {
            let end_ns = piece.start_ns.saturating_add(piece.dur_ns);
            let (Some(name), ns) = (
                piece.name.as_deref(),
                times.within_ns(piece.start_ns, end_ns),
            ) else {
                continue;
            };
            if ns > 0 && counts(name) {
                let sum = names.entry(name).or_default();
                *sum = sum.saturating_add(ns);
            }
        }
        let mut names: Vec<(&str, i64)> = names.into_iter().collect();
        names.sort_by_key(|(name, ns)| (Reverse(*ns), *name));
        names
    }

    /// Time of a name on the path, including what is attributed to it.
    pub fn name_ns(&self, name: &str) -> i64 {
        let own = || {
            let of_name = self
                .names
                .iter()
                .filter(|row| row.0 == name && row.1 != "sync_wait");
            of_name.map(|row| row.3).saturating_sum()
        };
        self.opportunities
            .get(name)
            .map_or_else(own, |one| one.path_ns)
    }

    /// Own time of a name on the path by category, without nested calls. If the path is not known by names,
    /// [`Self::name_ns`] under `category`.
    pub fn own_ns<'a>(&'a self, name: &str, category: Option<&'a str>) -> Vec<(&'a str, i64)> {
        if self.names.is_empty() {
            return category
                .map(|of| (of, self.name_ns(name)))
                .into_iter()
                .collect();
        }
        let rows = self.names.iter();
        let rows = rows.filter(|row| row.0 == name && row.1 == "work" && row.3 > 0);
        rows.filter_map(|row| Some((row.2.as_deref()?, row.3)))
            .collect()
    }

    /// Upper bound of the gain from removing this entirely; `i64::MAX` without a prediction.
    pub fn without_ns(&self, without: &Without<'_>) -> i64 {
        let of = |target: &str| self.without.get(target).copied().unwrap_or(i64::MAX);
        match without {
            Without::Host => of("host"),
            Without::HostBeforeDevices => of("before devices"),
            Without::Waits => of("waits"),
            Without::Copies => of("copies"),
            Without::Communication => of("category:communication"),
            Without::Elementwise => of("category:elementwise"),
            Without::Names(names) => {
                let gains = names.iter().map(|name| self.most_of_name_ns(name));
                gains.saturating_sum()
            }
            Without::Unbounded => i64::MAX,
        }
    }

    /// Upper bound of the gain from any fix of a name; `i64::MAX` without a prediction.
    pub fn most_of_name_ns(&self, name: &str) -> i64 {
        let gains = self.opportunities.get(name).and_then(|one| one.gains_ns);
        gains.map_or(i64::MAX, |(_, all_ns)| all_ns)
    }

    /// Gain of the whole run if `name` took the share `less` less time. Interpolates between the gains computed
    /// for nothing, half and all of it; without them, that share of its time on the path.
    pub fn gain_ns(&self, name: &str, less: f64) -> i64 {
        let less = less.clamp(0.0, 1.0);
        match self.opportunities.get(name).and_then(|one| one.gains_ns) {
            Some((half, all)) => {
                let (half, all) = (half as f64, all as f64);
                let gain = if less <= 0.5 {
                    half * less * 2.0
                } else {
                    half + (all - half) * (less - 0.5) * 2.0
                };
                gain as i64
            }
            None => (self.name_ns(name) as f64 * less) as i64,
        }
    }
}

fn pieces(table: &Table) -> Result<Vec<Piece>> {
    let (kind, name, lane) = (
        table.text("kind")?,
        table.text("name")?,
        table.text("lane")?,
    );
    let (start, dur, id) = (
        table.i64("start_ns")?,
        table.i64("dur_ns")?,
        table.u64("id")?,
    );
    // Gaps have a lane and no row.
    let rank = |row: usize| id.get(row).map(|id| of_key(id) as i64);
    let of_lane: BTreeMap<&str, i64> = (0..table.rows())
        .filter_map(|row| lane.get(row).zip(rank(row)))
        .collect();
    let mut lanes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out = Vec::new();
    for row in 0..table.rows() {
        let times = start.get(row).zip(dur.get(row));
        let Some((kind, (start_ns, dur_ns))) = kind.get(row).zip(times) else {
            continue;
        };
        let number = lane.get(row).map(|lane| {
            let next = lanes.len();
            *lanes.entry(lane).or_insert(next)
        });
        let by_lane = || lane.get(row).and_then(|lane| of_lane.get(lane).copied());
        out.push(Piece {
            kind: kind.to_owned(),
            name: name.get(row).map(str::to_owned),
            lane: number,
            rank: rank(row).or_else(by_lane),
            start_ns,
            dur_ns,
        });
    }
    Ok(out)
}
