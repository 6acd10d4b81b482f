//! Messages of XPlane files, as far as they are read.
//!
//! Field numbers are those of `xplane.proto` in XLA (`tsl/profiler/protobuf`), package `tensorflow.profiler`. Texts are
//! bytes: names of a program need not be UTF-8.

use std::collections::HashMap;

use prost::{Message, Oneof};

/// A profile. Its planes (field 1) are read one by one.
#[derive(Clone, PartialEq, Message)]
pub struct XSpace {
    #[prost(message, repeated, tag = "1")]
    pub planes: Vec<XPlane>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub errors: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub warnings: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub hostnames: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct XPlane {
    #[prost(bytes = "vec", tag = "2")]
    pub name: Vec<u8>,
    #[prost(message, repeated, tag = "3")]
    pub lines: Vec<XLine>,
    #[prost(map = "int64, message", tag = "4")]
    pub event_metadata: HashMap<i64, XEventMetadata>,
    #[prost(map = "int64, message", tag = "5")]
    pub stat_metadata: HashMap<i64, XStatMetadata>,
    #[prost(message, repeated, tag = "6")]
    pub stats: Vec<XStat>,
}

#[derive(Clone, PartialEq, Message)]
pub struct XLine {
    #[prost(int64, tag = "1")]
    pub id: i64,
    #[prost(bytes = "vec", tag = "2")]
    pub name: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub timestamp_ns: i64,
    #[prost(message, repeated, tag = "4")]
    pub events: Vec<XEvent>,
    #[prost(bytes = "vec", tag = "11")]
    pub display_name: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct XEvent {
    #[prost(int64, tag = "1")]
    pub metadata_id: i64,
    #[prost(int64, optional, tag = "2")]
    pub offset_ps: Option<i64>,
    #[prost(int64, tag = "3")]
    pub duration_ps: i64,
    #[prost(message, repeated, tag = "4")]
    pub stats: Vec<XStat>,
    /// For an event that stands for several and has no time of its own.
    #[prost(int64, optional, tag = "5")]
    pub num_occurrences: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct XStat {
    #[prost(int64, tag = "1")]
    pub metadata_id: i64,
    #[prost(oneof = "StatValue", tags = "2, 3, 4, 5, 6, 7")]
    pub value: Option<StatValue>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum StatValue {
    #[prost(double, tag = "2")]
    Double(f64),
    #[prost(uint64, tag = "3")]
    Unsigned(u64),
    #[prost(int64, tag = "4")]
    Integer(i64),
    #[prost(bytes = "vec", tag = "5")]
    Text(Vec<u8>),
    #[prost(bytes = "vec", tag = "6")]
    Bytes(Vec<u8>),
    /// The text is the name of this stat metadata.
    #[prost(uint64, tag = "7")]
    Reference(u64),
}

#[derive(Clone, PartialEq, Message)]
pub struct XEventMetadata {
    #[prost(bytes = "vec", tag = "2")]
    pub name: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub display_name: Vec<u8>,
    #[prost(message, repeated, tag = "5")]
    pub stats: Vec<XStat>,
}

#[derive(Clone, PartialEq, Message)]
pub struct XStatMetadata {
    #[prost(bytes = "vec", tag = "2")]
    pub name: Vec<u8>,
}
