use std::collections::BTreeSet;

use proptest::prelude::*;
use trueno_format::record::row_id;

use super::*;

const SLOT_NS: i64 = 10;
const SLOTS: usize = 5;

fn event(kind: EventKind, (thread, id): (u32, u64), (start_ns, end_ns): (i64, i64)) -> Event {
    Event {
        kind,
        thread,
        id,
        parent: None,
        name: 0,
        category: 0,
        backend: 0,
        start_ns,
        end_ns,
        number: 0,
        device: None,
        flops: None,
        bytes: None,
        value: 0.0,
        is_detached: false,
    }
}

/// Threads with nested rows: ended rows in order of their ends, and open rows.
#[derive(Clone, Debug)]
struct Recorded {
    ended: Vec<Event>,
    open: BTreeSet<u64>,
    now_ns: i64,
}

/// Rows are opened and closed at random on two threads.
fn recorded() -> impl Strategy<Value = Recorded> {
    let kinds = prop_oneof![
        1 => Just(EventKind::Iteration),
        1 => Just(EventKind::Layer),
        4 => Just(EventKind::Brick),
        1 => Just(EventKind::Function),
        2 => Just(EventKind::Kernel),
        1 => Just(EventKind::Wait),
    ];
    let step = (0u32..2, 0i64..9, any::<bool>(), kinds, 1u32..4);
    prop::collection::vec(step, 1..80).prop_map(|steps| {
        let mut recorded = Recorded {
            ended: Vec::new(),
            open: BTreeSet::new(),
            now_ns: 0,
        };
        let mut stacks: [Vec<Event>; 2] = Default::default();
        for (nth, (thread, wait_ns, opens, kind, name)) in steps.into_iter().enumerate() {
            recorded.now_ns += wait_ns;
            let stack = &mut stacks[thread as usize];
            let is_in_kernel = stack
                .last()
                .is_some_and(|row| row.kind == EventKind::Kernel);
            if opens && !is_in_kernel {
                let begun = (recorded.now_ns, recorded.now_ns);
                let parent = stack.last().map(|row| row.id);
                let row = event(kind, (thread, row_id(thread, nth as u32 + 1)), begun);
                stack.push(Event {
                    parent,
                    name,
                    ..row
                });
            } else if let Some(row) = stack.pop() {
                recorded.ended.push(Event {
                    end_ns: recorded.now_ns,
                    ..row
                });
            }
        }
        recorded.open = stacks.into_iter().flatten().map(|row| row.id).collect();
        recorded
    })
}

/// The innermost row at a nanosecond of a thread: slow but simple.
fn innermost<'a>(
    rows: &'a [Event],
    open: &BTreeSet<u64>,
    thread: u32,
    at_ns: i64,
) -> Option<&'a Event> {
    let is_over =
        |row: &&Event| row.thread == thread && row.start_ns <= at_ns && at_ns < row.end_ns;
    let of_kernel = |row: &Event| {
        let parent = row.parent?;
        if open.contains(&parent) {
            return Some(None);
        }
        let parent = rows.iter().find(|other| other.id == parent)?;
        let stands_alone = matches!(
            parent.kind,
            EventKind::Iteration | EventKind::Layer | EventKind::Wait
        );
        (!stands_alone).then_some(Some(parent))
    };
    // Of two rows one lies in the other, and the inner one has ended first.
    let row = rows.iter().find(is_over)?;
    if row.kind == EventKind::Kernel {
        of_kernel(row).unwrap_or(Some(row))
    } else {
        Some(row)
    }
}

fn label(row: &Event) -> Label {
    Label {
        kind: row.kind,
        name: row.name,
        category: row.category,
    }
}

fn oracle(recorded: &Recorded, from_ns: i64, to_ns: i64) -> BTreeMap<Label, u64> {
    let mut times: BTreeMap<Label, u64> = BTreeMap::new();
    for thread in 0..2 {
        for at_ns in from_ns..to_ns {
            if let Some(row) = innermost(&recorded.ended, &recorded.open, thread, at_ns) {
                *times.entry(label(row)).or_default() += 1;
            }
        }
    }
    times
}

proptest! {
    #[test]
    fn a_window_adds_up_as_a_look_at_every_nanosecond_does(
        recorded in recorded(),
        looks in prop::collection::vec(any::<bool>(), 80),
    ) {
        let mut window = Window::new(SLOT_NS, SLOTS);
        for (event, is_late) in recorded.ended.iter().zip(looks) {
            if is_late {
                window.advance(event.end_ns);
            }
            window.add(event);
        }
        window.advance(recorded.now_ns);
        let sums = window.sums(0);
        prop_assert_eq!(sums.to_ns, recorded.now_ns / SLOT_NS * SLOT_NS);
        prop_assert_eq!(sums.from_ns, (sums.to_ns - SLOT_NS * SLOTS as i64).max(0));
        let times = sums.rows.iter().filter(|(_, sum)| sum.time_ns > 0);
        let times: BTreeMap<Label, u64> = times.map(|(label, sum)| (*label, sum.time_ns)).collect();
        prop_assert_eq!(times, oracle(&recorded, sums.from_ns, sums.to_ns));

        let is_in = |row: &&Event| (sums.from_ns..sums.to_ns).contains(&row.end_ns);
        let ended = |kind| recorded.ended.iter().filter(is_in).filter(|row| row.kind == kind).count() as u64;
        let counted = |kind| sums.rows.iter().filter(|(label, _)| label.kind == kind).map(|(_, sum)| sum.ended).sum::<u64>();
        for kind in [EventKind::Iteration, EventKind::Layer, EventKind::Brick, EventKind::Wait] {
            prop_assert_eq!(counted(kind), ended(kind), "{:?}", kind);
        }
        prop_assert_eq!(sums.iterations.ended, ended(EventKind::Iteration));
        prop_assert_eq!(sums.kernels.values().map(|sum| sum.calls).sum::<u64>(), ended(EventKind::Kernel));
        let has_ended_in = |id: &&u64| recorded.ended.iter().any(|row| row.parent == Some(**id) && row.end_ns >= sums.from_ns);
        prop_assert_eq!(sums.open_rows, recorded.open.iter().filter(has_ended_in).count() as u64);
    }
}

