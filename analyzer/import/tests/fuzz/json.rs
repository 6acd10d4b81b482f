//! Changes of traces: of events, of tokens, of bytes.

use std::io::Write;

use crate::corpus::Trace;
use crate::random::{Random, mutate};

const MAX_EVENTS: usize = 300;

const TOKENS: &[&str] = &[
    "0",
    "-1",
    "1",
    "-0",
    "1e308",
    "-1e-400",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "4294967295",
    "4611686018427387.903",
    "-4611686018427387.904",
    "170141183460469231731687303715884105.7279",
    "1e999999999999",
    "NaN",
    "-Infinity",
    "null",
    "true",
    "{}",
    "[]",
    "[[[[]]]]",
    "{\"a\":{\"b\":[1,2]}}",
    "\"\"",
    "\"0x10\"",
    "\"\\ud83d\"",
    "\"X\"",
    "\"B\"",
    "\"E\"",
    "\"C\"",
    "\"s\"",
    "\"f\"",
    "\"b\"",
    "\"e\"",
    "\"M\"",
    "\"i\"",
    "\"cpu_op\"",
    "\"kernel\"",
    "\"cuda_sync\"",
    "\"cuda_runtime\"",
    "\"gpu_memcpy\"",
    "\"Stream Wait Event\"",
    "\"Event Sync\"",
    "\"correlation\"",
    "\"External id\"",
    "\"stream\"",
    "\"dur\"",
    "\"ts\"",
    "\"trueno\"",
    "\"ProfilerStep#18446744073709551615\"",
    "\"otherData\"",
];

pub fn mutated(from: &Trace, random: &mut Random) -> Vec<u8> {
    let count = from.events.len().min(random.count(MAX_EVENTS));
    let first = random.below(from.events.len() - count + 1);
    let mut events: Vec<Vec<u8>> = from.events[first..first + count].to_vec();
    for _ in 0..random.below(6) {
        if events.is_empty() {
            break;
        }
        let (one, other) = (random.below(events.len()), random.below(events.len()));
        match random.below(4) {
            0 => events.swap(one, other),
            1 => events.insert(one, events[other].clone()),
            2 => drop(events.remove(one)),
            // As if another file had been written over this one.
            _ => events[one] = random.choice(&from.events).clone(),
        }
    }
    for _ in 0..random.below(12) {
        if !events.is_empty() {
            let at = random.below(events.len());
            swap_tokens(&mut events[at], random);
        }
    }
    let mut bytes = from.head.clone();
    bytes.extend(events.join(&b','));
    bytes.extend(&from.tail);
    match random.below(4) {
        0 => mutate(&mut bytes, random),
        1 => {
            let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            to.write_all(&bytes).unwrap();
            bytes = to.finish().unwrap();
            if random.one_in(2) {
                mutate(&mut bytes, random);
            }
        }
        _ => {}
    }
    bytes
}

fn swap_tokens(event: &mut Vec<u8>, random: &mut Random) {
    let tokens = tokens(event);
    if tokens.is_empty() {
        return;
    }
    let to = random.choice(&tokens).clone();
    let with = if random.one_in(3) {
        event[random.choice(&tokens).clone()].to_vec()
    } else {
        random.choice(TOKENS).as_bytes().to_vec()
    };
    event.splice(to, with);
}

fn tokens(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let is_bare = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'+');
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = match rest[0] {
            b'"' => rest[1..]
                .iter()
                .position(|b| *b == b'"')
                .map_or(1, |end| end + 2),
            byte if is_bare(&byte) => {
                let end = rest.iter().position(|b| !is_bare(b));
                end.unwrap_or(rest.len())
            }
            _ => {
                at += 1;
                continue;
            }
        };
        out.push(at..at + length);
        at += length;
    }
    out
}
