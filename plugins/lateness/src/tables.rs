//! Output tables and the finding; columns and formulas: `docs/analyses/lateness.md`.

use std::collections::BTreeMap;

use trueno_analysis::wording::time;
use trueno_plugin::{Finding, Severity, Table, TableBuilder, counted};

use crate::cause::{Explained, Kind};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sums<'a> {
    /// Collectives that the rank came late to for this cause.
    collectives: u64,
    /// Sum of the others' waits.
    caused_ns: i64,
    excess_ns: i64,
    names: BTreeMap<&'a str, i64>,
}

impl Sums<'_> {
    fn name(&self) -> Option<&str> {
        let names = self.names.iter();
        let most = names.max_by_key(|(name, ns)| (**ns, std::cmp::Reverse(*name)));
        most.map(|(name, _)| *name)
    }
}

/// Causes by rank, the longest waits first.
pub struct Causes<'a>(Vec<((u32, Kind), Sums<'a>)>);

impl<'a> Causes<'a> {
    pub fn new(explained: &'a [Explained]) -> Self {
        let mut sums: BTreeMap<(u32, Kind), Sums<'a>> = BTreeMap::new();
        for one in explained {
            let of = sums.entry((one.rank, one.cause.kind)).or_default();
            of.collectives += 1;
            of.caused_ns = of.caused_ns.saturating_add(one.caused_ns);
            of.excess_ns = of.excess_ns.saturating_add(one.cause.excess_ns);
            if let Some(name) = &one.cause.name {
                let sum = of.names.entry(name).or_default();
                *sum = sum.saturating_add(one.cause.excess_ns);
            }
        }
        let mut rows: Vec<((u32, Kind), Sums<'a>)> = sums.into_iter().collect();
        rows.sort_by_key(|(key, of)| (std::cmp::Reverse(of.caused_ns), *key));
        Self(rows)
    }

    pub fn table(&self) -> TableBuilder {
        let (keys, of) = (
            || self.0.iter().map(|row| row.0),
            || self.0.iter().map(|row| &row.1),
        );
        Table::build("causes")
            .u64("rank", keys().map(|(rank, _)| u64::from(rank)))
            .text("cause", keys().map(|(_, kind)| kind.name()))
            .text("name", of().map(Sums::name))
            .u64("collectives", of().map(|of| of.collectives))
            .i64("caused_ns", of().map(|of| of.caused_ns))
            .i64("excess_ns", of().map(|of| of.excess_ns))
    }

    /// Says why the rank that others waited for longest was late; `None` if the cause is unknown.
    pub fn finding(&self) -> Option<Finding> {
        let rank = self.worst()?;
        let known = self.0.iter();
        let known = known.filter(|((of, kind), _)| *of == rank && *kind != Kind::Unknown);
        let mut told = known.map(|((_, kind), of)| {
            let name = of.name().map(|name| format!(", most of it in {name}"));
            format!(
                "{}, {} longer than the others over {}{}",
                words(*kind),
                time(of.excess_ns),
                counted(of.collectives, "collective", "collectives"),
                name.unwrap_or_default()
            )
        });
        let title = format!("rank {rank} arrives late because {}", told.next()?);
        let mut finding = Finding::new("late_because", Severity::Info, title);
        if let Some(next) = told.next() {
            finding = finding.detail(format!("and because {next}"));
        }
        let most = self
            .0
            .iter()
            .find(|((of, kind), _)| *of == rank && *kind != Kind::Unknown);
        finding = finding.suggestion(match most?.0.1 {
            Kind::Compute => {
                "compare its kernels with those of another rank: more work, or a slower device"
            }
            Kind::Copy => "check what it copies that the others do not",
            Kind::Communication => {
                "see which rank is last in the preceding collectives: it delays this one"
            }
            Kind::Input => "balance or prefetch its input",
            Kind::Launch | Kind::Host | Kind::Unknown => {
                "see what its threads do while its device is idle"
            }
        });
        Some(finding.evidence("SELECT * FROM lateness.causes ORDER BY caused_ns DESC"))
    }

    /// The rank that others waited for longest, over all causes.
    fn worst(&self) -> Option<u32> {
        let mut ranks: BTreeMap<u32, i64> = BTreeMap::new();
        for ((rank, _), of) in &self.0 {
            let sum = ranks.entry(*rank).or_default();
            *sum = sum.saturating_add(of.caused_ns);
        }
        let worst = ranks.into_iter();
        worst
            .max_by_key(|(rank, ns)| (*ns, std::cmp::Reverse(*rank)))
            .map(|(rank, _)| rank)
    }
}

fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Compute => "it computed",
        Kind::Copy => "it copied",
        Kind::Communication => "it was delayed in other collectives",
        Kind::Input => "it prepared input",
        Kind::Launch => "it launched",
        Kind::Host => "its threads were busy with something else",
        Kind::Unknown => "it is not known",
    }
}

/// Table `explained`: each collective that was examined.
pub fn explained(explained: &[Explained]) -> TableBuilder {
    let rows = || explained.iter();
    Table::build("explained")
        .u64("instance", rows().map(|one| one.instance))
        .u64("rank", rows().map(|one| u64::from(one.rank)))
        .text("cause", rows().map(|one| one.cause.kind.name()))
        .text("name", rows().map(|one| one.cause.name.as_ref()))
        .i64("excess_ns", rows().map(|one| one.cause.excess_ns))
        .i64("late_ns", rows().map(|one| one.cause.late_ns))
        .i64("caused_ns", rows().map(|one| one.caused_ns))
}
