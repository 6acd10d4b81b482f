use proptest::prelude::*;
use trueno_plugin::Table;

use super::*;

fn table(names: &[String], numbers: &[i64], shares: &[Option<f64>], columns: usize) -> Table {
    let rows = names.len();
    let mut table = Table::build("t")
        .text("name", names)
        .f64("wall_share", shares);
    for i in 0..columns {
        table = table.i64(
            &format!("number_{i}_ns"),
            numbers.iter().cycle().skip(i).take(rows),
        );
        table = table.text(
            &format!("text_{i}"),
            names.iter().cycle().skip(i).take(rows),
        );
    }
    table.finish().unwrap()
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_room(
        rows in proptest::collection::vec(("\\PC{0,50}", any::<i64>(), proptest::option::of(-1.0..2.0_f64)), 1..12),
        columns in 0..8_usize,
        room in 76..197_usize,
    ) {
        let names: Vec<String> = rows.iter().map(|row| row.0.clone()).collect();
        let numbers: Vec<i64> = rows.iter().map(|row| row.1).collect();
        let shares: Vec<Option<f64>> = rows.iter().map(|row| row.2).collect();
        let view = View::new(&table(&names, &numbers, &shares, columns), 10);
        let lines = lines(&view, room, Absent::Named, Palette::new(false));
        for line in &lines {
            prop_assert!(width::measure(line) <= room, "{} > {room}: {line}", width::measure(line));
        }
        // Every column is shown or named: nothing disappears.
        let text = lines.join(" ");
        for column in &view.columns {
            let first = column.heading.split(' ').next().unwrap_or_default();
            prop_assert!(text.contains(first), "{} is neither shown nor named", column.heading);
        }
    }
}

#[test]
fn a_narrow_terminal_drops_columns_from_the_right_but_keeps_the_bars() {
    let table = Table::build("t")
        .text("name", ["a_rather_long_name_of_a_kernel", "b"])
        .i64("self_ns", [1_500, 500])
        .f64("wall_share", [0.75, 0.25])
        .i64("extra_one_ns", [1, 2])
        .i64("extra_two_ns", [1, 2])
        .finish()
        .unwrap();
    let shown = lines(
        &View::new(&table, 5),
        56,
        Absent::Named,
        Palette::new(false),
    );
    assert!(
        shown[0].contains("wall share") && !shown[0].contains("extra two"),
        "{shown:?}"
    );
    assert!(
        shown
            .iter()
            .any(|line| line.contains("too wide for here: extra two")),
        "{shown:?}"
    );
}

fn built(table: trueno_plugin::TableBuilder, room: usize, absent: Absent) -> Vec<String> {
    let view = View::new(&table.finish().unwrap(), 5);
    lines(&view, room, absent, Palette::new(false))
}

#[test]
fn a_narrow_page_keeps_what_tells_rows_apart_and_what_was_measured() {
    let kinds = ["function_of_a_kind", "call_of_some_kind"];
    let table = Table::build("t")
        .text("kind", kinds)
        .text("category", ["uncategorised", "elementwise"])
        .text("name", ["one", "other"])
        .i64("calls", [0, 0])
        .i64("self_ns", [5_000, 4_000])
        .i64("inclusive_ns", [9_000, 8_000]);
    let shown = built(table, 44, Absent::Named);
    assert_eq!(
        shown,
        [
            "kind              category       name   self",
            "function…_a_kind  uncategorised  one    5 µs",
            "call_of_…me_kind  elementwise    other  4 µs",
            "too wide for here: calls, inclusive",
        ]
    );
    // Without a name an id tells rows apart, wherever it stands.
    let table = Table::build("t")
        .i64("work_ns", [1_000, 2_000])
        .i64("a_long_heading_for_a_number", [1, 2])
        .u64("id", [7, 8]);
    let shown = built(table, 30, Absent::Named);
    assert_eq!(shown[0], "work  id");
}

#[test]
fn names_that_differ_look_different_where_they_do_not_fit() {
    let tile =
        |tile: &str| format!("sm86_xmma_fprop_implicit_gemm_tilesize{tile}x16_execute_kernel");
    let names = [tile("128x128"), tile("64x64"), tile("64x128")];
    let table = Table::build("t")
        .text("name", &names)
        .i64("self_ns", [9_000, 8_000, 7_000]);
    let shown = built(table, 30, Absent::Named);
    assert_eq!(
        shown[1..],
        [
            "sm86_x…128x128x16_…ernel  9 µs",
            "sm86_x…64x64x16_ex…ernel  8 µs",
            "sm86_x…64x128x16_e…ernel  7 µs",
        ]
    );
}

#[test]
fn sentences_are_wrapped_and_not_cut_in_their_middle() {
    let table = Table::build("t")
        .text("check", ["a", "b"])
        .text("detail", ["no allocation has an address", "1 of 2"]);
    let shown = built(table, 29, Absent::Named);
    assert_eq!(
        shown,
        [
            "check  detail",
            "a      no allocation has an",
            "       address",
            "b      1 of 2"
        ]
    );
    let table = Table::build("t")
        .text("check", ["a", "b"])
        .text("detail", ["no allocation has an address", "1 of 2"]);
    let shown = built(table, 29, Absent::Unsaid);
    assert_eq!(shown[1], "a      no allocation has an…");
}

#[test]
fn a_brief_page_says_what_the_rest_amounts_to_and_leaves_columns_to_its_end() {
    let table = Table::build("t")
        .text("name", ["a"; 7])
        .i64("self_ns", [1_000, 2, 3, 4, 5, 6, 7])
        .f64("tokens_per_s", [None::<f64>; 7])
        .i64("a_number_with_a_long_heading", [1, 2, 3, 4, 5, 6, 7]);
    let shown = built(table, 60, Absent::Unsaid);
    assert_eq!(shown.last().unwrap(), "… and 2 more rows");
}
