use super::*;
use proptest::prelude::*;

/// The formula in the module's documentation, implemented literally.
fn slow_hash(bytes: &[u8]) -> u64 {
    let mut sums = [0u64; 2];
    for (i, chunk) in bytes.chunks(8).enumerate() {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let z = u64::from_le_bytes(word).wrapping_add((2 * i as u64 + 1).wrapping_mul(K));
        sums[i % 2] = sums[i % 2].wrapping_add(mix(z));
    }
    mix(sums[0].wrapping_add(bytes.len() as u64)) ^ mix(sums[1]).rotate_left(32)
}

fn random(count: usize, seed: u64) -> Vec<f32> {
    (0..count as u64)
        .map(|i| (mix(i ^ seed << 32) >> 40) as f32 / 1000.0 - 8000.0)
        .collect()
}

proptest! {
    #[test]
    fn hash_follows_the_formula(bytes in prop::collection::vec(any::<u8>(), 0..20_000)) {
        prop_assert_eq!(fingerprint(&bytes).hash, slow_hash(&bytes));
    }

    #[test]
    fn every_flipped_bit_shows(count in 1usize..5_000, at in any::<prop::sample::Index>(), bit in 0u32..32, seed in any::<u64>()) {
        let data = random(count, seed);
        let mut other = data.clone();
        let at = at.index(count);
        other[at] = f32::from_bits(other[at].to_bits() ^ 1 << bit);
        prop_assert_ne!(fingerprint(&data).hash, fingerprint(&other).hash);
    }

    #[test]
    fn every_swap_shows(count in 2usize..5_000, a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let data = random(count, seed);
        let (a, b) = (a.index(count), b.index(count));
        prop_assume!(data[a].to_bits() != data[b].to_bits());
        let mut other = data.clone();
        other.swap(a, b);
        prop_assert_ne!(fingerprint(&data).hash, fingerprint(&other).hash);
    }

    #[test]
    fn statistics_match_the_obvious(data in prop::collection::vec(prop_oneof![
        // Squares of larger ones overflow; a test of its own covers that.
        8 => any::<f64>().prop_map(|v| if v.is_finite() && v.abs() > 1e100 { v * 1e-250 } else { v }),
        1 => Just(0.0), 1 => Just(-0.0), 1 => Just(f64::NAN),
    ], 0..3_000)) {
        let found = fingerprint(&data).statistics;
        let finite: Vec<f64> = data.iter().copied().filter(|v| v.is_finite()).collect();
        prop_assert_eq!(found.nan_count, data.iter().filter(|v| v.is_nan()).count() as u64);
        prop_assert_eq!(found.inf_count, data.iter().filter(|v| v.is_infinite()).count() as u64);
        prop_assert_eq!(found.zero_count, data.iter().filter(|v| **v == 0.0).count() as u64);
        prop_assert_eq!(found.min, finite.iter().copied().reduce(f64::min));
        prop_assert_eq!(found.max, finite.iter().copied().reduce(f64::max));
        prop_assert_eq!(found.absmax, finite.iter().map(|v| v.abs()).reduce(f64::max));
        prop_assert_eq!(found.mean.is_some(), !finite.is_empty());
        if let (Some(mean), Some(l2)) = (found.mean, found.l2) {
            let scale = found.absmax.unwrap_or(0.0);
            prop_assert!((mean - finite.iter().sum::<f64>() / finite.len() as f64).abs() <= scale * 1e-10);
            let slow = finite.iter().map(|v| v * v).sum::<f64>().sqrt();
            prop_assert!((l2 - slow).abs() <= slow * 1e-10);
        }
    }
}

/// Random bits, mixed with values that are difficult for sums and extremes.
fn floats<T: Copy + std::fmt::Debug + 'static>(
    any: BoxedStrategy<T>,
    odd: &'static [T],
) -> impl Strategy<Value = Vec<T>> {
    let some = prop_oneof![6 => any, 1 => prop::sample::select(odd)];
    let only_odd = prop::collection::vec(prop::sample::select(odd), 0..200);
    prop_oneof![prop::collection::vec(some, 0..5_000), only_odd]
}

/// All parts of a fingerprint as bits: -0.0 differs from 0.0.
fn bits(print: &Fingerprint) -> impl PartialEq + std::fmt::Debug + use<> {
    let of = &print.statistics;
    let moments = [of.min, of.max, of.absmax, of.mean, of.l2];
    (
        [print.elements, print.hash, print.hash_fnv64],
        [of.nan_count, of.inf_count, of.zero_count],
        moments.map(|moment| moment.map(f64::to_bits)),
    )
}

