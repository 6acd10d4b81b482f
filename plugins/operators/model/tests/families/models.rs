//! Lists of tensors, collectives and containers.

use trueno_operator_model::{ElementType, Models, Signature};

use crate::{dense, parse, refusal};

#[test]
fn lists_take_their_type_from_a_kernel() {
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
fn pooled_embeddings_are_read_and_written_once() {
    let shapes = "[[1024,70904],[981],[980],[981],[980]]";
    let types = r#"["float","long","long","long","long"]"#;
    let name = "fbgemm::permute_pooled_embs_auto_grad";
    assert_eq!(dense(name, shapes, types), (0, 2 * 1024 * 70_904 * 4));
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

#[test]
fn outputs_that_depend_on_values_are_refused() {
    let call = ["aten::nonzero", "[[4]]", r#"["bool"]"#, "", ""];
    let reason = refusal(call);
    assert!(reason.contains("depends on values"), "{reason}");
    let types = r#"["float","TensorList"]"#;
    assert_eq!(
        dense("aten::index", "[[10,4],[[3]]]", types),
        (0, 3 * 4 * 4 * 2 + 24)
    );
    let reason = refusal(["aten::index", "[[10,4],[]]", types, "", ""]);
    assert!(
        reason.ends_with("dims of the indices are not recorded"),
        "{reason}"
    );
}
