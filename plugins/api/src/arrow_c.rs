//! The structs of the Arrow C data and stream interfaces, laid out as the specification says.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// `struct ArrowSchema`: names and types.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowSchema {
    /// Type, as the specification writes it; NUL-terminated.
    pub format: *const c_char,
    /// Field name; NUL-terminated, may be null.
    pub name: *const c_char,
    /// Encoded key-value pairs, may be null.
    pub metadata: *const c_char,
    /// Bit 2: nullable.
    pub flags: i64,
    /// Length of `children`.
    pub n_children: i64,
    /// One a field.
    pub children: *mut *mut ArrowSchema,
    /// Not null for dictionary types.
    pub dictionary: *mut ArrowSchema,
    /// Null once released.
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

/// `struct ArrowArray`: one batch of one type.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowArray {
    /// Rows, not counting `offset`.
    pub length: i64,
    /// Rows that are null; −1 when not counted.
    pub null_count: i64,
    /// Rows to skip at the start of each buffer and child.
    pub offset: i64,
    /// Length of `buffers`.
    pub n_buffers: i64,
    /// Length of `children`.
    pub n_children: i64,
    /// Validity first (null when no row is null), then the type's own.
    pub buffers: *mut *const c_void,
    /// One a field.
    pub children: *mut *mut ArrowArray,
    /// Not null for dictionary types.
    pub dictionary: *mut ArrowArray,
    /// Null once released.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

/// `struct ArrowArrayStream`: a schema, then batches, pulled one by one.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowArrayStream {
    /// Fills in a schema; 0 or an errno.
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    /// Fills in a batch, a released one at the end; 0 or an errno.
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    /// Text of the last error, valid until the next call; may be null.
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    /// Null once released.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

/// `ArrowSchema.flags`: the field may hold nulls.
pub const FLAG_NULLABLE: i64 = 2;

macro_rules! owned {
    ($ty:ident { $($field:ident: $value:expr),* $(,)? }) => {
        impl $ty {
            /// A released one, as a place for the other side to fill.
            pub const fn released() -> Self {
                Self { $($field: $value,)* release: None, private_data: ptr::null_mut() }
            }

            /// Moves it out of `place`, which is left released, as the specification wants.
            ///
            /// # Safety
            /// `place` is valid for reading and writing.
            pub unsafe fn take(place: *mut Self) -> Self {
                // SAFETY: the caller vouches for `place`; released is a valid value.
                unsafe { ptr::replace(place, Self::released()) }
            }
        }

        impl Drop for $ty {
            fn drop(&mut self) {
                // The callback clears `release` itself; taking it first makes
                // a second call impossible even where it forgets to.
                if let Some(release) = self.release {
                    // SAFETY: not released yet, so the producer's callback and data are live;
                    // whoever owns the struct calls it, once.
                    unsafe { release(self) };
                    self.release = None;
                }
            }
        }
    };
}

owned!(ArrowSchema {
    format: ptr::null(),
    name: ptr::null(),
    metadata: ptr::null(),
    flags: 0,
    n_children: 0,
    children: ptr::null_mut(),
    dictionary: ptr::null_mut(),
});

owned!(ArrowArray {
    length: 0,
    null_count: 0,
    offset: 0,
    n_buffers: 0,
    n_children: 0,
    buffers: ptr::null_mut(),
    children: ptr::null_mut(),
    dictionary: ptr::null_mut(),
});

owned!(ArrowArrayStream {
    get_schema: None,
    get_next: None,
    get_last_error: None
});
