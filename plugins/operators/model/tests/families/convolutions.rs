//! Convolutions, forward and backward.

use trueno_operator_model::{Models, Precision};

use crate::{BF, parse, work};

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
fn paddings_have_names() {
    let types = r#"["float","float","","ScalarList","Scalar","ScalarList","Scalar"]"#;
    let dims = "[[1,3,8,8],[4,3,3,3],[],[],[],[],[]]";
    for (padding, side) in [("same", 8), ("valid", 6)] {
        let concrete = format!(r#"["","","","[1, 1]","{padding}","[1, 1]","1"]"#);
        let outputs = 4 * side * side;
        assert_eq!(
            work(["aten::conv2d", dims, types, "", &concrete]),
            (2 * outputs * 27, (192 + 108 + outputs) * 4)
        );
    }
}
