//! Time of blocked algorithms by level: macro, midi and micro tiles, and packing.
//!
//! Every busy instant of a thread is booked to its innermost tile, so exclusive times add up. FLOPs and
//! bytes are declared. A level's roof has the bandwidth of the memory it is blocked for: macro tiles DRAM,
//! midi tiles L2 (L3 where no L2 was measured), micro tiles L1; packing computes nothing and has no roof.
//! The model of the roof is that of the plugin `roofline`.

pub mod findings;
pub mod heatmap;
pub mod levels;
pub mod load;
pub mod outliers;
pub mod parts;
pub mod roofs;
pub mod sums;
pub mod sweep;
pub mod tables;

use serde::Deserialize;
use trueno_analysis::roofline::ceilings;
use trueno_plugin::{Chart, Input, Parts, Plugin, Result, Run, export};

use crate::sums::Sums;

pub struct Tiles;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    pub nominal: bool,
    /// Precision of the arithmetic, which tiles do not record.
    pub precision: String,
    /// Maximum number of outliers in the table, the furthest first. All are counted.
    pub outlier_rows: usize,
    /// Maximum number of rows and columns of a heat map. With more tiles, several share a cell.
    pub heat_cells: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nominal: false,
            precision: "f32".to_owned(),
            outlier_rows: 100,
            heat_cells: 64,
        }
    }
}

impl Plugin for Tiles {
    const ID: &'static str = "tiles";
    const SUMMARY: &'static str = "Where the time of blocked algorithms goes, level by level.";
    const INPUTS: &'static [Input] = &load::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let sums = add_up(run, &options)?;
        emit(run, &sums, &options)
    }
}

impl Parts for Tiles {
    const MERGE_INPUTS: &'static [Input] = &parts::MERGE_INPUTS;

    fn part(run: &mut Run, options: Options) -> Result<()> {
        let sums = add_up(run, &options)?;
        parts::emit(run, &sums)
    }

    fn merge(run: &mut Run, options: Options) -> Result<()> {
        let sums = parts::load(run, options.outlier_rows)?;
        if run.is_final() {
            emit(run, &sums, &options)
        } else {
            parts::emit(run, &sums)
        }
    }
}

fn add_up(run: &mut Run, options: &Options) -> Result<Sums> {
    let mut loaded = load::load(run)?;
    run.check_cancelled()?;
    Ok(Sums::new(&mut loaded, options))
}

fn emit(run: &mut Run, sums: &Sums, options: &Options) -> Result<()> {
    let limits = ceilings::Ceilings::read(run, ceilings::CEILINGS.name(), options.nominal)?;
    let mut levels = levels::levels(sums, load::cost_ns(run)?);
    roofs::place_all(&mut levels, &sums.backends, &limits, options);
    let outliers = outliers::outliers(sums, options.outlier_rows);
    run.emit(tables::levels(&levels))?;
    run.emit(tables::threads(sums))?;
    run.emit(tables::outliers(&outliers))?;
    for level in &levels {
        // One cell says nothing that the level does not.
        let map = sums.heat.get(&load::LevelName::new(&level.name));
        if let Some(map) = map.filter(|map| map.cells.len() > 1) {
            let name = format!("heat_{}", level.plain_name());
            let title = format!("Time of {} tiles by row and column", level.name);
            run.emit(tables::heat(&name, map))?;
            run.chart(Chart::heatmap(&title, &name, "col", "row", "dur_ns"))?;
        }
    }
    for finding in findings::findings(&levels, &outliers, sums.threads.len()) {
        run.finding(finding)?;
    }
    Ok(())
}

export!(Tiles, parts, as trueno_plugin_v1_tiles);
