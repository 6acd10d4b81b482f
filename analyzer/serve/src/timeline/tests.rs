use proptest::prelude::*;

use super::*;
use crate::refusal::Refusal;

/// Intervals of one lane as (gap before, duration). Rows alternate between depth 0 and 1.
fn timeline(rows: &[Vec<(i64, i64)>]) -> Timeline {
    let mut bytes = Vec::new();
    let mut to = FrameWriter::new(&mut bytes);
    let head = Head {
        rows: rows.iter().map(|row| row.len() as u64).sum(),
        ..Head::default()
    };
    to.head(&head).unwrap();
    to.progress(1).unwrap();
    let label = |name: &str| Label {
        table: "bricks".into(),
        name: name.into(),
        shown: name.into(),
    };
    to.labels(&["a", "b", "c"].map(label)).unwrap();
    to.lane(&LaneHead {
        name: "thread 0".into(),
        is_device: false,
        depths: rows.iter().map(|row| row.len() as u64).collect(),
    })
    .unwrap();
    to.curves(&[curve()]).unwrap();
    let mut id = 0;
    for (depth, row) in rows.iter().enumerate() {
        let mut reached_ns = -50;
        for (gap_ns, dur_ns) in row {
            let start_ns = reached_ns + gap_ns;
            reached_ns = start_ns + dur_ns;
            id += 1;
            to.span(Span {
                start_ns,
                dur_ns: *dur_ns,
                id,
                label: (id % 3) as u32,
                depth: depth as u8,
            })
            .unwrap();
        }
    }
    to.end(7).unwrap();
    drop(to);
    Timeline::read(bytes.as_slice(), |_| {}).unwrap()
}

fn curve() -> Curve {
    Curve {
        name: "gpu0 queued".into(),
        after: 1,
        times_ns: vec![-5, 9],
        values: vec![1.0, 0.0],
        ..Curve::default()
    }
}

#[test]
fn curves_pass_as_they_are_or_not_at_all() {
    assert_eq!(timeline(&[]).curves(), [curve()]);
    let mut bytes = Vec::new();
    let mut to = FrameWriter::new(&mut bytes);
    let short = Curve {
        values: Vec::new(),
        ..curve()
    };
    to.curves(&[short]).unwrap();
    to.end(0).unwrap();
    drop(to);
    let read = Timeline::read(bytes.as_slice(), |_| {});
    assert!(matches!(
        read,
        Err(FrameError::Broken("a curve without values"))
    ));
}

fn spans(row: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut reached_ns = -50;
    let each = row.iter().map(|(gap_ns, dur_ns)| {
        let start_ns = reached_ns + gap_ns;
        reached_ns = start_ns + dur_ns;
        (start_ns, *dur_ns)
    });
    each.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_window_tells_of_each_interval_once(
        rows in proptest::collection::vec(proptest::collection::vec((0..40_i64, prop_oneof![4 => 0..4_i64, 1 => 0..400_i64]), 0..400), 1..3),
        from_ns in -100..4_000_i64,
        width_ns in 1..9_000_i64,
        pixels in 1..300_u32,
    ) {
        let of = WindowRequest { from_ns, until_ns: from_ns + width_ns, pixels, lanes: vec![0] };
        let all = timeline(&rows);
        let view = all.window(&of).unwrap();
        let mut counted = 0;
        for (depth, row) in rows.iter().enumerate() {
            let is_in = |(start, dur): &&(i64, i64)| *start < of.until_ns && (start + dur > from_ns || *start >= from_ns);
            let spans = spans(row);
            let wanted: Vec<(i64, i64)> = spans.iter().filter(is_in).copied().collect();
            counted += wanted.len() as u64;
            let found = view.rows.iter().find(|found| found.depth == depth);
            let Some(found) = found else { prop_assert!(wanted.is_empty()); continue };
            // What stands alone is what it is; what is wide always stands alone.
            let alone: Vec<(i64, i64)> = found.spans.iter().map(|(start, dur, ..)| (start + from_ns, *dur)).collect();
            for span in &alone { prop_assert!(wanted.contains(span)); }
            let wide = |spans: &[(i64, i64)]| spans.iter().filter(|(_, dur)| *dur >= view.pixel_ns).count();
            prop_assert_eq!(wide(&wanted), wide(&alone));
            // A block is of several, within one pixel where it begins, and its figures are theirs.
            let mut in_blocks = 0;
            for (start, end, count, sum, _, longest) in &found.merged {
                let within = |(from, dur): &&(i64, i64)| *from >= start + from_ns && from + dur <= end + from_ns && *dur < view.pixel_ns;
                let of_block: Vec<_> = wanted.iter().filter(within).collect();
                // Those of no time at its very ends may belong to its neighbours.
                prop_assert!(*count >= 2 && of_block.len() as u64 >= *count);
                prop_assert_eq!(of_block.iter().map(|(_, dur)| *dur as u64).sum::<u64>(), *sum);
                prop_assert_eq!(of_block.iter().map(|(_, dur)| *dur).max(), Some(*longest));
                in_blocks += count;
            }
            prop_assert_eq!(alone.len() as u64 + in_blocks, wanted.len() as u64);
            // As many things as pixels show, however many intervals there are.
            prop_assert!(found.spans.len() + found.merged.len() <= 4 * pixels as usize + 4);
        }
        prop_assert_eq!(view.spans, counted);
        prop_assert_eq!(serde_json::to_string(&view).unwrap(), serde_json::to_string(&all.window(&of).unwrap()).unwrap());
    }
}

