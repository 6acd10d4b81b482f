//! Which checksums are recorded, and which of their values are kept.

mod common;

use common::{Cell, Table, table};
use trueno_recorder::{F16, Recorder, Strided, fingerprint};

fn real(rows: &Table, column: &str, row: usize) -> Option<f64> {
    match rows.cell(column, row) {
        Cell::F(value) => Some(*value),
        _ => None,
    }
}

#[test]
fn values_at_places_that_do_not_change_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let data: Vec<f32> = (0..1000).map(|i| i as f32 / 2.0).collect();
    let mut kept = Vec::new();
    for run in 0..2 {
        let path = folder.path().join(format!("{run}.run"));
        let rec = Recorder::builder(&path)
            .checksum_samples(16)
            .create()
            .unwrap();
        {
            let brick = rec.brick("work");
            rec.checksum_of(brick.id(), "wide", Some(7), &data, &[10, 100]);
        }
        rec.checksum("small", None, &[3i8, -4], &[2]);
        let every_tenth = Strided::new(&data, &[100], &[10]).unwrap();
        rec.checksum_strided("view", None, every_tenth);
        rec.checksum("half", None, F16::of_bits(&[0x3c00; 40]), &[40]);
        rec.finish().unwrap();
        let rows = table(&path, "checksums");
        assert_eq!(rows.rows, 4);
        let sample = |row: usize, nth: usize| real(&rows, &format!("sample_{nth}"), row);
        let wide: Vec<f64> = (0..16).filter_map(|nth| sample(0, nth)).collect();
        assert_eq!(wide.len(), 16);
        assert!(wide.iter().all(|value| data.contains(&(*value as f32))));
        let distinct: std::collections::HashSet<u64> =
            wide.iter().map(|value| value.to_bits()).collect();
        assert!(distinct.len() > 10, "{wide:?}");
        assert_eq!(rows.number("position", 0), Some(7));
        assert_eq!(
            [sample(1, 0), sample(1, 1), sample(1, 2)],
            [Some(3.0), Some(-4.0), None]
        );
        assert!((0..16).all(|nth| sample(2, nth).is_some_and(|value| value % 5.0 == 0.0)));
        assert_eq!([sample(3, 0), sample(3, 15)], [Some(1.0), Some(1.0)]);
        let copy: Vec<f32> = data.iter().step_by(10).copied().collect();
        assert_eq!(
            rows.number("hash", 2),
            Some(i128::from(fingerprint(&copy).hash))
        );
        kept.push(wide);
    }
    assert_eq!(kept[0], kept[1]);
}

#[test]
fn each_nth_call_of_a_name_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.run");
    let rec = Recorder::builder(&path).checksum_every(3).create().unwrap();
    for call in 0..7u64 {
        rec.checksum("a", Some(call), &[call], &[1]);
        if call < 2 {
            rec.checksum("b", Some(call), &[call], &[1]);
        }
    }
    rec.finish().unwrap();
    let rows = table(&path, "checksums");
    let positions: Vec<_> = (0..rows.rows)
        .map(|row| rows.number("position", row).unwrap())
        .collect();
    assert_eq!(positions, [0, 0, 3, 6]);
    assert_eq!(real(&rows, "sample_0", 0), None);
    let json = std::fs::read_to_string(path.join("run.json")).unwrap();
    assert!(json.contains("\"checksum_every\": 3"), "{json}");
}
