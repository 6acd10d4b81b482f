//! Recording compiled out: `cargo test --workspace --features trueno-recorder/off --test off`

use trueno_recorder::{BrickId, Recorder};

#[test]
fn calls_stay_and_nothing_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("never.run");
    let rec = Recorder::create(&path).unwrap();
    assert!(!rec.is_enabled());
    let _layer = rec.layer(1);
    let mut brick = rec.brick(BrickId::RmsNorm);
    brick.elements(7).backend("scalar").set("batch", 7);
    assert!(brick.id().is_none());
    drop(brick);
    rec.instant("never");
    assert_eq!(rec.time("closure", || 7), 7);
    rec.checksum("out", None, &[1.0f32], &[1]);
    let summary = rec.finish().unwrap();
    assert_eq!((summary.rows, summary.tables.len()), (0, 0));
    assert!(!path.exists());
}
