//! Findings on levels and outliers.

use trueno_analysis::share;
use trueno_analysis::wording::time;
use trueno_plugin::{Finding, Severity, agreeing, counted};

use crate::levels::Level;
use crate::outliers::Outliers;

/// Above this share of the time of all tiles in packing, there is a finding.
pub const PACK_SHARE: f64 = 0.2;
/// If the longest thread takes more than this factor of the mean, there is a finding.
pub const IMBALANCE: f64 = 1.2;

/// If recording costs more than this share of a level's time, there is a finding.
pub const PERTURBED: f64 = 0.1;

/// Findings on packing, imbalance, levels above their roof, levels without one, and outliers.
pub fn findings(levels: &[Level], outliers: &Outliers, threads: usize) -> Vec<Finding> {
    const LEVELS: &str = "SELECT level, tiles, exclusive_ns, inclusive_ns, pack_share, efficiency_share, imbalance_ratio, reason FROM tiles.levels";
    let mut out = Vec::new();
    let pack = levels.iter().find(|level| level.name == "pack");
    if let Some(pack) = pack
        && let Some(part) = share(pack.sum.exclusive_ns, pack.all_ns)
        && part > PACK_SHARE
    {
        let title = format!(
            "packing takes {:.1} % of the time of all tiles",
            part * 100.0
        );
        out.push(
            Finding::new("packing", Severity::Warning, title)
                .suggestion(
                    "pack once and reuse it for more tiles, or skip packing for small problems",
                )
                .evidence(LEVELS),
        );
    }
    let worst = levels
        .iter()
        .filter_map(|level| Some((level, level.imbalance?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((level, ratio)) = worst.filter(|(_, ratio)| *ratio > IMBALANCE) {
        let title = format!(
            "{} tiles take {ratio:.2} times as long on one of {} threads as on average",
            level.name, threads
        );
        out.push(
            Finding::new("imbalance", Severity::Warning, title)
                .evidence("SELECT thread, level, tiles, inclusive_ns FROM tiles.threads ORDER BY level, inclusive_ns DESC, thread"),
        );
    }
    let cost = |level: &&Level| level.recorder_share.unwrap_or(0.0);
    let perturbed = levels.iter().max_by(|a, b| cost(a).total_cmp(&cost(b)));
    if let Some(level) = perturbed.filter(|level| cost(level) > PERTURBED) {
        let title = format!(
            "recording cost about {:.0} % of the time of {} tiles",
            cost(&level) * 100.0,
            level.name
        );
        out.push(
            Finding::new("perturbed", Severity::Warning, title)
                .suggestion("sample tiles instead of recording all (`Builder::tiles_every`)")
                .evidence(LEVELS),
        );
    }
    for level in levels
        .iter()
        .filter(|level| level.place.is_some_and(|place| place.is_above()))
    {
        let title = format!(
            "{} tiles lie above their roof, which is impossible",
            level.name
        );
        out.push(
            Finding::new("above_the_roof", Severity::Warning, title)
                .detail(level.reason.clone().unwrap_or_default())
                .evidence(LEVELS),
        );
    }
    let missing: Vec<&Level> = levels
        .iter()
        .filter(|level| level.achieved.is_some() && level.place.is_none())
        .collect();
    if !missing.is_empty() {
        let mut why: Vec<String> = missing
            .iter()
            .filter_map(|level| level.reason.clone())
            .collect();
        why.dedup();
        let title = format!(
            "{} of {} {} no ceiling",
            missing.len(),
            counted(levels.len(), "level", "levels"),
            agreeing(missing.len(), "has", "have")
        );
        out.push(
            Finding::new("no_ceiling", Severity::Info, title)
                .detail(why.join("; "))
                .suggestion("run `trueno-record peaks --into RUN` on the machine of the recording (for a GPU: `peaks --gpu`, before recording), or use nominal ceilings with --set tiles.nominal=true")
                .evidence("SELECT device, kind, level, precision, threads, value, source FROM ceilings"),
        );
    }
    if outliers.count > 0 {
        let title = format!(
            "{} far longer than others with the same work: {} above the median in total",
            counted(outliers.count, "tile took", "tiles took"),
            time(outliers.excess_ns)
        );
        let ids: Vec<u64> = outliers.listed.iter().map(|row| row.tile.id).collect();
        out.push(Finding::new("outliers", Severity::Info, title).evidence(ids));
    }
    out
}
