//! Records as NVIDIA's headers lay them out, byte by byte. The offsets here are written out a second time,
//! from `offsetof` over the headers of CUPTI 13.0.85; those of 12.9.79 agree as far as its records go.

use trueno_cupti::kind;
use trueno_cupti::record::{Record, Unreadable, decode};
use trueno_cupti::walk::{Sizes, Stop, records};

/// A record with some fields set and all other bytes beyond the kind equal to `filler`.
fn record(number: u32, bytes: usize, filler: u8, fields: &[(usize, u64, usize)]) -> Vec<u8> {
    let mut record = vec![filler; bytes];
    record[..4].copy_from_slice(&number.to_le_bytes());
    for (offset, value, width) in fields {
        record[*offset..offset + width].copy_from_slice(&value.to_le_bytes()[..*width]);
    }
    record
}

#[test]
fn a_kernel_is_read_field_by_field() {
    let bytes = record(
        10,
        216,
        0xAA,
        &[
            (6, 32, 2),
            (16, 1_000, 8),
            (24, 2_000, 8),
            (40, 1, 4),
            (44, 2, 4),
            (48, 3, 4),
            (52, 4, 4),
            (56, 5, 4),
            (60, 6, 4),
            (64, 7, 4),
            (68, 8, 4),
            (72, 9, 4),
            (76, 10, 4),
            (80, 11, 4),
            (92, 12, 4),
            (104, 13, 8),
            (120, 14, 8),
            (128, 15, 8),
            (144, 16, 8),
            (156, 17, 4),
        ],
    );
    let Ok(Record::Kernel(kernel)) = decode(&bytes) else {
        panic!("no kernel")
    };
    assert_eq!(
        (kernel.registers, kernel.start, kernel.end),
        (32, 1_000, 2_000)
    );
    assert_eq!((kernel.device, kernel.context, kernel.stream), (1, 2, 3));
    assert_eq!((kernel.grid_x, kernel.grid_y, kernel.grid_z), (4, 5, 6));
    assert_eq!((kernel.block_x, kernel.block_y, kernel.block_z), (7, 8, 9));
    assert_eq!((kernel.smem_static, kernel.smem_dynamic), (10, 11));
    assert_eq!((kernel.correlation, kernel.name), (12, 13));
    assert_eq!((kernel.queued, kernel.submitted), (14, 15));
    assert_eq!((kernel.graph_node, kernel.graph), (16, 17));
    // A later library's longer record, and that of CUPTI 12.0, are read alike.
    let longer = [&bytes[..], &[0x55; 40]].concat();
    assert_eq!(decode(&longer), decode(&bytes));
    assert_eq!(decode(&bytes[..208]), decode(&bytes));
    let short = Unreadable::TooShort {
        kind: 10,
        bytes: 175,
        least: 176,
    };
    assert_eq!(decode(&bytes[..175]), Err(short));
}