fn same_with_all_instructions<T: Element>(data: &[T]) -> Result<(), TestCaseError> {
    let portable = bits(&fingerprint_with(Width::Portable, data));
    for width in Width::ALL.into_iter().filter(|width| width.is_there()) {
        let found = bits(&fingerprint_with(width, data));
        prop_assert_eq!(&found, &portable, "{:?}, {} elements", width, data.len());
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_width_gives_the_same_f32(data in floats(
        any::<u32>().prop_map(f32::from_bits).boxed(),
        &[0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE / 3.0, 1e-45, f32::MAX, f32::MIN, 0.1],
    )) {
        same_with_all_instructions(&data)?;
    }

    #[test]
    fn every_width_gives_the_same_f64(data in floats(
        any::<u64>().prop_map(f64::from_bits).boxed(),
        &[0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE / 3.0, 5e-324, f64::MAX, f64::MIN, 0.1],
    )) {
        same_with_all_instructions(&data)?;
    }
}

/// Lengths around the sizes of groups and blocks. Of equal zeros, the first in its lane counts.
#[test]
fn every_width_gives_the_same_at_edges() {
    let block = BLOCK_BYTES / size_of::<f32>();
    for length in (0..70)
        .chain(block - 20..block + 20)
        .chain(3 * block - 1..3 * block + 2)
    {
        let mut data = random(length, 7);
        same_with_all_instructions(&data).unwrap();
        let wide: Vec<f64> = data.iter().map(|value| f64::from(*value) / 3.0).collect();
        same_with_all_instructions(&wide).unwrap();
        for (at, value) in data.iter_mut().enumerate() {
            *value = if mix(at as u64) & 1 == 0 { 0.0 } else { -0.0 };
        }
        same_with_all_instructions(&data).unwrap();
        for value in &mut data {
            *value += f32::from(u8::from(value.is_sign_negative()));
        }
        same_with_all_instructions(&data).unwrap();
    }
}

/// Recordings contain these fingerprints. Only the last bits of `l2` have changed since sums ran through the whole
/// tensor.
#[test]
fn a_fingerprint_of_old_is_given_again() {
    let print = fingerprint(&random(10_007, 42));
    let of = print.statistics;
    let moments = [of.min, of.max, of.absmax, of.mean, of.l2].map(|m| m.map(f64::to_bits));
    assert_eq!(print.hash, 0x50f0_a6bf_5859_ae8d);
    let wanted = [
        0xc0bf_3eb9_6000_0000,
        0x40c1_2457_4000_0000,
        0x40c1_2457_4000_0000,
        0x4078_94de_be96_2ab9,
        0x411d_704d_977f_71dd,
    ];
    assert_eq!(moments, wanted.map(Some));
}

#[test]
fn sign_of_zero_late_nan_and_length_show() {
    let zeros = vec![0.0f32; 200];
    let hash = fingerprint(&zeros).hash;
    let mut negative = zeros.clone();
    negative[199] = -0.0;
    assert_ne!(fingerprint(&negative).hash, hash);
    let mut late_nan = zeros.clone();
    late_nan[64] = f32::NAN;
    let found = fingerprint(&late_nan);
    assert_ne!(found.hash, hash);
    assert_eq!(
        found.hash_fnv64,
        fingerprint(&zeros).hash_fnv64,
        "FNV sees 64 elements only"
    );
    assert_eq!(found.statistics.nan_count, 1);
    assert_ne!(fingerprint(&zeros[..199]).hash, hash);
    assert_ne!(fingerprint(&zeros[..0]).hash, fingerprint(&zeros[..1]).hash);
}

#[test]
fn fnv_vectors() {
    for (data, hash) in [
        (&[][..], 0xcbf2_9ce4_8422_2325),
        (&[1.0], 0x4b72_477f_9c5c_2f98),
        (&[0.0], 0x4d25_767f_9dce_13f5),
        (&[-0.0], 0x4d24_f67f_9dcd_3a75),
        (&[f32::from_bits(0x7fc0_0000)], 0x4a98_877f_9ba2_f898),
        (&[f32::from_bits(0x7fc0_0001)], 0xaa9e_3177_456d_ce29),
    ] {
        assert_eq!(fingerprint::<f32>(data).hash_fnv64, hash, "{data:?}");
    }
}

#[test]
fn integers_and_overflow() {
    let found = fingerprint(&[i8::MIN, 0, i8::MAX]).statistics;
    assert_eq!(
        (found.min, found.max, found.absmax),
        (Some(-128.0), Some(127.0), Some(128.0))
    );
    assert_eq!(
        (found.nan_count, found.inf_count, found.zero_count),
        (0, 0, 1)
    );
    let found = fingerprint(&[f64::MAX, f64::MAX]).statistics;
    assert_eq!(
        (found.mean, found.l2, found.max),
        (None, None, Some(f64::MAX))
    );
    assert_eq!(fingerprint::<f32>(&[]).statistics.mean, None);
    assert_eq!(fingerprint(&[f32::NAN, f32::INFINITY]).statistics.l2, None);
}
