//! Attention, forward and backward.

use crate::{BF, refusal, work};

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
fn attention_backward_of_libraries_finds_the_mask() {
    // dout, q, k, v, out, log-sum-exp, dq, dk, dv, dropout, scale, causal, window.
    let tensor = "[2,16,3,8]";
    let dims = format!(
        "[{tensor},{tensor},{tensor},{tensor},{tensor},[2,3,16],{tensor},{tensor},{tensor},[],[],[],[],[]]"
    );
    let types = format!(
        "[{BF},{BF},{BF},{BF},{BF},\"float\",{BF},{BF},{BF},\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]"
    );
    let name = "flash_attn::_flash_attn_backward";
    let bytes = 8 * (2 * 16 * 3 * 8) * 2 + 96 * 4;
    let flops = |causal: &str| {
        let concrete = format!(r#"["","","","","","","","","","0.","0.3","{causal}","-1","-1"]"#);
        work([name, &dims, &types, "", &concrete])
    };
    let whole = 5 * 2 * 6 * 16 * 16 * 8;
    assert_eq!(flops("False"), (whole, bytes));
    assert_eq!(flops("True"), (whole / 2, bytes));
}
