use proptest::prelude::*;
use trueno_model::Section;
use trueno_plugin::{Chart, Scale, Table};

use super::scene::{Item, Scene, overlap};
use super::*;

fn section(tables: Vec<Table>, charts: Vec<Chart>) -> Section {
    let mut section = crate::testing::section("test", tables);
    section.charts = charts;
    section
}

fn every_kind(rows: &[(String, f64, f64)]) -> Section {
    let name = || rows.iter().map(|row| row.0.as_str());
    let table = Table::build("t")
        .text("name", name())
        .text("lane", name())
        .i64("start_ns", rows.iter().map(|row| row.1 as i64))
        .i64("dur_ns", rows.iter().map(|row| row.2.abs() as i64))
        .f64("flops_per_s", rows.iter().map(|row| row.1))
        .f64("ratio", rows.iter().map(|row| row.2))
        .f64("low", rows.iter().map(|row| row.2 - 1.0))
        .f64("high", rows.iter().map(|row| row.2 + row.1.abs()))
        .i64("col", rows.iter().map(|row| (row.1 as i64).rem_euclid(300)))
        .i64("row", rows.iter().map(|row| (row.2 as i64).rem_euclid(300)))
        .finish()
        .unwrap();
    let charts = vec![
        Chart::bar("bar", "t", "name", "dur_ns"),
        Chart::stacked_bar("stacked", "t", "lane", "dur_ns", "name"),
        Chart::line("line", "t", "start_ns", "ratio")
            .series("name")
            .label("lane"),
        Chart::scatter("scatter", "t", "ratio", "flops_per_s")
            .series("lane")
            .label("name")
            .size("dur_ns")
            .lines("t", "low", "high", Some("name"))
            .scales(Scale::Log, Scale::Log),
        Chart::gantt("gantt", "t", "lane", "start_ns", "dur_ns").series("name"),
        Chart::heatmap("heat", "t", "col", "row", "dur_ns"),
        Chart::forest("forest", "t", "name", "ratio", "low", "high").reference(1.0),
    ];
    section(vec![table], charts)
}

