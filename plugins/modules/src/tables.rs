//! The tables: sums by module and by class.

use std::cmp::Reverse;

use trueno_analysis::share;
use trueno_plugin::{Table, TableBuilder, table_row};

use crate::sums::{Class, Sum, Sums, class_of};

table_row! {
    /// A module: all its calls below the same modules.
    #[derive(Clone, Debug)]
    pub struct ModuleRow<'a> {
        /// Modules around it and itself: `Encoder_0/Layer_3/Linear_7`.
        pub path: &'a str,
        pub class: &'a str,
        pub calls: u64,
        /// Time on devices of the kernels launched in its calls.
        pub device_ns: Option<i64>,
        /// `device_ns` of the time of all kernels.
        pub device_share: Option<f64>,
        /// Of `device_ns`, launched by no module inside it.
        pub own_device_ns: Option<i64>,
        /// Kernels launched in its calls.
        pub kernels: Option<u64>,
        /// Time of its calls on the host.
        pub host_ns: i64,
        /// Of that, outside of modules inside it.
        pub own_host_ns: i64,
    }
}

table_row! {
    /// Modules of one class.
    #[derive(Clone, Debug)]
    pub struct ClassRow<'a> {
        pub class: &'a str,
        /// Instances with a call.
        pub modules: u64,
        pub calls: u64,
        pub own_device_ns: Option<i64>,
        /// `own_device_ns` of the time of all kernels; the shares of all classes and of what is in no module add up to 1.
        pub own_device_share: Option<f64>,
        pub device_ns: Option<i64>,
        pub kernels: Option<u64>,
        pub own_host_ns: i64,
        pub host_ns: i64,
    }
}

/// One row for each class, by own device time; without devices, by own host time.
pub fn classes(sums: &Sums) -> Vec<ClassRow<'_>> {
    let on_devices = sums.has_device_work;
    let rows = sums
        .classes
        .iter()
        .map(|(class, Class { sum, names })| ClassRow {
            class,
            modules: names.len() as u64,
            calls: sum.calls,
            host_ns: sum.host_ns,
            own_host_ns: sum.own_host_ns,
            kernels: on_devices.then_some(sum.kernels),
            device_ns: on_devices.then_some(sum.device_ns),
            own_device_ns: on_devices.then_some(sum.own_device_ns),
            own_device_share: share(sum.own_device_ns, sums.device_ns),
        });
    let mut rows: Vec<ClassRow<'_>> = rows.collect();
    rows.sort_by_key(|row| Reverse((row.own_device_ns, row.own_host_ns)));
    rows
}

pub fn class_table(classes: &[ClassRow<'_>]) -> TableBuilder {
    Table::build("classes").rows(classes.iter().cloned())
}

/// One row for each path, by device time; without devices, by host time.
pub fn module_table(sums: &Sums, most: usize) -> TableBuilder {
    let on_devices = sums.has_device_work;
    let mut modules: Vec<(&String, &Sum)> = sums.modules.iter().collect();
    modules.sort_by_key(|(_, sum)| Reverse((sum.device_ns, sum.host_ns)));
    let rows = modules.into_iter().take(most).map(|(path, sum)| ModuleRow {
        path,
        class: class_of(path.rsplit('/').next().unwrap_or(path)),
        calls: sum.calls,
        device_ns: on_devices.then_some(sum.device_ns),
        device_share: share(sum.device_ns, sums.device_ns),
        own_device_ns: on_devices.then_some(sum.own_device_ns),
        kernels: on_devices.then_some(sum.kernels),
        host_ns: sum.host_ns,
        own_host_ns: sum.own_host_ns,
    });
    Table::build("modules").rows(rows)
}
