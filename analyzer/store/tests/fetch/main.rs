//! The command against a server, both real processes: mirrors are whole, or it is an error with its cause.

mod failures;
mod hostile;
mod mirrors;
mod server;
