use super::*;

#[test]
fn the_default_rules_know_names_of_the_field() {
    let rules = CategoryRules::default();
    for (name, category) in [
        ("sm50_xmma_pooling_max_nhwc", "pooling"),
        ("void flashinfer::norm::RMSNormKernel<8u>(x*)", "Norm"),
        ("_fwd_grouped_kernel_stage1", "Attention"),
        (
            "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8",
            "GEMM",
        ),
        ("ampere_sgemm_128x64_tn", "GEMM"),
        (
            "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32",
            "convolution",
        ),
        ("aten::convolution_backward", "convolution"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float", "communication"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16", "communication"),
        ("flash_fwd_kernel<Flash_fwd_kernel_traits<64>>", "Attention"),
        ("cudnn::bn_fw_tr_1C11_kernel_NCHW", "Norm"),
        (
            "void at::native::vectorized_elementwise_kernel<4, x>",
            "elementwise",
        ),
        ("void at::native::reduce_kernel<512, 1, x>", "reduction"),
        (
            "multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor>",
            "optimizer",
        ),
        (
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            "data loading",
        ),
        ("cudaMemcpyAsync", "memory"),
        ("h2d", "memory"),
        (
            "cudnn_train_volta_scudnn_128x128_stridedB_splitK_medium_nn_v1",
            "convolution",
        ),
        ("torch::distributed::reducer::mul_out", "communication"),
        ("p2p", "communication"),
        ("copy_H2D", "memory"),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI16x16x16x1", "GEMM"),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", "GEMM"),
        ("bmm_Bfloat16_E2m1E2m1_Fp32_t128x16x256_s5_et64x16", "GEMM"),
        ("fused_moe_kernel", "GEMM"),
        ("triton_tem_fused_mm_3", "GEMM"),
        ("void moe_align_block_size_kernel<int>(int*)", "MoE routing"),
        (
            "void cutlass::device_kernel<flash::FlashAttnFwdSm90<x>>",
            "Attention",
        ),
        (
            "void flashinfer::BatchDecodeWithPagedKVCacheKernel<x>",
            "Attention",
        ),
        ("void vllm::reshape_and_cache_flash_kernel<x>", "Attention"),
        ("triton_per_fused_native_layer_norm_0", "Norm"),
        (
            "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>",
            "Norm",
        ),
        ("triton_poi_fused_add_mul_1", "elementwise"),
        ("triton_red_fused_sum_2", "reduction"),
        (
            "void vllm::act_and_mul_kernel<c10::BFloat16>",
            "elementwise",
        ),
        (
            "void vllm::cross_device_reduce_1stage<half, 2>",
            "communication",
        ),
        (
            "void vllm::dynamic_per_token_scaled_fp8_quant_kernel<x>",
            "quantization",
        ),
        ("batched_transpose_16x32_half", "memory"),
        ("__amd_rocclr_fillBufferAligned", "memory"),
        ("igemm_fwd_gtcx3_nhwc_fp16_bx0_ex1", "convolution"),
    ] {
        assert_eq!(rules.category(name), Some(category), "{name}");
    }
    for name in [
        "",
        "cudaLaunchKernel",
        "ProfilerStep#7",
        "convert_fp8",
        "aten::expand",
        "par_ranged2d_kernel",
        "make weights",
        // What the parameters are called does not count.
        "void copyVectorizedKernel<float>(float*, ArrayNWithReducedDivisors<4>)",
    ] {
        assert_eq!(rules.category(name), None, "{name}");
    }
}

#[test]
fn the_first_rule_that_fits_wins_in_any_case() {
    let text = "[[rule]]\ncategory = \"a\"\ncontains = [\"X\", \"one\"]\n[[rule]]\ncategory = \"b\"\ncontains = [\"ONE\", \"two\"]\n";
    let rules = CategoryRules::parse(text).unwrap();
    assert_eq!(rules.category("OnE two"), Some("a"));
    assert_eq!(rules.category("Two"), Some("b"));
    assert_eq!(rules.category("three"), None);
}

#[test]
fn whole_names_come_before_patterns_and_keep_their_case() {
    let rules = CategoryRules::default();
    for (name, category) in [
        ("BiasAddGrad", Some("reduction")),
        ("Conv2DBackpropFilter", Some("convolution")),
        ("Mul", Some("elementwise")),
        ("RealDiv", Some("elementwise")),
        ("AssignSub", Some("elementwise")),
        ("AssignAdd", Some("elementwise")),
        ("Transpose", Some("memory")),
        ("mul", None),
        ("Multiply", None),
        ("transpose", None),
        ("Sub::new", None),
    ] {
        assert_eq!(rules.category(name), category, "{name}");
    }
    assert!(CategoryRules::parse("[[rule]]\ncategory = \"a\"\nnames = [\"\"]\n").is_err());
}

#[test]
fn words_stand_alone() {
    let rules = CategoryRules::parse("[[rule]]\ncategory = \"a\"\nwords = [\"D2D\"]\n").unwrap();
    for name in ["d2d", "copy_d2d", "memcpy D2D async", "ranged2d d2d"] {
        assert_eq!(rules.category(name), Some("a"), "{name}");
    }
    for name in ["ranged2d", "d2dx", "xd2d_kernel", "d2"] {
        assert_eq!(rules.category(name), None, "{name}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let wrong = |text: &str| CategoryRules::parse(text).unwrap_err();
    let (line, why) = wrong("[[rule]]\ncategory = \"a\"\ncontains = [\"x\"]\npattern = \"x\"\n");
    assert_eq!(line, 4);
    assert!(why.contains("unknown field `pattern`"), "{why}");
    let (line, why) = wrong("\n[[rules]]\ncategory = \"a\"\n");
    assert_eq!(line, 2);
    assert!(why.contains("unknown field `rules`"), "{why}");
    let (line, why) = wrong("# one\n[[rule]]\ncategory = 3\ncontains = [\"x\"]\n");
    assert_eq!(line, 3);
    assert!(why.contains("expected a string"), "{why}");
    let (line, why) = wrong("[[rule]]\ncategory = \"a\"\ncontains = [\"\"]\n");
    assert_eq!(line, 1);
    assert!(why.contains("empty"), "{why}");
    let none = "[[rule]]\ncategory = \"a\"\n";
    assert!(wrong(none).1.contains("no pattern"));
    let empty = "[[rule]]\ncategory = \"a\"\nwords = [\"x\", \"\"]\n";
    assert!(wrong(empty).1.contains("empty"));
    assert_eq!(wrong("\n[[rule]\n").0, 2);
}
