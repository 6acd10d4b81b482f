//! Options of an import.

/// Limits on how bad a file may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Keep what stands before the first damage, and say so, instead of refusing the file.
    pub partial: bool,
    /// A packed file may become this many times as long, beyond [`Options::FREE_BYTES`].
    pub max_ratio: u64,
}

impl Options {
    /// A packed file may become this long whatever its ratio.
    pub const FREE_BYTES: u64 = 64 << 20;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            partial: false,
            max_ratio: 200,
        }
    }
}
