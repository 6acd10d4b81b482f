//! Texts that stand in many rows, interned once.

use trueno_format::run_writer::{RunWriter, Text};

pub(super) struct RowTexts {
    pub iteration: Text,
    pub function: Text,
    pub brick: Text,
    pub task: Text,
    pub host: Text,
    pub bound: Text,
    pub device: Text,
    pub instant: Text,
    pub declared: Text,
    pub measured: Text,
    pub bytes: Text,
    pub nanoseconds: Text,
    pub waiting: Text,
    pub launches: Text,
    pub depends_on: Text,
    pub spawns: Text,
    pub joins: Text,
    pub negative: Text,
}

impl RowTexts {
    pub fn new(run: &mut RunWriter) -> Self {
        Self {
            iteration: run.text("iteration"),
            function: run.text("function"),
            brick: run.text("brick"),
            task: run.text("task"),
            host: run.text("host"),
            bound: run.text("bound"),
            device: run.text("device"),
            instant: run.text("instant"),
            declared: run.text("declared"),
            measured: run.text("measured"),
            bytes: run.text("bytes"),
            nanoseconds: run.text("ns"),
            waiting: run.text("waiting"),
            launches: run.text("launches"),
            depends_on: run.text("depends_on"),
            spawns: run.text("spawns"),
            joins: run.text("joins"),
            negative: run.text("ends before it begins"),
        }
    }
}
