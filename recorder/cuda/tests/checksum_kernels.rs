//! The PTX that is shipped, executed on the host, against the fingerprints of the host.

mod interpreter;

use interpreter::{Memory, Module};
use proptest::prelude::*;
use std::sync::LazyLock;
use trueno_recorder::{Bf16, Element, F16, Fingerprint, Strided, fingerprint};
use trueno_recorder_cuda::checksum::{
    FINGERPRINT_PTX, HEAD_WORDS, MAX_DIMENSIONS, PARTIAL_WORDS, STRIDED_PTX, decode,
};

static DENSE: LazyLock<Module> = LazyLock::new(|| Module::parse(FINGERPRINT_PTX));
static STRIDED: LazyLock<Module> = LazyLock::new(|| Module::parse(STRIDED_PTX));

#[derive(Clone, Copy, Debug)]
struct How {
    blocks: u32,
    warps: u32,
    backwards: bool,
    /// Offset in elements from a multiple of 256 bytes.
    offset: u64,
    folds: u32,
}

const PLAIN: How = How {
    blocks: 3,
    warps: 2,
    backwards: false,
    offset: 0,
    folds: 0,
};

fn how() -> impl Strategy<Value = How> {
    (1u32..6, 1u32..4, any::<bool>(), 0u64..8, 0u32..3).prop_map(
        |(blocks, warps, backwards, offset, folds)| How {
            blocks,
            warps,
            backwards,
            offset,
            folds,
        },
    )
}

fn bytes<T: Element>(data: &[T]) -> &[u8] {
    // SAFETY: elements are plain numbers.
    unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().unwrap());
    bytes.chunks_exact(8).map(word).collect()
}

fn on_device<T: Element>(
    data: &[T],
    elements: u64,
    layout: Option<&[u64]>,
    how: How,
) -> (Fingerprint, Vec<f64>) {
    let size = size_of::<T>() as u64;
    let mut memory = Memory::default();
    let blocks = elements.div_ceil(8192 / size) as usize;
    let from = memory.lend(bytes(data), how.offset * size);
    let head = memory.lend(&[0xa5; HEAD_WORDS * 8], 0);
    let mut out = memory.lend(&vec![0x5a; blocks * PARTIAL_WORDS * 8], 0);
    let [out_word, head_word, from_word, elements_word] =
        [out, head, from, elements].map(u64::to_le_bytes);
    let mut arguments = vec![&out_word[..], &head_word, &from_word, &elements_word];
    let layout: Option<Vec<u8>> =
        layout.map(|words| words.iter().flat_map(|word| word.to_le_bytes()).collect());
    arguments.extend(layout.as_deref());
    let (module, kind) = match layout {
        None => (&*DENSE, "fingerprint"),
        Some(_) => (&*STRIDED, "strided"),
    };
    let shape = (how.blocks, how.warps * 32);
    let name = format!("{kind}_{}", T::DTYPE);
    module.launch(&name, shape, &arguments, &mut memory, how.backwards);
    let mut count = blocks;
    for _ in 0..how.folds {
        let left = count.div_ceil(32);
        let to = memory.lend(&vec![0x77; left * PARTIAL_WORDS * 8], 0);
        let [to_word, from_word, count_word] = [to, out, count as u64].map(u64::to_le_bytes);
        let arguments = [&to_word[..], &from_word, &count_word];
        DENSE.launch("fold", shape, &arguments, &mut memory, how.backwards);
        (out, count) = (to, left);
    }
    let mut result = words(memory.bytes(head));
    result.extend(words(memory.bytes(out)));
    decode::<T>(&result, elements)
}

/// Compares bits: -0.0 differs from 0.0.
fn bits(print: &Fingerprint) -> impl PartialEq + std::fmt::Debug + use<> {
    let of = &print.statistics;
    let moments = [of.min, of.max, of.absmax, of.mean, of.l2];
    (
        [print.elements, print.hash, print.hash_fnv64],
        [of.nan_count, of.inf_count, of.zero_count],
        moments.map(|moment| moment.map(f64::to_bits)),
    )
}

fn same<T: Element + std::fmt::Debug>(data: &[T], how: How) -> Result<(), TestCaseError> {
    let (found, samples) = on_device(data, data.len() as u64, None, how);
    prop_assert_eq!(
        bits(&found),
        bits(&fingerprint(data)),
        "{} {:?}",
        T::DTYPE,
        how
    );
    for (nth, sample) in samples.iter().enumerate() {
        let at = Fingerprint::sample_place(nth, data.len() as u64).unwrap() as usize;
        let wanted = fingerprint(&data[at..=at]).statistics;
        // Of one element, min is the value, unless it is not finite.
        let wanted = wanted.min.filter(|value| *value != 0.0);
        prop_assert!(
            wanted.is_none_or(|wanted| wanted == *sample),
            "sample {}",
            nth
        );
    }
    prop_assert_eq!(samples.len(), data.len().min(16));
    Ok(())
}

/// Random bits, mixed with values that are difficult for sums and extremes.
fn mixed<T: Clone + std::fmt::Debug + 'static>(
    any: BoxedStrategy<T>,
    odd: Vec<T>,
    most: usize,
) -> impl Strategy<Value = Vec<T>> {
    let some = prop_oneof![6 => any, 1 => prop::sample::select(odd)];
    prop_oneof![
        3 => prop::collection::vec(some.clone(), 0..most),
        1 => prop::collection::vec(some, 0..70),
    ]
}

macro_rules! kernels {
    ($($name:ident $type:ty, $any:expr, $odd:expr;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(48))]
            $(
                #[test]
                fn $name(data in mixed::<$type>($any.boxed(), $odd.to_vec(), 40_000 / size_of::<$type>()), how in how()) {
                    same(&data, how)?;
                }
            )*
        }
    };
}

