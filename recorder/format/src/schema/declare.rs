//! The macro that the list of tables is written in.

/// Declares all tables, in the order reports list them:
///
/// `Id "name" of Row, "doc", (facts of the table) { column: type, Role, "doc"; ... }`
///
/// A column may be followed by a value for [`Default`] (`valid: bool = true`).
macro_rules! tables {
    ($(
        $id:ident $name:literal of $row:ident, $doc:literal,
        ($($fact:ident: $value:expr),*) {
            $($column:ident: $ty:ty $(= $default:expr)?, $role:ident, $column_doc:literal;)*
        }
    )*) => {
        /// A table by its place in [`TABLES`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum TableId {
            $(#[doc = concat!("`", $name, "`: ", $doc)] $id,)*
        }

        impl TableId {
            /// Every table.
            pub const ALL: &[Self] = &[$(Self::$id),*];
        }

        /// Every table, in the order reports list them.
        pub const TABLES: &[Table] = &[
            $(Table {
                $($fact: $value,)*
                ..Table::new(
                    $name,
                    $doc,
                    &[$(Column::new::<$ty>(stringify!($column), Role::$role, $column_doc)),*],
                )
            },)*
        ];

        $(
            #[doc = concat!("A row of `", $name, "`: ", $doc, ".")]
            #[derive(Clone, Copy, Debug, PartialEq)]
            pub struct $row {
                $(#[doc = $column_doc] pub $column: $ty,)*
            }

            impl Default for $row {
                fn default() -> Self {
                    Self { $($column: declare::or_default!($($default)?),)* }
                }
            }

            impl TableRow for $row {
                const TABLE: TableId = TableId::$id;

                #[inline(always)]
                fn put_into(&self, sink: &mut impl CellSink) {
                    $(Field::put_into(self.$column, sink);)*
                }
            }
        )*
    };
}

macro_rules! or_default {
    () => {
        Default::default()
    };
    ($value:expr) => {
        $value
    };
}

pub(super) use {or_default, tables};
