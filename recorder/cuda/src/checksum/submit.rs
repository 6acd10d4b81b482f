//! Submitting kernels, and collecting what they found.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trueno_cupti::driver::{
    Argument, Context, Device, DriverError, Function, Module, StreamHandle, attribute,
};
use trueno_recorder::{Element, Fingerprint, Name, Recorder};

use super::kernels::{self, FINGERPRINT_PTX, MAX_PARTIALS, STRIDED_PTX};
use super::pending::{Pending, Slot, record};
use super::result::{HEAD_WORDS, PARTIAL_WORDS, decode};
use super::tensor::DeviceTensor;

/// Fingerprints tensors of one device into one run. To be shared by all threads.
///
/// Rows are written by [`Checksums::collect`], which every submission calls, and at the end by
/// [`Checksums::finish`], which dropping calls: before the recorder's own `finish`.
pub struct Checksums {
    recorder: Recorder,
    context: Context,
    multiprocessors: u32,
    dense: Module,
    strided: Mutex<Option<Module>>,
    functions: Mutex<HashMap<String, Function>>,
    pending: Mutex<VecDeque<Pending>>,
    free: Mutex<Vec<Slot>>,
}

impl Checksums {
    /// Compiles the kernels for a device.
    ///
    /// # Errors
    /// In the driver's words.
    pub fn new(recorder: &Recorder, device: &Device) -> Result<Self, DriverError> {
        let context = device.context()?;
        let multiprocessors = device.attribute(attribute::MULTIPROCESSORS).unwrap_or(1);
        Ok(Self {
            recorder: recorder.clone(),
            multiprocessors: multiprocessors.max(1).unsigned_abs(),
            dense: context.module(FINGERPRINT_PTX)?,
            strided: Mutex::new(None),
            functions: Mutex::default(),
            pending: Mutex::default(),
            free: Mutex::default(),
            context,
        })
    }

    /// Records the fingerprint of a tensor, as it will be when `stream` has done all that was submitted to it so
    /// far: the device's `Recorder::checksum`. Time, brick, iteration and layer of the row are those of this call.
    /// Does not wait.
    ///
    /// # Errors
    /// In the driver's words; there is no row then.
    ///
    /// # Safety
    /// All elements of the tensor must lie in memory of this device that lives until the stream has come to the
    /// kernels, and that nothing outside of this stream writes meanwhile. The stream must be of this device's
    /// primary context, and not be capturing a graph.
    pub unsafe fn checksum<T: Element>(
        &self,
        name: impl Into<Name>,
        position: Option<u64>,
        tensor: DeviceTensor<'_, T>,
        stream: StreamHandle,
    ) -> Result<(), DriverError> {
        let Some(place) = self.recorder.checksum_place(name, position) else {
            return Ok(());
        };
        // SAFETY: the caller vouches for the tensor and the stream.
        let mut pending = unsafe { self.submit(tensor, stream)? };
        pending.place = Some(place);
        lock(&self.pending).push_back(pending);
        self.collect().map(|_| ())
    }

    /// The fingerprint of a tensor now. Waits for the stream, and writes no row.
    ///
    /// # Errors
    /// In the driver's words.
    ///
    /// # Safety
    /// As [`Checksums::checksum`].
    pub unsafe fn fingerprint<T: Element>(
        &self,
        tensor: DeviceTensor<'_, T>,
        stream: StreamHandle,
    ) -> Result<Fingerprint, DriverError> {
        let elements = tensor.elements();
        // SAFETY: the caller vouches for the tensor and the stream.
        let pending = unsafe { self.submit(tensor, stream)? };
        pending.slot.copied.wait()?;
        // SAFETY: the event has been reached.
        let (fingerprint, _) = decode::<T>(unsafe { pending.words() }, elements);
        lock(&self.free).push(pending.slot);
        Ok(fingerprint)
    }

    /// Writes the rows of those tensors whose results have come; how many. Does not wait.
    ///
    /// # Errors
    /// In the driver's words: something before a result failed; its row is not written.
    pub fn collect(&self) -> Result<usize, DriverError> {
        let mut pending = lock(&self.pending);
        let mut written = 0;
        // In order of submission; of several streams, one that is slow holds up rows, and no work.
        while let Some(first) = pending.front() {
            match first.slot.copied.is_reached() {
                Ok(false) => break,
                Ok(true) => self.write(pending.pop_front()),
                Err(error) => {
                    pending.pop_front();
                    return Err(error);
                }
            }
            written += 1;
        }
        Ok(written)
    }

