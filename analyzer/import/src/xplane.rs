//! Profiles of JAX, TensorFlow and other programs of XLA: `*.xplane.pb`, which XProf reads.
//!
//! | XPlane | row |
//! | --- | --- |
//! | event on a thread of the host | bricks, kind function, those of Python's tracer on a lane beside; with `step_num` (`StepTraceAnnotation`) kind iteration |
//! | event with `hlo_op` there, in which no other such lies | kernels that the host ran; what else lies in it: annotations |
//! | event of a device's stream or operation line, in which no other lies | kernels; of `memcpy_details` and `memset_details` copies |
//! | event of a device in which others lie; events of lines that repeat others (steps, modules, name scopes) | annotations, kind device |
//! | event of the driver's calls (`/host:CUPTI`, `/host:ROCTRACER`; on the host, of `correlation_id`) | calls |
//! | event without a length on the host | annotations, kind instant |
//! | event of a line `_counters_` | counters |
//! | producer and consumer (`_pt` and `_p`, `_ct` and `_c`) on two threads, of marks the row around and the next one | edges: `depends_on` from what had ended, else `spawns` |
//! | stats of events | attributes; of kernels also those of the event's kind |
//! | stats of planes | `values` in run.json |
//!
//! The starting and stopping of the profiler, and what its thread does within it, is left out.
//!
//! Times are measured by the profiler; picoseconds are cut to nanoseconds. What XLA says of an operation's work (`flops`,
//! `bytes_accessed`) is its cost model's word: declared. The programs themselves (`Hlo Proto`) are left out.
//!
//! The file, unpacked, and its messages are held in memory until the end.

mod details;
mod device;
mod flows;
mod host;
mod merged_calls;
mod messages;
mod plane;
mod rows;
mod stats;

use std::io::Read;

use prost::Message;

use crate::Error;
use crate::importer::{Head, Import, Importer};
use messages::{XPlane, XSpace};

/// Tags of a plane in a profile and of the plane's name: fields 1 and 2, length-delimited.
const PLANE: u8 = 0x0a;
const NAME: u8 = 0x12;
/// Tag of the plane's id, which may precede the name.
const ID: u8 = 0x08;

pub const IMPORTER: Importer = Importer {
    name: "xplane",
    description: "Profiles of JAX, TensorFlow and XLA (*.xplane.pb)",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    name_of_first_plane(head.bytes()).is_some_and(|name| {
        let is_known = name.starts_with(b"/") || name == b"Task Environment";
        is_known && name.iter().all(|byte| matches!(byte, b' '..=b'~'))
    })
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let mut bytes = Vec::new();
    let mut source = import.open()?;
    if let Err(error) = source.read_to_end(&mut bytes) {
        return Err(source.refusal(format!("byte {}, unpacked", bytes.len()), error));
    }
    source.end(import.notes);
    let (space, damage) = space(&bytes);
    drop(bytes);
    if let Some((at, problem)) = damage {
        let error = import.damaged(
            format!("byte {at}"),
            format!(
                "expected a plane of a profile, found {problem} (hint: --partial reads the planes before)"
            ),
        );
        let planes = space.planes.len();
        if planes == 0 || !import.options.partial {
            return Err(error);
        }
        import.problem(format!("{error}: the {planes} planes before were read"));
    }
    rows::write(&space, import)
}

fn name_of_first_plane(bytes: &[u8]) -> Option<&[u8]> {
    let mut plane = bytes.strip_prefix(&[PLANE])?;
    let length = prost::decode_length_delimiter(&mut plane).ok()?;
    // As far as the head has it.
    plane = &plane[..length.min(plane.len())];
    if let Some(mut rest) = plane.strip_prefix(&[ID]) {
        prost::decode_length_delimiter(&mut rest).ok()?;
        plane = rest;
    }
    let mut name = plane.strip_prefix(&[NAME])?;
    let length = prost::decode_length_delimiter(&mut name).ok()?;
    name.get(..length)
}

/// Decodes message by message, so that what precedes a damage is kept. Returns the damage as its byte offset and a
/// description.
fn space(bytes: &[u8]) -> (XSpace, Option<(usize, String)>) {
    let mut space = XSpace::default();
    let mut rest = bytes;
    while let Some((tag, behind)) = rest.split_first() {
        let at = bytes.len() - rest.len();
        let mut behind = behind;
        let length = match prost::decode_length_delimiter(&mut behind) {
            Ok(length) if tag & 7 == 2 => length,
            _ => {
                return (
                    space,
                    Some((at, format!("a field that begins with {tag:#x}"))),
                );
            }
        };
        let Some((message, after)) = behind.split_at_checked(length) else {
            let missing = length - behind.len();
            return (
                space,
                Some((at, format!("the end of the file, {missing} bytes early"))),
            );
        };
        match tag {
            &PLANE => match XPlane::decode(message) {
                Ok(plane) => space.planes.push(plane),
                Err(error) => return (space, Some((at, error.to_string()))),
            },
            0x12 => space.errors.push(message.to_vec()),
            0x1a => space.warnings.push(message.to_vec()),
            0x22 => space.hostnames.push(message.to_vec()),
            _ => {}
        }
        rest = after;
    }
    (space, None)
}

#[cfg(test)]
mod tests;
