//! An Arrow producer made by hand, that can get everything wrong and counts
//! how often each thing it gave out was released.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use trueno_plugin::arrow::{ArrowArray, ArrowArrayStream, ArrowSchema, read_stream};
use trueno_plugin::{Result, Table};

/// One column of one batch, buffer by buffer.
pub struct Cells {
    pub length: i64,
    pub offset: i64,
    pub null_count: i64,
    pub buffers: Vec<Option<Vec<u8>>>,
    /// Number of bytes by which every buffer is misaligned.
    pub shift: usize,
}

impl Cells {
    /// Rows `offset..offset + length` of these buffers, without nulls.
    pub fn new(offset: usize, length: usize, buffers: Vec<Option<Vec<u8>>>) -> Self {
        Self {
            length: length as i64,
            offset: offset as i64,
            null_count: 0,
            buffers,
            shift: 0,
        }
    }
}

pub fn bytes_of<T: Copy>(values: &[T], to_bytes: impl Fn(T) -> [u8; 8]) -> Option<Vec<u8>> {
    Some(values.iter().flat_map(|value| to_bytes(*value)).collect())
}

pub fn i64s(values: &[i64]) -> Option<Vec<u8>> {
    bytes_of(values, i64::to_ne_bytes)
}

/// Bits, least significant first.
pub fn bits(values: &[bool]) -> Option<Vec<u8>> {
    let byte = |bits: &[bool]| {
        bits.iter()
            .rev()
            .fold(0, |byte, bit| byte << 1 | u8::from(*bit))
    };
    Some(values.chunks(8).map(byte).collect())
}

/// A batch with its own offset and length, its columns, and optionally its own validity.
pub struct Batch {
    pub offset: i64,
    pub length: i64,
    pub null_count: i64,
    pub validity: Option<Vec<u8>>,
    pub columns: Vec<Cells>,
}

impl Batch {
    pub fn new(columns: Vec<Cells>) -> Self {
        let length = columns.first().map_or(0, |cells| cells.length);
        Self {
            offset: 0,
            length,
            null_count: 0,
            validity: None,
            columns,
        }
    }
}

/// How many were given out, and how many released.
#[derive(Default)]
struct Count(Cell<usize>, Cell<usize>);

impl Count {
    fn give(&self) {
        self.0.set(self.0.get() + 1);
    }

    fn release(&self) {
        self.1.set(self.1.get() + 1);
    }

    fn check(&self, what: &str) {
        assert_eq!(self.1.get(), self.0.get(), "{what}: released, given out");
    }
}

/// What a stream returns and how it fails. Must outlive the stream.
pub struct Producer {
    pub top: &'static CStr,
    pub fields: Vec<(&'static str, &'static CStr)>,
    pub batches: Vec<Batch>,
    pub fail_schema: bool,
    /// The batch at which `get_next` fails.
    pub fail_at: Option<usize>,
    /// Whether fields claim to be dictionaries.
    pub dictionary: bool,
    next: Cell<usize>,
    /// Ends with a NUL. Not a `CString`: moving one would invalidate the address given out.
    error: Cell<Option<Vec<u8>>>,
    streams: Count,
    schemas: Count,
    arrays: Count,
    // Boxes, because children are given out by address; buffers likewise stay in place.
    #[allow(clippy::vec_box)]
    made: Cell<Vec<Box<Made>>>,
}

/// Storage of an array that was given out.
struct Made {
    data: Vec<Vec<u8>>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

impl Producer {
    pub fn new(fields: Vec<(&'static str, &'static CStr)>, batches: Vec<Batch>) -> Self {
        Self {
            top: c"+s",
            fields,
            batches,
            fail_schema: false,
            fail_at: None,
            dictionary: false,
            next: Cell::new(0),
            error: Cell::new(None),
            streams: Count::default(),
            schemas: Count::default(),
            arrays: Count::default(),
            made: Cell::default(),
        }
    }

    pub fn with(mut self, fault: impl FnOnce(&mut Self)) -> Self {
        fault(&mut self);
        self
    }

    /// A stream. `self` must not move until it is released.
    pub fn stream(&self) -> ArrowArrayStream {
        self.streams.give();
        ArrowArrayStream {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release_stream),
            private_data: ptr::from_ref(self).cast_mut().cast(),
        }
    }

    /// Reads the whole stream, and checks that everything was released exactly once.
    pub fn read(&self) -> Result<Table> {
        let mut stream = self.stream();
        // SAFETY: a stream as described, or with the fault under test.
        let table = unsafe { read_stream(&mut stream) };
        assert!(stream.release.is_none(), "the stream was not moved out");
        self.check();
        table
    }

    pub fn check(&self) {
        self.streams.check("streams");
        self.schemas.check("schemas and fields");
        self.arrays.check("arrays and columns");
    }

