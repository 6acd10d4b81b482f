//! CUDA activity as CUPTI reports it, whoever wrote it down: the recorder's spools, Nsight Systems and Kineto.
//!
//! Each of these has its own file format and its own order of records, but the activity is the same, and so are
//! the questions: which call launched which work (`launches`), what a wait ended with (`device_waits`,
//! `event_waits`), which stream is meant where contexts share numbers (`streams`), and what CUPTI's numbers
//! and the names of calls stand for (`cupti_enums`, `call_kind`). The answers stand here, once.
//!
//! A call and the work it began share a correlation id; an edge `launches` leads from one to the other. Calls are
//! no parents of device work: a kernel hangs beside the call that launched it, below the brick of both.

pub(crate) mod annotation;
pub(crate) mod call_kind;
pub(crate) mod cupti_enums;
pub(crate) mod device_waits;
pub(crate) mod event_waits;
pub(crate) mod iterations;
pub(crate) mod launches;
pub(crate) mod open_ranges;
pub mod spool;
pub(crate) mod streams;
