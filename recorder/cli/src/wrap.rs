//! Lines that fit a terminal.

const WIDTH: usize = 80;
const INDENT: usize = 4;

/// Breaks lines at spaces and indents continuation lines. Words longer than a line stay whole, so that they can be
/// copied.
pub fn wrapped(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut width = 0;
        // Each with the spaces in front of it: columns stay columns.
        for (at, word) in pieces(line) {
            let long = word.chars().count();
            let spaces = at - (at.min(line[..at].trim_end_matches(' ').len()));
            if width > 0 && width + spaces + long > WIDTH {
                out.push('\n');
                out.push_str(&" ".repeat(INDENT));
                width = INDENT;
            } else {
                out.push_str(&" ".repeat(spaces));
                width += spaces;
            }
            out.push_str(word);
            width += long;
        }
        out.push('\n');
    }
    out
}

fn pieces(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let words = line.split(' ').scan(0, |at, word| {
        let here = *at;
        *at += word.len() + 1;
        Some((here, word))
    });
    words.filter(|(_, word)| !word.is_empty())
}
