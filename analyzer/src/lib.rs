//! The command `trueno-analyze`: its command line, and one module a command.

pub mod cli;
pub mod commands;
pub mod project;
