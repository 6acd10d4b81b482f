//! Reads recorded runs, runs analyses over them as plugins, and reports.

pub mod allocated;
pub mod catalog;
pub mod categories;
pub mod chart;
pub mod check;
pub mod cli;
pub mod compare;
pub mod exit;
pub mod export;
pub mod golden;
pub mod graph;
mod guard;
pub mod inspect;
mod nsys_parquet;
mod ordered;
pub mod plan;
pub mod plugin;
pub mod query;
pub mod report;
mod rows;
pub mod rules;
pub mod run;
pub mod scaffold;
pub mod timeline;
pub mod tolerances;
pub mod verb;
pub mod window;
