//! Text in columns of a terminal: width, shortening, wrapping, bars.

use std::borrow::Cow;
use std::collections::BTreeMap;

use unicode_width::UnicodeWidthChar;

fn columns(c: char) -> usize {
    #[cfg(test)]
    tests::MEASURED.set(tests::MEASURED.get() + 1);
    c.width().unwrap_or(0)
}

/// Width of a text in columns. It is the sum over characters, so that widths of parts add up.
pub fn measure(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// Like [`measure`], but `None` if the width exceeds `max`. Stops there.
fn measure_within(text: &str, max: usize) -> Option<usize> {
    let mut used = 0;
    for c in text.chars() {
        used += columns(c);
        if used > max {
            return None;
        }
    }
    Some(used)
}

/// Escapes control characters. Names come from recorded programs and plugins, and must not move the cursor or
/// change colours. Bidirectional marks and line separators are escaped too, also for programs that read the output.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            c if is_hidden(c) && (c as u32) < 0x100 => {
                shown.push_str(&format!("\\x{:02x}", c as u32))
            }
            c if is_hidden(c) => shown.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character is invisible, or moves, colours, ends or reverses the text around it.
pub fn is_hidden(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let ends = matches!(c, '\u{2028}' | '\u{2029}');
    // Marks that nobody sees: of byte order, and tags that only programs read.
    let is_unseen = matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() || turns || ends || is_unseen
}

/// Shortens a text to `max` columns. The middle is replaced by `…`, because the ends of kernel names say more.
pub fn shorten(text: &str, max: usize) -> Cow<'_, str> {
    if measure(text) <= max {
        return Cow::Borrowed(text);
    }
    if max == 0 {
        return Cow::Borrowed("");
    }
    let keep = max - 1;
    let front = take(text.chars(), keep.div_ceil(2));
    let back: String = take(text.chars().rev(), keep / 2).chars().rev().collect();
    Cow::Owned(format!("{front}…{back}"))
}

/// Shortens the texts of one list as [`shorten`] does. Where different texts would look alike, the part in which they
/// differ is kept too, as far as the room allows.
pub fn shorten_apart(texts: &[&str], max: usize) -> Vec<String> {
    let mut shown: Vec<String> = texts
        .iter()
        .map(|text| shorten(text, max).into_owned())
        .collect();
    if max < MIN_APART {
        return shown;
    }
    // Cutting texts anew may make them like others.
    for _ in 0..MAX_CUTS {
        let alike = alike(texts, &shown);
        if alike.is_empty() {
            break;
        }
        for places in alike {
            let at = common_chars(places.iter().map(|place| texts[*place]));
            for place in places {
                shown[place] = shorten_around(texts[place], at, max);
            }
        }
    }
    shown
}

/// The least room for a beginning, a middle and an end.
const MIN_APART: usize = 11;
const MAX_CUTS: usize = 8;

/// Places of different texts that are shown as one, by what is shown.
fn alike(texts: &[&str], shown: &[String]) -> Vec<Vec<usize>> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, text) in shown.iter().enumerate() {
        places.entry(text).or_default().push(place);
    }
    let differ = |places: &Vec<usize>| {
        let mut all = places.iter().map(|place| texts[*place]);
        let first = all.next();
        all.any(|text| Some(text) != first)
    };
    places.into_values().filter(differ).collect()
}

/// How many characters different texts have in common before the first in which any of them differs.
fn common_chars<'t>(mut texts: impl Iterator<Item = &'t str>) -> usize {
    let Some(first) = texts.next() else { return 0 };
    let mut common = usize::MAX;
    for text in texts.filter(|text| *text != first) {
        let pairs = first.chars().zip(text.chars());
        common = common.min(pairs.take_while(|(one, other)| one == other).count());
    }
    common
}

