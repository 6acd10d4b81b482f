//! Sums by module and by class, which add up over ranks.

use std::collections::{BTreeMap, BTreeSet};

use trueno_plugin::{Input, Result, Run, Table, table_row};

use crate::calls::Calls;

pub const MERGE_INPUTS: [Input; 4] = [
    Input::sql("module_sums", "SELECT * FROM modules.module_sums"),
    Input::sql("class_sums", "SELECT * FROM modules.class_sums"),
    Input::sql("class_names", "SELECT * FROM modules.class_names"),
    Input::sql("totals", "SELECT * FROM modules.totals"),
];

/// Sums of calls. A call within another of the same group counts its own time only, so that no time counts twice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    pub calls: u64,
    pub host_ns: i64,
    pub own_host_ns: i64,
    pub kernels: u64,
    pub device_ns: i64,
    pub own_device_ns: i64,
}

#[derive(Clone, Debug, Default)]
pub struct Class {
    pub sum: Sum,
    /// Names of its instances with a call.
    pub names: BTreeSet<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// By path: modules around it and itself.
    pub modules: BTreeMap<String, Sum>,
    pub classes: BTreeMap<String, Class>,
    /// False if the run has no kernel on a device. Then all device times are unknown.
    pub has_device_work: bool,
    pub device_ns: i64,
    /// Time of the kernels launched outside any module.
    pub outside_ns: i64,
}

table_row! {
    struct SumRow<'a> {
        name: &'a str,
        calls: u64,
        host_ns: i64,
        own_host_ns: i64,
        kernels: u64,
        device_ns: i64,
        own_device_ns: i64,
    }
}

table_row! {
    struct NameRow<'a> {
        class: &'a str,
        name: &'a str,
    }
}

table_row! {
    struct TotalRow {
        has_device_work: bool,
        device_ns: i64,
        outside_ns: i64,
    }
}

impl Sums {
    pub fn of(calls: &Calls) -> Self {
        let class = |call: usize| class_of(&calls.calls[call].name).to_owned();
        let classes = sums(calls, class).into_iter();
        let mut classes: BTreeMap<String, Class> = classes
            .map(|(class, sum)| {
                let names = BTreeSet::new();
                (class, Class { sum, names })
            })
            .collect();
        for call in calls.calls.iter().filter(|call| call.in_window) {
            if let Some(class) = classes.get_mut(class_of(&call.name)) {
                class.names.insert(call.name.clone());
            }
        }
        Self {
            modules: sums(calls, |call| calls.path(call)),
            classes,
            has_device_work: calls.has_device_work,
            device_ns: calls.device_ns,
            outside_ns: calls.outside_ns,
        }
    }

    /// Emits a part.
    ///
    /// # Errors
    /// The host refuses a table.
    pub fn emit(&self, run: &mut Run) -> Result<()> {
        let modules = self.modules.iter().map(|(path, sum)| sum.row(path));
        run.emit(Table::build("module_sums").rows(modules))?;
        let classes = self.classes.iter();
        let classes = classes.map(|(name, class)| class.sum.row(name));
        run.emit(Table::build("class_sums").rows(classes))?;
        let names = self.classes.iter().flat_map(|(class, of)| {
            let names = of.names.iter();
            names.map(move |name| NameRow { class, name })
        });
        run.emit(Table::build("class_names").rows(names))?;
        let totals = TotalRow {
            has_device_work: self.has_device_work,
            device_ns: self.device_ns,
            outside_ns: self.outside_ns,
        };
        run.emit(Table::build("totals").rows([totals]))
    }

    /// Reads all parts there are, and adds them up.
    ///
    /// # Errors
    /// An input lacks a column, or has it in another type or null.
    pub fn read(run: &mut Run) -> Result<Self> {
        let mut all = Self::default();
        for row in run.table("module_sums")?.read::<SumRow<'_>>()? {
            let row = row?;
            let sum = all.modules.entry(row.name.to_owned()).or_default();
            sum.merge(&row);
        }
        for row in run.table("class_sums")?.read::<SumRow<'_>>()? {
            let row = row?;
            let class = all.classes.entry(row.name.to_owned()).or_default();
            class.sum.merge(&row);
        }
        for row in run.table("class_names")?.read::<NameRow<'_>>()? {
            let row = row?;
            let class = all.classes.entry(row.class.to_owned()).or_default();
            class.names.insert(row.name.to_owned());
        }
        for row in run.table("totals")?.read::<TotalRow>()? {
            let row = row?;
            all.has_device_work |= row.has_device_work;
            all.device_ns = all.device_ns.saturating_add(row.device_ns);
            all.outside_ns = all.outside_ns.saturating_add(row.outside_ns);
        }
        Ok(all)
    }
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

    fn row<'a>(&self, name: &'a str) -> SumRow<'a> {
        SumRow {
            name,
            calls: self.calls,
            host_ns: self.host_ns,
            own_host_ns: self.own_host_ns,
            kernels: self.kernels,
            device_ns: self.device_ns,
            own_device_ns: self.own_device_ns,
        }
    }

    fn merge(&mut self, row: &SumRow<'_>) {
        self.calls = self.calls.saturating_add(row.calls);
        self.host_ns = self.host_ns.saturating_add(row.host_ns);
        self.own_host_ns = self.own_host_ns.saturating_add(row.own_host_ns);
        self.kernels = self.kernels.saturating_add(row.kernels);
        self.device_ns = self.device_ns.saturating_add(row.device_ns);
        self.own_device_ns = self.own_device_ns.saturating_add(row.own_device_ns);
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
