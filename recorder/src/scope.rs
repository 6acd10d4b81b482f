//! Iterations and layers: rows of `bricks` that also label what lies inside them.

use std::panic::Location;

use crate::attributes::AttributeValue;
use crate::lane::{Class, Scope};
use crate::names::Name;
use crate::recorder::Recorder;
use crate::span::Span;
use crate::span_id::SpanId;
use trueno_format::record::{Record, kind};
use trueno_format::schema::TableId;

/// An open iteration or layer. Recorded when dropped.
///
/// Rows of this thread get its number in column `iteration` or `layer` until then.
#[must_use = "the interval lasts until the guard is dropped"]
pub struct ScopeGuard<'r> {
    span: Span<'r>,
    name: Name,
    kind: u8,
    number: u64,
}

impl<'r> ScopeGuard<'r> {
    fn begin(recorder: &'r Recorder, name: impl FnOnce() -> Name, kind: u8, number: u64) -> Self {
        let off = Self {
            span: Span::off(recorder),
            name: Name::from_number(0),
            kind,
            number,
        };
        if recorder.is_off() {
            return off;
        }
        let name = name();
        // Where bricks are left out, no row may name this one as its parent.
        let class = if recorder.records(TableId::Bricks) {
            Class::Brick
        } else {
            Class::Label
        };
        let mut span = Span::begin(recorder, class, TableId::Bricks);
        let seq = span.seq();
        if let Some(lane) = span.lane() {
            let scope = match kind {
                kind::ITERATION => Scope::Iteration(number),
                _ => Scope::Layer(number as u32),
            };
            lane.enter(seq, scope);
        }
        Self { span, name, ..off }
    }

    /// Sets an attribute, like [`BrickGuard::set`](crate::BrickGuard::set).
    pub fn set<'a>(
        &mut self,
        key: impl Into<Name>,
        value: impl Into<AttributeValue<'a>>,
    ) -> &mut Self {
        // Where bricks are left out there is no such row.
        if self.span.recorder.records(TableId::Bricks) {
            self.span.set(key, value);
        }
        self
    }

    /// The row's id; [`SpanId::NONE`] if nothing is recorded.
    pub fn id(&self) -> SpanId {
        self.span.id()
    }
}

impl Drop for ScopeGuard<'_> {
    fn drop(&mut self) {
        let (recorder, seq, start) = (self.span.recorder, self.span.seq(), self.span.start);
        if self.kind == kind::LAYER && self.span.is_on() && recorder.tables_at_end().has_device() {
            recorder.device_after_layer();
        }
        let Some(lane) = self.span.lane() else { return };
        let end = lane.now();
        let below = lane.close(seq);
        let record = Record {
            start,
            end,
            seq,
            parent: lane.brick_below(below),
            name: self.name.number(),
            kind: self.kind,
            m: [self.number, 0, 0, 0],
            ..Record::default()
        };
        if recorder.tables_at_end().has(TableId::Bricks) {
            lane.push(TableId::Bricks, record);
        } else if recorder.is_off() && !recorder.is_paused() {
            recorder.too_late();
        }
        lane.leave(seq);
    }
}

impl Recorder {
    /// Opens iteration `number`, such as one token of a decode.
    #[track_caller]
    pub fn iteration(&self, number: u64) -> ScopeGuard<'_> {
        let place = Location::caller();
        let name = || Name::new("iteration").at(place);
        ScopeGuard::begin(self, name, kind::ITERATION, number)
    }

    /// Like [`Recorder::iteration`], with a source location in any language.
    pub fn iteration_at(&self, number: u64, file: &str, line: u32) -> ScopeGuard<'_> {
        let name = || Name::new("iteration").at_line(file, line);
        ScopeGuard::begin(self, name, kind::ITERATION, number)
    }

    /// Opens layer `number` of a model.
    #[track_caller]
    pub fn layer(&self, number: u32) -> ScopeGuard<'_> {
        let place = Location::caller();
        let name = || Name::new("layer").at(place);
        ScopeGuard::begin(self, name, kind::LAYER, u64::from(number))
    }

    /// Like [`Recorder::layer`], with a source location in any language.
    pub fn layer_at(&self, number: u32, file: &str, line: u32) -> ScopeGuard<'_> {
        let name = || Name::new("layer").at_line(file, line);
        ScopeGuard::begin(self, name, kind::LAYER, u64::from(number))
    }
}
