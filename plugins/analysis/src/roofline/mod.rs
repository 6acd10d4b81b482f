//! Distance of work from what the machine can do: the roofline model, the ceilings of a run, and the
//! instruction set that the name of a backend stands for.

pub mod ceilings;
pub mod instruction_set;
pub mod model;
