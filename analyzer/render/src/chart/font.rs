//! The font of charts: it comes along, so that no font of the system is asked for.

use std::sync::LazyLock;

use plotters::style::{FontStyle, IntoFont, register_font};

/// DejaVu Sans, reduced to the characters that charts use; see `assets/font/LICENSE`.
static BYTES: &[u8] = include_bytes!("../../assets/font/DejaVuSans.ttf");

/// Browsers use the system's font of this name, PNG files the font above.
pub const FAMILY: &str = "sans-serif";

/// Ratio of the size in plotters (a line's height) to the font size in SVG.
pub const LINE: f64 = 1.24;

static KNOWN: LazyLock<bool> =
    LazyLock::new(|| register_font(FAMILY, FontStyle::Normal, BYTES).is_ok());

/// Registers the font with plotters; false if it cannot be read.
pub fn known() -> bool {
    *KNOWN
}

pub fn width(text: &str, size: f64) -> f64 {
    let guess = || text.chars().count() as f64 * size * 0.62;
    if !known() {
        return guess();
    }
    match (FAMILY, size * LINE).into_font().box_size(text) {
        Ok((width, _)) => f64::from(width),
        Err(_) => guess(),
    }
}

pub fn fit(text: &str, size: f64, room: f64) -> String {
    let text = trueno_model::width::printable(text);
    if width(&text, size) <= room {
        return text.into_owned();
    }
    let chars: Vec<char> = text.chars().collect();
    let (mut fits, mut wide) = (0, chars.len());
    let cut = |keep: usize| -> String {
        let tail = keep / 2;
        let head = keep - tail;
        let (head, tail) = (&chars[..head], &chars[chars.len() - tail..]);
        head.iter().chain(&['…']).chain(tail).collect()
    };
    while fits + 1 < wide {
        let middle = (fits + wide) / 2;
        if width(&cut(middle), size) <= room {
            fits = middle;
        } else {
            wide = middle;
        }
    }
    if fits == 0 { String::new() } else { cut(fits) }
}
