use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{DisplayNames, display_name};

/// Names from traces of PyTorch, cuDNN, cuBLAS, NCCL and ROCm, with the texts they must be shown as.
const CASES: [(&str, &str); 34] = [
    (
        "at::_ops::div_Tensor::redispatch(c10::DispatchKeySet, at::Tensor const&, at::Tensor const&)",
        "div_Tensor",
    ),
    (
        "at::_ops::bmm::call(at::Tensor const&, at::Tensor const&)",
        "bmm",
    ),
    ("_Z3addPfi", "add"),
    (
        "void at::native::fill_kernel<4, at::native::FillFunctor<int>>(int, at::native::FillFunctor<int>) [clone .kd]",
        "fill<FillFunctor<int>>",
    ),
    (
        "void at::native::fill_kernel<4, at::native::FillFunctor<int>>(int, at::native::FillFunctor<int>) (.kd)",
        "fill<FillFunctor<int>>",
    ),
    (
        "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
        "core::fmt::Formatter::pad",
    ),
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)",
        "vectorized_elementwise<CUDAFunctor_add<float>>",
    ),
    (
        "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1})",
        "elementwise<CUDAFunctor_add<float>>",
    ),
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::cos_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
        "vectorized_elementwise<cos_kernel_cuda::lambda(float)>",
    ),
    (
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4> >(int)",
        "reduce<sum_functor<float>>",
    ),
    (
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>(at::native::(anonymous namespace)::OpaqueType<2u>*)",
        "CatArrayBatchedCopy<OpaqueType<2>>",
    ),
    (
        "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, true>(float*)",
        "softmax_warp_forward<BFloat16, float>",
    ),
    (
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4>(cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4::Params)",
        "cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4",
    ),
    (
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float, false>(float*)",
        "gemvx::kernel<float>",
    ),
    (
        "void cudnn::ops::nchwToNhwcKernel<float, float, (cudnnKernelDataType_t)0>(float*)",
        "nchwToNhwcKernel<float>",
    ),
    (
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclKernel_AllReduce_RING_LL_Sum_float",
    ),
    (
        "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT16x16x256_MI16x16x1_SN_LDSB1_WG16_16_1",
        "Cijk_Alik_Bljk_BBS_BH_MT16x16x256_MI16x16x1",
    ),
    ("ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"),
    (
        "triton_poi_fused_add_relu_0d1d2de",
        "triton_poi_fused_add_relu_0d1d2de",
    ),
    ("aten::add", "aten::add"),
    ("aten::add, op_id = *", "aten::add"),
    ("aten::conv2d, seq = 5, sizes = [[1, 3]]", "aten::conv2d"),
    ("Dequeue@aclnnMatmul", "aclnnMatmul"),
    ("enumerate(DataLoader)", "enumerate(DataLoader)"),
    ("forward (fused)", "forward (fused)"),
    (
        "nn/modules/module.py(1501): _call_impl",
        "nn/modules/module.py(1501): _call_impl",
    ),
    ("<built-in method add of type object at 0x7f>", "add"),
    ("<built-in function next>", "next"),
    (
        "void at::native::<unnamed>::grid_stride_kernel<float, (int)4, void at::native::normal<float>(at::TensorBase &)::[lambda(float) (instance 1)]>(long)",
        "grid_stride<float, normal<float>::lambda(float)>",
    ),
    (
        "void ck_tile::kentry<ck_tile::gfx950_t, 1, ck_tile::FmhaFwdKernel<ck_tile::Pipeline<float> >, ck_tile::Kargs>(ck_tile::Kargs)",
        "FmhaFwdKernel<Pipeline<float>>",
    ),
    // Of a template that no demangler reads, its namespaces and name.
    (
        "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i",
        "act_and_mul_kernel",
    ),
    (
        "autograd::engine::evaluate_function: AddBackward0",
        "AddBackward0",
    ),
    ("Optimizer.step#SGD.step", "Optimizer.step#SGD.step"),
    ("[memory]", "[memory]"),
];

#[test]
fn what_tells_kernels_apart_is_kept() {
    for (recorded, shown) in CASES {
        assert_eq!(display_name(recorded), shown, "{recorded}");
        assert_eq!(display_name(shown), shown, "{recorded}");
    }
}