    /// Waits for all results and writes their rows; how many.
    ///
    /// # Errors
    /// In the driver's words, the first one; the rows of the others are written.
    pub fn finish(&self) -> Result<usize, DriverError> {
        let (mut written, mut failed) = (0, Ok(()));
        loop {
            let Some(first) = lock(&self.pending).pop_front() else {
                return failed.map(|()| written);
            };
            match first.slot.copied.wait() {
                Ok(()) => {
                    self.write(Some(first));
                    written += 1;
                }
                Err(error) => failed = failed.and(Err(error)),
            }
        }
    }

    /// Counts the results that have not come yet, as far as was looked.
    pub fn under_way(&self) -> usize {
        lock(&self.pending).len()
    }

    fn write(&self, pending: Option<Pending>) {
        let Some(mut pending) = pending else { return };
        if let Some(place) = pending.place.take() {
            let of = pending.record;
            // SAFETY: its event has been reached.
            let words = unsafe { pending.words() };
            of(
                &self.recorder,
                place,
                &pending.shape,
                words,
                pending.elements,
            );
        }
        lock(&self.free).push(pending.slot);
    }

    /// # Safety
    /// As [`Checksums::checksum`].
    unsafe fn submit<T: Element>(
        &self,
        tensor: DeviceTensor<'_, T>,
        stream: StreamHandle,
    ) -> Result<Pending, DriverError> {
        let elements = tensor.elements();
        let blocks = kernels::blocks(elements, size_of::<T>() as u64);
        let passes = kernels::passes(blocks);
        let copied = passes.last().copied().unwrap_or(blocks);
        let free = lock(&self.free).pop();
        let slot = match free {
            Some(slot) => slot,
            None => Slot::new(&self.context, MAX_PARTIALS)?,
        };
        let mut pending = Pending {
            slot,
            place: None,
            shape: tensor.shape.to_vec(),
            elements,
            words: HEAD_WORDS + copied as usize * PARTIAL_WORDS,
            record: record::<T>,
        };
        let head = pending.slot.result.address();
        let result = head + HEAD_WORDS as u64 * 8;
        let mut from = if passes.is_empty() {
            result
        } else {
            pending.slot.room(0, blocks, &self.context)?
        };
        let layout = tensor.layout();
        let function = self.function(T::DTYPE, layout.is_some())?;
        let mut arguments = vec![
            Argument::Word(from),
            Argument::Word(head),
            Argument::Word(tensor.address),
            Argument::Word(elements),
        ];
        arguments.extend(layout.as_ref().map(|layout| Argument::Bytes(layout)));
        let shape = kernels::shape(blocks, 8, self.multiprocessors);
        // SAFETY: the kernel's arguments; the caller vouches for the tensor, `Pending` for the rest.
        unsafe { function.launch(shape, stream, &arguments)? };
        let mut count = blocks;
        for (nth, left) in passes.iter().enumerate() {
            let to = if nth + 1 == passes.len() {
                result
            } else {
                pending.slot.room((nth + 1) % 2, *left, &self.context)?
            };
            let shape = kernels::shape(count, 1, self.multiprocessors);
            let arguments = [
                Argument::Word(to),
                Argument::Word(from),
                Argument::Word(count),
            ];
            // SAFETY: the kernel's arguments; there is room for so many partials.
            unsafe {
                self.named("fold", false)?
                    .launch(shape, stream, &arguments)?
            };
            (from, count) = (to, *left);
        }
        let words = pending.words;
        // SAFETY: both have so many words, and the slot keeps them until its event is reached.
        unsafe { pending.slot.host.receive(head, words, stream)? };
        pending.slot.copied.record(stream)?;
        Ok(pending)
    }

    fn function(&self, dtype: &str, is_strided: bool) -> Result<Function, DriverError> {
        let kind = if is_strided { "strided" } else { "fingerprint" };
        self.named(&format!("{kind}_{dtype}"), is_strided)
    }

    fn named(&self, name: &str, is_strided: bool) -> Result<Function, DriverError> {
        if let Some(function) = lock(&self.functions).get(name) {
            return Ok(function.clone());
        }
        let function = if is_strided {
            let mut strided = lock(&self.strided);
            if strided.is_none() {
                *strided = Some(self.context.module(STRIDED_PTX)?);
            }
            let module = strided.as_ref().unwrap_or(&self.dense);
            module.function(name)?
        } else {
            self.dense.function(name)?
        };
        lock(&self.functions).insert(name.to_owned(), function.clone());
        Ok(function)
    }
}

impl Drop for Checksums {
    fn drop(&mut self) {
        // Who wants to know of errors calls it before.
        let _ = self.finish();
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
