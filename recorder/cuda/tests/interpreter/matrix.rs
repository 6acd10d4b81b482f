//! Products of tensor cores: which thread holds what, as the PTX reference has it.

use std::cell::RefCell;
use std::rc::Rc;

use super::execute::Thread;
use super::parse::{Element, Shape};
use super::value::half;

impl Element {
    fn bits(self) -> usize {
        match self {
            Self::E4m3 | Self::S8 => 8,
            Self::Bf16 | Self::F16 => 16,
            Self::Tf32 | Self::F32 | Self::S32 => 32,
            Self::F64 => 64,
        }
    }

    fn value(self, bits: u64) -> f64 {
        match self {
            Self::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
            Self::F16 => half(bits as u16),
            Self::Tf32 | Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::E4m3 => e4m3(bits as u8),
            Self::S8 => f64::from(bits as u8 as i8),
            Self::S32 => f64::from(bits as u32 as i32),
            Self::F64 => f64::from_bits(bits),
        }
    }

    fn encoded(self, value: f64) -> u64 {
        match self {
            Self::F32 => u64::from((value as f32).to_bits()),
            Self::S32 => u64::from(value as i32 as u32),
            Self::F64 => value.to_bits(),
            Self::F16 => u64::from(half_of(value)),
            other => panic!("no {other:?} is a sum"),
        }
    }
}

fn e4m3(bits: u8) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 3 & 15), f64::from(bits & 7));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-9),
        _ => (1.0 + fraction / 8.0) * 2f64.powi(exponent - 7),
    };
    if bits >> 7 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

/// Only for integers that binary16 represents exactly.
fn half_of(value: f64) -> u16 {
    let bits = (value as f32).to_bits();
    let exponent = (bits >> 23 & 255) as i32 - 127 + 15;
    let found = if value == 0.0 {
        0
    } else {
        (bits >> 16 & 0x8000) as u16 | (exponent << 10) as u16 | (bits >> 13 & 0x3ff) as u16
    };
    assert_eq!(half(found), value, "no binary16");
    found
}

fn elements(of: Element, register: u64) -> Vec<f64> {
    let count = (32 / of.bits()).max(1);
    let mask = u64::MAX >> (64 - of.bits());
    (0..count)
        .map(|nth| of.value(register >> (nth * of.bits()) & mask))
        .collect()
}

fn places(shape: Shape, warp: usize, lane: usize, register: usize) -> Vec<(usize, usize)> {
    let (group, nth) = (lane / 4, lane % 4);
    let first = 16 * warp + group;
    if shape.m == 8 {
        return vec![(group, 2 * nth + register)];
    }
    if shape.sum == Element::F16 {
        let (row, column) = (first + 8 * (register % 2), 8 * (register / 2) + 2 * nth);
        return vec![(row, column), (row, column + 1)];
    }
    let row = first + 8 * (register / 2 % 2);
    vec![(row, 8 * (register / 4) + 2 * nth + register % 2)]
}

fn add(
    shape: Shape,
    warp: usize,
    threads: &mut [Thread],
    from: &[usize],
    to: &[usize],
    product: &dyn Fn(usize, usize) -> f64,
) {
    for (lane, thread) in threads.iter_mut().enumerate() {
        for (nth, (from, to)) in from.iter().zip(to).enumerate() {
            let sums = elements(shape.sum, thread.registers[*from]);
            let mut packed = 0;
            for (at, (row, column)) in places(shape, warp, lane, nth).into_iter().enumerate() {
                let sum = sums[at] + product(row, column);
                packed |= shape.sum.encoded(sum) << (16 * at);
            }
            thread.registers[*to] = packed;
        }
    }
}

/// The product of rows and columns. The last one is cached, because timed kernels compute the same one repeatedly.
fn products(shape: Shape, rows: Vec<f64>, columns: Vec<f64>) -> Rc<[f64]> {
    LAST.with_borrow_mut(|last| {
        if let Some((of, a, b, all)) = last
            && (*of, &*a, &*b) == (shape, &rows, &columns)
        {
            return Rc::clone(all);
        }
        let mut all = Vec::with_capacity(shape.m * shape.n);
        for row in rows.chunks(shape.k) {
            for column in columns.chunks(shape.k) {
                all.push(row.iter().zip(column).map(|(a, b)| a * b).sum());
            }
        }
        let all: Rc<[f64]> = all.into();
        *last = Some((shape, rows, columns, Rc::clone(&all)));
        all
    })
}

type Last = Option<(Shape, Vec<f64>, Vec<f64>, Rc<[f64]>)>;
thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(None) };
}

/// `mma.sync`: D = A * B + C, of registers.
pub(super) fn mma(shape: Shape, threads: &mut [Thread], [d, a, b, c]: [&[usize]; 4]) {
    let [mut rows, mut columns] = [
        vec![f64::NAN; shape.m * shape.k],
        vec![f64::NAN; shape.n * shape.k],
    ];
    for (lane, thread) in threads.iter().enumerate() {
        let (group, nth) = (lane / 4, lane % 4);
        for (at, register) in a.iter().enumerate() {
            let (row, step) = if shape.m == 8 {
                (group, at)
            } else {
                (group + 8 * (at % 2), at / 2)
            };
            let found = elements(shape.element, thread.registers[*register]);
            let first = (nth + 4 * step) * found.len();
            rows[row * shape.k + first..][..found.len()].copy_from_slice(&found);
        }
        for (at, register) in b.iter().enumerate() {
            let found = elements(shape.element, thread.registers[*register]);
            let first = (nth + 4 * at) * found.len();
            columns[group * shape.k + first..][..found.len()].copy_from_slice(&found);
        }
    }
    assert!(
        rows.iter().chain(&columns).all(|value| !value.is_nan()),
        "an operand is not whole"
    );
    let all = products(shape, rows, columns);
    add(shape, 0, threads, c, d, &|row, column| {
        all[row * shape.n + column]
    });
}

/// `wgmma.mma_async`: D = A * B + D, with A and B in shared memory without a swizzle, by descriptors.
pub(super) fn wgmma(
    shape: Shape,
    threads: &mut [Thread],
    sums: &[usize],
    a: u64,
    b: u64,
    shared: &[u8],
) {
    let read = |descriptor: u64, count: usize| -> Vec<f64> {
        let field = |at: u32| ((descriptor >> at & 0x3fff) << 4) as usize;
        assert_eq!(descriptor >> 62, 0, "a swizzle");
        let (start, along_depth, along_rows) = (field(0), field(16), field(32));
        let bytes = shape.element.bits() / 8;
        let element = |nth: usize| {
            let (row, at) = (nth / shape.k, nth % shape.k * bytes);
            let from =
                start + row / 8 * along_rows + at / 16 * along_depth + row % 8 * 16 + at % 16;
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(&shared[from..from + bytes]);
            shape.element.value(u64::from_le_bytes(word))
        };
        (0..count * shape.k).map(element).collect()
    };
    let all = products(shape, read(a, shape.m), read(b, shape.n));
    for (warp, threads) in threads.chunks_mut(32).enumerate() {
        add(shape, warp, threads, sums, sums, &|row, column| {
            all[row * shape.n + column]
        });
    }
}
