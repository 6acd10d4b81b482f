//! Records the spans of a program that uses the crate `tracing` (feature `tracing`).
//!
//! ```
//! use tracing_subscriber::prelude::*;
//! use trueno_recorder::{Recorder, tracing::RecorderLayer};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("decode.run");
//! let rec = Recorder::create(path)?;
//! let subscriber = tracing_subscriber::registry().with(RecorderLayer::new(rec.clone()));
//! # tracing::subscriber::with_default(subscriber, || {
//! // subscriber.init(); and from then on:
//! let _iteration = tracing::info_span!("iteration", number = 3).entered();
//! let _brick = tracing::info_span!("RmsNorm", elements = 4096).entered();
//! # });
//! let summary = rec.finish()?;
//! # assert_eq!(summary.tables["bricks"].rows, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A subscriber lives as long as the program: call [`Recorder::finish`] at its end.
//!
//! # Spans
//!
//! Each stay in a span, from enter to exit, is one row of `bricks` on the thread it happened
//! on; a future that is polled seven times makes seven rows. What is open on the thread
//! encloses it. Where the span's own parent is not open on this thread but on another one,
//! the row has that for its parent, and its iteration and layer, as a
//! [task](Recorder::task) has.
//!
//! | span | row |
//! | --- | --- |
//! | named `iteration` or `layer`, with a number: field `number`, else its first field that is a whole number and not listed below | that [iteration](Recorder::iteration) or [layer](Recorder::layer) |
//! | named like a known brick ([`BrickId::from_name`]), or with `kind = "brick"` or `brick = true` | a [brick](Recorder::brick) |
//! | any other, or with `kind = "function"` or `brick = false` | a [function](Recorder::function) |
//!
//! | field | column |
//! | --- | --- |
//! | `elements`, `flops`, `bytes_read`, `bytes_written`: numbers from 0 on | the same, *declared*; a fraction is cut off |
//! | `backend`, `category`: text, also `%` and `?` | the same |
//!
//! Columns `file` and `line` are those of the place that makes the span, as its metadata says.
//!
//! Fields may be recorded later (`Span::record`). Each declared number goes to one row: the
//! first that ends after it was given, so that sums over the rows of a span stay right. All other
//! fields are [attributes](crate::AttributeValue) of each row of the span, with their types; those shown by `%` and `?`
//! are texts. Which spans there are is the business of `tracing`'s filters, on the
//! subscriber or on the layer.
//!
//! # Events
//!
//! A field `gauge.NAME = number` of an event is a [counter reading](Recorder::counter)
//! `NAME`, *declared*, without a unit. An event that says anything else, and that is as severe as
//! [`RecorderLayer::events`] asks, is an [instant](Recorder::instant), with its message for a name and
//! its fields as arguments.
//!
//! # Cost
//!
//! That of `tracing-subscriber`'s registry, which is several times that of a guard of this crate.

mod callsites;
mod described;
mod entered;
mod fields;

use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, LevelFilter, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use crate::attributes::{self, StoredValue};
use crate::names::Name;
use crate::owned_span::OwnedSpan;
use crate::recorder::Recorder;
use crate::span_id::SpanId;
use callsites::Callsites;
use described::{Described, Plan};
use entered::Entered;
use fields::{Fields, Gauges, Words};

#[cfg(doc)]
use trueno_format::BrickId;
use trueno_format::schema::TableId;

/// A layer for `tracing-subscriber` that records spans; see [the module](self).
#[derive(Debug)]
pub struct RecorderLayer {
    recorder: Recorder,
    callsites: Callsites,
    events: LevelFilter,
}

