//! Functions by name and place.

/// A function; tables have one row for each.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    /// `None` if unknown.
    pub name: Option<String>,
    /// Program or library that the function is in; `None` if unknown.
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