/// No two texts overlap, and none leaves the page.
fn readable(scene: &Scene) -> Result<(), String> {
    let texts: Vec<(&Item, [f64; 4])> = scene
        .items
        .iter()
        .filter_map(|item| Some((item, Scene::bounds(item)?)))
        .collect();
    for (at, (item, bounds)) in texts.iter().enumerate() {
        let [x, y, w, h] = *bounds;
        if x < -1.0 || y < -1.0 || x + w > scene.width + 1.0 || y + h > scene.height + 1.0 {
            return Err(format!("{}: {item:?} leaves the page", scene.title));
        }
        // A pixel or two of the room around letters may be shared.
        let core = [x + 1.0, y + 2.0, (w - 2.0).max(0.0), (h - 4.0).max(0.0)];
        for (other, place) in &texts[at + 1..] {
            if overlap(core, *place) {
                return Err(format!("{}: {item:?} lies on {other:?}", scene.title));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// For any names and values, nothing panics, no texts overlap, and files stay small.
    #[test]
    fn text_of_any_chart_can_be_read(
        rows in proptest::collection::vec(("\\PC{0,60}", -1e9..1e12_f64, -1e3..1e9_f64), 0..60),
    ) {
        let section = every_kind(&rows);
        for chart in &section.charts {
            let Some(scene) = scene(chart, &section) else { continue };
            prop_assert!(readable(&scene).is_ok(), "{}", readable(&scene).unwrap_err());
            let svg = scene.svg_for_page().unwrap();
            prop_assert!(svg.len() < 600_000, "{}: {} bytes", chart.title, svg.len());
        }
    }
}

#[test]
fn thousands_of_points_stay_light() {
    let rows: Vec<(String, f64, f64)> = (0..50_000)
        .map(|n| {
            (
                format!("name {}", n % 11),
                f64::from(n) * 1e4 + 1.0,
                f64::from(n % 977) + 1.0,
            )
        })
        .collect();
    let section = every_kind(&rows);
    for chart in &section.charts {
        let scene = scene(chart, &section).expect("rows that can be drawn");
        readable(&scene).unwrap();
        let svg = scene.svg_for_page().unwrap();
        assert!(svg.len() < 600_000, "{}: {} bytes", chart.title, svg.len());
    }
}

#[test]
fn a_name_with_a_tag_stays_a_name() {
    let section = every_kind(&[("<script>alert(1)</script> & \"x\"".into(), 5.0, 3.0)]);
    for chart in &section.charts {
        let scene = scene(chart, &section).unwrap();
        for svg in [scene.svg_for_page().unwrap(), scene.svg_file().unwrap()] {
            assert!(!svg.contains("<script"), "{svg}");
        }
    }
}

#[test]
fn nothing_to_draw_is_no_chart() {
    let section = every_kind(&[]);
    assert!(
        section
            .charts
            .iter()
            .all(|chart| scene(chart, &section).is_none())
    );
}

#[test]
fn outliers_stand_out_with_their_label() {
    let table = Table::build("t")
        .u64("number", 0..40_u64)
        .i64(
            "wall_ns",
            (0..40).map(|n| if n == 17 { 9_000 } else { 1_000 + n % 3 }),
        )
        .text("outlier", (0..40).map(|n| (n == 17).then_some("slow")))
        .finish()
        .unwrap();
    let chart = Chart::line("t", "t", "number", "wall_ns").label("outlier");
    let section = section(vec![table], vec![chart]);
    let scene = scene(&section.charts[0], &section).unwrap();
    let alarms = scene.items.iter().filter(|item| {
        matches!(
            item,
            Item::Dot {
                ink: Ink::Alarm,
                ..
            }
        )
    });
    assert_eq!(alarms.count(), 1);
    let named = scene
        .items
        .iter()
        .any(|item| matches!(item, Item::Text { text, .. } if text == "slow"));
    assert!(named);
}

#[test]
fn areas_of_points_follow_their_size() {
    let table = Table::build("t")
        .f64("x", [1.0, 2.0, 3.0])
        .f64("y", [1.0, 2.0, 3.0])
        .i64("dur_ns", [100, 400, 1])
        .finish()
        .unwrap();
    let chart = Chart::scatter("t", "t", "x", "y").size("dur_ns");
    let section = section(vec![table], vec![chart]);
    let scene = scene(&section.charts[0], &section).unwrap();
    let radii = scene.items.iter().filter_map(|item| match item {
        Item::Dot {
            radius,
            ink: Ink::Series(_),
            ..
        } => Some(*radius),
        _ => None,
    });
    // The last would be too small to be seen.
    assert_eq!(radii.collect::<Vec<f64>>(), [14.0, 7.0, 2.5]);
    let says = |wanted: &str| {
        let mut items = scene.items.iter();
        items.any(|item| matches!(item, Item::Text { text, .. } if text == wanted))
    };
    assert!(says("area: dur") && says("400 ns") && says("100 ns") && says("25 ns"));
}

#[test]
fn what_is_unaccounted_comes_last_and_in_no_colour_of_a_category() {
    let table = Table::build("t")
        .text("lane", ["host", "host", "host"])
        .text("category", ["unaccounted", "not alive", "FFN"])
        .i64("self_ns", [900, 10_000, 100])
        .finish()
        .unwrap();
    let chart = Chart::stacked_bar("t", "t", "lane", "self_ns", "category");
    let section = section(vec![table], vec![chart]);
    let scene = scene(&section.charts[0], &section).unwrap();
    let inks = scene.items.iter().filter_map(|item| match item {
        Item::Rect { ink, .. } => Some(*ink),
        _ => None,
    });
    let both = [Ink::Series(0), Ink::Unaccounted];
    // The bar's pieces, then the legend's.
    assert_eq!(inks.collect::<Vec<Ink>>(), [both, both].concat());
}

#[test]
fn a_bar_that_was_not_measured_says_so_and_bars_without_room_are_counted() {
    let bars = 20;
    let lanes: Vec<String> = (0..bars).map(|lane| format!("lane {lane}")).collect();
    let table = Table::build("t")
        .text("lane", &lanes)
        .text("category", (0..bars).map(|_| "FFN"))
        .i64("self_ns", (0..bars).map(|lane| (lane != 1).then_some(100)))
        .finish()
        .unwrap();
    let chart = Chart::stacked_bar("t", "t", "lane", "self_ns", "category");
    let section = section(vec![table], vec![chart]);
    let scene = scene(&section.charts[0], &section).unwrap();
    readable(&scene).unwrap();
    let says = |wanted: &str| {
        let is = |item: &&Item| matches!(item, Item::Text { text, .. } if text == wanted);
        scene.items.iter().filter(is).count()
    };
    assert_eq!(
        (says("not measured"), says("0 ns"), says("100 ns")),
        (1, 0, 15)
    );
    assert_eq!((says("lane 15"), says("lane 16")), (1, 0));
    assert_eq!(says("4 further ones are left out"), 1);
}

#[test]
fn a_picture_of_pixels_is_a_png_with_ink_on_it() {
    let section = every_kind(&[("gemv".into(), 5e6, 3e6), ("mul".into(), 9e6, 1e6)]);
    for chart in &section.charts {
        let scene = scene(chart, &section).unwrap();
        let png = scene.png().unwrap();
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        let size = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!(
            (size(16), size(20)),
            (
                (scene.width * 2.0).ceil() as u32,
                ((scene.height + 26.0) * 2.0).ceil() as u32
            )
        );
        let data = png.windows(4).position(|four| four == b"IDAT").unwrap();
        let mut pixels = Vec::new();
        std::io::Read::read_to_end(
            &mut flate2::read::ZlibDecoder::new(&png[data + 4..]),
            &mut pixels,
        )
        .unwrap();
        let dark = pixels.iter().filter(|byte| **byte < 0x80).count();
        assert!(dark > 200, "{}: {dark} dark bytes", chart.title);
        assert_eq!(scene.png().unwrap(), png);
    }
}
