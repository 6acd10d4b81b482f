//! FLOPs and bytes of each family against numbers worked out by hand, and rows of published traces.

use trueno_operator_model::{Models, Precision, RecordedTexts, Signature, Unit};

/// Texts of a call: name, dims, types, strides, concrete inputs.
type Call<'a> = [&'a str; 5];

fn parse(call: Call<'_>) -> Signature {
    let [name, dims, types, strides, concrete] = call;
    let texts = RecordedTexts {
        dims,
        types,
        strides,
        concrete,
    };
    Signature::parse(name, texts).expect("a signature")
}

/// FLOPs and bytes of a call.
fn work(call: Call<'_>) -> (u64, u64) {
    let models = Models::standard();
    let signature = parse(call);
    let work = models.work(&signature).expect("a model");
    assert!(!work.assumption.is_empty() && !work.source.is_empty());
    (work.flops, work.moved_bytes)
}

/// The same, of a call without strides and values.
fn dense(name: &str, dims: &str, types: &str) -> (u64, u64) {
    work([name, dims, types, "", ""])
}

fn refusal(call: Call<'_>) -> String {
    let models = Models::standard();
    models.work(&parse(call)).expect_err("no model").to_string()
}

const BF: &str = "\"c10::BFloat16\"";

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
fn convolutions() {
    let types = format!(
        "[{BF},{BF},{BF},\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\",\"ScalarList\",\"Scalar\"]"
    );
    let concrete = r#"["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1"]"#;
    // A row of a ResNet on MI300, without bias.
    let dims = "[[10,64,56,56],[64,64,3,3],[],[],[],[],[],[],[]]";
    let no_bias = types
        .replacen(BF, "@", 2)
        .replacen(BF, "\"\"", 1)
        .replace('@', BF);
    assert_eq!(
        work(["aten::convolution", dims, &no_bias, "", concrete]),
        (2_312_110_080, 8_101_888)
    );
    // Stride 2, padding 3, groups 2, and a bias: 8 × 8 becomes (8 + 6 − 4) / 2 = 5 and 5 / 1 …
    let dims = "[[1,4,8,8],[6,2,5,5],[6],[],[],[],[],[],[]]";
    let concrete = r#"["","","","[2, 2]","[3, 3]","[1, 1]","False","[0, 0]","2"]"#;
    let outputs = 6 * 5 * 5;
    assert_eq!(
        work(["aten::convolution", dims, &types, "", concrete]),
        (2 * outputs * 50 + outputs, (256 + 300 + 6 + outputs) * 2)
    );
    // Transposed: (8 − 1) × 2 − 2 + 3 = 15.
    let dims = "[[1,4,8,8],[4,3,3,3],[3],[],[],[],[],[],[]]";
    let concrete = r#"["","","","[2]","[1]","[1]","True","[0]","1"]"#;
    let outputs = 3 * 15 * 15;
    assert_eq!(
        work(["aten::convolution", dims, &types, "", concrete]),
        (2 * 256 * 27 + outputs, (256 + 108 + 3 + outputs) * 2)
    );
    // One dimension, dilation 2: 16 − 2 × 2 = 12.
    let types = r#"["float","float","","ScalarList","ScalarList","ScalarList","Scalar"]"#;
    let dims = "[[2,3,16],[5,3,3],[],[],[],[],[]]";
    let concrete = r#"["","","","[1]","[0]","[2]","1"]"#;
    assert_eq!(
        work(["aten::conv1d", dims, types, "", concrete]),
        (2 * 2 * 5 * 12 * 9, (96 + 45 + 120) * 4)
    );
}

