//! The tables: sums by module and by class.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::share;
use trueno_plugin::{Table, TableBuilder, table_row};

use crate::calls::Calls;

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

/// Sums of calls. A call within another of the same group counts its own time only, so that no time counts twice.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    calls: u64,
    host_ns: i64,
    own_host_ns: i64,
    kernels: u64,
    device_ns: i64,
    own_device_ns: i64,
}

impl Sum {
    fn add(&mut self, calls: &Calls, call: usize, is_outermost: bool) {
        let one = &calls.calls[call];
        self.calls += u64::from(one.in_window);
        let own_host_ns = one.host_ns.saturating_sub(one.inner_host_ns).max(0);
        self.own_host_ns = self.own_host_ns.saturating_add(own_host_ns);
        self.own_device_ns = self.own_device_ns.saturating_add(one.own_device_ns);
        if is_outermost {
            self.host_ns = self.host_ns.saturating_add(one.host_ns);
        }
    }

    fn add_kernels(&mut self, kernels: u64, device_ns: i64) {
        self.kernels += kernels;
        self.device_ns = self.device_ns.saturating_add(device_ns);
    }
}

/// A name without the number of the instance: `Linear` of `Linear_3`.
pub fn class_of(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((class, number)) if !class.is_empty() && is_number(number) => class,
        _ => name,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Sums by group. A call's kernels also count for each group around it, once.
fn sums<K: Ord + Clone>(calls: &Calls, key: impl Fn(usize) -> K) -> BTreeMap<K, Sum> {
    let keys: Vec<K> = (0..calls.calls.len()).map(key).collect();
    let mut sums: BTreeMap<K, Sum> = BTreeMap::new();
    for (call, key) in keys.iter().enumerate() {
        let is_outermost = !calls.around(call).any(|outer| keys[outer] == *key);
        let sum = sums.entry(key.clone()).or_default();
        sum.add(calls, call, is_outermost);
        let one = &calls.calls[call];
        if one.own_kernels == 0 {
            continue;
        }
        sum.add_kernels(one.own_kernels, one.own_device_ns);
        let mut seen = vec![key];
        for outer in calls.around(call) {
            let key = &keys[outer];
            if !seen.contains(&key) {
                let sum = sums.entry(key.clone()).or_default();
                sum.add_kernels(one.own_kernels, one.own_device_ns);
                seen.push(key);
            }
        }
    }
    // Modules that neither ran in the window nor launched what ran in it.
    sums.retain(|_, sum| sum.calls > 0 || sum.kernels > 0);
    sums
}

/// One row for each class, by own device time; without devices, by own host time.
pub fn classes(calls: &Calls) -> Vec<ClassRow<'_>> {
    let class = |call: usize| class_of(&calls.calls[call].name);
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let in_window = calls.calls.iter().enumerate();
    for (at, call) in in_window.filter(|(_, call)| call.in_window) {
        names.entry(class(at)).or_default().push(&call.name);
    }
    let on_devices = calls.has_device_work;
    let mut rows: Vec<ClassRow<'_>> = sums(calls, class)
        .into_iter()
        .map(|(class, sum)| {
            let mut names = names.remove(class).unwrap_or_default();
            names.sort_unstable();
            names.dedup();
            ClassRow {
                class,
                modules: names.len() as u64,
                calls: sum.calls,
                host_ns: sum.host_ns,
                own_host_ns: sum.own_host_ns,
                kernels: on_devices.then_some(sum.kernels),
                device_ns: on_devices.then_some(sum.device_ns),
                own_device_ns: on_devices.then_some(sum.own_device_ns),
                own_device_share: share(sum.own_device_ns, calls.device_ns),
            }
        })
        .collect();
    rows.sort_by_key(|row| Reverse((row.own_device_ns, row.own_host_ns)));
    rows
}

pub struct Module {
    path: String,
    sum: Sum,
}

/// One row for each path, by device time; without devices, by host time.
pub fn modules(calls: &Calls) -> Vec<Module> {
    let mut modules: Vec<Module> = sums(calls, |call| calls.path(call))
        .into_iter()
        .map(|(path, sum)| Module { path, sum })
        .collect();
    modules.sort_by_key(|module| Reverse((module.sum.device_ns, module.sum.host_ns)));
    modules
}

pub fn class_table(classes: &[ClassRow<'_>]) -> TableBuilder {
    Table::build("classes").rows(classes.iter().cloned())
}

pub fn module_table(calls: &Calls, modules: &[Module], most: usize) -> TableBuilder {
    let on_devices = calls.has_device_work;
    let rows = modules
        .iter()
        .take(most)
        .map(|Module { path, sum }| ModuleRow {
            path,
            class: class_of(path.rsplit('/').next().unwrap_or(path)),
            calls: sum.calls,
            device_ns: on_devices.then_some(sum.device_ns),
            device_share: share(sum.device_ns, calls.device_ns),
            own_device_ns: on_devices.then_some(sum.own_device_ns),
            kernels: on_devices.then_some(sum.kernels),
            host_ns: sum.host_ns,
            own_host_ns: sum.own_host_ns,
        });
    Table::build("modules").rows(rows)
}
