//! Ceilings of the machine: measured ones, and nominal ones of devices of which none was measured.

use trueno_analysis::roofline::ceilings::{CEILINGS, Ceilings};
use trueno_plugin::{Error, Result, Run};

use crate::inputs::Side;
use crate::nominal::{self, Named};

/// All ceilings that may be a roof.
#[derive(Clone, Debug, Default)]
pub struct Roofs {
    /// The ceilings.
    pub ceilings: Ceilings,
    /// Devices whose ceilings are those of a data sheet.
    pub sheets: Vec<Named>,
    /// The share of a nominal ceiling that counts.
    pub achievable_share: f64,
}

impl Roofs {
    /// Reads the inputs.
    ///
    /// # Errors
    /// The share is none, or an input lacks a column or has it in another type.
    pub fn read(run: &mut Run, side: Side, nominal: bool, achievable_share: f64) -> Result<Self> {
        if !(achievable_share > 0.0 && achievable_share <= 1.0) {
            return Err(Error::bad_option(format!(
                "achievable_share is {achievable_share}, and must be above 0 and at most 1"
            )));
        }
        let mut ceilings = Ceilings::read(run, &side.input(CEILINGS.name()), nominal)?;
        ceilings.any_threads = true;
        let mut sheets = nominal::of_run(run, side, achievable_share)?;
        sheets.retain(|sheet| {
            let device = &sheet.ceilings[0].device;
            let mut measured = ceilings.rows.iter().filter(|row| row.source == "measured");
            nominal && measured.all(|row| row.device != *device)
        });
        let rows = sheets.iter().flat_map(|sheet| sheet.ceilings.clone());
        ceilings.rows.extend(rows);
        Ok(Self {
            ceilings,
            sheets,
            achievable_share,
        })
    }
}