#[test]
fn other_records_are_read_at_their_offsets() {
    let copy = record(
        1,
        96,
        0,
        &[
            (4, 2, 1),
            (5, 3, 1),
            (6, 1, 1),
            (7, 1, 1),
            (8, 64, 8),
            (16, 5, 8),
            (24, 9, 8),
            (32, 1, 4),
            (36, 2, 4),
            (40, 7, 4),
            (44, 77, 4),
        ],
    );
    let Ok(Record::Memcpy(copy)) = decode(&copy) else {
        panic!("no copy")
    };
    assert_eq!(
        (copy.copy_kind, copy.src_kind, copy.dst_kind, copy.flags),
        (2, 3, 1, 1)
    );
    assert_eq!(
        (copy.moved.bytes, copy.moved.start, copy.moved.end),
        (64, 5, 9)
    );
    assert_eq!(
        (copy.moved.device, copy.moved.context, copy.moved.stream),
        (1, 2, 7)
    );
    assert_eq!(copy.correlation, 77);
    let peer = record(
        22,
        96,
        0,
        &[(8, 64, 8), (16, 5, 8), (24, 9, 8), (60, 78, 4)],
    );
    let Ok(Record::MemcpyPeer(peer)) = decode(&peer) else {
        panic!("no peer copy")
    };
    assert_eq!((peer.moved.bytes, peer.correlation), (64, 78));
    let fill = record(2, 88, 0, &[(8, 64, 8), (44, 79, 4), (48, 1, 2), (50, 3, 2)]);
    let Ok(Record::Memset(fill)) = decode(&fill) else {
        panic!("no fill")
    };
    assert_eq!(
        (
            fill.moved.bytes,
            fill.correlation,
            fill.flags,
            fill.memory_kind
        ),
        (64, 79, 1, 3)
    );
    for number in [4, 5, 48] {
        let call = record(
            number,
            40,
            0,
            &[
                (4, 211, 4),
                (8, 5, 8),
                (16, 9, 8),
                (24, 100, 4),
                (28, 101, 4),
                (32, 80, 4),
                (36, 1, 4),
            ],
        );
        let (Ok(Record::Driver(call))
        | Ok(Record::Runtime(call))
        | Ok(Record::InternalLaunch(call))) = decode(&call)
        else {
            panic!("no call")
        };
        assert_eq!((call.callback, call.process, call.thread), (211, 100, 101));
        assert_eq!(
            (call.start, call.end, call.correlation, call.status),
            (5, 9, 80, 1)
        );
    }
    let device = record(
        8,
        184,
        0,
        &[
            (44, 132, 4),
            (104, 9, 4),
            (112, 3, 4),
            (120, 0x0807_0605_0403_0201, 8),
            (136, 42, 8),
            (145, 1, 1),
        ],
    );
    let Ok(Record::Device(device)) = decode(&device) else {
        panic!("no device")
    };
    assert_eq!(
        (device.device, device.name, device.multiprocessors),
        (3, 42, 132)
    );
    assert_eq!(
        (device.uuid[..3].to_vec(), device.is_mig),
        (vec![1, 2, 3], Some(1))
    );
    let context = record(9, 32, 0, &[(4, 1, 4), (8, 3, 4), (14, 7, 2)]);
    let Ok(Record::Context(context)) = decode(&context) else {
        panic!("no context")
    };
    assert_eq!(
        (context.context, context.device, context.null_stream),
        (1, 3, 7)
    );
    let memory = record(
        49,
        128,
        0,
        &[
            (4, 2, 4),
            (8, 3, 4),
            (12, 81, 4),
            (16, 0xF00, 8),
            (24, 4096, 8),
            (32, 11, 8),
            (52, 1, 4),
            (64, 5, 8),
        ],
    );
    let Ok(Record::Memory(memory)) = decode(&memory) else {
        panic!("no memory")
    };
    assert_eq!(
        (memory.operation, memory.bytes, memory.time, memory.name),
        (2, 4096, 11, 5)
    );
    assert_eq!(memory.pool_kind, Some(0));
    let from_pool = record(
        49,
        128,
        0,
        &[
            (80, 1, 4),
            (88, 0xA0, 8),
            (96, 3, 8),
            (104, 1000, 8),
            (112, 40, 8),
        ],
    );
    let Ok(Record::Memory(memory)) = decode(&from_pool) else {
        panic!("no memory")
    };
    assert_eq!(
        (
            memory.pool_kind,
            memory.pool,
            memory.pool_bytes,
            memory.pool_used
        ),
        (Some(1), Some(0xA0), Some(1000), Some(40))
    );
    let pool = record(
        50,
        80,
        0,
        &[
            (4, 3, 4),
            (8, 1, 4),
            (12, 82, 4),
            (16, 100, 4),
            (20, 2, 4),
            (24, 5, 8),
            (32, 0xA0, 8),
            (40, 77, 8),
            (48, 6, 8),
            (56, 12, 8),
            (64, 40, 8),
        ],
    );
    let Ok(Record::MemoryPool(new)) = decode(&pool) else {
        panic!("no pool")
    };
    assert_eq!(
        (new.operation, new.pool_kind, new.correlation, new.device),
        (3, 1, 82, 2)
    );
    assert_eq!(
        (new.pool, new.operation_bytes, new.time, new.pool_used),
        (0xA0, 77, 12, Some(40))
    );
    let Ok(Record::MemoryPool(old)) = decode(&pool[..64]) else {
        panic!("no pool")
    };
    assert_eq!((old.time, old.pool_used), (12, None));
    let given = record(39, 24, 0, &[(4, 3, 4), (8, 42, 8), (16, 83, 4)]);
    let Ok(Record::ExternalCorrelation(given)) = decode(&given) else {
        panic!("no id of another library")
    };
    assert_eq!((given.what, given.external, given.correlation), (3, 42, 83));
    let overhead = record(
        17,
        56,
        0,
        &[
            (4, 3 << 16, 4),
            (8, 2, 4),
            (12, 100, 4),
            (16, 101, 4),
            (24, 5, 8),
            (32, 9, 8),
        ],
    );
    let Ok(Record::Overhead(overhead)) = decode(&overhead) else {
        panic!("no overhead")
    };
    assert_eq!(
        (overhead.what, overhead.thread, overhead.start, overhead.end),
        (3 << 16, 101, 5, 9)
    );
}

