//! Thresholds: declared in groups where they are used, set by a user as one list of options.

use serde::de::MapAccess;

pub trait Thresholds {
    /// Names of the options, unique over all groups.
    const NAMES: &'static [&'static str];

    /// Takes the value of a threshold from `map`; false: it has none of that name.
    ///
    /// # Errors
    /// The value is of another type.
    fn set<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error>;
}

macro_rules! thresholds {
    (
        $(#[$doc:meta])*
        pub struct $group:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $group { $($(#[$field_doc])* pub $field: $type,)* }

        impl Default for $group {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::options::Thresholds for $group {
            const NAMES: &'static [&'static str] = &[$(stringify!($field)),*];

            #[allow(unused_variables, reason = "a group may be empty")]
            fn set<'de, A: serde::de::MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
                match name {
                    $(stringify!($field) => self.$field = map.next_value()?,)*
                    _ => return Ok(false),
                }
                #[allow(unreachable_code, reason = "a group may be empty")]
                Ok(true)
            }
        }
    };
}
pub(crate) use thresholds;

thresholds! {
    /// Thresholds of all rules. Shares are of the window unless said otherwise.
    pub struct General {
        /// Largest number of groups reported as findings; the table `bottlenecks` lists all.
        findings: usize = 5,
        /// Findings with a smaller predicted gain are not reported.
        least_share: f64 = 0.03,
        medium_share: f64 = 0.10,
        high_share: f64 = 0.25,
        critical_share: f64 = 0.50,
    }
}
