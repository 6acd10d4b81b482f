//! Runs as tools that an assistant calls, by the Model Context Protocol.
//!
//! Here are the protocol, the tools with their schemas, the folders that may be read, limits, and the marking of texts
//! that recorded programs gave. What is asked of a run goes through [`Program`] to whoever can answer it: no run is
//! open here, and no query engine is linked.
//!
//! A tool is a file that implements `tools::Tool` and a line of `tools::TOOLS`.

mod analyses;
mod fit;
mod marking;
mod program;
mod prompts;
mod resources;
mod roots;
mod server;
mod tools;

pub use program::{Answering, Failure, Output, Program, Request, Steps};
pub use roots::Roots;
pub use server::{Server, serve, serve_stdio};
