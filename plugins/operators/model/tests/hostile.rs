//! Signatures and rules that no tool wrote: a reason each time, and never a panic.

use std::sync::LazyLock;

use proptest::prelude::*;
use trueno_operator_model::{Models, RecordedTexts, Signature};

static MODELS: LazyLock<Models> = LazyLock::new(Models::standard);

fn outcome(name: &str, dims: &str, types: &str, strides: &str, concrete: &str) -> String {
    let texts = RecordedTexts {
        dims,
        types,
        strides,
        concrete,
    };
    match Signature::parse(name, texts) {
        Err(error) => error.to_string(),
        Ok(signature) => match MODELS.work(&signature) {
            Ok(work) => format!("{} {}", work.flops, work.moved_bytes),
            Err(error) => error.to_string(),
        },
    }
}

#[test]
fn faults_are_named() {
    let two = r#"["float","float"]"#;
    let cases = [
        ("", two, "the trace records no input dims"),
        ("[[1,2],", two, "Input Dims: EOF while parsing"),
        ("{}", two, "Input Dims: not a list"),
        ("[[1,-2],[2,3]]", two, "operand 0: -2 is not a length"),
        ("[[1,2.5],[2,3]]", two, "operand 0: 2.5 is not a length"),
        ("[[1,99999999999999999999],[2,3]]", two, "is not a length"),
        (
            "[[[1],2],[2,3]]",
            two,
            "operand 0: numbers and lists are mixed in its dims",
        ),
        ("[5,[2,3]]", two, "operand 0: its dims are not a list"),
        (
            "[[4,2],[3,5]]",
            two,
            "no rule of this operator takes such operands",
        ),
        ("[[4,2]]", two, "operand 1 is missing, not a tensor"),
        (
            "[[4,2],[2,5]]",
            r#"["float","c10::Tiny"]"#,
            "operand 1 is `c10::Tiny`, which is not known",
        ),
        ("[[4,2],[2,5]]", "", "operand 0 is not recorded"),
        (
            "[[9000000000000000,9000],[9000,2]]",
            two,
            "flops: more than 2^63 - 1",
        ),
        ("[[3000000000,3],[3,3000000000]]", two, "more than 2^63 - 1"),
        (
            "[[4,2],[2,5]]",
            r#"["c10::complex<float>","c10::complex<float>"]"#,
            "complex arithmetic",
        ),
    ];
    for (dims, types, reason) in cases {
        let outcome = outcome("aten::mm", dims, types, "", "");
        assert!(outcome.contains(reason), "{dims}: {outcome}");
    }
    let large = outcome("aten::relu", "[[9000000000000000,9000]]", two, "", "");
    assert!(
        large.ends_with("operand 0: its dims multiply to more than 2^63 - 1"),
        "{large}"
    );
    let unknown = outcome("mylib::op", "[[1]]", "", "", "");
    assert_eq!(unknown, "not modelled: no rule names this operator");
}

#[test]
fn nothing_is_nothing() {
    let two = r#"["float","float"]"#;
    assert_eq!(outcome("aten::mm", "[[0,3],[3,5]]", two, "", ""), "0 60");
    assert_eq!(outcome("aten::mul", "[[0,3],[1,3]]", two, "", ""), "0 12");
    assert_eq!(
        outcome("aten::relu", "[[0,9223372036854775807]]", two, "", ""),
        "0 0"
    );
}

