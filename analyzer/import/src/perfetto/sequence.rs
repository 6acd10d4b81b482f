//! State of one sequence of packets: texts that stand once, and what a packet says where it says nothing.

use std::collections::HashMap;

use trueno_format::run_writer::{RunWriter, Text};

use super::messages::{Defaults, InternedData, InternedText, SourceLocation};

/// Interns bytes that may not be UTF-8.
pub fn text_of(bytes: &[u8], into: &mut RunWriter) -> Text {
    into.text(&String::from_utf8_lossy(bytes))
}

/// Incremental state of a packet sequence.
#[derive(Debug, Default)]
pub struct Sequence {
    pub names: HashMap<u64, Text>,
    pub categories: HashMap<u64, Text>,
    pub annotation_names: HashMap<u64, String>,
    pub annotation_texts: HashMap<u64, String>,
    pub places: HashMap<u64, (Option<Text>, Option<u32>)>,
    pub default_clock: Option<u32>,
    pub default_track: Option<u64>,
    pub default_counters: Vec<u64>,
    /// For old sequences, whose packets state the time since the previous packet.
    pub last_us: i64,
    /// Nothing was lost since the state was last cleared.
    pub is_whole: bool,
}

impl Sequence {
    pub fn clear(&mut self) {
        *self = Self {
            last_us: self.last_us,
            is_whole: true,
            ..Self::default()
        };
    }

    pub fn intern(&mut self, data: InternedData, into: &mut RunWriter) {
        let texts = |of: Vec<InternedText>| {
            let texts = of.into_iter();
            texts.filter_map(|entry| Some((entry.iid?, entry.text?)))
        };
        let words = |of: Vec<InternedText>| {
            texts(of).map(|(id, text)| (id, String::from_utf8_lossy(&text).into_owned()))
        };
        for (id, text) in texts(data.event_names) {
            self.names.insert(id, text_of(&text, into));
        }
        for (id, text) in texts(data.event_categories) {
            self.categories.insert(id, text_of(&text, into));
        }
        self.annotation_names
            .extend(words(data.debug_annotation_names));
        self.annotation_texts
            .extend(words(data.debug_annotation_string_values));
        for place in data.source_locations {
            if let Some(id) = place.iid {
                self.places.insert(id, place_of(&place, into));
            }
        }
    }

    pub fn set_defaults(&mut self, defaults: Defaults) {
        self.default_clock = defaults.timestamp_clock_id;
        let track_event = defaults.track_event.unwrap_or_default();
        self.default_track = track_event.track_uuid;
        self.default_counters = track_event.extra_counter_track_uuids;
    }
}

pub fn place_of(place: &SourceLocation, into: &mut RunWriter) -> (Option<Text>, Option<u32>) {
    let file = place.file_name.as_deref().map(|file| text_of(file, into));
    (file, place.line_number)
}
