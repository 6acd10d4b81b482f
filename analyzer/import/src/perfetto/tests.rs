//! Traces made by hand, packet by packet.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use prost::Message;
use prost::bytes::Bytes;

use super::IMPORTER;
use super::messages::{
    Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, Defaults, InternedData, InternedText,
    LegacyEvent, ProcessDescriptor, SourceLocation, ThreadDescriptor, TracePacket, TrackDescriptor,
    TrackEvent, TrackEventDefaults, TrackEventKind,
};
use crate::read_back::{Imported, of_bytes, partial, recognises};
use crate::{Error, Options};

const BRICKS: &str = "name thread start_ns dur_ns parent";
const THREAD: u64 = 20;

fn bytes(packets: &[TracePacket]) -> Vec<u8> {
    let mut trace = Vec::new();
    for packet in packets {
        trace.push(super::packets::PACKET);
        packet.encode_length_delimited(&mut trace).unwrap();
    }
    trace
}

fn import_bytes(trace: &[u8]) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, trace, &Options::default())
}

fn import(packets: &[TracePacket]) -> Imported {
    import_bytes(&bytes(packets)).unwrap()
}

fn event(kind: TrackEventKind, time: u64, name: &str, more: TrackEvent) -> TracePacket {
    TracePacket {
        timestamp: Some(time),
        trusted_packet_sequence_id: Some(1),
        track_event: Some(TrackEvent {
            kind: Some(kind.into()),
            track_uuid: more.track_uuid.or(Some(THREAD)),
            name: (!name.is_empty()).then(|| name.into()),
            ..more
        }),
        ..TracePacket::default()
    }
}

fn begin(time: u64, name: &str) -> TracePacket {
    event(
        TrackEventKind::SliceBegin,
        time,
        name,
        TrackEvent::default(),
    )
}

fn end(time: u64) -> TracePacket {
    event(TrackEventKind::SliceEnd, time, "", TrackEvent::default())
}

fn track(track: TrackDescriptor) -> TracePacket {
    TracePacket {
        track_descriptor: Some(track),
        ..TracePacket::default()
    }
}

fn tracks() -> [TracePacket; 2] {
    [
        track(TrackDescriptor {
            uuid: Some(10),
            process: Some(ProcessDescriptor {
                pid: Some(7),
                process_name: Some("decode".into()),
            }),
            ..TrackDescriptor::default()
        }),
        track(TrackDescriptor {
            uuid: Some(THREAD),
            parent_uuid: Some(10),
            thread: Some(ThreadDescriptor {
                pid: Some(7),
                tid: Some(8),
                thread_name: Some("main".into()),
                ..ThreadDescriptor::default()
            }),
            ..TrackDescriptor::default()
        }),
    ]
}

fn number(name: &str, value: i64) -> DebugAnnotation {
    DebugAnnotation {
        name: Some(name.into()),
        int_value: Some(value),
        ..DebugAnnotation::default()
    }
}

#[test]
fn slices_lie_in_one_another_with_their_attributes() {
    let inner = TrackEvent {
        categories: vec!["math".into(), "other".into()],
        source_location: Some(SourceLocation {
            file_name: Some("a.cc".into()),
            line_number: Some(9),
            ..SourceLocation::default()
        }),
        debug_annotations: vec![
            number("rows", -4),
            DebugAnnotation {
                name: Some("shape".into()),
                array_values: vec![number("", 2), number("", 3)],
                ..DebugAnnotation::default()
            },
            DebugAnnotation {
                name: Some("where".into()),
                pointer_value: Some(255),
                ..DebugAnnotation::default()
            },
            DebugAnnotation {
                name: Some("ratio".into()),
                double_value: Some(f64::NAN),
                ..DebugAnnotation::default()
            },
        ],
        ..TrackEvent::default()
    };
    let instant = TrackEvent {
        debug_annotations: vec![number("bytes", 3)],
        ..TrackEvent::default()
    };
    let mut packets = tracks().to_vec();
    packets.extend([
        begin(1_000, "outer"),
        event(TrackEventKind::SliceBegin, 1_100, "inner", inner),
        event(TrackEventKind::Instant, 1_150, "moment", instant),
        end(1_200),
        end(1_900),
        begin(1_900, "next"),
        end(1_950),
    ]);
    let run = import(&packets);
    assert_eq!(
        run.rows("bricks", BRICKS),
        [
            "outer 0 0 900 -",
            "inner 0 100 100 4294967297",
            "next 0 900 50 -"
        ]
    );
    assert_eq!(
        run.rows("bricks", "kind category file line")[1],
        "function math a.cc 9"
    );
    assert_eq!(
        run.rows("attributes", "span name integer text"),
        [
            "4294967298 rows -4 -",
            "4294967298 shape - [2,3]",
            "4294967298 where - 0xff",
            "4294967298 ratio - NaN"
        ]
    );
    assert_eq!(
        run.rows("annotations", "name thread brick time_ns arguments"),
        ["moment 0 4294967298 150 {\"bytes\":3}"]
    );
    assert_eq!(
        run.rows("threads", "thread name os_id process start_ns"),
        ["0 main 8 7 0"]
    );
    assert_eq!(run.wall_ns, Some(950));
    assert_eq!(run.run.label.as_deref(), Some("decode"));
    assert!(run.notes.left_out.is_empty(), "{:?}", run.notes.left_out);
}

