//! Clusters of real processes on loopback: a report that they make is that of one process, or an error with its cause.

mod bad_plugins;
mod engine_processes;
mod failures;
mod kineto_job;
mod losses;
mod object_stores;
mod plan_shapes;
mod queries;
mod same_report;
mod workplace;
