//! Normalisations, softmax, embeddings and losses.

use crate::{BF, dense, work};

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
