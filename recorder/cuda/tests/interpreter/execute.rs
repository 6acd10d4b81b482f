//! Semantics of instructions.

use super::matrix;
use super::memory::Memory;
use super::parse::{Compare, Instruction, Kernel, Module, Operand, Operation, Special};
use super::value::{Class, Type};

const WARP: usize = 32;
const SHARED_BYTES: usize = 48 << 10;
/// More steps of one thread than this are an endless loop.
const MAX_STEPS: u64 = 1 << 32;

impl Module {
    /// Runs `blocks` blocks of `threads` threads, which must be a multiple of 32. `backwards` runs the last
    /// block first.
    pub fn launch(
        &self,
        name: &str,
        (blocks, threads): (u32, u32),
        arguments: &[&[u8]],
        memory: &mut Memory,
        backwards: bool,
    ) {
        let kernel = self.kernel(name);
        assert_eq!(
            arguments.len(),
            kernel.parameters.len(),
            "arguments of {name}"
        );
        let mut parameters = Vec::new();
        for ((at, size), argument) in kernel.parameters.iter().zip(arguments) {
            assert_eq!(*size, argument.len(), "an argument of {name}");
            parameters.resize(*at, 0);
            parameters.extend_from_slice(argument);
        }
        assert!((threads as usize).is_multiple_of(WARP));
        for nth in 0..blocks {
            let block = if backwards { blocks - 1 - nth } else { nth };
            let thread = |thread| Thread {
                next: 0,
                registers: vec![0; kernel.registers],
                special: [thread, threads, block, blocks],
                steps: 0,
            };
            let threads: Vec<Thread> = (0..threads).map(thread).collect();
            run_block(kernel, threads, &parameters, memory);
        }
    }
}

pub(super) struct Thread {
    next: usize,
    pub registers: Vec<u64>,
    special: [u32; 4],
    steps: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// Before this instruction, until the other threads of its warp arrive.
    Warp(usize),
    /// The same, for its block.
    Block(usize),
    End,
}

fn run_block(kernel: &Kernel, mut threads: Vec<Thread>, parameters: &[u8], memory: &mut Memory) {
    let mut shared = vec![0; SHARED_BYTES];
    loop {
        let warps = threads.chunks_mut(WARP);
        let stops: Vec<Stop> = warps
            .map(|warp| run_warp(kernel, warp, parameters, memory, &mut shared))
            .collect();
        assert!(
            stops.iter().all(|stop| *stop == stops[0]),
            "not all warps of the block come to one place: {stops:?}"
        );
        let Stop::Block(at) = stops[0] else {
            return;
        };
        let instruction = &kernel.code[at];
        if let Operation::Wgmma(shape) = instruction.operation {
            let Operand::Vector(sums) = &instruction.operands[0] else {
                panic!("{}", instruction.text);
            };
            let [a, b] = [1, 2].map(|nth| threads[0].value(&instruction.operands[nth]));
            matrix::wgmma(shape, &mut threads, sums, a, b, &shared);
        }
        for thread in &mut threads {
            thread.next += 1;
        }
    }
}

fn run_warp(
    kernel: &Kernel,
    threads: &mut [Thread],
    parameters: &[u8],
    memory: &mut Memory,
    shared: &mut [u8],
) -> Stop {
    loop {
        let stops: Vec<Stop> = threads
            .iter_mut()
            .map(|thread| thread.run(kernel, parameters, memory, shared))
            .collect();
        let Stop::Warp(at) = stops[0] else {
            assert!(
                stops.iter().all(|stop| *stop == stops[0]),
                "threads of a warp wait for one that has ended"
            );
            return stops[0];
        };
        let instruction = &kernel.code[at];
        assert!(
            stops.iter().all(|stop| *stop == stops[0]),
            "{}: not all threads of the warp come here: {stops:?}",
            instruction.text
        );
        if let Operation::Mma(shape) = instruction.operation {
            let mut vectors = instruction.operands.iter().map(|operand| match operand {
                Operand::Vector(registers) => registers.as_slice(),
                _ => panic!("{}", instruction.text),
            });
            let vectors: [&[usize]; 4] = std::array::from_fn(|_| vectors.next().unwrap());
            matrix::mma(shape, threads, vectors);
            for thread in threads.iter_mut() {
                thread.next += 1;
            }
        } else {
            shuffle(instruction, threads);
        }
    }
}

/// `shfl.sync.down.b32 d, a, step, 31, -1`
fn shuffle(instruction: &Instruction, threads: &mut [Thread]) {
    let [to, value, step, clamp, mask] = &instruction.operands[..] else {
        panic!("{}", instruction.text);
    };
    let step = threads[0].value(step) as usize;
    assert_eq!(threads[0].value(clamp), 31, "{}", instruction.text);
    assert_eq!(
        threads[0].value(mask) as u32,
        u32::MAX,
        "{}",
        instruction.text
    );
    let values: Vec<u64> = threads.iter().map(|thread| thread.value(value)).collect();
    for (lane, thread) in threads.iter_mut().enumerate() {
        let from = if lane + step < WARP {
            lane + step
        } else {
            lane
        };
        thread.set(to, values[from] & 0xffff_ffff);
        thread.next += 1;
    }
}

