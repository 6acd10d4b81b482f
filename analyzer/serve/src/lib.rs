//! A page about runs, and its answers over HTTP on loopback.
//!
//! [`Server`] listens and refuses who has no business here (`access`); [`Answers`] is what it asks of runs. Nothing
//! here opens a run: [`processes`] asks other processes of the same program. [`timeline`] holds the intervals of a run so that a window of it,
//! however wide, is answered in milliseconds.

mod access;
mod answers;
mod assets;
mod cancel;
pub mod processes;
mod refusal;
mod routes;
mod server;
pub mod timeline;
mod token;

pub use answers::{Answers, Page, PageState, QueryRequest, QueryRows, RunState, RunStatus, State};
pub use cancel::Cancel;
pub use refusal::Refusal;
pub use server::{ServeError, Server};
