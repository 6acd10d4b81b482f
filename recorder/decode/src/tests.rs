//! The model against its `f64` reference, on every backend of this CPU.

use crate::backend::{Backend, Simd};
use crate::blocked_matmul::{self, Factors, Panels};
use crate::brick::Brick;
use crate::generate::{Generated, Plan, generate};
use crate::kernels::Kernels;
use crate::probe::{Exp, Probe};
use crate::random::Random;
use crate::reference;
use crate::simd;
use crate::weights::{Shape, Weights};
use trueno_recorder::{Name, Recorder};

/// No width is a multiple of a SIMD width.
fn plan() -> Plan {
    let shape = Shape {
        layers: 2,
        dim: 36,
        heads: 3,
        ffn: 50,
        vocab: 61,
        positions: 16,
    };
    Plan {
        shape,
        seed: 7,
        prompt: 9,
        tokens: 7,
        threads: 1,
        blocked: true,
    }
}

fn probe(backend: Backend) -> Probe {
    Probe::new(Recorder::disabled(), Simd::new(backend).unwrap())
}

fn run(plan: &Plan, probe: &Probe) -> Generated {
    generate(plan, probe).unwrap()
}

/// The largest difference between the logits and the reference's for the same tokens.
fn error(plan: &Plan, generated: &Generated) -> f64 {
    let weights = Weights::random(&plan.shape, plan.seed);
    let fed: Vec<usize> = generated
        .prompt
        .iter()
        .chain(&generated.tokens)
        .copied()
        .collect();
    let expected = reference::logits(&plan.shape, &weights, &fed);
    let after_prompt = &expected[plan.prompt - 1..];
    assert_eq!(generated.logits.len(), plan.tokens);
    let pairs = generated
        .logits
        .iter()
        .zip(after_prompt)
        .flat_map(|(found, expected)| found.iter().zip(expected));
    pairs
        .map(|(found, expected)| (f64::from(*found) - expected).abs())
        .fold(0.0, f64::max)
}

#[test]
fn every_backend_computes_the_reference() {
    for backend in Backend::available() {
        let generated = run(&plan(), &probe(backend));
        let error = error(&plan(), &generated);
        // Logits are about 1 in size; f32 sums of up to 50 terms over 2 layers.
        assert!(error < 2e-5, "{}: off by {error}", backend.name());
    }
}

#[test]
fn backends_draw_the_same_tokens_but_not_the_same_bits() {
    let scalar = run(&plan(), &probe(Backend::Scalar));
    let wide = run(&plan(), &probe(Backend::widest()));
    assert_eq!(scalar.tokens, wide.tokens);
    assert_eq!(
        scalar.logits == wide.logits,
        Backend::widest() == Backend::Scalar
    );
}

#[test]
fn row_by_row_prompt_and_threads_and_repetition_change_no_result() {
    let base = run(&plan(), &probe(Backend::widest()));
    let by_row = run(
        &Plan {
            blocked: false,
            ..plan()
        },
        &probe(Backend::widest()),
    );
    assert!(error(&plan(), &by_row) < 2e-5);
    assert_eq!(by_row.tokens, base.tokens);
    for threads in [2, 5] {
        let threaded = run(&Plan { threads, ..plan() }, &probe(Backend::widest()));
        assert_eq!(threaded.logits, base.logits, "{threads} threads");
    }
    for brick in Brick::ALL {
        let slow = format!("{}=2.5", brick.name()).parse().unwrap();
        let slowed = run(&plan(), &probe(Backend::widest()).slow(Some(slow)));
        assert_eq!(slowed.logits, base.logits, "{slow}");
        assert_eq!(slowed.tokens, base.tokens, "{slow}");
    }
}

#[test]
fn a_backends_own_exp_is_visibly_worse_where_it_is_a_polynomial() {
    // Long enough for rows of scores that fill a vector of 16.
    let shape = Shape {
        positions: 40,
        ..plan().shape
    };
    let plan = Plan {
        shape,
        prompt: 33,
        ..plan()
    };
    for backend in Backend::available() {
        let mut probe = probe(backend);
        let precise = error(&plan, &run(&plan, &probe));
        assert!(precise < 2e-5, "{}: off by {precise}", backend.name());
        probe.exp = Exp::Backend;
        let error = error(&plan, &run(&plan, &probe));
        let polynomial = matches!(backend, Backend::Sse2 | Backend::Avx512);
        assert_eq!(
            error > 2e-5,
            polynomial,
            "{}: off by {error}",
            backend.name()
        );
    }
}

#[test]
fn blocked_product_is_the_product_at_ragged_sizes() {
    for backend in Backend::available() {
        let probe = probe(backend);
        for (m, n, k) in [
            (1, 1, 1),
            (3, 70, 5),
            (16, 64, 256),
            (17, 131, 300),
            (9, 8, 513),
        ] {
            let random = &mut Random::new(3, 4);
            let x: Vec<f32> = (0..m * k).map(|_| random.spread(1.0)).collect();
            let weights: Vec<f32> = (0..n * k).map(|_| random.spread(1.0)).collect();
            let mut out = vec![f32::NAN; m * n];
            let factors = Factors {
                x: &x,
                weights: &weights,
                k,
            };
            blocked_matmul::multiply(
                &Kernels::new(&probe, None),
                &mut Panels::default(),
                factors,
                &mut out,
            );
            for (i, found) in out.iter().enumerate() {
                let (x, weights) = (&x[i / n * k..][..k], &weights[i % n * k..][..k]);
                let expected: f64 = x
                    .iter()
                    .zip(weights)
                    .map(|(a, b)| f64::from(*a) * f64::from(*b))
                    .sum();
                let tolerance = 1e-6 * k as f64;
                let off = (f64::from(*found) - expected).abs();
                assert!(
                    off <= tolerance,
                    "{} {m}x{n}x{k} at {i}: off by {off}",
                    backend.name()
                );
            }
        }
    }
}

#[test]
fn elementwise_calls_stand_lengths_the_library_streams_at() {
    for backend in Backend::available() {
        let simd = Simd::new(backend).unwrap();
        let a: Vec<f32> = (0..20_000).map(|i| i as f32).collect();
        let mut out = vec![0.0; 20_003];
        for offset in 0..3 {
            simd::mul(simd, &a, &a, &mut out[offset..offset + 20_000]);
            assert!(
                a.iter()
                    .zip(&out[offset..])
                    .all(|(a, found)| *found == a * a),
                "{}",
                backend.name()
            );
        }
    }
}

#[test]
fn a_brick_declares_the_work_and_the_backends_that_ran() {
    for backend in Backend::available() {
        let probe = probe(backend);
        let kernels = Kernels::new(&probe, None);
        let mut out = [0.0; 2];
        kernels.copied(5);
        assert_eq!(kernels.label(), None);
        kernels.matvec(&[1.0; 6], 3, &[1.0, 2.0, 3.0], &mut out);
        assert_eq!(out, [6.0, 6.0]);
        assert_eq!(kernels.label().map(Name::as_str), Some(backend.name()));
        // 2 x 3 matrix: 2 * 6 FLOPs; 6 + 3 values read, 2 written; 5 copied.
        let work = kernels.work();
        assert_eq!(
            (work.flops, work.read_bytes, work.written_bytes),
            (12, 4 * (9 + 5), 4 * (2 + 5))
        );
        kernels.silu(&[1.0; 2], &mut out);
        let expected = if backend == Backend::Scalar {
            "scalar".into()
        } else {
            format!("{}+scalar", backend.name())
        };
        assert_eq!(kernels.label().map(Name::as_str), Some(expected.as_str()));
    }
}