#[test]
fn tf32_is_the_roof_where_the_call_allows_it() {
    let types = r#"["float","float","ScalarList","ScalarList","ScalarList","Scalar","Scalar","Scalar","Scalar"]"#;
    let dims = "[[1,3,8,8],[4,3,3,3],[],[],[],[],[],[],[]]";
    for (flag, precision) in [("True", Precision::Tf32), ("False", Precision::Fp32)] {
        let concrete =
            format!(r#"["","","[1, 1]","[1, 1]","[1, 1]","1","False","False","{flag}"]"#);
        let signature = parse(["aten::cudnn_convolution", dims, types, "", &concrete]);
        let models = Models::standard();
        let work = models.work(&signature).expect("a model");
        assert_eq!(work.precision, Some(precision));
        assert_eq!(work.flops, 2 * 4 * 64 * 27);
    }
}

#[test]
fn convolutions_backward_follow_the_mask() {
    let types = format!(
        "[{BF},{BF},{BF},\"ScalarList\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\",\"ScalarList\",\"Scalar\",\"ScalarList\"]"
    );
    let dims = "[[10,64,56,56],[10,64,56,56],[64,64,3,3],[],[],[],[],[],[],[],[]]";
    let with_mask = |mask: &str| {
        let concrete = format!(
            r#"["","","","[64]","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1","{mask}"]"#
        );
        work(["aten::convolution_backward", dims, &types, "", &concrete])
    };
    let (activations, weights) = (10 * 64 * 56 * 56, 64 * 64 * 9);
    // A row of a ResNet on MI300 states the FLOPs.
    assert_eq!(
        with_mask("[True, True, False]"),
        (4_624_220_160, 2 * (3 * activations + 2 * weights))
    );
    assert_eq!(
        with_mask("[False, True, False]"),
        (2_312_110_080, 2 * (2 * activations + weights))
    );
    assert_eq!(
        with_mask("[False, False, True]"),
        (activations, 2 * (activations + 64))
    );
}

#[test]
fn attention_forward() {
    let types = format!("[{BF},{BF},{BF},\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]");
    let name = "aten::_scaled_dot_product_flash_attention";
    // Rows of H100 traces: Qwen1.5-0.5B causal, bert-small not.
    let dims = "[[16,16,559,64],[16,16,559,64],[16,16,559,64],[],[],[],[]]";
    let concrete = r#"["","","","0.","True","False","0.125"]"#;
    assert_eq!(
        work([name, dims, &types, "", concrete]),
        (10_239_377_408, 73_269_248)
    );
    let dims = "[[1,8,141,64],[1,8,141,64],[1,8,141,64],[],[],[],[]]";
    let concrete = r#"["","","","0.","False","False","0.125"]"#;
    assert_eq!(
        work([name, dims, &types, "", concrete]),
        (40_716_288, 577_536)
    );
    // Two heads of queries share one of keys; values are wider.
    let types = r#"["float","float","float","","Scalar","Scalar","",""]"#;
    let dims = "[[1,2,3,4],[1,1,5,4],[1,1,5,6],[],[],[],[],[]]";
    let concrete = r#"["","","","","0.","False","",""]"#;
    let name = "aten::scaled_dot_product_attention";
    assert_eq!(
        work([name, dims, types, "", concrete]),
        (2 * 2 * 15 * 10, (24 + 20 + 30 + 36) * 4)
    );
    // Causal, three queries and five keys from the first on: 1 + 2 + 3 pairs.
    let concrete = r#"["","","","","0.","True","",""]"#;
    assert_eq!(work([name, dims, types, "", concrete]).0, 2 * 2 * 6 * 10);
    // FlashAttention aligns them at the last: 3 + 4 + 5 pairs.
    let types = format!("[{BF},{BF},{BF},\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]");
    let dims = "[[1,3,2,4],[1,5,1,4],[1,5,1,4],[],[],[],[],[]]";
    let concrete = r#"["","","","0.","0.5","True","-1","-1"]"#;
    let name = "flash_attn::_flash_attn_forward";
    assert_eq!(work([name, dims, &types, "", concrete]).0, 2 * 2 * 12 * 8);
    let concrete = r#"["","","","0.","0.5","True","2","0"]"#;
    let reason = refusal([name, dims, &types, "", concrete]);
    assert!(
        reason.ends_with("attention to a window of keys"),
        "{reason}"
    );
}

#[test]
fn attention_of_unequal_sequences_is_refused() {
    let name = "flash_attn::_flash_attn_varlen_forward";
    let types = format!(
        "[{BF},{BF},{BF},\"int\",\"int\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]"
    );
    let concrete = r#"["","","","","","4","4","0.","0.5","True"]"#;
    let equal = "[[12,2,8],[12,2,8],[12,2,8],[4],[4],[],[],[],[],[]]";
    assert_eq!(
        work([name, equal, &types, "", concrete]),
        (3 * 2 * 16 * 16, 4 * 12 * 16 * 2)
    );
    let unequal = "[[11,2,8],[11,2,8],[11,2,8],[4],[4],[],[],[],[],[]]";
    let reason = refusal([name, unequal, &types, "", concrete]);
    assert!(
        reason.ends_with("lengths of the sequences are not recorded"),
        "{reason}"
    );
}

#[test]
fn attention_backward_is_five_products() {
    let types = format!(
        "[{BF},{BF},{BF},{BF},{BF},\"float\",\"\",\"\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]"
    );
    let tensor = "[2,3,16,8]";
    let dims = format!("[{tensor},{tensor},{tensor},{tensor},{tensor},[2,3,16],[],[],[],[],[],[]]");
    let concrete = r#"["","","","","","","","","16","16","0.","False"]"#;
    let name = "aten::_scaled_dot_product_flash_attention_backward";
    let elements = 2 * 3 * 16 * 8;
    assert_eq!(
        work([name, &dims, &types, "", concrete]),
        (5 * 2 * 6 * 16 * 16 * 8, 8 * elements * 2 + 96 * 4)
    );
}

#[test]
fn normalisations() {
    // A row of a ResNet on MI300.
    let types = format!("[{BF},{BF},{BF},{BF},{BF},\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]");
    let dims = "[[10,64,112,112],[64],[64],[64],[64],[],[],[],[]]";
    let training = r#"["","","","","","True","0.1","1e-05","True"]"#;
    assert_eq!(
        work(["aten::batch_norm", dims, &types, "", training]),
        (40_141_184, 32_113_408)
    );
    let inference = training.replacen("True", "False", 1);
    let elements = 10 * 64 * 112 * 112;
    assert_eq!(
        work(["aten::batch_norm", dims, &types, "", &inference]),
        (2 * elements + 6 * 64, 4 * elements + 4 * 64 * 2)
    );
    // Two rows of 5: 5 an element, 3 a row, weight and bias one each.
    let types = r#"["float","ScalarList","float","float","Scalar","Scalar"]"#;
    let concrete = r#"["","[5]","","","1e-05","True"]"#;
    assert_eq!(
        work([
            "aten::layer_norm",
            "[[2,5],[],[5],[5],[],[]]",
            types,
            "",
            concrete
        ]),
        (50 + 6 + 20, (10 + 10 + 10) * 4)
    );
    // Rows of a trace of normalisations.
    let types = r#"["float","ScalarList","float",""]"#;
    let concrete = r#"["","[32, 32]","",""]"#;
    let dims = "[[8,16,32,32],[],[32,32],[]]";
    assert_eq!(
        work(["aten::_fused_rms_norm", dims, types, "", concrete]),
        (524_544, 1_052_672)
    );
    let types = r#"["float","Scalar","float","float","Scalar","Scalar"]"#;
    let concrete = r#"["","2","","","1e-05","True"]"#;
    assert_eq!(
        work([
            "aten::group_norm",
            "[[3,4,5],[],[4],[4],[],[]]",
            types,
            "",
            concrete
        ]),
        (300 + 3 * 3 * 6, (60 + 8 + 60) * 4)
    );
}

#[test]
fn normalisations_backward() {
    // The FLOPs are those of a row of a ResNet on MI300.
    let types = format!(
        "[{BF},{BF},{BF},{BF},{BF},\"float\",\"float\",\"Scalar\",\"Scalar\",\"ScalarList\"]"
    );
    let dims = "[[10,64,112,112],[10,64,112,112],[64],[64],[64],[64],[64],[],[],[]]";
    let concrete = r#"["","","","","","","","True","1e-05","[True, True, True]"]"#;
    let elements = 10 * 64 * 112 * 112;
    assert_eq!(
        work([
            "aten::native_batch_norm_backward",
            dims,
            &types,
            "",
            concrete
        ]),
        (72_253_440, 3 * elements * 2 + 64 * (2 + 4 + 4 + 2 + 2))
    );
    let types = r#"["float","float","ScalarList","float","float","","","ScalarList"]"#;
    let dims = "[[8,16],[8,16],[],[8,1],[8,1],[],[],[]]";
    let concrete = r#"["","","[16]","","","","","[True, False, False]"]"#;
    assert_eq!(
        work([
            "aten::native_layer_norm_backward",
            dims,
            types,
            "",
            concrete
        ]),
        (9 * 128, (3 * 128 + 16) * 4)
    );
    // The FLOPs of a row of a trace of normalisations; with the deviation of a row, which is an operand, 512 bytes more.
    let types = r#"["float","float","ScalarList","float","float","ScalarList"]"#;
    let dims = "[[8,16,32,32],[8,16,32,32],[],[8,16,1,1],[32,32],[]]";
    let concrete = r#"["","","[32, 32]","","","[True, True]"]"#;
    assert_eq!(
        work(["aten::_fused_rms_norm_backward", dims, types, "", concrete]),
        (1_310_720, 1_581_056 + 512)
    );
}

#[test]
fn softmax_embedding_and_loss() {
    let types = format!("[{BF},\"Scalar\",\"Scalar\"]");
    let concrete = r#"["","-1","True"]"#;
    assert_eq!(
        work(["aten::_softmax", "[[3,7],[],[]]", &types, "", concrete]),
        (105, 42 + 84)
    );
    let types = r#"["float","float","Scalar","Scalar"]"#;
    assert_eq!(
        work([
            "aten::_softmax_backward_data",
            "[[3,7],[3,7],[],[]]",
            types,
            "",
            r#"["","","1","6"]"#
        ]),
        (84, 3 * 84)
    );
    let types = r#"["float","long int","Scalar","Scalar","Scalar"]"#;
    assert_eq!(
        dense("aten::embedding", "[[100,8],[5],[],[],[]]", types),
        (0, 5 * 8 + 2 * 5 * 8 * 4)
    );
    // A table of three rows is read at most once.
    assert_eq!(
        dense("aten::embedding", "[[3,8],[5],[],[],[]]", types),
        (0, 5 * 8 + (3 + 5) * 8 * 4)
    );
    let types = r#"["float","Scalar","long int"]"#;
    assert_eq!(
        work([
            "aten::index_select",
            "[[100,8],[],[5]]",
            types,
            "",
            r#"["","0",""]"#
        ]),
        (0, 5 * 8 + 2 * 5 * 8 * 4)
    );
    let types = r#"["float","long int","","Scalar","Scalar"]"#;
    assert_eq!(
        work([
            "aten::nll_loss_forward",
            "[[6,10],[6],[],[],[]]",
            types,
            "",
            r#"["","","","1","-100"]"#
        ]),
        (6, 48 + 24 + 4)
    );
    let types = r#"["float","float","Scalar"]"#;
    assert_eq!(
        work([
            "aten::mse_loss",
            "[[6,10],[6,10],[]]",
            types,
            "",
            r#"["","","1"]"#
        ]),
        (180, 484)
    );
}

#[test]
fn reductions() {
    let types = format!("[{BF},\"ScalarList\",\"Scalar\",\"\"]");
    // One element an output column is left, which a table of TraceLens takes as one in all.
    let concrete = r#"["","[0]","True",""]"#;
    assert_eq!(
        work(["aten::sum", "[[10,1000],[],[],[]]", &types, "", concrete]),
        (10_000, 22_000)
    );
    let concrete = r#"["","[]","False",""]"#;
    assert_eq!(
        work(["aten::mean", "[[10,1000],[],[],[]]", &types, "", concrete]),
        (10_000, 20_002)
    );
    let concrete = r#"["","[-1, -2]","True",""]"#;
    assert_eq!(
        work([
            "aten::mean",
            "[[10,512,7,7],[],[],[]]",
            &types,
            "",
            concrete
        ]),
        (250_880, 501_760 + 10_240)
    );
    // Sums of truth values are numbers of 64 bits.
    assert_eq!(
        work(["aten::sum", "[[16],[]]", r#"["bool",""]"#, "", r#"["",""]"#]),
        (16, 24)
    );
    let types = r#"["float","Scalar","Scalar"]"#;
    assert_eq!(
        work([
            "aten::max",
            "[[4,6],[],[]]",
            types,
            "",
            r#"["","1","False"]"#
        ]),
        (24, 96 + 4 * 12)
    );
    assert_eq!(
        dense("aten::all", "[[16,559]]", r#"["bool"]"#),
        (8944, 8945)
    );
    assert_eq!(
        work([
            "aten::cumsum",
            "[[9],[],[]]",
            r#"["int","Scalar",""]"#,
            "",
            r#"["","0",""]"#
        ]),
        (9, 9 * 4 + 9 * 8)
    );
}

#[test]
fn functions_of_elements_broadcast_and_mix_types() {
    let alpha = r#"["","","1"]"#;
    // Rows of the H100 trace of Qwen1.5-0.5B.
    let types = format!("[{BF},{BF}]");
    assert_eq!(
        dense("aten::mul", "[[16,16,559,64],[1,1,559,64]]", &types),
        (9_158_656, 36_706_176)
    );
    assert_eq!(
        work([
            "aten::add",
            "[[16,559,1],[],[]]",
            r#"["float","double","Scalar"]"#,
            "",
            alpha
        ]),
        (8944, 71_560)
    );
    assert_eq!(
        work([
            "aten::pow",
            "[[16,559,1024],[]]",
            r#"["float","Scalar"]"#,
            "",
            r#"["","2"]"#
        ]),
        (9_158_656, 73_269_248)
    );
    // A half and a single give a single; whole numbers divided give singles; comparisons give bytes.
    let types = r#"["c10::Half","float"]"#;
    assert_eq!(dense("aten::mul", "[[10],[10]]", types), (10, 20 + 40 + 40));
    let types = r#"["long int","Scalar"]"#;
    assert_eq!(
        work(["aten::div", "[[10],[]]", types, "", r#"["","2"]"#]),
        (10, 80 + 40)
    );
    assert_eq!(
        work(["aten::eq", "[[10],[]]", types, "", r#"["","2"]"#]),
        (10, 80 + 10)
    );
    // A scaled sum is a multiply-add; an output that is given has its own type.
    let types = r#"["float","float","Scalar"]"#;
    assert_eq!(
        work([
            "aten::add_",
            "[[10],[10],[]]",
            types,
            "",
            r#"["","","-0.001"]"#
        ]),
        (20, 120)
    );
    let types = r#"["float","double","c10::Half"]"#;
    assert_eq!(
        dense("aten::mul", "[[10],[],[10]]", types),
        (10, 40 + 8 + 20)
    );
    // A row of 10 that is expanded to three is held once.
    let call = [
        "aten::mul",
        "[[3,10],[3,10]]",
        r#"["float","float"]"#,
        "[[10,1],[0,1]]",
        "",
    ];
    assert_eq!(work(call), (30, 120 + 40 + 120));
    assert_eq!(dense("aten::silu", "[[7]]", &format!("[{BF}]")), (7, 28));
    assert_eq!(
        work([
            "aten::addcmul_",
            "[[5],[5],[5],[]]",
            r#"["float","float","float","Scalar"]"#,
            "",
            r#"["","","","0.5"]"#
        ]),
        (15, 80)
    );
    assert_eq!(
        dense(
            "aten::threshold_backward",
            "[[10,4],[10,4],[]]",
            r#"["float","float","Scalar"]"#
        ),
        (40, 480)
    );
}

#[test]
fn copies_do_no_arithmetic() {
    let types = r#"["float","c10::BFloat16","Scalar"]"#;
    assert_eq!(
        work([
            "aten::copy_",
            "[[8,16],[8,16],[]]",
            types,
            "[[16,1],[0,1],[]]",
            ""
        ]),
        (0, 128 * 4 + 16 * 2)
    );
    assert_eq!(
        dense("aten::fill_", "[[8,16],[]]", r#"["float","Scalar"]"#),
        (0, 512)
    );
    assert_eq!(
        work([
            "aten::arange",
            "[[],[],[],[0]]",
            r#"["Scalar","Scalar","Scalar","long int"]"#,
            "",
            r#"["0","559","1",""]"#
        ]),
        (0, 559 * 8)
    );
    let types = r#"["bool","float","float"]"#;
    assert_eq!(
        dense("aten::where", "[[3,1],[3,4],[]]", types),
        (0, 3 + 48 + 4 + 48)
    );
    // The backward pass of pooling reads places of 64 bits.
    let types = r#"["float","ScalarList","ScalarList","ScalarList","ScalarList","Scalar"]"#;
    let concrete = r#"["","[3, 3]","[2, 2]","[1, 1]","[1, 1]","False"]"#;
    let dims = "[[10,64,112,112],[],[],[],[],[]]";
    let outputs = 10 * 64 * 56 * 56;
    assert_eq!(
        work(["aten::max_pool2d_with_indices", dims, types, "", concrete]),
        (9 * outputs, 10 * 64 * 112 * 112 * 4 + outputs * 12)
    );
}

#[test]
fn lists_take_their_type_from_a_kernel() {
    use trueno_operator_model::ElementType;

    let models = Models::standard();
    let name = "void at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int, 4, 64, 64>(…)";
    let hint = ElementType::from_kernel_name(name);
    let call = [
        "aten::cat",
        "[[[2,3],[2,5]],[]]",
        r#"["TensorList","Scalar"]"#,
        "",
        "",
    ];
    let reason = refusal(call);
    assert!(
        reason.contains("the element type of the tensors in operand 0"),
        "{reason}"
    );
    let signature = parse(call).with_list_element_type(hint);
    let cat = models.work(&signature).expect("a model");
    assert_eq!((cat.flops, cat.moved_bytes), (0, 64));
    let name =
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float, 4>>(…)";
    let hint = ElementType::from_kernel_name(name);
    assert_eq!(hint, Some(ElementType::Float32));
    let lists = "[[[100],[50]],[[100],[50]],[[100],[50]],[[100],[50]],[],[[],[]]]";
    let types =
        r#"["TensorList","TensorList","TensorList","TensorList","TensorList","TensorList"]"#;
    let call = ["aten::_fused_adamw_", lists, types, "", ""];
    let signature = parse(call).with_list_element_type(hint);
    let step = models.work(&signature).expect("a model");
    assert_eq!((step.flops, step.moved_bytes), (14 * 150, 7 * 150 * 4));
}

#[test]
fn collectives_count_memory_of_one_rank() {
    assert_eq!(
        dense("nccl:all_reduce", "[[2873320]]", r#"["c10::BFloat16"]"#),
        (0, 4 * 2_873_320)
    );
    let models = Models::standard();
    let gathered = Signature::collective("_allgather_base", 100, 800, "Float");
    let work = models.work(&gathered).expect("a model");
    assert_eq!((work.flops, work.moved_bytes), (0, 3600));
    assert_eq!(work.family, "collective");
}

#[test]
fn containers_say_whom_they_call() {
    let models = Models::standard();
    let call = [
        "aten::linear",
        "[[2,3],[5,3],[]]",
        r#"["float","float",""]"#,
        "",
        "",
    ];
    let signature = parse(call);
    let linear = models.work(&signature).expect("a model");
    assert!(linear.is_container());
    assert!(linear.lowers_to.contains(&"aten::addmm".to_owned()));
    let call = ["aten::mm", "[[2,3],[3,5]]", r#"["float","float"]"#, "", ""];
    assert!(!models.work(&parse(call)).expect("a model").is_container());
}
