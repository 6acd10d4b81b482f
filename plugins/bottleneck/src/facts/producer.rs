//! What recorded the run: advice is in its words.

use trueno_plugin::Table;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Producer {
    PyTorch,
    #[default]
    Other,
}

impl Producer {
    pub fn of_run(table: &Table) -> Self {
        let source = table.text("clock_source").ok();
        match source.and_then(|source| source.iter().flatten().next()) {
            Some("imported: kineto") => Self::PyTorch,
            _ => Self::Other,
        }
    }

    pub fn advice(self, pytorch: &str, general: &str) -> String {
        match self {
            Self::PyTorch => pytorch,
            Self::Other => general,
        }
        .to_owned()
    }
}