impl RecorderLayer {
    /// A layer that records into that run; with a disabled recorder it does nothing.
    pub fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            callsites: Callsites::default(),
            events: LevelFilter::INFO,
        }
    }

    /// Events as severe as this are instants; at first `INFO` and above. `OFF`: none.
    ///
    /// A message stays for the life of the process, so one that is another each time is no good event: what is beyond
    /// 64 MiB of different ones counts as dropped.
    pub fn events(mut self, least_severe: LevelFilter) -> Self {
        self.events = least_severe;
        self
    }

    fn number(&self) -> u64 {
        self.recorder.shared().number
    }

    /// Opens a row for an entered `span`. Uses its nearest ancestor that is open on any thread: on this thread
    /// that ancestor already encloses the row, on another one it becomes the parent.
    fn open<'a, S: LookupSpan<'a>>(&self, span: &SpanRef<'a, S>, plan: &Plan) -> Option<OwnedSpan> {
        let mut ancestor = span.parent();
        while let Some(found) = ancestor {
            if entered::is_inside(self.number(), &found.id()) {
                break;
            }
            // Held until the row is open: the parent's row cannot end before that.
            let extensions = found.extensions();
            let described = extensions.get::<Described>();
            let parent = described.and_then(|first| first.for_recorder(self.number())?.open);
            if parent.is_some() {
                return self.begin(plan, parent);
            }
            drop(extensions);
            ancestor = found.parent();
        }
        self.begin(plan, None)
    }

    fn begin(&self, plan: &Plan, parent: Option<SpanId>) -> Option<OwnedSpan> {
        OwnedSpan::begin(&self.recorder, plan.name, plan.kind, plan.number, parent)
    }

    /// An event without a message, or with one that is not stored, is named after its source location.
    fn instant(&self, place: &'static str, mut words: Words) {
        let message = words.message.filter(|message| !message.is_empty());
        let name = message
            .as_deref()
            .and_then(|text| attributes::TEXTS.intern(text));
        if let (Some(message), None) = (&message, name) {
            words.arguments.add("message", message.as_str().into());
        }
        let name = name.unwrap_or_else(|| Name::new(place));
        self.recorder.instant_of(name, words.arguments);
    }

    fn fields(&self) -> Fields {
        Fields::new(self.recorder.records(TableId::Attributes))
    }

    fn set(&self, row: SpanId, attributes: &[(Name, StoredValue)]) {
        // Where bricks are left out there is no such row.
        if self.recorder.records(TableId::Bricks) {
            for (key, value) in attributes {
                self.recorder.stored_attribute(row, *key, *value);
            }
        }
    }

    /// Runs `with` on the data of a span, which is locked meanwhile.
    fn with_described<S>(
        &self,
        id: &Id,
        context: &Context<'_, S>,
        with: impl FnOnce(&mut Described),
    ) where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let Some(span) = context.span(id) else { return };
        let mut extensions = span.extensions_mut();
        let first = extensions.get_mut::<Described>();
        if let Some(described) = first.and_then(|first| first.for_recorder_mut(self.number())) {
            with(described);
        }
    }
}

impl<S> Layer<S> for RecorderLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if self.recorder.is_off() {
            return;
        }
        let Some(span) = context.span(id) else { return };
        // Outside of the lock: showing a value is the program's code.
        let mut fields = self.fields();
        attributes.record(&mut fields);
        let (name, brick) = self.callsites.get(attributes.metadata());
        let mut described = Described {
            recorder: self.number(),
            name,
            brick,
            fields,
            open: None,
            next: None,
        };
        let mut extensions = span.extensions_mut();
        match extensions.get_mut::<Described>() {
            None => extensions.insert(described),
            Some(first) if first.for_recorder(described.recorder).is_none() => {
                described.next = first.next.take();
                first.next = Some(Box::new(described));
            }
            // Two layers of one recorder: each makes its own rows.
            Some(_) => {}
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if self.recorder.is_off() {
            return;
        }
        // Outside of the lock, as above.
        let mut later = self.fields();
        values.record(&mut later);
        self.with_described(id, &context, |described| {
            described.fields.merge(&later);
            if let Some(row) = described.open {
                self.set(row, later.attributes());
            }
        });
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if self.recorder.is_off() {
            return;
        }
        let mut plan = None;
        self.with_described(id, &context, |described| plan = Some(described.plan()));
        let (Some(plan), Some(span)) = (plan, context.span(id)) else {
            return;
        };
        let Some(row) = self.open(&span, &plan) else {
            return;
        };
        self.with_described(id, &context, |described| {
            described.open = Some(row.id());
            self.set(row.id(), described.fields.attributes());
        });
        entered::push(Entered {
            recorder: self.number(),
            span: id.clone(),
            row,
        });
    }

    /// Also after the recorder has finished: the row is closed on its thread and counted as late.
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if let Some(mut row) = entered::take(self.number(), id) {
            self.with_described(id, &context, |described| described.finish(&mut row));
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        if !self.recorder.is_off() && fields::has_gauge(metadata) {
            event.record(&mut Gauges(&self.recorder));
        }
        let is_instant = *metadata.level() <= self.events && fields::has_words(metadata);
        if is_instant && self.recorder.records(TableId::Annotations) {
            let mut words = Words::default();
            event.record(&mut words);
            self.instant(metadata.name(), words);
        }
    }
}
