use proptest::prelude::*;

use super::*;

fn groups(names: impl IntoIterator<Item = (String, u64)>) -> NameGroups {
    let mut counts = NameCounts::default();
    for (name, rows) in names {
        counts.add(&name, rows);
    }
    counts.groups()
}

#[track_caller]
fn same(groups: &NameGroups, name: &str) {
    assert_eq!(groups.group(name), None, "{name}");
}

#[test]
fn ids_of_nvtx_ranges_are_folded() {
    // A sequence number is shared by several operators.
    let names = (0..400).map(|n| {
        let seq = 45_000 + n / 5;
        (
            format!("aten::add, seq = {seq}, op_id = {}", 990_000 + n),
            1,
        )
    });
    let groups = groups(names);
    let group = |name: &str| groups.group(name);
    assert_eq!(
        group("aten::add, seq = 45001, op_id = 990007").as_deref(),
        Some("aten::add, seq = *, op_id = *")
    );
    // By the word, however rare the rest of the name is.
    assert_eq!(
        group("FSDP (blocks.13.x), op_id = 7").as_deref(),
        Some("FSDP (blocks.13.x), op_id = *")
    );
    same(&groups, "aten::add, alpha = 2");
}

#[test]
fn addresses_are_always_folded() {
    let none = NameGroups::default();
    assert_eq!(
        none.group("<built-in method run at 0x7f1e2c0d9a40>")
            .as_deref(),
        Some("<built-in method run at 0x*>")
    );
    same(&none, "mask 0xff");
    same(&none, "sha0x1234567890abcdefg");
}

#[test]
fn few_steps_of_a_profiler_are_folded_and_one_is_not() {
    let few = groups([3, 4].map(|n| (format!("ProfilerStep#{n}"), 1)));
    assert_eq!(
        few.group("ProfilerStep#3").as_deref(),
        Some("ProfilerStep#*")
    );
    same(
        &groups([("ProfilerStep#3".to_owned(), 5)]),
        "ProfilerStep#3",
    );
}

#[test]
fn steps_and_suffixes_of_compiled_kernels_are_folded() {
    let steps = groups((0..8).map(|n| (format!("ProfilerStep#{n}"), 1)));
    assert_eq!(
        steps.group("ProfilerStep#3").as_deref(),
        Some("ProfilerStep#*")
    );
    let few = groups((0..7).map(|n| (format!("step#{n}"), 1)));
    same(&few, "step#3");
    let suffixes = groups((0..20).map(|n| (format!("graph_{}", 10_000 + 37 * n), 1)));
    assert_eq!(suffixes.group("graph_10037").as_deref(), Some("graph_*"));
}

#[test]
fn parts_of_a_model_and_sizes_keep_their_numbers() {
    let layers = groups((0..48).map(|n| (format!("layer_{n}"), 1)));
    same(&layers, "layer_3");
    let modules = groups((0..48).map(|n| (format!("layers[{n}]"), 1)));
    same(&modules, "layers[3]");
    let blocks = groups((0..48).flat_map(|n| {
        ["Block {}", "rank: {}", "layer={}"].map(|text| (text.replace("{}", &n.to_string()), 1))
    }));
    assert!(blocks.is_empty(), "{blocks:?}");
    // Each is met again and again: a name, and no id.
    let often = groups((0..48).map(|n| (format!("request {}", 1000 + n), 100)));
    same(&often, "request 1003");
    let kernels = groups((0..99).flat_map(|n| {
        [
            format!("Cijk_Ailk_Bljk_MT{0}x64x32_WG32_8_{0}", 16 * n),
            format!("gemm_{0}x{0}", 16 * n),
            format!("kernel<{n}, (int){n}>"),
            format!("conv{n}d"),
            format!("v1.{n}"),
        ]
        .map(|name| (name, 1))
    }));
    assert!(kernels.is_empty(), "{kernels:?}");
}

#[test]
fn what_is_an_id_on_one_side_is_one_on_the_other() {
    let mut few = groups((0..3).map(|n| (format!("request 9{n}"), 1)));
    same(&few, "request 91");
    few.merge(&groups((0..99).map(|n| (format!("request {n}"), 1))));
    assert_eq!(few.group("request 91").as_deref(), Some("request *"));
    // A name that was folded before, as in a golden file.
    let golden = groups([("request *".to_owned(), 99), ("step = *".to_owned(), 3)]);
    assert_eq!(golden.group("request 91").as_deref(), Some("request *"));
    assert_eq!(golden.group("step = 4").as_deref(), Some("step = *"));
    same(&golden, "request *");
}

proptest! {
    #[test]
    fn any_name_has_one_group_and_a_group_is_its_own(
        names in prop::collection::vec("[a_=# 0-9x*\\[:ü.]{0,12}", 0..40),
        more in any::<String>(),
    ) {
        let groups = groups(names.iter().map(|name| (name.clone(), 1)));
        for name in names.iter().chain([&more]) {
            if let Some(group) = groups.group(name) {
                prop_assert_eq!(groups.group(&group), None);
            }
        }
    }
}
