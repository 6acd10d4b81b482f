//! Functions by name and place.

/// A function, as tables tell them apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    /// Its name; `None`: not known.
    pub name: Option<String>,
    /// Program or library that it is in; `None`: not known.
    pub module: Option<String>,
}

impl Function {
    pub fn of(name: Option<&str>, module: Option<&str>) -> Self {
        Self {
            name: name.map(str::to_owned),
            module: module.map(str::to_owned),
        }
    }
}