#[test]
fn texts_and_defaults_of_a_sequence_hold_until_it_is_cleared() {
    let named = |iid: u64, text: &str| InternedText {
        iid: Some(iid),
        text: Some(text.into()),
    };
    let short = |time: u64, kind: TrackEventKind| TracePacket {
        timestamp: Some(time),
        trusted_packet_sequence_id: Some(3),
        sequence_flags: Some(2),
        track_event: Some(TrackEvent {
            kind: Some(kind.into()),
            name_iid: (kind == TrackEventKind::SliceBegin).then_some(5),
            category_iids: vec![5],
            ..TrackEvent::default()
        }),
        ..TracePacket::default()
    };
    let first = TracePacket {
        sequence_flags: Some(1 | 2),
        trace_packet_defaults: Some(Defaults {
            track_event: Some(TrackEventDefaults {
                track_uuid: Some(THREAD),
                ..TrackEventDefaults::default()
            }),
            ..Defaults::default()
        }),
        interned_data: Some(InternedData {
            event_names: vec![named(5, "by number")],
            event_categories: vec![named(5, "kind")],
            ..InternedData::default()
        }),
        ..short(10, TrackEventKind::SliceBegin)
    };
    let lost = TracePacket {
        previous_packet_dropped: Some(1),
        ..short(30, TrackEventKind::SliceBegin)
    };
    let anew = TracePacket {
        sequence_flags: Some(1),
        ..begin(50, "anew")
    };
    let run = import(&[
        // What came before was overwritten.
        short(5, TrackEventKind::SliceBegin),
        first,
        short(20, TrackEventKind::SliceEnd),
        lost,
        short(40, TrackEventKind::SliceEnd),
        anew,
        end(60),
    ]);
    assert_eq!(
        run.rows("bricks", "name category thread start_ns dur_ns"),
        ["by number kind 0 0 10", "anew - 0 40 10"]
    );
    let torn = "event of a sequence whose start was lost";
    assert_eq!(run.notes.left_out[torn], 3);
    assert!(
        run.notes
            .warnings
            .iter()
            .any(|text| text.contains("packets were lost"))
    );
}

#[test]
fn times_of_all_clocks_are_brought_to_one() {
    let clock = |clock_id: u32, timestamp: u64| Clock {
        clock_id: Some(clock_id),
        timestamp: Some(timestamp),
        ..Clock::default()
    };
    let snapshot = TracePacket {
        trusted_packet_sequence_id: Some(1),
        clock_snapshot: Some(ClockSnapshot {
            clocks: vec![
                clock(6, 5_000),
                clock(3, 1_000),
                clock(1, 1_700_000_000_000_005_000),
                // Microseconds since the packet before.
                Clock {
                    is_incremental: Some(true),
                    unit_multiplier_ns: Some(1_000),
                    ..clock(64, 77)
                },
                // Units of ten nanoseconds since a moment of its own.
                Clock {
                    unit_multiplier_ns: Some(10),
                    ..clock(65, 300)
                },
            ],
            primary_trace_clock: None,
        }),
        ..TracePacket::default()
    };
    let by = |clock: u32, packet: TracePacket| TracePacket {
        timestamp_clock_id: Some(clock),
        ..packet
    };
    let other = TracePacket {
        trusted_packet_sequence_id: Some(2),
        ..by(64, begin(1, "of another sequence"))
    };
    let run = import(&[
        snapshot,
        begin(5_000, "boot time"),
        by(3, begin(1_400, "monotonic")),
        by(65, begin(360, "tens")),
        by(64, begin(1, "microseconds")),
        by(64, end(2)),
        end(8_200),
        end(8_300),
        end(8_400),
        other,
        by(99, begin(1, "unknown")),
    ]);
    assert_eq!(
        run.rows("bricks", "name start_ns dur_ns"),
        [
            "boot time 0 3400",
            "monotonic 400 2900",
            "tens 600 2600",
            "microseconds 1000 2000"
        ]
    );
    assert_eq!(run.run.clock.origin_realtime_ns, 1_700_000_000_000_005_000);
    let left = "event on a clock without a snapshot";
    assert_eq!(run.notes.left_out[left], 2);
}

