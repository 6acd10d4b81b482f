//! Record sizes of this library: it is asked to step over records that hold nothing but their kind.

use std::ptr;

use super::api::{Cupti, Refused};
use crate::kind::{KINDS, LATER_KINDS};
use crate::walk::Sizes;

/// Words of 8 bytes: more than twice the longest known record.
const WORDS: usize = 512;

/// Bytes of a record, for each kind that the library knows. Needs no driver.
///
/// # Errors
/// The library has no such function.
pub fn record_sizes(cupti: &Cupti) -> Result<Sizes, Refused> {
    let mut sizes = Vec::new();
    for kind in KINDS.iter().chain(LATER_KINDS) {
        match size_of_kind(cupti, kind.number) {
            Ok(Some(bytes)) => sizes.push((kind.number, bytes)),
            Ok(None) | Err(Refused::Code(..)) => {}
            Err(missing) => return Err(missing),
        }
    }
    Ok(sizes.into_iter().collect())
}

fn size_of_kind(cupti: &Cupti, kind: u32) -> Result<Option<usize>, Refused> {
    // Zero apart from the kinds, at whatever place the second record begins.
    let mut buffer = vec![u64::from(kind); WORDS];
    let base = buffer.as_mut_ptr().cast::<u8>();
    let bytes = WORDS * size_of::<u64>();
    let mut record = ptr::null_mut();
    // SAFETY: the buffer is aligned to 8 bytes, as long as said, and outlives the calls.
    unsafe {
        cupti.get_next_record(base, bytes, &mut record)?;
        cupti.get_next_record(base, bytes, &mut record)?;
    }
    let step = (record as usize).checked_sub(base as usize);
    Ok(step.filter(|step| (8..bytes).contains(step)))
}
