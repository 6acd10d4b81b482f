//! A driver in this process whose device is the interpreter: what is launched is executed, on memory of its own.
//!
//! Streams are one queue. Nothing of it happens before somebody waits, or the test says [`Fake::run`]: so a host that
//! reads a result too early reads what is not there yet.

#![allow(dead_code, reason = "each test uses a part of it")]

mod functions;

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use trueno_cupti::driver::{Api, Device};

use super::interpreter::{Memory, Module};

pub struct State {
    pub memory: Memory,
    pub modules: Vec<Arc<Module>>,
    pub functions: Vec<(usize, String)>,
    /// For each event, when it was reached, in seconds.
    pub events: Vec<Option<f64>>,
    pub queue: VecDeque<Work>,
    pub seconds: f64,
    pub ran: Vec<String>,
    pub allocated: usize,
    pub contexts: usize,
    /// Kernels by name that are not executed, and the seconds that they take per unit of their first 32-bit
    /// parameter.
    pub timed: Option<(&'static str, f64)>,
    pub launch_error: i32,
    /// 90 is compute capability 9.0.
    pub capability: u32,
    pub is_part: bool,
    /// Text and its replacement, applied before a module is loaded.
    pub replaced: Option<(&'static str, &'static str)>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            memory: Memory::default(),
            modules: Vec::new(),
            functions: Vec::new(),
            events: Vec::new(),
            queue: VecDeque::new(),
            seconds: 0.0,
            ran: Vec::new(),
            allocated: 0,
            contexts: 0,
            timed: None,
            launch_error: 0,
            capability: 90,
            is_part: false,
            replaced: None,
        }
    }
}

pub enum Work {
    Launch {
        function: usize,
        shape: (u32, u32),
        arguments: Vec<Vec<u8>>,
    },
    Copy {
        to: usize,
        from: u64,
        bytes: usize,
    },
    Record(usize),
    /// Work by another program, of this many seconds.
    Wait(f64),
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn left() -> (usize, usize) {
    let state = state();
    (state.allocated, state.contexts)
}

/// The fake device. Only one test can have it at a time.
pub struct Fake {
    pub device: Device,
    _alone: MutexGuard<'static, ()>,
}

impl Fake {
    pub fn new() -> Self {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        *state() = State::default();
        let api: Arc<Api> = Arc::new(functions::api());
        let device = Device::all(&api).unwrap().remove(0);
        Self {
            device,
            _alone: alone,
        }
    }

    pub fn run(&self) {
        state().run();
    }

    pub fn lend(&self, bytes: &[u8]) -> u64 {
        state().memory.lend(bytes, 0)
    }
}

impl State {
    pub fn run(&mut self) {
        while let Some(work) = self.queue.pop_front() {
            self.seconds += 1e-6;
            match work {
                Work::Launch {
                    function,
                    shape,
                    arguments,
                } => {
                    let (module, name) = self.functions[function].clone();
                    let timed = self.timed.filter(|(prefix, _)| name.starts_with(prefix));
                    self.ran.push(name.clone());
                    if let Some((_, each)) = timed {
                        let rounds = arguments.iter().find(|bytes| bytes.len() == 4);
                        let rounds =
                            rounds.map_or(1, |of| u32::from_le_bytes([of[0], of[1], of[2], of[3]]));
                        self.seconds += each * f64::from(rounds);
                        // One block is a check of what is computed.
                        if shape.0 > 1 || !name.contains("mma") {
                            continue;
                        }
                    }
                    let module = Arc::clone(&self.modules[module]);
                    let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
                    module.launch(&name, shape, &arguments, &mut self.memory, false);
                }
                Work::Copy { to, from, bytes } => {
                    let data = &self.memory.bytes(from)[..bytes];
                    // SAFETY: pinned memory of so many bytes, which the host must not touch meanwhile.
                    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to as *mut u8, bytes) };
                }
                Work::Wait(seconds) => self.seconds += seconds,
                Work::Record(event) => self.events[event] = Some(self.seconds),
            }
        }
    }
}
