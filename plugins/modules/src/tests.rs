use trueno_plugin::testing::{Output, check_parts, part, run};
use trueno_plugin::{Table, TableBuilder};

use crate::Modules;
use crate::sums::class_of;

/// Id, parent, name (`None` if it is no module), start and duration of a brick.
type Brick = (u64, Option<u64>, Option<&'static str>, i64, i64);
/// Enclosing brick, start and duration of a kernel.
type Kernel = (Option<u64>, i64, i64);

fn analysed(bricks: &[Brick], kernels: &[Kernel], window: Option<(i64, i64)>) -> Output {
    run::<Modules>(tables(bricks, kernels, window), "{}").unwrap()
}

fn tables(bricks: &[Brick], kernels: &[Kernel], window: Option<(i64, i64)>) -> Vec<TableBuilder> {
    let names: Vec<&str> = {
        let mut names: Vec<&str> = bricks.iter().filter_map(|brick| brick.2).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let name_id = |name: &str| names.iter().position(|one| *one == name).unwrap() as i64;
    let modules: Vec<_> = bricks
        .iter()
        .filter_map(|brick| Some((brick, brick.2?)))
        .collect();
    let mut tables: Vec<TableBuilder> = vec![
        Table::build("names")
            .i64("id", (0..names.len()).map(|id| id as i64))
            .text(
                "text",
                names.iter().map(|name| format!("nn.Module: {name}")),
            ),
        Table::build("modules")
            .u64("id", modules.iter().map(|(brick, _)| brick.0))
            .i64("name_id", modules.iter().map(|(_, name)| name_id(name)))
            .i64("start_ns", modules.iter().map(|(brick, _)| brick.3))
            .i64("dur_ns", modules.iter().map(|(brick, _)| brick.4)),
        Table::build("parents")
            .u64("id", bricks.iter().map(|brick| brick.0))
            .u64("parent", bricks.iter().map(|brick| brick.1)),
        Table::build("kernels")
            .u64("brick", kernels.iter().map(|kernel| kernel.0))
            .i64("start_ns", kernels.iter().map(|kernel| kernel.1))
            .i64("dur_ns", kernels.iter().map(|kernel| kernel.2)),
    ];
    if let Some((from_ns, until_ns)) = window {
        tables.push(
            Table::build("report_window")
                .i64("from_ns", [from_ns])
                .i64("until_ns", [until_ns]),
        );
    }
    tables
}

/// A net of two layers with operators inside, and a kernel after it.
fn net() -> (Vec<Brick>, Vec<Kernel>) {
    (
        vec![
            (1, None, Some("Net_0"), 0, 100),
            (2, Some(1), Some("Linear_0"), 10, 30),
            (3, Some(2), None, 15, 10),
            (4, Some(1), Some("Linear_1"), 50, 20),
            (5, None, None, 120, 50),
        ],
        vec![
            (Some(3), 20, 400),
            (Some(4), 450, 100),
            (Some(1), 600, 50),
            (Some(5), 700, 250),
            (None, 960, 200),
        ],
    )
}

#[test]
fn kernels_count_for_the_innermost_module_and_those_around_it() {
    let (bricks, kernels) = net();
    let output = analysed(&bricks, &kernels, None);
    let modules = output.table("modules");
    assert_eq!(
        modules.to_string(),
        "path            class   calls  device_ns  device_share  own_device_ns  kernels  host_ns  own_host_ns\n\
         Net_0           Net         1        550          0.55             50        3      100           50\n\
         Net_0/Linear_0  Linear      1        400           0.4            400        1       30           30\n\
         Net_0/Linear_1  Linear      1        100           0.1            100        1       20           20\n"
    );
    let finding = output.finding("largest_module_class").unwrap();
    assert!(
        finding
            .title
            .starts_with("Linear takes 50 % of the device time in its own kernels"),
        "{}",
        finding.title
    );
    assert!(finding.detail.as_ref().unwrap().starts_with("45 %"));
}

#[test]
fn own_times_of_classes_and_what_is_outside_add_up_to_all() {
    let (bricks, kernels) = net();
    let output = analysed(&bricks, &kernels, None);
    let classes = output.table("classes");
    let own: i64 = classes.i64("own_device_ns").unwrap().iter().flatten().sum();
    assert_eq!(own + 450, 1_000);
    let shares: f64 = classes
        .f64("own_device_share")
        .unwrap()
        .iter()
        .flatten()
        .sum();
    assert!((shares + 0.45 - 1.0).abs() < 1e-12);
}

#[test]
fn a_module_within_one_of_its_class_counts_no_time_twice() {
    let bricks = [
        (1, None, Some("Sequential_0"), 0, 100),
        (2, Some(1), Some("Sequential_1"), 10, 50),
    ];
    let output = analysed(&bricks, &[(Some(2), 20, 40)], None);
    let classes = output.table("classes");
    assert_eq!(classes.i64("host_ns").unwrap().get(0), Some(100));
    assert_eq!(classes.i64("device_ns").unwrap().get(0), Some(40));
    assert_eq!(classes.u64("modules").unwrap().get(0), Some(2));
}

#[test]
fn times_are_those_in_the_window() {
    let (bricks, kernels) = net();
    let output = analysed(&bricks, &kernels, Some((0, 500)));
    let modules = output.table("modules");
    assert_eq!(modules.i64("device_ns").unwrap().get(0), Some(450));
    // The kernels behind the window count nowhere, and calls that ended before it neither.
    assert_eq!(modules.u64("kernels").unwrap().get(0), Some(2));
    let output = analysed(&bricks, &kernels, Some((45, 100)));
    let modules = output.table("modules");
    let paths: Vec<_> = modules.text("path").unwrap().iter().flatten().collect();
    assert_eq!(paths, ["Net_0", "Net_0/Linear_0", "Net_0/Linear_1"]);
    // Its kernel runs in the window, its call does not.
    assert_eq!(modules.u64("calls").unwrap().get(1), Some(0));
}

#[test]
fn without_devices_their_time_is_not_known() {
    let (bricks, _) = net();
    let output = analysed(&bricks, &[], None);
    let modules = output.table("modules");
    assert_eq!(modules.i64("device_ns").unwrap().get(0), None);
    assert_eq!(modules.u64("kernels").unwrap().get(0), None);
    assert_eq!(modules.i64("host_ns").unwrap().get(0), Some(100));
    assert!(output.findings.is_empty());
}

/// Ranks of a job have ids of their own: their rows together are the rows of all.
#[test]
fn ranks_add_up_to_the_job() {
    let (bricks, kernels) = net();
    let moved = |by: u64, more: i64| -> (Vec<Brick>, Vec<Kernel>) {
        let bricks = bricks.iter().map(|(id, parent, name, start, dur)| {
            (id + by, parent.map(|id| id + by), *name, *start, dur + more)
        });
        let kernels = kernels.iter();
        let kernels =
            kernels.map(|(brick, start, dur)| (brick.map(|id| id + by), *start, dur + more));
        (bricks.collect(), kernels.collect())
    };
    let without_modules = (vec![(31, None, None, 0, 90)], vec![(Some(31), 5, 70)]);
    let without_kernels = (moved(40, 3).0, Vec::new());
    let idle = (Vec::new(), Vec::new());
    let ranks = [
        moved(0, 0),
        moved(10, 7),
        without_modules,
        without_kernels,
        idle,
    ];
    for window in [None, Some((0, 500)), Some((45, 100)), Some((5_000, 6_000))] {
        let parts = ranks.iter().map(|(bricks, kernels)| {
            part::<Modules>(tables(bricks, kernels, window), "{}").unwrap()
        });
        let parts: Vec<Output> = parts.collect();
        let bricks: Vec<Brick> = ranks.iter().flat_map(|rank| rank.0.clone()).collect();
        let kernels: Vec<Kernel> = ranks.iter().flat_map(|rank| rank.1.clone()).collect();
        let whole = analysed(&bricks, &kernels, window);
        assert_eq!(whole.tables.is_empty(), window == Some((5_000, 6_000)));
        for cut in 1..ranks.len() {
            check_parts::<Modules>(&parts, cut, Vec::new, "{}", &whole).unwrap();
        }
    }
    // A job without modules.
    let (bricks, kernels) = &ranks[2];
    let parts = [part::<Modules>(tables(bricks, kernels, None), "{}").unwrap()];
    let whole = analysed(bricks, kernels, None);
    check_parts::<Modules>(&parts, 1, Vec::new, "{}", &whole).unwrap();
}

#[test]
fn without_modules_there_is_no_table() {
    let output = analysed(&[(1, None, None, 0, 5)], &[(Some(1), 0, 5)], None);
    assert!(output.tables.is_empty());
}

#[test]
fn a_row_that_is_its_own_ancestor_lies_in_no_module() {
    let bricks = [
        (1, Some(2), None, 0, 5),
        (2, Some(1), None, 0, 5),
        (3, Some(3), Some("Net_0"), 0, 5),
    ];
    let output = analysed(&bricks, &[(Some(1), 0, 5), (Some(3), 5, 5)], None);
    assert_eq!(
        output.table("modules").i64("device_ns").unwrap().get(0),
        Some(5)
    );
}

#[test]
fn a_class_is_the_name_without_its_number() {
    for (name, class) in [
        ("Linear_3", "Linear"),
        ("My_Block_12", "My_Block"),
        ("Conv2d", "Conv2d"),
        ("_7", "_7"),
    ] {
        assert_eq!(class_of(name), class);
    }
}