/// Shortens a text to its beginning, what stands around the character `at`, and its end.
fn shorten_around(text: &str, at: usize, max: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    let keep = max.saturating_sub(2);
    let (front, middle) = (keep.div_ceil(4), keep.div_ceil(2));
    let front = take(chars.iter().copied(), front);
    let at = at.min(chars.len());
    let start = word_start(&chars, at, middle / 2).max(front.chars().count());
    let middle = take(chars[start..].iter().copied(), middle);
    let end = start + middle.chars().count();
    let used = measure(&front) + measure(&middle);
    let back = take(
        chars[end..].iter().rev().copied(),
        keep.saturating_sub(used),
    );
    let back: String = back.chars().rev().collect();
    // What is not left out needs no mark.
    let mark = |from: usize, to: usize| if from < to { "…" } else { "" };
    let before = mark(front.chars().count(), start);
    let after = mark(end, chars.len() - back.chars().count());
    format!("{front}{before}{middle}{after}{back}")
}

/// The start of the word, or else of the number, that holds a character, if it is no further away than `most`.
fn word_start(chars: &[char], at: usize, most: usize) -> usize {
    let start = |is: fn(char) -> bool| {
        let before = chars[..at].iter().rev();
        at - before.take_while(|c| is(**c)).count()
    };
    let starts = [
        start(char::is_alphanumeric),
        start(|c: char| c.is_ascii_digit()),
    ];
    let near = starts.into_iter().find(|start| at - start <= most);
    near.unwrap_or(at)
}

fn take(chars: impl Iterator<Item = char>, max: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += columns(*c);
            used <= max
        })
        .collect()
}

/// Pads `text` with spaces to `width` columns, on its left if `right_aligned`.
pub fn pad(text: &str, width: usize, right_aligned: bool) -> String {
    let spaces = " ".repeat(width.saturating_sub(measure(text)));
    if right_aligned {
        format!("{spaces}{text}")
    } else {
        format!("{text}{spaces}")
    }
}

/// Wraps a text at spaces into lines of at most `width` columns.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let (mut line, mut used) = (String::new(), 0);
        for word in printable(paragraph).split_whitespace() {
            let mut word = word;
            loop {
                let gap = usize::from(!line.is_empty());
                let room = width.checked_sub(used + gap);
                if let Some(columns) = room.and_then(|room| measure_within(word, room)) {
                    if gap == 1 {
                        line.push(' ');
                    }
                    line.push_str(word);
                    used += gap + columns;
                    break;
                }
                if !line.is_empty() {
                    lines.push(std::mem::take(&mut line));
                    used = 0;
                    continue;
                }
                // A word wider than a line is cut; a character wider than a line stands alone.
                let head = take(word.chars(), width);
                let cut = if head.is_empty() {
                    word.chars().next().map_or(0, char::len_utf8)
                } else {
                    head.len()
                };
                lines.push(word[..cut].to_owned());
                word = &word[cut..];
                if word.is_empty() {
                    break;
                }
            }
        }
        lines.push(line);
    }
    while lines.len() > 1 && lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// A bar for a ratio, `width` columns long, in eighths of a column.
