//! Device time of calls, and sums that count nothing twice.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::program::{Call, Kernel, MM, Made, call, cell, kernel, number};

#[test]
fn a_container_has_its_callees_time_and_sums_count_it_once() {
    let made = Made {
        signatures: vec![MM],
        calls: vec![
            call("aten::matmul", 0, 100, Some(0)),
            call("aten::mm", 10, 80, Some(0)).inside(0),
            call("aten::mm", 200, 50, Some(0)),
        ],
        kernels: vec![
            kernel(1, 1_000, 30),
            kernel(1, 1_020, 30),
            kernel(2, 2_000, 7),
        ],
        ..Made::default()
    };
    let output = made.output();
    let of = |name, column| cell(&output, "by_shape", name, column);
    assert_eq!(
        of("aten::matmul", "device_ns"),
        Some(50.0),
        "the union of two that overlap"
    );
    assert_eq!(of("aten::matmul", "counted_ns"), None);
    assert_eq!(of("aten::matmul", "host_self_ns"), Some(20.0));
    assert_eq!(of("aten::mm", "device_ns"), Some(57.0));
    assert_eq!(of("aten::mm", "counted_ns"), Some(67.0), "kernel by kernel");
    assert_eq!(of("aten::mm", "flops"), Some(256.0));
    assert_eq!(of("aten::mm", "moved_bytes"), Some(448.0));
    let gemm = |column| cell(&output, "by_category", "gemm", column);
    assert_eq!(gemm("counted_ns"), Some(67.0));
    assert_eq!(gemm("flops"), Some(256.0), "not those of matmul as well");
    let coverage = |column| number(output.table("coverage"), column, 0);
    assert_eq!(coverage("device_ns"), Some(67.0));
    assert_eq!(coverage("modelled_share"), Some(1.0));
}

