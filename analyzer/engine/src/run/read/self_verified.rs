//! Decides the same for a sealed segment that the journal does not list whole, by the hashes in it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use trueno_format::embedded_hashes::FileForm;

use super::super::embedded_hashes::{self, Own};
use super::super::ipc::{self, FieldType, Footer, Place};
use super::super::segment::{Segment, SegmentState, Source};
use super::super::verify;
use super::{Reader, own_columns, table_of};

/// The fault of an intact file that may not belong to the run.
pub(super) const UNLISTED: &str =
    "unchanged by its own hashes, but the journal is complete and does not list it";

impl Reader<'_> {
    /// `None` if the segment has no hashes.
    pub(super) fn by_own_hashes(&self, handle: &mut File) -> io::Result<Option<Segment>> {
        let mut chunks = match embedded_hashes::read(handle, self.file.bytes, FileForm::Arrow)? {
            Own::Chunks(chunks) => chunks,
            Own::Damaged if self.chunks.is_empty() => {
                let fault = "its end is damaged, and without it none of it can be read".to_owned();
                let lost = self.segment(SegmentState::Lost, 0, vec![fault], Source::Nothing);
                return Ok(Some(lost));
            }
            // What the journal lists of it can be read without its end.
            Own::Damaged => return self.rebuilt(handle).map(Some),
            Own::None => return Ok(None),
        };
        let checked = verify::check(handle, self.file.bytes, &chunks, |_, bytes| {
            ipc::batch_rows(bytes)
        })?;
        let footer = match Footer::read(self.file.bytes, |at, to| read_at(handle, at, to)) {
            Ok(footer) => footer,
            Err(reason) => {
                let fault = format!("cannot be read, although it is unchanged: {reason}");
                let lost = self.segment(SegmentState::Lost, 0, vec![fault], Source::Nothing);
                return Ok(Some(lost));
            }
        };
        let table = table_of(self.name);
        if let Some(own) = footer.table.as_ref().filter(|own| **own != table) {
            let faults = vec![own_columns::fault(&table, &format!("it is one of {own}"))];
            let lost = self.segment(SegmentState::Lost, 0, faults, Source::Nothing);
            return Ok(Some(lost));
        }
        let is_whole = checked.all_good() && checked.covers();
        if !is_whole && let Some(head) = chunks.first_mut() {
            // Its batches alone are rebuilt, with the texts of all of them.
            head.new = dictionaries(handle, &footer).map_err(io::Error::other)?;
        }
        let own = Reader {
            path: self.path.clone(),
            chunks: &chunks,
            checked,
            ..*self
        };
        let mut segment = if is_whole {
            own.sealed(handle)?
        } else {
            own.rebuilt(handle)?
        };
        if self.is_journal_whole {
            segment.faults.insert(0, UNLISTED.to_owned());
        }
        segment.rows_expected = segment.rows_expected.max(self.listed);
        segment.content = Some(embedded_hashes::content(&chunks));
        Ok(Some(segment))
    }
}

fn dictionaries(file: &File, footer: &Footer) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut by_id = BTreeMap::new();
    for Place { offset, bytes, .. } in &footer.dictionaries {
        let mut message = vec![0; *bytes];
        read_at(file, *offset, &mut message)?;
        let (id, texts) = ipc::dictionary(&message)?;
        by_id.insert(id, texts.texts()?);
    }
    let texts = footer.fields.iter().filter_map(|field| match field.of {
        FieldType::Text { dictionary } => Some((field.name.clone(), by_id.remove(&dictionary)?)),
        _ => None,
    });
    Ok(texts.collect())
}

fn read_at(file: &File, at: u64, to: &mut [u8]) -> Result<(), String> {
    file.read_exact_at(to, at)
        .map_err(|error| error.to_string())
}