#[test]
fn equal_short_names_keep_more() {
    let of = |names: &[&'static str]| -> Vec<String> {
        let shown = DisplayNames::new(names.iter().copied());
        names
            .iter()
            .map(|name| shown.shown(name).to_owned())
            .collect()
    };
    let softmax = [
        "void softmax<float, 10, true>(float*)",
        "void softmax<float, 10, false>(float*)",
        "void relu<float, 10>(float*)",
    ];
    let expected = [
        "softmax<float, 10, true>",
        "softmax<float, 10, false>",
        "relu<float>",
    ];
    assert_eq!(of(&softmax), expected);
    let overloads = [
        "void n::pool<float>(float*, int)",
        "void n::pool<float>(int, float*)",
    ];
    assert_eq!(
        of(&overloads),
        ["n::pool<float>(float*, int)", "n::pool<float>(int, float*)"]
    );
    // The node itself is called so inside of it.
    let nodes = [
        "autograd::engine::evaluate_function: AddmmBackward0",
        "AddmmBackward0",
    ];
    assert_eq!(of(&nodes), nodes);
    assert_eq!(of(&nodes[..1]), ["AddmmBackward0"]);
    let taken = ["void n::pool<float>(float*)", "pool<float>"];
    assert_eq!(of(&taken), ["n::pool<float>", "pool<float>"]);
}

#[test]
fn words_of_a_sentence_are_no_types() {
    for text in [
        "waits for at::relu(float*)",
        "see std::sort(int*)",
        "at::relu (of at::mul)",
        "step (a::b)",
    ] {
        assert_eq!(display_name(text), text);
    }
    let typed = "static unsigned int n::count<float>(float const*)";
    assert_eq!(display_name(typed), "count<float>");
}

#[test]
fn names_of_any_length_and_number_are_bounded_work() {
    let nested = |n: usize| format!("void f<{}int{}>(int)", "a<".repeat(n), ">".repeat(n));
    let wide = |n: usize| {
        let types: Vec<String> = (0..n).map(|at| format!("t{at}")).collect();
        format!("void f<{}>(int)", types.join(", "))
    };
    let long: Vec<String> = (0..3_000)
        .flat_map(|at| [nested(at % 40), wide(at), "_Z".repeat(at), nested(at * 8)])
        .collect();
    let shown = DisplayNames::new(long.iter().map(String::as_str));
    let texts: BTreeSet<&str> = long.iter().map(|name| shown.shown(name)).collect();
    let names: BTreeSet<&str> = long.iter().map(String::as_str).collect();
    assert_eq!(texts.len(), names.len());
    let too_long = wide(10_000);
    assert_eq!(display_name(&too_long), too_long);
}

fn name() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "void ",
        "at::",
        "native::",
        "add_kernel",
        "Functor",
        "<",
        ">",
        "(",
        ")",
        ", ",
        "4",
        "float",
        "{lambda(int)#1}",
        "::operator()() const::",
        "(anonymous namespace)",
        "*",
        "&",
        " const",
        "_Z",
        "3foo",
        "N",
        "E",
        "Kernel",
        "Cijk_",
        "MT16x16",
        "_",
        "::",
        "ä",
        "->",
        "_R",
        "I",
        "S_",
        "type",
    ]);
    prop_oneof![
        any::<String>(),
        prop::collection::vec(piece, 1..16).prop_map(|pieces| pieces.concat()),
        prop::sample::select(CASES.to_vec()).prop_map(|(name, _)| name.to_owned()),
    ]
}

proptest! {
    #[test]
    fn a_short_name_is_not_empty(name in name()) {
        let short = display_name(&name);
        prop_assert_eq!(short.is_empty(), name.is_empty());
        prop_assert_eq!(&display_name(&name), &short);
    }

    #[test]
    fn names_that_differ_are_shown_differently(names in prop::collection::btree_set(name(), 0..12)) {
        let shown = DisplayNames::new(names.iter().map(String::as_str));
        let texts: BTreeSet<&str> = names.iter().map(|name| shown.shown(name)).collect();
        prop_assert_eq!(texts.len(), names.len());
    }
}
