//! A device whose clock moves only when a test says so.

#![allow(dead_code, reason = "every test binary uses a part of it")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use trueno_recorder::Device;

/// A device whose streams execute launches one after the other.
#[derive(Default)]
pub struct SimulatedDevice {
    pub has_clock: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    now_ns: u64,
    /// When each stream will have finished everything that was launched.
    free_at_ns: HashMap<u32, u64>,
    marks_ns: Vec<u64>,
    released: Vec<u64>,
    failure: Option<String>,
    panics: bool,
    synchronized: u64,
    calls: u64,
}

impl SimulatedDevice {
    pub fn with_clock() -> Arc<Self> {
        Arc::new(Self {
            has_clock: true,
            ..Self::default()
        })
    }

    pub fn without_clock() -> Arc<Self> {
        Arc::default()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn launch(&self, stream: u32, work_ns: u64) {
        let mut state = self.state();
        let now = state.now_ns;
        let free_at = state.free_at_ns.entry(stream).or_default();
        *free_at = now.max(*free_at) + work_ns;
    }

    pub fn pass(&self, ns: u64) {
        self.state().now_ns += ns;
    }

    pub fn fail(&self, problem: Option<&str>) {
        self.state().failure = problem.map(str::to_owned);
    }

    pub fn panic_from_now_on(&self) {
        self.state().panics = true;
    }

    pub fn synchronized(&self) -> u64 {
        self.state().synchronized
    }

    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Number of marks created, and the released marks.
    pub fn marks(&self) -> (usize, Vec<u64>) {
        let state = self.state();
        let mut released = state.released.clone();
        released.sort_unstable();
        (state.marks_ns.len(), released)
    }
}

impl Device for SimulatedDevice {
    fn number(&self) -> u32 {
        self.state().calls += 1;
        3
    }

    fn name(&self) -> String {
        self.state().calls += 1;
        "simulated".into()
    }

    fn synchronize(&self) -> Result<(), String> {
        let mut state = self.state();
        state.calls += 1;
        state.synchronized += 1;
        if state.panics {
            drop(state);
            panic!("the device is gone");
        }
        if let Some(problem) = &state.failure {
            return Err(problem.clone());
        }
        let idle_at = state.free_at_ns.values().copied().max().unwrap_or(0);
        state.now_ns = state.now_ns.max(idle_at);
        Ok(())
    }

    fn clock_ns(&self) -> Option<u64> {
        let mut state = self.state();
        state.calls += 1;
        self.has_clock.then_some(state.now_ns)
    }

    fn mark(&self, stream: u32) -> Option<u64> {
        let mut state = self.state();
        state.calls += 1;
        let free_at = state.free_at_ns.get(&stream).copied().unwrap_or(0);
        let at = free_at.max(state.now_ns);
        state.marks_ns.push(at);
        self.has_clock.then_some(state.marks_ns.len() as u64 - 1)
    }

    fn time_ns(&self, mark: u64) -> Option<u64> {
        let mut state = self.state();
        state.calls += 1;
        assert!(!state.released.contains(&mark), "asked for a released mark");
        let at = state.marks_ns[mark as usize];
        (at <= state.now_ns).then_some(at)
    }

    fn release(&self, mark: u64) {
        let mut state = self.state();
        state.calls += 1;
        state.released.push(mark);
    }
}