#[test]
fn a_long_interval_among_millions_of_short_ones_stands_by_itself() {
    let mut row = vec![(1, 2); 300_000];
    row[123_456] = (1, 6_000_000_000);
    let all = timeline(&[row]);
    assert_eq!((all.spans(), all.too_deep()), (300_000, 7));
    let of = WindowRequest {
        from_ns: -50,
        until_ns: 7_000_000_000,
        pixels: 1_000,
        lanes: vec![0],
    };
    let view = all.window(&of).unwrap();
    let row = &view.rows[0];
    assert_eq!(row.spans.len(), 1);
    assert_eq!(row.spans[0].1, 6_000_000_000);
    let counts: Vec<u64> = row.merged.iter().map(|block| block.2).collect();
    assert_eq!(counts, [123_456, 176_543]);
    assert_eq!(view.spans, 300_000);
}

#[test]
fn windows_that_make_no_sense_are_refused() {
    let all = timeline(&[vec![(1, 1)]]);
    let of = |from_ns, until_ns, pixels, lanes: Vec<usize>| {
        all.window(&WindowRequest {
            from_ns,
            until_ns,
            pixels,
            lanes,
        })
    };
    for wrong in [
        of(5, 5, 10, vec![0]),
        of(0, 1, 0, vec![0]),
        of(0, 1, MAX_PIXELS + 1, vec![0]),
        of(0, 1, 10, vec![0; MAX_LANES + 1]),
    ] {
        assert!(matches!(wrong, Err(Refusal::Wrong(_))), "{wrong:?}");
    }
    assert!(matches!(of(0, 1, 10, vec![1]), Err(Refusal::Missing(_))));
    // The ends of what a number holds.
    let view = of(i64::MIN, i64::MAX, 100, vec![0]).unwrap();
    assert_eq!(view.spans, 1);
}

#[test]
fn frames_that_are_cut_or_in_disorder_are_told() {
    let mut bytes = Vec::new();
    let mut to = FrameWriter::new(&mut bytes);
    to.head(&Head::default()).unwrap();
    to.labels(&[Label::default()]).unwrap();
    let lane = LaneHead {
        depths: vec![2],
        ..LaneHead::default()
    };
    to.lane(&lane).unwrap();
    let span = |start_ns, label| Span {
        start_ns,
        dur_ns: 5,
        id: 1,
        label,
        depth: 0,
    };
    to.span(span(10, 0)).unwrap();
    to.end(0).unwrap();
    drop(to);
    for end in 0..bytes.len() {
        let cut = Timeline::read(&bytes[..end], |_| {});
        assert!(matches!(cut, Err(FrameError::Cut)), "at {end}: {cut:?}");
    }
    assert_eq!(Timeline::read(bytes.as_slice(), |_| {}).unwrap().spans(), 1);
    for second in [
        span(12, 0),
        span(15, 1),
        Span {
            depth: 1,
            ..span(15, 0)
        },
    ] {
        let mut bytes = Vec::new();
        let mut to = FrameWriter::new(&mut bytes);
        to.labels(&[Label::default()]).unwrap();
        to.lane(&lane).unwrap();
        to.span(span(10, 0)).unwrap();
        to.span(second).unwrap();
        to.end(0).unwrap();
        drop(to);
        let read = Timeline::read(bytes.as_slice(), |_| {});
        assert!(matches!(read, Err(FrameError::Broken(_))), "{second:?}");
    }
    assert!(Timeline::read(&b"X\0\0\0\0"[..], |_| {}).is_err());
    assert!(Timeline::read(&b"S\xff\xff\xff\xff"[..], |_| {}).is_err());
}