impl Thread {
    fn run(
        &mut self,
        kernel: &Kernel,
        parameters: &[u8],
        memory: &mut Memory,
        shared: &mut [u8],
    ) -> Stop {
        while let Some(instruction) = kernel.code.get(self.next) {
            self.steps += 1;
            assert!(self.steps < MAX_STEPS, "an endless loop");
            if let Some((guard, wanted)) = instruction.guard
                && (self.registers[guard] != 0) != wanted
            {
                self.next += 1;
                continue;
            }
            match instruction.operation {
                Operation::Return => {
                    self.next = kernel.code.len();
                    return Stop::End;
                }
                Operation::ShuffleDown | Operation::Mma(_) => return Stop::Warp(self.next),
                Operation::Wgmma(_) | Operation::Barrier => return Stop::Block(self.next),
                Operation::Nothing => self.next += 1,
                Operation::LoadShared(of) => {
                    let at = self.address(&instruction.operands[1]) as usize;
                    let mut word = [0; 8];
                    word[..of.bytes()].copy_from_slice(&shared[at..at + of.bytes()]);
                    self.set(
                        &instruction.operands[0],
                        of.widened(u64::from_le_bytes(word)),
                    );
                    self.next += 1;
                }
                Operation::StoreShared(of) => {
                    let at = self.address(&instruction.operands[0]) as usize;
                    let word = self.value(&instruction.operands[1]).to_le_bytes();
                    shared[at..at + of.bytes()].copy_from_slice(&word[..of.bytes()]);
                    self.next += 1;
                }
                Operation::Branch => match instruction.operands[0] {
                    Operand::Label(to) => self.next = to,
                    _ => panic!("{}", instruction.text),
                },
                _ => {
                    self.step(instruction, parameters, memory);
                    self.next += 1;
                }
            }
        }
        Stop::End
    }

    fn value(&self, operand: &Operand) -> u64 {
        match operand {
            Operand::Register(at) => self.registers[*at],
            Operand::Number(bits) => *bits,
            Operand::Parameter(at) => *at,
            Operand::Special(which) => u64::from(
                self.special[match which {
                    Special::ThreadX => 0,
                    Special::ThreadsX => 1,
                    Special::BlockX => 2,
                    Special::BlocksX => 3,
                }],
            ),
            other => panic!("{other:?} is no value"),
        }
    }

    fn set(&mut self, operand: &Operand, value: u64) {
        match operand {
            Operand::Register(at) => self.registers[*at] = value,
            other => panic!("{other:?} cannot be written"),
        }
    }

    fn address(&self, operand: &Operand) -> u64 {
        match operand {
            Operand::Address(base, offset) => self.value(base).wrapping_add_signed(*offset),
            other => panic!("{other:?} is no address"),
        }
    }

    fn step(&mut self, instruction: &Instruction, parameters: &[u8], memory: &mut Memory) {
        let operands = &instruction.operands;
        let operand = |at: usize| self.value(&operands[at]);
        let result = match instruction.operation {
            Operation::Move(of) => return self.moved(of, operands),
            Operation::Load(of) => {
                let from = self.address(&operands[1]);
                let load = |nth: usize| {
                    of.widened(memory.load(from + (nth * of.bytes()) as u64, of.bytes()))
                };
                if let Operand::Vector(to) = &operands[0] {
                    for (nth, to) in to.iter().enumerate() {
                        self.registers[*to] = load(nth);
                    }
                    return;
                }
                load(0)
            }
            Operation::Store(of) => {
                let to = self.address(&operands[0]);
                match &operands[1] {
                    Operand::Vector(from) => {
                        for (nth, from) in from.iter().enumerate() {
                            let at = to + (nth * of.bytes()) as u64;
                            memory.store(at, of.bytes(), self.registers[*from]);
                        }
                    }
                    from => memory.store(to, of.bytes(), self.value(from)),
                }
                return;
            }
            Operation::LoadParameter(of) => {
                let at = self.address(&operands[1]) as usize;
                let mut word = [0; 8];
                word[..of.bytes()].copy_from_slice(&parameters[at..at + of.bytes()]);
                of.widened(u64::from_le_bytes(word))
            }
            Operation::Select(of) => {
                let which = if operand(3) != 0 { 1 } else { 2 };
                of.cut(operand(which))
            }
            Operation::Set(compare, of) => u64::from(compared(compare, of, operand(1), operand(2))),
            Operation::Convert { to, from } => converted(to, from, operand(1)),
            Operation::Global => operand(1),
            Operation::Fma(of) => of.encode_float(match of.bits {
                64 => of
                    .float(operand(1))
                    .mul_add(of.float(operand(2)), of.float(operand(3))),
                _ => f64::from(f32::from_bits(operand(1) as u32).mul_add(
                    f32::from_bits(operand(2) as u32),
                    f32::from_bits(operand(3) as u32),
                )),
            }),
            Operation::Insert => {
                let (at, mask) = (operand(3), (1 << operand(4)) - 1);
                operand(2) & !(mask << at) & 0xffff_ffff | (operand(1) & mask) << at
            }
            Operation::Not(of) => of.cut(!operand(1)),
            Operation::Neg(of) => of.cut(operand(1).wrapping_neg()),
            other => binary(other, operand(1), operand(2), &instruction.text),
        };
        self.set(&operands[0], result);
    }

