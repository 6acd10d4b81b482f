//! Reductions, functions of elements and copies.

use crate::{BF, dense, work};

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
