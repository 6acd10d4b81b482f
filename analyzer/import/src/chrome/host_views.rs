//! Processes of the host that show one device several times.
//!
//! A process of TensorFlow's `timeline` is named after the task and the device that ran its operators, so two processes
//! with one name are one device. Where a file was put together from several timelines of one step, an operator is in
//! each: the same name, start and end.

use std::collections::HashMap;

use super::lanes::Lanes;
use super::layout::names_device_of_task;
use super::record::{Host, HostEvent};

pub(super) const SEEN_BEFORE: &str =
    "operator that another process with the name of this device shows as well";

#[derive(Default)]
pub(super) struct HostViews {
    /// By process: the first with its name, if there are several of a device.
    first: Vec<Option<u32>>,
    /// The process that showed an operator first, by first process, name, start and end.
    shown: HashMap<(u32, u32, i64, i64), u32>,
}

impl HostViews {
    pub fn new(lanes: &Lanes) -> Self {
        let mut by_name: HashMap<&str, Vec<u32>> = HashMap::new();
        for process in 0..lanes.processes() {
            if let Some(name) = lanes.process_name(process)
                && names_device_of_task(name)
            {
                by_name.entry(name).or_default().push(process);
            }
        }
        let mut first = vec![None; lanes.processes() as usize];
        for processes in by_name.values().filter(|all| all.len() > 1) {
            for process in processes {
                first[*process as usize] = processes.first().copied();
            }
        }
        Self {
            first,
            shown: HashMap::new(),
        }
    }

    /// True of an interval that another process of the same device showed before.
    pub fn is_shown(&mut self, record: &Host, lanes: &Lanes) -> bool {
        let is_interval = matches!(
            record.event,
            HostEvent::Iteration { .. }
                | HostEvent::Function { .. }
                | HostEvent::Operator { .. }
                | HostEvent::Call { .. }
        );
        // Other records may have no lane.
        if !is_interval {
            return false;
        }
        let process = lanes.get(record.lane).process;
        let Some(device) = self.first.get(process as usize).copied().flatten() else {
            return false;
        };
        let key = (device, record.name, record.start_ns, record.end_ns);
        *self.shown.entry(key).or_insert(process) != process
    }
}