#[test]
fn fields_that_came_later_are_none_in_earlier_records() {
    let wait = record(
        38,
        56,
        0,
        &[(4, 2, 4), (24, 9, 4), (32, 7, 4), (36, 3, 4), (40, 12, 8)],
    );
    let Ok(Record::Synchronization(new)) = decode(&wait) else {
        panic!("no wait")
    };
    assert_eq!(
        (
            new.what,
            new.correlation,
            new.stream,
            new.event,
            new.event_sync
        ),
        (2, 9, 7, 3, Some(12))
    );
    let Ok(Record::Synchronization(old)) = decode(&wait[..40]) else {
        panic!("no wait")
    };
    assert_eq!(old.event_sync, None);
    let event = record(
        36,
        56,
        0,
        &[(4, 9, 4), (16, 3, 4), (24, 1, 4), (40, 99, 8), (48, 12, 8)],
    );
    let Ok(Record::CudaEvent(new)) = decode(&event) else {
        panic!("no event")
    };
    assert_eq!(
        (new.device, new.time, new.event_sync),
        (Some(1), Some(99), Some(12))
    );
    let Ok(Record::CudaEvent(old)) = decode(&event[..24]) else {
        panic!("no event")
    };
    assert_eq!(
        (old.device, old.time, old.event_sync, old.event),
        (None, None, None, 3)
    );
}

#[test]
fn a_buffer_is_walked_to_its_end_or_to_what_is_not_known() {
    let sizes = Sizes::default();
    let call = record(5, 40, 0, &[]);
    let kernel = record(10, 216, 0, &[]);
    let all = [&call[..], &kernel, &call].concat();
    let found: Vec<usize> = records(&all, &sizes).map(|r| r.unwrap().len()).collect();
    assert_eq!(found, [40, 216, 40]);
    let cut: Vec<_> = records(&all[..290], &sizes).collect();
    assert_eq!(
        cut[2],
        Err(Stop::Cut {
            kind: 5,
            offset: 256
        })
    );
    let strange = [&call[..], &record(63, 16, 0, &[]), &call].concat();
    let found: Vec<_> = records(&strange, &sizes).collect();
    assert_eq!(found.len(), 2, "nobody knows where the next one begins");
    assert_eq!(
        found[1],
        Err(Stop::UnknownKind {
            kind: 63,
            offset: 40
        })
    );
    // A library with longer records is believed.
    let longer: Sizes = [(5, 48)].into_iter().collect();
    assert_eq!(records(&[5, 0, 0, 0].repeat(24), &longer).count(), 2);
    assert_eq!(records(&[], &sizes).count(), 0);
}

#[test]
fn every_kind_can_be_decoded_at_its_least_length_and_not_below() {
    for kind in kind::KINDS {
        let whole = record(kind.number, kind.bytes, 0, &[]);
        assert!(kind.least_bytes <= kind.bytes);
        assert!(decode(&whole).is_ok(), "{}", kind.name);
        assert!(decode(&whole[..kind.least_bytes]).is_ok(), "{}", kind.name);
        let short = decode(&whole[..kind.least_bytes - 1]);
        assert!(
            matches!(short, Err(Unreadable::TooShort { least, .. }) if least == kind.least_bytes),
            "{}",
            kind.name
        );
    }
    assert_eq!(decode(&[1, 0]), Err(Unreadable::NoKind));
    assert_eq!(decode(&[63, 0, 0, 0]), Err(Unreadable::UnknownKind(63)));
}
