//! A run that is being recorded, as it is now.
//!
//! | module | holds |
//! |---|---|
//! | [`window`], [`lanes`] | events in, sums of the last seconds out; pure |
//! | [`roof`] | kernels of the window against the ceilings of the run; pure |
//! | [`warnings`] | what is true now and worth a word; pure |
//! | [`snapshot`], [`lines`] | all of it as data, and as lines of a terminal |
//! | [`gauges`] | processor, memory and GPUs, read from the system |
//! | [`stage`], [`session`] | the state of a run's folder, and a run followed from look to look |
//!
//! Reading the rings is [`trueno_format::observe`]'s. No query engine is linked: the first picture is there in
//! milliseconds.

pub mod gauges;
pub mod lanes;
pub mod lines;
pub mod roof;
pub mod session;
pub mod snapshot;
pub mod stage;
pub mod warnings;
pub mod window;
