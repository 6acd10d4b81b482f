//! JSON read member by member and element by element: what comes before damage is kept, and what is used at once is not
//! held.

use std::fmt;
use std::io::Read;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// What is filled by the members of an object.
pub(crate) trait Members {
    /// What is expected, for messages.
    const EXPECTED: &'static str;

    /// Takes the value of a member, or [`ignore`]s it.
    fn member<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

pub(crate) fn ignore<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(drop)
}

/// Reads a document that is one object, and nothing else.
pub(crate) fn read_object(into: &mut impl Members, from: impl Read) -> serde_json::Result<()> {
    let mut json = serde_json::Deserializer::from_reader(from);
    Object(into).deserialize(&mut json)?;
    json.end()
}

pub(crate) struct Object<'o, T>(pub &'o mut T);

impl<'de, T: Members> DeserializeSeed<'de> for Object<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, T: Members> Visitor<'de> for Object<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.member(&key, &mut map)?;
        }
        Ok(())
    }
}

/// A list whose elements are taken one by one.
pub(crate) struct List<T, F> {
    expected: &'static str,
    take: F,
    of: PhantomData<fn() -> T>,
}

/// `take` returns the reason to stop.
pub(crate) fn list<T, F: FnMut(T) -> Result<(), &'static str>>(
    expected: &'static str,
    take: F,
) -> List<T, F> {
    List {
        expected,
        take,
        of: PhantomData,
    }
}

/// A list that is added to an existing one.
pub(crate) fn list_into<'l, T>(
    expected: &'static str,
    into: &'l mut Vec<T>,
) -> List<T, impl FnMut(T) -> Result<(), &'static str> + use<'l, T>> {
    list(expected, |element| {
        into.push(element);
        Ok(())
    })
}

/// Reads a document that is one list, and nothing else.
pub(crate) fn read_list<'de, T: Deserialize<'de>>(
    expected: &'static str,
    into: &mut Vec<T>,
    from: impl Read,
) -> serde_json::Result<()> {
    let mut json = serde_json::Deserializer::from_reader(from);
    list_into(expected, into).deserialize(&mut json)?;
    json.end()
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), &'static str>> DeserializeSeed<'de>
    for List<T, F>
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), &'static str>> Visitor<'de>
    for List<T, F>
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element()? {
            (self.take)(element).map_err(serde::de::Error::custom)?;
        }
        Ok(())
    }
}