    /// `mov` also splits words and combines them.
    fn moved(&mut self, of: Type, operands: &[Operand]) {
        match (&operands[0], &operands[1]) {
            (Operand::Vector(to), from) => {
                let (value, each) = (self.value(from), of.bits / to.len() as u32);
                for (nth, to) in to.iter().enumerate() {
                    self.registers[*to] = value >> (nth as u32 * each) & (u64::MAX >> (64 - each));
                }
            }
            (to, Operand::Vector(from)) => {
                let each = of.bits / from.len() as u32;
                let parts = from.iter().enumerate();
                let value = parts.fold(0, |value, (nth, from)| {
                    let part = self.registers[*from] & (u64::MAX >> (64 - each));
                    value | part << (nth as u32 * each)
                });
                self.set(to, value);
            }
            (to, from) => self.set(to, of.cut(self.value(from))),
        }
    }
}

fn compared(compare: Compare, of: Type, a: u64, b: u64) -> bool {
    let ordering = match of.class {
        Class::Float => of.float(a).partial_cmp(&of.float(b)),
        Class::Signed => Some(of.signed(a).cmp(&of.signed(b))),
        _ => Some(of.cut(a).cmp(&of.cut(b))),
    };
    match compare {
        Compare::Nan => ordering.is_none(),
        Compare::Eq => ordering.is_some_and(|of| of.is_eq()),
        Compare::Ne => ordering.is_some_and(|of| of.is_ne()),
        Compare::Lt => ordering.is_some_and(|of| of.is_lt()),
        Compare::Le => ordering.is_some_and(|of| of.is_le()),
        Compare::Gt => ordering.is_some_and(|of| of.is_gt()),
        Compare::Ge => ordering.is_some_and(|of| of.is_ge()),
    }
}

fn converted(to: Type, from: Type, value: u64) -> u64 {
    match (to.class, from.class) {
        (Class::Float, _) => to.encode_float(from.float(value)),
        (_, Class::Float) => panic!("no float is made a whole number here"),
        _ => to.widened(from.widened(value)),
    }
}

fn binary(operation: Operation, a: u64, b: u64, text: &str) -> u64 {
    let floats = |of: Type, make: fn(f64, f64) -> f64, single: fn(f32, f32) -> f32| match of.bits {
        64 => make(f64::from_bits(a), f64::from_bits(b)).to_bits(),
        _ => u64::from(single(f32::from_bits(a as u32), f32::from_bits(b as u32)).to_bits()),
    };
    let is_float = |of: Type| of.class == Class::Float;
    match operation {
        Operation::Add(of) if is_float(of) => floats(of, |a, b| a + b, |a, b| a + b),
        Operation::Sub(of) if is_float(of) => floats(of, |a, b| a - b, |a, b| a - b),
        Operation::Mul(of) if is_float(of) => floats(of, |a, b| a * b, |a, b| a * b),
        Operation::Add(of) => of.cut(a.wrapping_add(b)),
        Operation::Sub(of) => of.cut(a.wrapping_sub(b)),
        Operation::MulLow(of) => of.cut(a.wrapping_mul(b)),
        Operation::MulHigh(of) if of.class == Class::Unsigned => {
            let wide = u128::from(of.cut(a)) * u128::from(of.cut(b));
            of.cut((wide >> of.bits) as u64)
        }
        Operation::MulWide(of) if of.class == Class::Unsigned => of.cut(a) * of.cut(b),
        Operation::MulWide(of) => of.signed(a).wrapping_mul(of.signed(b)) as u64,
        Operation::Div(of) if of.class == Class::Unsigned => of.cut(a) / of.cut(b),
        Operation::Rem(of) if of.class == Class::Unsigned => of.cut(a) % of.cut(b),
        Operation::And(of) => of.cut(a & b),
        Operation::Or(of) => of.cut(a | b),
        Operation::Xor(of) => of.cut(a ^ b),
        // A distance is taken as it is: from the width on, nothing is left.
        Operation::ShiftLeft(of) => match b as u32 {
            far if far >= of.bits => 0,
            near => of.cut(a << near),
        },
        Operation::ShiftRight(of) if of.class != Class::Signed => match b as u32 {
            far if far >= of.bits => 0,
            near => of.cut(a) >> near,
        },
        Operation::Min(of) if of.class == Class::Signed => {
            of.cut(of.signed(a).min(of.signed(b)) as u64)
        }
        Operation::Max(of) if of.class == Class::Signed => {
            of.cut(of.signed(a).max(of.signed(b)) as u64)
        }
        Operation::Min(of) if !is_float(of) => of.cut(a).min(of.cut(b)),
        Operation::Max(of) if !is_float(of) => of.cut(a).max(of.cut(b)),
        _ => panic!("{text}: not known here"),
    }
}
