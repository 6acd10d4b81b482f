//! Fields at fixed offsets of a record.
//!
//! A record is not cast to a struct: CUPTI packs its structs, holds enumerations that grow, and gives no
//! promise that a buffer's end is a record's end. Reading by offset checks the length once and needs no
//! unsafe code.

/// An unsigned number in a record.
pub(crate) trait Field: Sized {
    /// `None` beyond the end.
    fn at(bytes: &[u8], offset: usize) -> Option<Self>;
}

macro_rules! field {
    ($($ty:ty),*) => {$(
        impl Field for $ty {
            fn at(bytes: &[u8], offset: usize) -> Option<Self> {
                let end = offset.checked_add(size_of::<Self>())?;
                let bytes = bytes.get(offset..end)?;
                Some(Self::from_ne_bytes(bytes.try_into().ok()?))
            }
        }
    )*};
}
field!(u8, u16, u32, i32, u64, [u8; 16]);

/// Sixteen bytes that are not a number.
trait FromBytes {
    fn from_ne_bytes(bytes: Self) -> Self;
}

impl FromBytes for [u8; 16] {
    fn from_ne_bytes(bytes: Self) -> Self {
        bytes
    }
}

/// Declares a struct with fields at given offsets. The fields of `later` were added in a later version: they are
/// `None` in a shorter record.
macro_rules! layout {
    (
        $(#[$doc:meta])* $name:ident of $least:literal {
            $($(#[$fdoc:meta])* $field:ident: $ty:ty = $offset:literal,)*
        }
        $(later {
            $($(#[$ldoc:meta])* $later:ident: $lty:ty = $loffset:literal,)*
        })?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$fdoc])* pub $field: $ty,)*
            $($($(#[$ldoc])* pub $later: Option<$lty>,)*)?
        }

        impl $name {
            /// Bytes that a record must have.
            pub const MIN_BYTES: usize = $least;

            /// Reads a record; `None`: it is too short.
            pub fn read(bytes: &[u8]) -> Option<Self> {
                $(const { assert!($offset + size_of::<$ty>() <= $least) };)*
                if bytes.len() < Self::MIN_BYTES {
                    return None;
                }
                Some(Self {
                    $($field: crate::layout::Field::at(bytes, $offset)?,)*
                    $($($later: crate::layout::Field::at(bytes, $loffset),)*)?
                })
            }
        }
    };
}
pub(crate) use layout;
