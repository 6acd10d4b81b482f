//! Ceilings of the machine: measured ones, and nominal ones of devices of which none was measured.

use trueno_analysis::roofline::ceilings::{CEILINGS, Ceilings};
use trueno_plugin::{Error, Result, Run};

use crate::device_classes::DeviceClasses;
use crate::inputs::Side;
use crate::nominal::{self, Named};

#[derive(Clone, Debug, Default)]
pub struct Roofs {
    pub ceilings: Ceilings,
    pub sheets: Vec<Named>,
    /// Names of devices without a data sheet, each with similar names that have one.
    pub without_sheet: Vec<(String, Vec<String>)>,
    pub classes: DeviceClasses,
    /// Share of a nominal ceiling that counts as the roof.
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
        let devices = devices(run, side)?;
        let classes = DeviceClasses::new(&devices, &ceilings);
        let mut sheets = nominal::of_devices(&devices, achievable_share);
        sheets.retain(|sheet| {
            let device = &sheet.ceilings[0].device;
            let mut measured = ceilings.rows.iter().filter(|row| row.source == "measured");
            nominal && measured.all(|row| row.device != *device)
        });
        let has_roof = |device: &str| {
            let sheets = sheets.iter().map(|sheet| &sheet.ceilings);
            let mut rows = ceilings.rows.iter().chain(sheets.flatten());
            rows.any(|row| row.device == device)
        };
        let bare = devices.iter().filter(|(device, _)| !has_roof(device));
        let mut without_sheet: Vec<(String, Vec<String>)> = bare
            .map(|(_, name)| (name.clone(), nominal::near(name)))
            .collect();
        without_sheet.dedup();
        let rows = sheets.iter().flat_map(|sheet| sheet.ceilings.clone());
        ceilings.rows.extend(rows);
        Ok(Self {
            ceilings,
            sheets,
            without_sheet,
            classes,
            achievable_share,
        })
    }
}

fn devices(run: &mut Run, side: Side) -> Result<Vec<(String, String)>> {
    let table = run.table(&side.input("devices"))?;
    if table.is_missing() {
        return Ok(Vec::new());
    }
    let (device, name) = (table.text("device")?, table.text("name")?);
    let rows = (0..table.rows()).filter_map(|row| Some((device.get(row)?, name.get(row)?)));
    Ok(rows
        .map(|(device, name)| (device.to_owned(), name.to_owned()))
        .collect())
}
