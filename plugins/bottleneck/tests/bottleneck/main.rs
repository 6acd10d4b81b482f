//! The plugin on tables as queries would give them.

mod busy_machine;
mod categories;
mod communication;
mod copies;
mod device_memory;
mod findings;
mod fixed_cost;
mod fp32;
mod growth;
mod idle_gains;
mod imbalance;
mod inputs;
mod loading;
mod not_recorded;
mod odd_tables;
mod parts;
mod rank_path;
mod ranks;
mod roofs;
mod set_up;
mod side_by_side;
mod single_events;
mod slow_loops;
