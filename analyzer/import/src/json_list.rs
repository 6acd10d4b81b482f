//! Lists in JSON whose first elements are kept where the file is cut.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};

/// Deserializes a list into an existing one, element by element.
pub(crate) struct ListInto<'a, T> {
    pub list: &'a mut Vec<T>,
    /// For messages, such as `a list of profiles`.
    pub expected: &'static str,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for ListInto<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListInto<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element()? {
            self.list.push(element);
        }
        Ok(())
    }
}
