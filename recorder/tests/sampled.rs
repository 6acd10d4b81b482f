//! Choice of the checksums that are recorded, and of the values that are kept.

use trueno_recorder::{F16, Recorder, Strided, fingerprint};
use trueno_testing::{Cell, Table, table};

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
        rec.checksum("half", None, F16::from_bits(&[0x3c00; 40]), &[40]);
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

#[test]
fn of_tensors_that_are_as_they_were_only_the_hash_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let golden = folder.path().join("before.golden.json");
    let hash = |data: &[f32]| format!("{:016x}", fingerprint(data).hash);
    let (same, other) = ([1.0f32, 2.0], [1.0f32, 3.0]);
    let rows = [
        format!("[\"a\",2,5,7,\"{}\"]", hash(&same)),
        format!("[\"a\",2,5,7,\"{}\"]", hash(&same)),
        format!("[\"b\",null,null,null,\"{}\"]", hash(&same)),
    ];
    let file = format!(
        "{{\"format\": {{\"name\": \"trueno-golden\", \"major\": 1, \"minor\": 0}}, \
         \"tensor_columns\": [\"name\", \"layer\", \"iteration\", \"position\", \"hash\"], \"tensors\": [{}]}}",
        rows.join(",")
    );
    std::fs::write(&golden, &file).unwrap();
    let path = folder.path().join("my.run");
    let builder = || Recorder::builder(&path).checksum_samples(4);
    let rec = builder().checksum_baseline(&golden).create().unwrap();
    {
        let _iteration = rec.iteration(5);
        let layer = rec.layer(2);
        rec.checksum("a", Some(7), &same, &[2]);
        // Of a row that has ended, elsewhere.
        let span = rec.brick("work").id();
        drop(layer);
        rec.checksum_of(span, "a", Some(7), &other, &[2]);
        rec.checksum("a", Some(7), &same, &[2]);
    }
    rec.checksum("b", None, &same, &[2]);
    rec.checksum("c", None, &same, &[2]);
    rec.finish().unwrap();
    let rows = table(&path, "checksums");
    let expected = [
        (&same, false, Some(2)),
        (&other, true, Some(2)),
        (&same, true, None),
        (&same, false, None),
        (&same, true, None),
    ];
    assert_eq!(rows.rows, expected.len());
    for (row, (data, is_whole, layer)) in expected.into_iter().enumerate() {
        let hash = i128::from(fingerprint(data).hash);
        assert_eq!(rows.number("hash", row), Some(hash), "{row}");
        assert_eq!(rows.number("layer", row), layer, "{row}");
        assert_eq!(real(&rows, "l2", row).is_some(), is_whole, "{row}");
        assert_eq!(rows.number("nan_count", row).is_some(), is_whole, "{row}");
        assert_eq!(real(&rows, "sample_1", row).is_some(), is_whole, "{row}");
    }
    let json = std::fs::read_to_string(path.join("run.json")).unwrap();
    assert!(json.contains("\"checksum_baseline\": 3"), "{json}");

    // A wrong file is an error before anything is replaced.
    std::fs::write(&golden, &file[..40]).unwrap();
    for wrong in [golden, folder.path().join("nothing.json")] {
        let refused = builder().overwrite(true).checksum_baseline(&wrong).create();
        let error = refused.err().unwrap().to_string();
        assert!(
            error.contains("checksum_baseline") && error.contains(wrong.to_str().unwrap()),
            "{error}"
        );
        assert!(path.join("checksums").exists());
    }
}
