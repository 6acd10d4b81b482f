//! Meaning of span names, and the places that make such spans, found out once for each place that makes spans.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use tracing_core::Metadata;
use tracing_core::callsite::Identifier;

use crate::names::Name;
use trueno_format::BrickId;

#[derive(Debug, Default)]
pub(super) struct Callsites(RwLock<HashMap<Identifier, (Name, bool)>>);

impl Callsites {
    pub fn get(&self, metadata: &'static Metadata<'static>) -> (Name, bool) {
        let callsite = metadata.callsite();
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&callsite) {
            return *found;
        }
        drop(known);
        let text = metadata.name();
        let name = match (metadata.file(), metadata.line()) {
            (Some(file), Some(line)) => Name::new(text).at_line(file, line),
            _ => Name::new(text),
        };
        let meaning = (name, BrickId::from_name(text).is_some());
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *known.entry(callsite).or_insert(meaning)
    }
}
