//! Products of matrices.

use trueno_operator_model::{Models, Precision, Unit};

use crate::{BF, dense, parse, refusal, work};

#[test]
fn products_of_matrices() {
    let two = r#"["float","float"]"#;
    // 2 × 16 × 128 × 256; (16 × 128 + 128 × 256 + 16 × 256) × 4.
    assert_eq!(
        dense("aten::mm", "[[16,128],[128,256]]", two),
        (1_048_576, 155_648)
    );
    // Rows of H100 traces: Qwen1.5-0.5B and bert-small.
    let bf = format!("[{BF},{BF}]");
    assert_eq!(
        dense("aten::mm", "[[8944,1024],[1024,2816]]", &bf),
        (51_581_550_592, 74_457_088)
    );
    let added = format!("[{BF},{BF},{BF},\"Scalar\",\"Scalar\"]");
    let dims = "[[512],[141,512],[512,512],[],[]]";
    assert_eq!(
        work(["aten::addmm", dims, &added, "", r#"["","","","1","1"]"#]),
        (73_996_800, 814_080)
    );
    // What is added counts for nothing when beta is 0.
    assert_eq!(
        work(["aten::addmm", dims, &added, "", r#"["","","","0","1"]"#]),
        (73_924_608, 813_056)
    );
    assert_eq!(
        dense("aten::bmm", "[[96,3137,64],[96,64,3137]]", &bf),
        (120_923_369_472, 1_966_522_560)
    );
    // A batch that is expanded is held once: 2 × 3 + 4 × 3 × 5 + 4 × 2 × 5 elements.
    let strides = "[[0,3,1],[15,5,1]]";
    assert_eq!(
        work(["aten::bmm", "[[4,2,3],[4,3,5]]", two, strides, ""]),
        (2 * 4 * 2 * 3 * 5, (6 + 60 + 40) * 4)
    );
    let three = r#"["float","float","float","Scalar","Scalar"]"#;
    assert_eq!(
        dense("aten::baddbmm", "[[4,2,5],[4,2,3],[4,3,5],[],[]]", three),
        (240 + 40, (40 + 24 + 60 + 40) * 4)
    );
    assert_eq!(
        dense("aten::addbmm", "[[2,5],[4,2,3],[4,3,5],[],[]]", three),
        (240 + 10, (10 + 24 + 60 + 10) * 4)
    );
    // x [2, 3, 4] and W [5, 4]: six rows.
    assert_eq!(
        dense(
            "aten::linear",
            "[[2,3,4],[5,4],[5]]",
            r#"["float","float","float"]"#
        ),
        (2 * 6 * 4 * 5 + 30, (24 + 20 + 5 + 30) * 4)
    );
    // Leading dims 7 × 1 and 3 broadcast to 7 × 3.
    assert_eq!(
        dense("aten::matmul", "[[7,1,2,4],[3,4,5]]", two),
        (2 * 21 * 2 * 4 * 5, (56 + 60 + 210) * 4)
    );
    assert_eq!(
        dense("aten::matmul", "[[3,4],[4]]", two),
        (24, (12 + 4 + 3) * 4)
    );
    assert_eq!(
        dense("aten::mv", "[[3,4],[4]]", two),
        (24, (12 + 4 + 3) * 4)
    );
    assert_eq!(dense("aten::dot", "[[9],[9]]", two), (18, 19 * 4));
}

#[test]
fn products_of_small_types() {
    let models = Models::standard();
    let fp8 = "\"c10::Float8_e4m3fn\"";
    let types = format!("[{fp8},{fp8},\"float\",\"float\",\"\",\"\",\"Scalar\",\"Scalar\"]");
    let dims = "[[32,64],[64,16],[],[],[],[],[],[]]";
    let call = [
        "aten::_scaled_mm",
        dims,
        &types,
        "",
        r#"["","","","","","","15","True"]"#,
    ];
    // 15 is bfloat16: an output of 2 bytes; two scales of 4.
    assert_eq!(work(call), (65_536, 2048 + 1024 + 8 + 32 * 16 * 2));
    let signature = parse(call);
    let work_of = models.work(&signature).expect("a model");
    assert_eq!(
        (work_of.precision, work_of.unit),
        (Some(Precision::Fp8), Unit::Matrix)
    );
    // Pairs of 4 bits: the recorded inner dimension is half of the true one.
    let fp4 = "\"c10::Float4_e2m1fn_x2\"";
    let types = types.replace(fp8, fp4);
    let call = [
        "aten::_scaled_mm",
        dims,
        &types,
        "",
        r#"["","","","","","","15","True"]"#,
    ];
    assert_eq!(work(call).0, 131_072);
    let types = r#"["signed char","signed char"]"#;
    assert_eq!(
        dense("aten::_int_mm", "[[32,64],[64,16]]", types),
        (65_536, 2048 + 1024 + 4 * 512)
    );
    // 10 rows of 4 shared among 3 experts.
    let types = format!("[{BF},{BF},\"int\",\"\",\"\"]");
    assert_eq!(
        dense("aten::_grouped_mm", "[[10,4],[3,4,6],[3],[],[]]", &types),
        (480, (40 + 72 + 60) * 2 + 12)
    );
    // Two tokens of 8, two of 16 experts each, gate and up of 12, down of 6: four experts are read.
    let types = format!("[{BF},{BF},{BF},\"float\",\"int\"]");
    let dims = "[[2,8],[16,12,8],[16,8,6],[2,2],[2,2]]";
    assert_eq!(
        dense("vllm::outplace_fused_experts", dims, &types),
        (
            2 * 2 * 2 * 8 * 18 + 2 * 8 * 3,
            32 + 4 * 8 * 18 * 2 + 16 + 16 + 32
        )
    );
}

#[test]
fn recurrent_layers_multiply_at_each_step() {
    let dims = "[[10,4,32],[[256,32],[256,64]],[],[58368],[2,4,64],[2,4,64],[],[],[],[],[],[],[],[],[],[]]";
    let types = r#"["float","TensorList","Scalar","float","float","float","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar","",""]"#;
    let of = |mode: &str, projection: &str| {
        format!(
            r#"["","","4","","","","{mode}","64","{projection}","2","False","0.","True","False","[]",""]"#
        )
    };
    // 2 × 40 steps × (256 × 96 + 256 × 128); input, weights with two biases a gate, states, output.
    assert_eq!(
        work(["aten::_cudnn_rnn", dims, types, "", &of("2", "0")]),
        (4_587_520, 5_120 + 233_472 + 2 * 2_048 + 10_240)
    );
    let refused = refusal(["aten::_cudnn_rnn", dims, types, "", &of("2", "8")]);
    assert!(refused.contains("no rule of this operator"), "{refused}");
}