    fn array(
        &self,
        shape: [i64; 3],
        buffers: &[Option<Vec<u8>>],
        shift: usize,
        children: Vec<ArrowArray>,
    ) -> ArrowArray {
        self.arrays.give();
        let shifted = |bytes: &Vec<u8>| [vec![0; shift], bytes.clone()].concat();
        let data: Vec<Vec<u8>> = buffers
            .iter()
            .map(|b| b.as_ref().map_or_else(Vec::new, shifted))
            .collect();
        let address = |(given, data): (&Option<Vec<u8>>, &Vec<u8>)| match given {
            Some(_) => data[shift..].as_ptr().cast(),
            None => ptr::null(),
        };
        let pointers = buffers.iter().zip(&data).map(address).collect();
        let children = children
            .into_iter()
            .map(|child| Box::into_raw(Box::new(child)))
            .collect();
        let mut made = Box::new(Made {
            data,
            buffers: pointers,
            children,
        });
        let array = ArrowArray {
            length: shape[0],
            offset: shape[1],
            null_count: shape[2],
            n_buffers: made.buffers.len() as i64,
            n_children: made.children.len() as i64,
            buffers: made.buffers.as_mut_ptr(),
            children: made.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private_data: ptr::from_ref(self).cast_mut().cast(),
        };
        let mut all = self.made.take();
        all.push(made);
        self.made.set(all);
        array
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        assert!(self.data.len() == self.buffers.len());
        for child in std::mem::take(&mut self.children) {
            // SAFETY: made by Box::into_raw; forgotten, not released a second time.
            unsafe { std::mem::forget(*Box::from_raw(child)) };
        }
    }
}

/// # Safety
/// `private_data` is that of a struct of ours.
unsafe fn producer<'a>(private_data: *mut c_void) -> &'a Producer {
    // SAFETY: a Producer outlives what it gives out.
    unsafe { &*private_data.cast::<Producer>() }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: a stream of ours.
    let producer = unsafe { producer((*stream).private_data) };
    if producer.fail_schema {
        producer.error.set(Some(b"no schema today\0".to_vec()));
        return 22;
    }
    let fields = producer.fields.iter().map(|(name, format)| {
        let name = CString::new(*name).unwrap().into_raw();
        let mut field = schema(producer, format, name, Vec::new());
        if producer.dictionary {
            field.dictionary = ptr::dangling_mut();
        }
        field
    });
    let fields = fields.collect();
    // SAFETY: a place of the consumer's.
    unsafe { out.write(schema(producer, producer.top, ptr::null_mut(), fields)) };
    0
}

fn schema(
    producer: &Producer,
    format: &'static CStr,
    name: *mut c_char,
    fields: Vec<ArrowSchema>,
) -> ArrowSchema {
    producer.schemas.give();
    let fields: Vec<*mut ArrowSchema> = fields
        .into_iter()
        .map(|field| Box::into_raw(Box::new(field)))
        .collect();
    let fields = Box::leak(fields.into_boxed_slice());
    ArrowSchema {
        format: format.as_ptr(),
        name,
        metadata: ptr::null(),
        flags: 2,
        n_children: fields.len() as i64,
        children: fields.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: ptr::from_ref(producer).cast_mut().cast(),
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: a schema of ours, whose list and name were leaked by `schema` and `get_schema`.
    unsafe {
        producer((*schema).private_data).schemas.release();
        let count = (*schema).n_children as usize;
        for field in Box::from_raw(ptr::slice_from_raw_parts_mut((*schema).children, count)) {
            drop(Box::from_raw(field));
        }
        if !(*schema).name.is_null() {
            drop(CString::from_raw((*schema).name.cast_mut()));
        }
        (*schema).release = None;
    }
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: a stream of ours.
    let producer = unsafe { producer((*stream).private_data) };
    let at = producer.next.replace(producer.next.get() + 1);
    if producer.fail_at == Some(at) {
        producer.error.set(Some(b"torn \xff page\0".to_vec()));
        return 5;
    }
    let Some(batch) = producer.batches.get(at) else {
        // SAFETY: a place of the consumer's.
        unsafe { out.write(ArrowArray::released()) };
        return 0;
    };
    let columns = batch.columns.iter().map(|cells| {
        let shape = [cells.length, cells.offset, cells.null_count];
        producer.array(shape, &cells.buffers, cells.shift, Vec::new())
    });
    let columns = columns.collect();
    let shape = [batch.length, batch.offset, batch.null_count];
    let whole = producer.array(shape, std::slice::from_ref(&batch.validity), 0, columns);
    // SAFETY: a place of the consumer's.
    unsafe { out.write(whole) };
    0
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: an array of ours; its storage stays with the Producer, so that a
    // second release would be counted and not crash.
    unsafe {
        producer((*array).private_data).arrays.release();
        for i in 0..(*array).n_children as usize {
            let child = *(*array).children.add(i);
            if let Some(release) = (*child).release {
                release(child);
            }
        }
        (*array).release = None;
    }
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    // SAFETY: a stream of ours.
    let producer = unsafe { producer((*stream).private_data) };
    let Some(text) = producer.error.take() else {
        return ptr::null();
    };
    let address = text.as_ptr().cast();
    producer.error.set(Some(text));
    address
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: a stream of ours. The text of the error dies with it.
    unsafe {
        let producer = producer((*stream).private_data);
        producer.streams.release();
        producer.error.set(None);
        (*stream).release = None;
    }
}
