//! Clocks, temperature and power of devices.

use trueno_cupti::record::Environment;
use trueno_format::schema::CounterRow;

use super::build::Build;
use crate::Error;

/// Names, values and units of a record, without unknown ones.
fn readings(of: &Environment) -> Vec<(&'static str, u32, &'static str)> {
    match of.what {
        1 => vec![
            ("multiprocessor clock", of.first, "MHz"),
            ("memory clock", of.second, "MHz"),
        ],
        2 => vec![("temperature", of.first, "degC")],
        3 => vec![("power", of.first, "mW"), ("power limit", of.second, "mW")],
        4 => vec![("fan", of.first, "%")],
        _ => Vec::new(),
    }
}

impl Build {
    pub(super) fn environments(&mut self) -> Result<(), Error> {
        let mut all = std::mem::take(&mut self.from.environments);
        all.sort_by_key(|of| (of.time, of.device, of.what));
        for of in all {
            let Some(time) = self.time(of.time) else {
                self.not_sound("environment", "CUPTI gave no times");
                continue;
            };
            for (name, value, unit) in readings(&of) {
                let row = CounterRow {
                    time_ns: time,
                    name: self.text(&format!("gpu{} {name}", of.device)),
                    value: value.into(),
                    unit: Some(self.text(unit)),
                    source: self.text("measured"),
                    ..CounterRow::default()
                };
                self.add(&row)?;
            }
        }
        Ok(())
    }
}