pub fn bar(ratio: Option<f64>, width: usize) -> String {
    let Some(ratio) = ratio.filter(|ratio| ratio.is_finite()) else {
        return String::new();
    };
    let eighths = (ratio.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let mut text = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        text.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8 - 1]);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use proptest::prelude::*;

    thread_local! {
        pub(super) static MEASURED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn the_middle_makes_way() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("gemv_avx512_rows", 9), "gemv…rows");
        assert_eq!(shorten("漢字漢字漢字", 5), "漢…字");
        assert_eq!(shorten("abc", 1), "…");
    }

    #[test]
    fn what_tells_texts_apart_is_kept() {
        let kernel = |tile: &str, stage: u32| {
            format!(
                "sm86_xmma_gemm_tilesize{tile}x16_warpsize2x2x1_stage{stage}_execute_kernel_cudnn"
            )
        };
        let kernels = [
            kernel("128x128", 4),
            kernel("64x64", 4),
            kernel("64x64", 5),
            kernel("64x64", 5),
        ];
        let names = [
            kernels[0].as_str(),
            &kernels[1],
            &kernels[2],
            &kernels[3],
            "add",
        ];
        assert_eq!(
            shorten_apart(&names, 31),
            [
                "sm86_xmm…128x128x16_warp…_cudnn",
                "sm86_xmm…stage4_execute_…_cudnn",
                "sm86_xmm…stage5_execute_…_cudnn",
                "sm86_xmm…stage5_execute_…_cudnn",
                "add",
            ]
        );
        // Nothing else changes.
        let names = ["gemv_avx512_rows", "gemm_avx512_columns"];
        assert_eq!(shorten_apart(&names, 11), ["gemv_…_rows", "gemm_…lumns"]);
    }

    #[test]
    fn bars_grow_in_eighths() {
        assert_eq!(bar(Some(0.0), 4), "");
        assert_eq!(bar(Some(0.5), 4), "██");
        assert_eq!(bar(Some(1.0), 4), "████");
        assert_eq!(bar(Some(1.0 / 32.0), 4), "▏");
        assert_eq!(
            bar(Some(7.0), 4),
            "████",
            "a share above one is a full bar; the number beside it tells"
        );
        assert_eq!(bar(None, 4), "");
    }

    #[test]
    fn what_turns_text_or_ends_a_line_is_shown_by_its_number() {
        let odd = "a\x1b\u{9b}\u{202e}\u{200f}\u{2028}\u{feff}\n\tb";
        let shown = "a\\x1b\\x9b\\u{202e}\\u{200f}\\u{2028}\\u{feff}\\n\\tb";
        assert_eq!(printable(odd), shown);
        assert_eq!(printable("e\u{301} שלום 漢"), "e\u{301} שלום 漢");
    }

    #[test]
    fn words_wrap_and_long_ones_are_cut() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("a\n\nb", 9), ["a", "", "b"]);
        assert_eq!(wrap("", 9), [""]);
    }

    #[test]
    fn each_character_is_measured_a_few_times_however_long_the_text() {
        let measured = |text: &str, width: usize| {
            MEASURED.set(0);
            let lines = wrap(text, width);
            assert!(
                lines.len() > text.len() / width / 8,
                "{} lines",
                lines.len()
            );
            MEASURED.get()
        };
        for length in [1_000, 10_000, 1_000_000] {
            let word = "x".repeat(length);
            let words = "word ".repeat(length / 5);
            let growing: String = (0..length)
                .scan(0, |sum, n| {
                    *sum += n + 1;
                    (*sum < length).then(|| "y".repeat(n) + " ")
                })
                .collect();
            let lines = "a line\n".repeat(length / 7);
            for text in [word, words, growing, lines] {
                for width in [8, 80] {
                    // Of a word that does not fit: once to see it, once to cut it.
                    let measured = measured(&text, width);
                    let most = 3 * text.len() + 2 * width;
                    assert!(measured <= most, "{measured} of {} at {width}", text.len());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_asked(text in "\\PC{0,60}", max in 2..40_usize) {
            prop_assert!(measure(&shorten(&text, max)) <= max);
            let (longer, other) = (format!("{text}{text}"), format!("{text}-{text}"));
            let texts = [text.as_str(), &longer, &other];
            prop_assert!(shorten_apart(&texts, max).iter().all(|shown| measure(shown) <= max));
            prop_assert!(wrap(&text, max).iter().all(|line| measure(line) <= max));
        }

        #[test]
        fn long_texts_that_differ_in_one_place_are_shown_apart(
            (text, at) in "[a-z_0-9]{20,90}".prop_flat_map(|text| { let at = 0..text.len(); (Just(text), at) }),
            max in 12..60_usize,
        ) {
            let mut other = text.clone();
            other.replace_range(at..=at, "X");
            let shown = shorten_apart(&[&text, &other], max);
            prop_assert!(shown[0] != shown[1], "{shown:?}");
        }

        #[test]
        fn what_is_printable_has_no_control_characters(text in any::<String>()) {
            prop_assert!(!printable(&text).chars().any(is_hidden));
        }
    }
}
