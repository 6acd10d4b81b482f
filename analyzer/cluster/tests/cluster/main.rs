//! Clusters of real processes on loopback: a report that they make is that of one process, or an error with its cause.

mod engine_processes;
mod failures;
mod kineto_job;
mod losses;
mod plan_shapes;
mod same_report;
mod workplace;
