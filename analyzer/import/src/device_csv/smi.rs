//! Samples of `nvidia-smi --query-gpu=timestamp,index,… --format=csv -l 1`.

use super::columns::{Column, Row};
use crate::Error;
use crate::chrome::feed::Feed;

pub fn row(feed: &mut Feed<'_>, row: Row<'_>) -> Result<(), Error> {
    let columns = row.columns;
    let time = row.text(Column::Time).and_then(time_ns);
    let Some(time_ns) = time else {
        return feed.leave_out("sample without a timestamp such as 2024/05/01 12:00:00.123");
    };
    let device = row
        .text(Column::Place)
        .and_then(|cell| cell.parse::<u32>().ok());
    let device = device.unwrap_or(0);
    for (place, title) in columns.titles.iter().enumerate() {
        let is_place = [Column::Time, Column::Place]
            .iter()
            .any(|column| columns.place(*column) == Some(place));
        if is_place {
            continue;
        }
        let value = row.cell(place).unwrap_or("");
        let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
        let Ok(number) = number.parse::<f64>() else {
            feed.notes()
                .skip("value that is not a number, or not supported by the device");
            continue;
        };
        let name = title.split(['[', '(']).next().unwrap_or(title).trim();
        let unit = match (unit, title.split_once('[')) {
            ("", Some((_, unit))) => unit.trim_end_matches(']'),
            (unit, _) => unit,
        };
        let name = match unit {
            "" => format!("gpu{device} {name}"),
            unit => format!("gpu{device} {name} [{unit}]"),
        };
        feed.counter(0, &name, time_ns, number)?;
    }
    Ok(())
}

/// Parses `2024/05/01 12:00:00.123`, in local time, as nanoseconds since 1970 in local time.
fn time_ns(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(' ')?;
    let mut date = date.split(['/', '-']).map(str::parse::<i64>);
    let mut part = || date.next()?.ok();
    let (year, month, day) = (part()?, part()?, part()?);
    let mut time = time.splitn(3, ':');
    let hours: i64 = time.next()?.parse().ok()?;
    let minutes: i64 = time.next()?.parse().ok()?;
    let seconds: f64 = time.next()?.parse().ok()?;
    let is_date =
        (1970..2262).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let is_time =
        (0..24).contains(&hours) && (0..60).contains(&minutes) && (0.0..61.0).contains(&seconds);
    if !is_date || !is_time {
        return None;
    }
    // Days from the civil date, by the rule of Fliegel and Van Flandern shifted to March.
    let year_of_march = if month <= 2 { year - 1 } else { year };
    let month_of_march = (month + 9) % 12;
    let days = 365 * year_of_march + year_of_march / 4 - year_of_march / 100
        + year_of_march / 400
        + (month_of_march * 306 + 5) / 10
        + day
        - 1
        - 719_468;
    let whole = (days * 24 + hours) * 60 + minutes;
    Some(whole * 60_000_000_000 + (seconds * 1e9).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_the_epoch() {
        assert_eq!(time_ns("1970/01/01 00:00:00.000"), Some(0));
        assert_eq!(
            time_ns("2024/05/01 12:00:00.123"),
            Some(1_714_564_800_123_000_000)
        );
        assert_eq!(
            time_ns("2000/02/29 23:59:59.5"),
            Some(951_868_799_500_000_000)
        );
        assert_eq!(time_ns("2024/13/01 12:00:00"), None);
        assert_eq!(time_ns("N/A"), None);
    }
}
