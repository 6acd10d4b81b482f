//! Stretches in which a recorder was paused.

/// Fact of a run that says so.
pub(crate) const PAUSED: &str = "paused";

/// What the fact says.
pub(crate) fn paused(count: u64, seconds: f64) -> String {
    let times = if count == 1 { "once" } else { "times" };
    let count = if count == 1 {
        String::new()
    } else {
        format!("{count} ")
    };
    format!("{count}{times}, for {seconds:.6} s in all (rows of annotations of kind paused)")
}

/// All of them, in ticks of the recorder's clock.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    since: Option<u64>,
    count: u64,
    total: u64,
}

impl Pauses {
    /// One begins; true: the first.
    pub fn begin(&mut self, at: u64) -> bool {
        self.since = Some(at);
        self.count += 1;
        self.count == 1
    }

    /// One ends: when it began. `None`: there is none.
    pub fn end(&mut self, at: u64) -> Option<u64> {
        let since = self.since.take()?;
        self.total += at.saturating_sub(since);
        Some(since)
    }

    /// Their number and length. `None`: there was none.
    pub fn sum(&self) -> Option<(u64, u64)> {
        (self.count > 0).then_some((self.count, self.total))
    }
}