#[test]
fn without_snapshots_times_stand_as_they_are() {
    let by = |packet: TracePacket| TracePacket {
        timestamp_clock_id: Some(3),
        ..packet
    };
    let run = import(&[by(begin(100, "a")), by(end(130)), begin(110, "other clock")]);
    assert_eq!(run.rows("bricks", "name start_ns dur_ns"), ["a 0 30"]);
    assert_eq!(run.run.clock.origin_realtime_ns, 0);
}

#[test]
fn counters_have_their_units_and_changes_are_added_up() {
    let counter = |uuid: u64, name: &str, counter: CounterDescriptor| {
        track(TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name.into()),
            counter: Some(counter),
            ..TrackDescriptor::default()
        })
    };
    let value = |uuid: u64, time: u64, value: i64| {
        let more = TrackEvent {
            track_uuid: Some(uuid),
            counter_value: Some(value),
            ..TrackEvent::default()
        };
        event(TrackEventKind::Counter, time, "", more)
    };
    let beside = TrackEvent {
        extra_counter_track_uuids: vec![1],
        extra_counter_values: vec![6],
        extra_double_counter_track_uuids: vec![2],
        extra_double_counter_values: vec![0.5],
        ..TrackEvent::default()
    };
    let changes = CounterDescriptor {
        is_incremental: Some(true),
        unit_name: Some("rows".into()),
        ..CounterDescriptor::default()
    };
    let memory = CounterDescriptor {
        unit: Some(3),
        unit_multiplier: Some(1_024),
        ..CounterDescriptor::default()
    };
    let run = import(&[
        counter(1, "memory", memory),
        counter(2, "done", changes),
        value(1, 10, 2),
        value(2, 11, 5),
        value(2, 12, -1),
        event(TrackEventKind::SliceBegin, 13, "slice", beside),
        end(14),
        event(TrackEventKind::Counter, 15, "", TrackEvent::default()),
    ]);
    assert_eq!(
        run.rows("counters", "name unit source time_ns value"),
        [
            "memory byte declared 0 2048",
            "done rows declared 1 5",
            "done rows declared 2 4",
            "memory byte declared 3 6144",
            "done rows declared 3 4.5"
        ]
    );
    assert_eq!(run.notes.left_out["counter without a value"], 1);
}

#[test]
fn flows_are_edges_from_one_slice_to_the_next() {
    let with = |kind: TrackEventKind, time: u64, name: &str, flows: &[u64], last: &[u64]| {
        let more = TrackEvent {
            flow_ids: flows.to_vec(),
            terminating_flow_ids: last.to_vec(),
            ..TrackEvent::default()
        };
        event(kind, time, name, more)
    };
    use TrackEventKind::{SliceBegin, SliceEnd};
    let other = |packet: TracePacket| {
        let mut packet = packet;
        packet.track_event.as_mut().unwrap().track_uuid = Some(30);
        packet
    };
    let run = import(&[
        with(SliceBegin, 10, "first", &[1], &[]),
        end(20),
        other(with(SliceBegin, 12, "spawned", &[], &[1])),
        other(end(40)),
        with(SliceBegin, 30, "not linked", &[1, 2], &[]),
        with(SliceEnd, 35, "", &[], &[]),
        with(SliceBegin, 36, "waits", &[], &[]),
        with(SliceEnd, 50, "", &[2], &[]),
        with(SliceBegin, 60, "after", &[2], &[]),
        end(70),
    ]);
    let names = run.rows("bricks", "id name");
    let name = |id: &str| {
        let row = names.iter().find(|row| row.starts_with(&format!("{id} ")));
        row.unwrap()[id.len() + 1..].to_owned()
    };
    let edges: Vec<String> = run
        .rows("edges", "from to kind")
        .iter()
        .map(|row| {
            let cells: Vec<&str> = row.split(' ').collect();
            format!("{} → {}: {}", name(cells[0]), name(cells[1]), cells[2])
        })
        .collect();
    assert_eq!(
        edges,
        [
            "first → spawned: spawns",
            "not linked → waits: joins",
            "waits → after: depends_on"
        ]
    );
}

