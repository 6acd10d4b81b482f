//! Times of lines, in the forms of `-t`, `-tt`, `-ttt` and `-r`.

const NS_PER_S: i64 = 1_000_000_000;
const DAY_NS: i64 = 86_400 * NS_PER_S;
/// Smaller numbers of seconds are differences (`-r`), larger ones are Unix times (`-ttt`).
const MIN_EPOCH_NS: i64 = 100_000_000 * NS_PER_S;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Since the Unix epoch (`-ttt`), or since the previous line (`-r`).
    Seconds(i64),
    /// Since midnight (`-t`, `-tt`).
    OfDay(i64),
}

impl Stamp {
    /// Parses `1700000000.123456`, `0.000123` or `12:01:02.123456`.
    pub fn parse(text: &str) -> Option<Self> {
        let Some((hours, rest)) = text.split_once(':') else {
            return seconds(text).map(Self::Seconds);
        };
        let (minutes, rest) = rest.split_once(':')?;
        let whole = |text: &str, end: i64| {
            let number = seconds(text).filter(|_| text.len() == 2)? / NS_PER_S;
            (number < end).then_some(number)
        };
        let minutes = whole(hours, 24)? * 60 + whole(minutes, 60)?;
        let seconds_ns = seconds(rest).filter(|ns| *ns < 62 * NS_PER_S)?;
        Some(Self::OfDay(minutes * 60 * NS_PER_S + seconds_ns))
    }
}

/// Seconds to nanoseconds, digit by digit, because floating point would round.
pub fn seconds(text: &str) -> Option<i64> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let nanoseconds: i64 = format!("{fraction:0<9}").parse().ok()?;
    whole
        .parse::<i64>()
        .ok()?
        .checked_mul(NS_PER_S)?
        .checked_add(nanoseconds)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    None,
    Epoch,
    OfDay,
    Differences,
}

#[derive(Debug, Default)]
pub struct Timeline {
    form: Option<Form>,
    origin_ns: i64,
    /// Nanoseconds of the days that have passed.
    days_ns: i64,
    now_ns: i64,
    is_fine: bool,
    lines: u64,
}

impl Timeline {
    /// Time of a line. If the time is missing or of another form, the latest time so far. A difference to the
    /// previous line takes precedence over a time, which may be in whole seconds.
    pub fn time_ns(&mut self, stamp: Option<Stamp>, since_last_ns: Option<i64>) -> i64 {
        let fraction = |ns: i64| ns % NS_PER_S != 0;
        let has_fraction = match stamp {
            Some(Stamp::Seconds(ns) | Stamp::OfDay(ns)) => fraction(ns),
            None => false,
        };
        self.is_fine |= has_fraction || since_last_ns.is_some_and(fraction);
        self.lines += 1;
        let form = *self.form.get_or_insert_with(|| {
            let (form, origin_ns) = match stamp {
                None => (Form::None, 0),
                Some(Stamp::Seconds(ns)) if ns < MIN_EPOCH_NS => (Form::Differences, 0),
                Some(Stamp::Seconds(ns)) => (Form::Epoch, ns),
                Some(Stamp::OfDay(ns)) => (Form::OfDay, ns),
            };
            self.origin_ns = origin_ns;
            form
        });
        if let (Some(ns), true) = (since_last_ns, form != Form::None) {
            self.now_ns = self.now_ns.saturating_add(ns);
            return self.now_ns;
        }
        self.now_ns = match (form, stamp) {
            (Form::Epoch, Some(Stamp::Seconds(ns))) => ns.saturating_sub(self.origin_ns),
            (Form::Differences, Some(Stamp::Seconds(ns))) => self.now_ns.saturating_add(ns),
            (Form::OfDay, Some(Stamp::OfDay(ns))) => {
                let mut since_ns = (ns - self.origin_ns).saturating_add(self.days_ns);
                if since_ns < self.now_ns.saturating_sub(DAY_NS / 2) {
                    self.days_ns = self.days_ns.saturating_add(DAY_NS);
                    since_ns = since_ns.saturating_add(DAY_NS);
                }
                since_ns
            }
            _ => self.now_ns,
        };
        self.now_ns
    }

    pub fn is_timed(&self) -> bool {
        self.form.is_some_and(|form| form != Form::None)
    }

    pub fn is_coarse(&self) -> bool {
        self.is_timed() && !self.is_fine && self.lines > 1
    }

    /// Time 0 as Unix time in nanoseconds; 0 if the file has no date.
    pub fn origin_realtime_ns(&self) -> i64 {
        match self.form {
            Some(Form::Epoch) => self.origin_ns,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(stamps: &[&str]) -> Vec<i64> {
        let mut timeline = Timeline::default();
        let stamps = stamps.iter().map(|stamp| Stamp::parse(stamp));
        stamps.map(|stamp| timeline.time_ns(stamp, None)).collect()
    }

    #[test]
    fn each_form_counts_from_the_first_line() {
        let epoch = ["1700000000.000001", "1700000000.000003500", "1700000001"];
        assert_eq!(times(&epoch), [0, 2_500, 999_999_000]);
        let differences = ["0.000000", "0.000005", "0.1"];
        assert_eq!(times(&differences), [0, 5_000, 100_005_000]);
        let of_day = ["23:59:59.5", "00:00:00.25", "?", "00:00:01"];
        let expected = [0, 750_000_000, 750_000_000, 1_500_000_000];
        assert_eq!(times(&of_day), expected);
        assert_eq!(times(&["-", "1700000000.000001"]), [0, 0]);
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "", ".", "1.", ".1", "1:2", "24:00:00", "1:00:00", "00:60:00", "a:b:c", "00:00:99",
        ] {
            assert_eq!(Stamp::parse(text), None, "{text}");
        }
    }
}