kernels! {
    f32_as_on_the_host f32, any::<u32>().prop_map(f32::from_bits), [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-45, f32::MAX];
    f64_as_on_the_host f64, any::<u64>().prop_map(f64::from_bits), [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, f64::MAX];
    f16_as_on_the_host F16, any::<u16>().prop_map(F16), [0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 1, 0x03ff].map(F16);
    bf16_as_on_the_host Bf16, any::<u16>().prop_map(Bf16), [0, 0x8000, 0x7f80, 0xff80, 0x7fc0, 1, 0x7f7f].map(Bf16);
    i8_as_on_the_host i8, any::<i8>(), [0, i8::MIN, i8::MAX];
    i16_as_on_the_host i16, any::<i16>(), [0, i16::MIN, i16::MAX];
    i32_as_on_the_host i32, any::<i32>(), [0, i32::MIN, i32::MAX];
    i64_as_on_the_host i64, any::<i64>(), [0, i64::MIN, i64::MAX];
    u8_as_on_the_host u8, any::<u8>(), [0, u8::MAX];
    u16_as_on_the_host u16, any::<u16>(), [0, u16::MAX];
    u32_as_on_the_host u32, any::<u32>(), [0, u32::MAX];
    u64_as_on_the_host u64, any::<u64>(), [0, u64::MAX];
}

fn number(i: usize) -> f32 {
    ((i as u32).wrapping_mul(0x9E37_79B9) >> 8) as f32 / 1000.0 - 8000.0
}

/// Lengths around the sizes of words, groups of eight and blocks, at addresses that are not aligned to words.
#[test]
fn edges_as_on_the_host() {
    let block = 2048;
    for length in (0..34)
        .chain(block - 9..block + 9)
        .chain([4 * block, 33 * block + 1])
    {
        let data: Vec<f32> = (0..length).map(number).collect();
        for offset in [0, 1] {
            same(&data, How { offset, ..PLAIN }).unwrap();
        }
        let small: Vec<u8> = data.iter().map(|value| *value as u8).collect();
        same(&small, How { offset: 3, ..PLAIN }).unwrap();
    }
}

/// One warp, many warps, as many as there are blocks, and more: the bits are the same.
#[test]
fn every_launch_shape_gives_the_same_bits() {
    let data: Vec<f32> = (0..70_001).map(number).collect();
    let first = bits(&fingerprint(&data));
    for blocks in [1, 2, 7, 40] {
        for warps in [1, 3, 8, 32] {
            for folds in 0..3 {
                let how = How {
                    blocks,
                    warps,
                    backwards: blocks % 2 == 0,
                    offset: 0,
                    folds,
                };
                let (found, _) = on_device(&data, data.len() as u64, None, how);
                assert_eq!(bits(&found), first, "{how:?}");
            }
        }
    }
}

#[test]
fn a_permutation_and_a_flipped_bit_show() {
    let data: Vec<f32> = (0..5000).map(number).collect();
    let (was, _) = on_device(&data, 5000, None, PLAIN);
    let mut swapped = data.clone();
    swapped.swap(17, 4711);
    let (now, _) = on_device(&swapped, 5000, None, PLAIN);
    assert_ne!(was.hash, now.hash);
    assert_eq!(was.statistics.absmax, now.statistics.absmax);
    let mut flipped = data;
    flipped[4999] = f32::from_bits(flipped[4999].to_bits() ^ 1);
    assert_ne!(on_device(&flipped, 5000, None, PLAIN).0.hash, was.hash);
}

fn strided<T: Element + Clone>(
    data: &[T],
    shape: &[usize],
    strides: &[usize],
    how: How,
) -> Result<(), TestCaseError> {
    let mut layout = [0u64; 1 + 2 * MAX_DIMENSIONS];
    layout[0] = shape.len() as u64;
    for (at, (length, stride)) in shape.iter().zip(strides).enumerate() {
        layout[1 + at] = *length as u64;
        layout[1 + MAX_DIMENSIONS + at] = *stride as u64;
    }
    let view = Strided::new(data, shape, strides).expect("it lies within");
    let (found, _) = on_device(data, view.elements() as u64, Some(&layout), how);
    prop_assert_eq!(
        bits(&found),
        bits(&view.fingerprint()),
        "{} {:?}",
        T::DTYPE,
        how
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn strided_as_on_the_host(dims in prop::collection::vec((0usize..14, 0usize..5), 0..5), kind in 0usize..6, how in how()) {
        let shape: Vec<usize> = dims.iter().map(|(length, _)| *length).collect();
        // Some overlap, some leave holes.
        let strides: Vec<usize> = dims.iter().map(|(_, stride)| stride * 7).collect();
        let numbers = 0..2000usize;
        match kind {
            0 => strided(&numbers.map(number).collect::<Vec<f32>>(), &shape, &strides, how)?,
            1 => strided(&numbers.map(|i| f64::from(number(i)) / 3.0).collect::<Vec<f64>>(), &shape, &strides, how)?,
            2 => strided(&numbers.map(|i| F16(number(i).to_bits() as u16)).collect::<Vec<F16>>(), &shape, &strides, how)?,
            3 => strided(&numbers.map(|i| Bf16(number(i).to_bits() as u16)).collect::<Vec<Bf16>>(), &shape, &strides, how)?,
            4 => strided(&numbers.map(|i| number(i).to_bits() as i8).collect::<Vec<i8>>(), &shape, &strides, how)?,
            _ => strided(&numbers.map(|i| i64::from(number(i).to_bits()) << 31).collect::<Vec<i64>>(), &shape, &strides, how)?,
        }
    }
}