#[test]
fn tokens_count_with_the_iteration_that_declares_them() {
    let mut window = Window::new(SLOT_NS, SLOTS);
    window.counters = CounterNames {
        tokens: Some(7),
        samples: Some(8),
    };
    let declare = |window: &mut Window, seq, name, value, at_ns| {
        let id = row_id(0, seq);
        let counter = event(EventKind::Counter, (0, 0), (at_ns, at_ns));
        window.add(&Event {
            parent: Some(id),
            name,
            value,
            ..counter
        });
    };
    let iteration = |seq, start_ns, end_ns| {
        event(
            EventKind::Iteration,
            (0, row_id(0, seq)),
            (start_ns, end_ns),
        )
    };
    window.advance(60);
    declare(&mut window, 1, 7, 32.0, 15);
    declare(&mut window, 1, 9, 1e9, 15);
    window.add(&iteration(1, 11, 19));
    // Two values of one kind: neither is used.
    declare(&mut window, 2, 7, 32.0, 21);
    declare(&mut window, 2, 7, 64.0, 22);
    window.add(&iteration(2, 20, 29));
    window.add(&iteration(3, 30, 35));
    let found = window.sums(0).iterations;
    assert_eq!((found.ended, found.time_ns, found.longest_ns), (3, 22, 9));
    assert_eq!((found.tokens, found.samples), (Some(32.0), None));
}

#[test]
fn kernels_are_added_up_by_what_they_state() {
    let mut window = Window::new(SLOT_NS, SLOTS);
    window.advance(60);
    let kernel = |flops, bytes| Event {
        flops,
        bytes,
        ..event(EventKind::Kernel, (0, 1), (20, 25))
    };
    for (flops, bytes) in [
        (Some(10), Some(5)),
        (Some(1), None),
        (None, Some(5)),
        (None, None),
    ] {
        window.add(&kernel(flops, bytes));
    }
    let sums = window.sums(0);
    let [sum] = sums.kernels.values().collect::<Vec<_>>()[..] else {
        panic!("{:?}", sums.kernels);
    };
    assert_eq!((sum.calls, sum.time_ns), (4, 20));
    assert_eq!(
        (sum.stated_calls, sum.stated_ns, sum.flops, sum.bytes),
        (1, 5, 10, 5)
    );
    assert_eq!((sum.without_flops, sum.without_bytes), (2, 1));
}

#[test]
fn memory_is_that_of_the_window_whatever_the_run_is_long() {
    let mut window = Window::new(SLOT_NS, SLOTS);
    for nth in 0..100_000_i64 {
        let at_ns = nth * 3;
        // A parent that never ends, of every row another one.
        let row = event(EventKind::Brick, (0, nth as u64), (at_ns, at_ns + 2));
        window.add(&Event {
            parent: Some(row_id(0, 1 << 30 | nth as u32)),
            name: nth as u32,
            ..row
        });
        window.advance(at_ns + 2);
    }
    assert!(
        window.slots.len() <= SLOTS + 1,
        "{} slots",
        window.slots.len()
    );
    assert!(
        window.open.len() <= SLOTS * SLOT_NS as usize,
        "{} open rows",
        window.open.len()
    );
    let names = window
        .slots
        .iter()
        .map(|slot| slot.rows.len())
        .sum::<usize>();
    assert!(names <= 2 * SLOTS * SLOT_NS as usize, "{names} names");
}

#[test]
fn damaged_times_are_left_out_and_a_late_beginning_is_no_part_of_the_window() {
    let mut window = Window::new(SLOT_NS, SLOTS);
    window.advance(60);
    window.add(&event(EventKind::Brick, (0, 1), (0, i64::MAX)));
    assert!(window.sums(0).rows.is_empty());
    window.add(&event(EventKind::Brick, (0, 2), (-50, 60)));
    let sums = window.sums(35);
    assert_eq!((sums.from_ns, sums.to_ns), (40, 60));
    assert_eq!(sums.covered_ns(), 20);
    assert_eq!(window.sums(i64::MAX).length_ns(), 0);
}

#[test]
fn tasks_go_on_beside_the_row_of_another_thread_and_detached_rows_leave_none_open() {
    let mut window = Window::new(SLOT_NS, SLOTS);
    window.advance(60);
    let brick = event(EventKind::Brick, (0, row_id(0, 1)), (20, 40));
    let task = Event {
        parent: Some(brick.id),
        ..event(EventKind::Task, (1, row_id(1, 1)), (20, 40))
    };
    // The parent's thread is read first, and the task is seen when its parent has ended.
    window.add(&brick);
    window.add(&task);
    let sums = window.sums(0);
    assert_eq!((sums.covered_ns(), sums.open_rows), (40, 0));
    let detached = Event {
        is_detached: true,
        parent: Some(row_id(0, 9)),
        ..event(EventKind::Brick, (0, row_id(0, 2)), (40, 50))
    };
    window.add(&detached);
    assert_eq!(window.sums(0).open_rows, 0);
    window.add(&Event {
        is_detached: false,
        ..detached
    });
    assert_eq!(window.sums(0).open_rows, 1);
}
