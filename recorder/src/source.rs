//! The provenance of a recorded value.

use serde::{Deserialize, Serialize};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Source {
    /// A clock or a counter read it.
    Measured = 0,
    /// The program states it.
    Declared = 1,
    /// A formula over measured and declared values.
    Computed = 2,
    /// From a data sheet.
    Nominal = 3,
}

impl Source {
    /// Every source, by number.
    pub const ALL: [Self; 4] = [
        Self::Measured,
        Self::Declared,
        Self::Computed,
        Self::Nominal,
    ];

    /// As it stands in columns named `source`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Declared => "declared",
            Self::Computed => "computed",
            Self::Nominal => "nominal",
        }
    }
}