#[test]
fn deep_and_long_texts_end() {
    let deep = "[".repeat(100_000);
    assert!(outcome("aten::mm", &deep, "", "", "").contains("recursion limit"));
    let many = format!("[{}[]]", "[],".repeat(5000));
    assert!(outcome("aten::mm", &many, "", "", "").contains("5001 operands"));
    let high = format!("[[{}1]]", "1,".repeat(70));
    assert!(outcome("aten::relu", &high, "", "", "").contains("71 dimensions"));
    let long = format!(r#"["","[{}1]"]"#, "1, ".repeat(100_000));
    let types = r#"["float","ScalarList"]"#;
    let reason = outcome("aten::repeat", "[[2],[]]", types, "", &long);
    assert!(reason.contains("a text where a list is needed"), "{reason}");
    // A stride of a convolution of 0, and a kernel as wide as numbers go.
    let types = r#"["float","float","","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar"]"#;
    for stride in [
        "[0]",
        "[]",
        "[-1]",
        "[9223372036854775807]",
        "[1, 2, 3]",
        "1",
    ] {
        let concrete =
            format!(r#"["","","","{stride}","[0]","[9223372036854775807]","False","[0]","1"]"#);
        let dims = "[[1,1,9223372036854775807],[1,1,9223372036854775807],[],[],[],[],[],[],[]]";
        outcome("aten::convolution", dims, types, "", &concrete);
    }
}

/// Names of operators with rules, so that random operands reach the formulas.
fn names() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "aten::mm",
        "aten::addmm",
        "aten::linear",
        "aten::matmul",
        "aten::_scaled_mm",
        "aten::_grouped_mm",
        "aten::convolution",
        "aten::cudnn_convolution",
        "aten::convolution_backward",
        "aten::cudnn_convolution_backward_weight",
        "aten::scaled_dot_product_attention",
        "aten::_flash_attention_forward",
        "flash_attn::_flash_attn_varlen_backward",
        "aten::batch_norm",
        "aten::native_layer_norm_backward",
        "aten::native_group_norm",
        "aten::sum",
        "aten::max",
        "aten::add",
        "aten::div_",
        "aten::clamp",
        "aten::where",
        "aten::arange",
        "aten::max_pool2d_with_indices",
        "aten::constant_pad_nd",
        "aten::upsample_bilinear2d",
        "aten::topk",
        "aten::cat",
        "aten::_fused_adam_",
        "aten::nll_loss_backward",
        "record_param_comms",
    ])
    .prop_map(str::to_owned)
}

fn length() -> impl Strategy<Value = i64> {
    prop_oneof![6 => 0i64..6, 2 => any::<i64>(), 1 => Just(i64::MAX), 1 => -3i64..0]
}

fn operand() -> impl Strategy<Value = [String; 4]> {
    let tensor = |types: &[&'static str]| {
        let types = prop::sample::select(types.to_vec());
        let list = || prop::collection::vec(length(), 0..5);
        (list(), types, list()).prop_map(|(dims, kind, strides)| {
            [
                format!("{dims:?}"),
                format!("{kind:?}"),
                format!("{strides:?}"),
                "\"\"".to_owned(),
            ]
        })
    };
    let value = prop::sample::select(vec![
        "1",
        "0",
        "-1",
        "True",
        "False",
        "0.5",
        "1e308",
        "[1, 1]",
        "[True, True, False]",
        "[]",
        "[0]",
        "[-9223372036854775808]",
        "9223372036854775807",
        "[[1]]",
        "nan",
        "floor",
        "",
    ]);
    let kinds = prop::sample::select(vec!["Scalar", "ScalarList", "", "Int", "TensorList"]);
    prop_oneof![
        3 => tensor(&["float", "c10::BFloat16", "long int", "bool", "c10::Float8_e5m2"]),
        1 => tensor(&["", "c10::complex<double>", "nonsense", "double"]),
        3 => (value, kinds).prop_map(|(value, kind)| {
            ["[]".to_owned(), format!("{kind:?}"), "[]".to_owned(), format!("{value:?}")]
        }),
        1 => prop::collection::vec(prop::collection::vec(length(), 0..3), 0..3).prop_map(|dims| {
            [format!("{dims:?}"), "\"TensorList\"".to_owned(), "[]".to_owned(), "\"\"".to_owned()]
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_signatures_have_work_or_a_reason(name in names(), operands in prop::collection::vec(operand(), 0..14)) {
        let field = |at: usize| {
            let parts: Vec<&str> = operands.iter().map(|operand| operand[at].as_str()).collect();
            format!("[{}]", parts.join(","))
        };
        let outcome = outcome(&name, &field(0), &field(1), &field(2), &field(3));
        prop_assert!(!outcome.is_empty());
    }

    #[test]
    fn random_texts_are_no_signature_or_one(dims in ".{0,40}", types in ".{0,40}", concrete in "[\\[\\]\",0-9a-zTF]{0,40}") {
        outcome("aten::mm", &dims, &types, &concrete, &concrete);
    }
}