#[test]
fn work_without_an_operator_is_stated_and_is_nobodys() {
    let made = Made {
        signatures: vec![MM, ("[[8]]", r#"["float"]"#, "")],
        calls: vec![
            call("aten::mm", 0, 10, Some(0)),
            call("mylib::secret", 20, 10, Some(1)),
        ],
        kernels: vec![
            kernel(0, 100, 50),
            kernel(1, 200, 30),
            Kernel {
                brick: None,
                ..kernel(0, 300, 20)
            },
        ],
        ..Made::default()
    };
    let output = made.output();
    let coverage = |column| number(output.table("coverage"), column, 0);
    assert_eq!(coverage("modelled_share"), Some(0.5));
    assert_eq!(coverage("linked_modelled_share"), Some(50.0 / 80.0));
    assert_eq!(coverage("linked_share"), Some(0.8));
    assert_eq!(
        cell(&output, "not_modelled", "mylib::secret", "device_ns"),
        Some(30.0)
    );
    let finding = &output.findings[0];
    assert!(finding.title.contains("62.5 %"), "{}", finding.title);
    let detail = finding.detail.as_deref().unwrap_or_default();
    assert!(
        detail.contains("mylib::secret, 37.5 %") && detail.contains("20.0 %"),
        "{detail}"
    );
}

#[test]
fn work_begun_before_the_recording_is_that_of_the_same_kernels_later() {
    let names = ["gemm", "bias", "relu", "norm", "add"];
    let kernels = (0..60_usize).map(|at| Kernel {
        name: names[at % 5],
        // The last 40, every fifth of which belongs to what has no model.
        brick: (at >= 20).then_some(usize::from(at % 5 == 4)),
        ..kernel(0, 1_000 + 100 * at as i64, 10)
    });
    let mut made = Made {
        signatures: vec![MM, ("[[8]]", r#"["float"]"#, "")],
        calls: vec![
            call("aten::mm", 0, 10, Some(0)),
            call("mylib::secret", 20, 10, Some(1)),
        ],
        kernels: kernels.collect(),
        ..Made::default()
    };
    let output = made.output();
    let coverage = |column| number(output.table("coverage"), column, 0);
    assert_eq!(coverage("inferred_ns"), Some(160.0), "four of five kernels");
    assert_eq!(coverage("modelled_ns"), Some(160.0 + 320.0));
    assert_eq!(coverage("linked_modelled_share"), Some(0.8));
    let mm = |column| cell(&output, "by_shape", "aten::mm", column);
    assert_eq!(
        mm("device_ns"),
        Some(320.0),
        "what is inferred is in no rate"
    );
    assert_eq!(
        cell(&output, "by_category", "gemm", "inferred_ns"),
        Some(160.0)
    );
    made.kernels[7].name = "other";
    let other = made.output();
    assert_eq!(number(other.table("coverage"), "inferred_ns", 0), Some(0.0));
}

#[test]
fn time_of_operators_without_shapes_is_named_as_such() {
    let made = Made {
        signatures: vec![MM],
        calls: vec![
            call("aten::mm", 0, 10, Some(0)),
            call("aten::relu", 20, 10, None),
        ],
        kernels: vec![kernel(0, 100, 20), kernel(1, 200, 60)],
        ..Made::default()
    };
    let output = made.output();
    let finding = &output.findings[0];
    assert!(finding.title.contains("25.0 %"), "{}", finding.title);
    let detail = finding.detail.as_deref().unwrap_or_default();
    assert!(
        detail.contains("75.0 % was launched by operators without recorded shapes"),
        "{detail}"
    );
}

#[test]
fn a_run_without_shapes_says_so_only_where_pytorch_made_it() {
    let mut made = Made {
        calls: vec![call("aten::mm", 0, 10, None)],
        ..Made::default()
    };
    assert_eq!(made.output().findings[0].code, "no_shapes");
    made.calls[0].name = "Attention";
    let output = made.output();
    assert!(output.findings.is_empty() && output.tables.is_empty());
}

#[test]
fn bricks_of_a_program_s_own_have_a_section_only_with_a_rule_for_them() {
    let made = Made {
        signatures: vec![MM],
        calls: vec![call("QkvProjection", 0, 10, Some(0))],
        ..Made::default()
    };
    let output = made.output();
    assert!(output.tables.is_empty() && output.findings.is_empty());
    let rule = r#"family = \"mine\"\n[[rule]]\nname = \"product\"\noperators = [\"QkvProjection\"]\nflops = \"2 * dim(0, 0) * dim(0, 1) * dim(1, 1)\"\nmoved_bytes = \"bytes(0)\"\nassumption = \"none\"\nsource = \"here\""#;
    let output = made.with_options(&format!(r#"{{"rules": "{rule}"}}"#));
    assert_eq!(
        cell(&output, "by_shape", "QkvProjection", "flops"),
        Some(128.0)
    );
}

#[test]
fn recomputed_calls_are_told_from_backward_ones() {
    let evaluated = "autograd::engine::evaluate_function: ";
    let checkpoint = format!("{evaluated}CheckpointFunctionBackward").leak();
    let backward = format!("{evaluated}MmBackward0").leak();
    let made = Made {
        signatures: vec![MM],
        calls: vec![
            call("aten::mm", 0, 10, Some(0)),
            call(checkpoint, 100, 100, None),
            call("aten::mm", 110, 10, Some(0)).inside(1),
            call(backward, 130, 50, None).inside(1),
            call("aten::mm", 140, 10, Some(0)).inside(3),
        ],
        kernels: vec![kernel(0, 20, 10), kernel(2, 120, 30), kernel(4, 160, 60)],
        ..Made::default()
    };
    let output = made.output();
    let again = output.findings.iter().find(|of| of.code == "recomputed");
    let again = again.expect("checkpointing is reported");
    assert!(
        again
            .title
            .contains("computes 30 ns of device work again, 30.0 %"),
        "{}",
        again.title
    );
    assert_eq!(cell(&output, "by_shape", "aten::mm", "calls"), Some(3.0));
    assert_eq!(
        cell(&output, "by_shape", "aten::mm", "recomputed_calls"),
        Some(1.0)
    );
}

#[test]
fn lists_have_the_element_type_that_their_kernels_say() {
    let lists = (
        "[[[4,4],[4,4]],[]]",
        r#"["TensorList","Scalar"]"#,
        r#"["","0"]"#,
    );
    let cat = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 2, 64, 64>";
    let mut made = Made {
        signatures: vec![lists],
        calls: vec![call("aten::cat", 0, 10, Some(0))],
        kernels: vec![Kernel {
            name: cat,
            ..kernel(0, 100, 10)
        }],
        ..Made::default()
    };
    let moved = |made: &Made| cell(&made.output(), "by_shape", "aten::cat", "moved_bytes");
    assert_eq!(moved(&made), Some(2.0 * 32.0 * 2.0));
    made.kernels[0].name = "somebody's own";
    assert_eq!(moved(&made), None);
    assert!(cell(&made.output(), "not_modelled", "aten::cat", "device_ns") == Some(10.0));
}

#[test]
fn convolutions_of_old_traces_have_the_output_of_their_gradient() {
    let floats = r#"["float","float","float"]"#;
    let signatures = vec![
        ("[[2,3,8,8],[5,3,3,3]]", r#"["float","float"]"#, ""),
        ("[[2,3,8,8],[2,5,4,4],[5,3,3,3]]", floats, ""),
        ("[[],[2,5,4,4],[2,3,8,8]]", r#"["","float","float"]"#, ""),
    ];
    let made = Made {
        signatures,
        calls: vec![
            call("aten::cudnn_convolution", 0, 10, Some(0)),
            call("aten::cudnn_convolution_backward", 20, 10, Some(1)),
            call("aten::cudnn_convolution_backward_weight", 22, 5, Some(2)).inside(1),
        ],
        kernels: vec![kernel(0, 100, 50), kernel(2, 200, 50)],
        ..Made::default()
    };
    // Outputs of 2 × 5 × 4 × 4, each from 3 × 3 × 3 weights.
    let flops = Some(2.0 * 160.0 * 27.0);
    let of = |made: &Made, name| cell(&made.output(), "by_shape", name, "flops");
    assert_eq!(of(&made, "aten::cudnn_convolution"), flops);
    assert_eq!(of(&made, "aten::cudnn_convolution_backward_weight"), flops);
    // Two strides of the same input and weight: which call had which is not known.
    let mut twice = made;
    twice
        .signatures
        .push(("[[2,3,8,8],[2,5,8,8],[5,3,3,3]]", floats, ""));
    twice
        .calls
        .push(call("aten::cudnn_convolution_backward", 40, 10, Some(3)));
    assert_eq!(of(&twice, "aten::cudnn_convolution"), None);
}

#[test]
fn absurd_shapes_are_listed_with_a_reason() {
    let float = r#"["float","float"]"#;
    let huge =
        "[[9223372036854775807,9223372036854775807],[9223372036854775807,9223372036854775807]]";
    let signatures = vec![
        ("[[-4,8],[8,2]]", float, ""),
        (huge, float, ""),
        ("[[8,4],[4,2]]", r#"["nonsense","float"]"#, ""),
        ("not json", float, ""),
        ("", float, ""),
    ];
    let calls = (0..signatures.len()).map(|at| call("aten::mm", 10 * at as i64, 5, Some(at)));
    let made = Made {
        calls: calls.collect(),
        signatures,
        ..Made::default()
    };
    let output = made.output();
    let table = output.table("by_shape");
    let reasons = table.text("reason").expect("reasons");
    assert_eq!(table.rows(), 5);
    for row in 0..table.rows() {
        assert!(
            reasons.get(row).is_some_and(|why| !why.is_empty()),
            "row {row}"
        );
        assert_eq!(number(table, "flops", row), None);
    }
}

/// Randomly nested calls with kernels. Every third has no signature, every fifth no model.
fn programs() -> impl Strategy<Value = Made> {
    let calls = proptest::collection::vec(
        (any::<prop::sample::Index>(), any::<bool>(), 0..15usize),
        1..20,
    );
    let kernels = proptest::collection::vec(
        (any::<prop::sample::Index>(), 0..200i64, 1..40i64, 0..8u8),
        1..30,
    );
    (calls, kernels).prop_map(|(calls, kernels)| {
        let mut made = Made {
            signatures: vec![MM, ("[[16,4],[4,2]]", r#"["float","float"]"#, "")],
            ..Made::default()
        };
        for (at, (parent, is_root, kind)) in calls.iter().enumerate() {
            let name = if kind % 5 == 0 {
                "mylib::op"
            } else {
                "aten::mm"
            };
            let signature = (kind % 3 != 0).then_some(kind % 2);
            let call = call(name, at as i64, 100, signature);
            made.calls.push(if at > 0 && !is_root {
                call.inside(parent.index(at))
            } else {
                call
            });
        }
        for (brick, start_ns, dur_ns, link) in kernels {
            let brick = brick.index(made.calls.len());
            made.kernels.push(Kernel {
                brick: (link > 0).then_some(brick),
                ..kernel(brick, start_ns, dur_ns)
            });
        }
        made
    })
}

/// The call and its enclosing rows, innermost first.
fn around(made: &Made, place: usize) -> Vec<usize> {
    let mut out = vec![place];
    while let Some(parent) = made.calls[out[out.len() - 1]].parent {
        out.push(parent);
    }
    out
}

/// Nanoseconds in which a kernel of the call or of a nested call runs, counted one by one.
fn busy_ns(made: &Made, place: usize) -> i64 {
    let of_call: Vec<&Kernel> = made
        .kernels
        .iter()
        .filter(|kernel| {
            kernel
                .brick
                .is_some_and(|brick| around(made, brick).contains(&place))
        })
        .collect();
    let runs = |at: i64| {
        of_call
            .iter()
            .any(|k| k.start_ns <= at && at < k.start_ns + k.dur_ns)
    };
    (0..300).filter(|at| runs(*at)).count() as i64
}

fn has_model(call: &Call) -> bool {
    call.signature.is_some() && call.name == "aten::mm"
}

proptest! {
    #[test]
    fn times_are_those_that_a_count_of_nanoseconds_gives(made in programs()) {
        let output = made.output();
        let mut busy: BTreeMap<(&str, &str), i64> = BTreeMap::new();
        let mut counted: BTreeMap<(&str, &str), i64> = BTreeMap::new();
        for (place, call) in made.calls.iter().enumerate() {
            if let Some(signature) = call.signature {
                *busy.entry((call.name, made.signatures[signature].0)).or_default() += busy_ns(&made, place);
            }
        }
        let (mut modelled, mut linked) = (0, 0);
        for kernel in &made.kernels {
            let Some(brick) = kernel.brick else { continue };
            linked += kernel.dur_ns;
            let owner = around(&made, brick).into_iter().find(|place| has_model(&made.calls[*place]));
            if let Some(call) = owner.map(|place| &made.calls[place]) {
                let dims = made.signatures[call.signature.unwrap_or(0)].0;
                *counted.entry((call.name, dims)).or_default() += kernel.dur_ns;
                modelled += kernel.dur_ns;
            }
        }
        // There is no section where nothing is PyTorch's or has a model.
        if made.calls.iter().all(|call| call.name != "aten::mm") {
            prop_assert!(output.tables.is_empty());
            return Ok(());
        }
        let table = output.table("by_shape");
        let (names, dims) = (table.text("name").unwrap(), table.text("input_dims").unwrap());
        prop_assert_eq!(table.rows(), busy.len());
        for row in 0..table.rows() {
            let key = (names.get(row).unwrap(), dims.get(row).unwrap());
            let at = busy.keys().find(|known| **known == key).copied().unwrap();
            prop_assert_eq!(number(table, "device_ns", row).unwrap_or(0.0), busy[&at] as f64);
            let counted = counted.get(&at).copied().unwrap_or(0);
            prop_assert_eq!(number(table, "counted_ns", row).unwrap_or(0.0), counted as f64);
        }
        let coverage = |column| number(output.table("coverage"), column, 0);
        prop_assert_eq!(coverage("modelled_ns"), Some(modelled as f64));
        let all: i64 = made.kernels.iter().map(|kernel| kernel.dur_ns).sum();
        let share = (all > 0).then(|| linked as f64 / all as f64);
        prop_assert_eq!(coverage("linked_share"), share);
    }
}

#[test]
fn kernels_that_round_to_tf32_have_its_roof() {
    let precision = |name: &'static str| {
        let made = Made {
            signatures: vec![MM],
            calls: vec![call("aten::mm", 0, 100, Some(0))],
            kernels: vec![Kernel {
                name,
                ..kernel(0, 1_000, 30)
            }],
            ..Made::default()
        };
        let output = made.output();
        let table = output.table("by_shape");
        let texts = table.text("precision").expect("a column");
        texts.get(0).map(str::to_owned)
    };
    let tf32 = precision("cutlass_80_tensorop_s1688gemm_128x128_16x5_nt_align4");
    assert_eq!(tf32.as_deref(), Some("tf32"));
    assert_eq!(precision("ampere_sgemm_128x64_nn").as_deref(), Some("f32"));
}
