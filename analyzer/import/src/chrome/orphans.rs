//! Device work whose call is not in the file, but that names its operator.
//!
//! An `External id` is believed where exactly one operator of the file has it and had begun
//! before the work did. The row then has that operator's brick and thread; the edge to it is of
//! kind `spawns` and not `launches`, for it comes from a row of bricks and not from a call.

use super::linker::{Begun, Call, Linker};
use super::record::{LINK_WORDS, Link, LinkEvent, OPERATOR_WORDS, Operator};
use crate::Error;
use crate::sorter::{Sorted, Sorter};
use trueno_analysis::wording::counted;

/// Device work without a launch, by external id.
pub(super) struct Orphans(pub Sorter<LINK_WORDS>);

impl Orphans {
    pub fn put(&mut self, link: Link) -> Result<(), Error> {
        let mut words = link.words();
        words.swap(0, LINK_WORDS - 1);
        self.0.push(words)
    }
}

/// Operators sorted by id, for lookups in the same order.
struct Operators {
    all: Sorted<OPERATOR_WORDS>,
    next: Option<Operator>,
    /// Result of the last lookup: the first operator with that id, and whether there are more.
    found: Option<(Operator, bool)>,
}

impl Operators {
    fn advance(&mut self) -> Result<(), Error> {
        self.next = self.all.next()?.map(Operator::from_words);
        Ok(())
    }

    fn only(&mut self, external: u64) -> Result<Option<Operator>, Error> {
        if self
            .found
            .is_none_or(|(found, _)| found.external != external)
        {
            self.found = None;
            while let Some(next) = self.next.filter(|next| next.external <= external) {
                if next.external == external {
                    let first = self.found.map_or(next, |(first, _)| first);
                    self.found = Some((first, self.found.is_some()));
                }
                self.advance()?;
            }
        }
        let only = self.found.filter(|(_, has_more)| !has_more);
        Ok(only.map(|(operator, _)| operator))
    }
}

impl Linker<'_, '_> {
    pub fn find_operators(&mut self) -> Result<(), Error> {
        let mut work = self.orphans.0.take()?;
        let mut operators = Operators {
            all: self.collector.operators.take()?,
            next: None,
            found: None,
        };
        operators.advance()?;
        let mut found = 0_u64;
        let mut launch: Option<Call> = None;
        while let Some(mut words) = work.next()? {
            words.swap(0, LINK_WORDS - 1);
            let link = Link::from_words(words);
            self.correlation = link.correlation;
            let operator = operators.only(link.external)?;
            let operator = operator.filter(|operator| operator.start_ns <= link.start_ns);
            if let Some(call) = Call::of(link) {
                launch = Some(call);
                continue;
            }
            if link.event == LinkEvent::Annotation {
                self.annotation(link, operator)?;
                continue;
            }
            let launched = launch.filter(|call| call.link.external == link.external);
            let begun = match (launched, operator) {
                (Some(call), operator) => {
                    Begun::By(call.in_brick(operator.map(|operator| operator.id)))
                }
                (None, Some(operator)) => {
                    found += 1;
                    Begun::In(operator)
                }
                (None, None) => {
                    self.unlinked += 1;
                    Begun::Unknown
                }
            };
            self.work(link, begun)?;
        }
        if found > 0 {
            self.collector.notes.warn(format!(
                "{} without a launching call in the file: the operator with the same External id stands for it",
                counted(found, "kernel or copy", "kernels and copies")
            ));
        }
        Ok(())
    }
}