#[test]
fn events_of_old_and_slices_that_do_not_end_are_told() {
    let legacy = |us: i64, phase: u8, duration_us: Option<i64>, name: &str| TracePacket {
        trusted_packet_sequence_id: Some(4),
        track_event: Some(TrackEvent {
            timestamp_delta_us: Some(us),
            name: Some(name.into()),
            legacy_event: Some(LegacyEvent {
                phase: Some(phase.into()),
                duration_us,
            }),
            ..TrackEvent::default()
        }),
        ..TracePacket::default()
    };
    let thread = TracePacket {
        trusted_packet_sequence_id: Some(4),
        thread_descriptor: Some(ThreadDescriptor {
            pid: Some(1),
            tid: Some(2),
            reference_timestamp_us: Some(100),
            ..ThreadDescriptor::default()
        }),
        ..TracePacket::default()
    };
    let run = import(&[
        thread,
        legacy(5, b'X', Some(40), "inner"),
        legacy(-5, b'X', Some(50), "outer"),
        legacy(10, b'X', Some(60), "overlaps"),
        legacy(1, b'B', None, "open"),
        legacy(1, b'X', None, "no duration"),
        legacy(1, b'N', None, "an object"),
        legacy(1, b'E', None, ""),
        legacy(1, b'E', None, ""),
        legacy(1, b'B', None, "never ends"),
    ]);
    assert_eq!(
        run.rows("bricks", BRICKS),
        [
            "outer 0 0 50000 -",
            "inner 0 5000 40000 4294967297",
            "overlaps 1 10000 60000 -",
            "open 0 11000 3000 4294967298"
        ]
    );
    assert_eq!(
        run.rows("threads", "name os_id process"),
        ["thread 2 2 1", "thread 2, lane 2 2 1"]
    );
    let reasons: Vec<(&str, u64)> = run
        .notes
        .left_out
        .iter()
        .map(|(reason, count)| (reason.as_str(), *count))
        .collect();
    assert_eq!(
        reasons,
        [
            ("end without a beginning", 1),
            (
                "event of another kind (asynchronous, object, metadata of Chrome)",
                1
            ),
            ("slice that does not end in the trace", 1),
            ("slice without a duration", 1),
        ]
    );
}

fn packed(packets: &[TracePacket]) -> TracePacket {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&bytes(packets)).unwrap();
    TracePacket {
        compressed_packets: Some(Bytes::from(encoder.finish().unwrap())),
        ..TracePacket::default()
    }
}

#[test]
fn packed_packets_are_read_as_others_and_other_sources_are_counted() {
    let ftrace = TracePacket {
        ftrace_events: Some(Bytes::from_static(b"\x08\x01")),
        ..TracePacket::default()
    };
    let run = import(&[
        packed(&[begin(10, "a"), end(20), ftrace]),
        begin(30, "b"),
        end(31),
    ]);
    assert_eq!(run.rows("bricks", "name dur_ns"), ["a 10", "b 1"]);
    assert_eq!(run.notes.left_out["packet of ftrace"], 1);
}

#[test]
fn cut_and_damaged_files_are_refused_with_the_place() {
    let trace = bytes(&[begin(10, "a"), end(20), begin(30, "b"), end(40)]);
    let second = bytes(&[begin(10, "a")]).len();
    for cut in second + 1..bytes(&[begin(10, "a"), end(20)]).len() {
        let error = import_bytes(&trace[..cut]).err().unwrap().to_string();
        assert!(error.contains(&format!("byte {second}")), "{error}");
        assert!(error.contains("--partial"), "{error}");
    }
    let mut wrong = trace.clone();
    wrong[second] = 0x12;
    assert!(import_bytes(&wrong).is_err());
    let run = of_bytes(&IMPORTER, &trace[..trace.len() - 1], &partial()).unwrap();
    assert_eq!(run.rows("bricks", "name dur_ns"), ["a 10"]);
    assert!(
        run.run.problems[0].contains("the 3 packets before"),
        "{:?}",
        run.run.problems
    );
    // A bomb.
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..257 {
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let bomb = TracePacket {
        compressed_packets: Some(Bytes::from(encoder.finish().unwrap())),
        ..TracePacket::default()
    };
    let error = import_bytes(&bytes(&[bomb])).err().unwrap().to_string();
    assert!(error.contains("256 MiB"), "{error}");
}

#[test]
fn only_packets_are_recognised() {
    let recognises = |bytes: &[u8]| recognises(&IMPORTER, bytes);
    assert!(recognises(&bytes(&[begin(10, "a"), end(20)])));
    assert!(!recognises(b"\n{\"a\": 1}\n\n"));
    assert!(!recognises(b"\n\n\n\n\n\n\n\n\n\n\n\n\n\n"));
    assert!(!recognises(b"\n\x00\n\x00"));
    assert!(!recognises(b""));
}
