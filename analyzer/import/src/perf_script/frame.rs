//! Functions of a stack, and the lines of source below them.

/// A line `address function+offset (module)`. Only the address is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLine<'t> {
    /// The address within the file if perf states it, otherwise as printed.
    pub address: u64,
    /// The printed address; inlined functions have that of their caller.
    pub printed_address: u64,
    pub function: Option<&'t str>,
    pub module: Option<&'t str>,
    pub is_inlined: bool,
}

impl FrameLine<'_> {
    pub fn is_symbolized(&self) -> bool {
        self.is_inlined || self.module.is_some() || self.function.is_some()
    }
}

pub fn parse(line: &str) -> Option<FrameLine<'_>> {
    let line = line.trim();
    let (mut address, mut text) = first_word(line);
    // Other columns that were asked for, such as the address of data, stand before the function's.
    while let (next, behind) = first_word(text)
        && next.contains(|c: char| c.is_ascii_digit())
        && hexadecimal(next).is_some()
        && !behind.is_empty()
        && !behind.starts_with('(')
    {
        (address, text) = (next, behind);
    }
    let printed_address = hexadecimal(address)?;
    let (function, module) = parts(text);
    let mut frame = FrameLine {
        address: printed_address,
        printed_address,
        function: Some(function).filter(|name| !name.is_empty() && *name != "[unknown]"),
        module: None,
        is_inlined: module == Some("inlined"),
    };
    if let Some(mut module) = module.filter(|_| !frame.is_inlined) {
        if let Some((name, offset)) = module.rsplit_once("+0x")
            && let Some(offset) = hexadecimal(offset)
        {
            (module, frame.address) = (name, offset);
        }
        frame.module = match module {
            "" | "[unknown]" => None,
            "[kernel.kallsyms]" | "[kernel.vmlinux]" => Some("[kernel]"),
            module => Some(module),
        };
    }
    Some(frame)
}

pub fn first_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

fn hexadecimal(text: &str) -> Option<u64> {
    let is_hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(text, 16)
        .ok()
        .filter(|_| is_hexadecimal)
}

/// Function without its offset, and the text in parentheses after it. Both may contain spaces and parentheses.
fn parts(text: &str) -> (&str, Option<&str>) {
    for (plus, _) in text.match_indices("+0x") {
        let behind = text[plus + 3..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
        if behind.is_empty() || behind.starts_with(" (") {
            return (&text[..plus], in_parentheses(behind.trim_start()));
        }
    }
    if let Some(module) = text.strip_prefix("[unknown]") {
        return ("", in_parentheses(module.trim_start()));
    }
    match last_group(text) {
        Some(begin) => (text[..begin].trim_end(), in_parentheses(&text[begin..])),
        None => (text, None),
    }
}

fn in_parentheses(text: &str) -> Option<&str> {
    text.strip_prefix('(')?.strip_suffix(')')
}

/// Start of the last group in parentheses with a space before it: a function's argument list follows its name
/// directly.
fn last_group(text: &str) -> Option<usize> {
    if !text.ends_with(')') {
        return None;
    }
    let mut depth = 0;
    let begin = text.bytes().rposition(|byte| {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => (),
        }
        depth == 0
    })?;
    (begin == 0 || text.as_bytes()[begin - 1] == b' ').then_some(begin)
}

/// A source line `file:line` below a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine<'t> {
    pub file: Option<&'t str>,
    pub line: Option<u32>,
    pub is_inlined: bool,
}

pub fn parse_source(line: &str) -> Option<SourceLine<'_>> {
    let text = line.strip_prefix("  ")?.trim();
    let (text, is_inlined) = match text.strip_suffix(" (inlined)") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let text = text.split_once(" insn: ").map_or(text, |(text, _)| text);
    let text = text
        .split_once(" (discriminator ")
        .map_or(text, |(text, _)| text);
    let nothing = SourceLine {
        file: None,
        line: None,
        is_inlined,
    };
    match text.rsplit_once(':') {
        Some(("??", _)) => Some(nothing),
        Some((file, line)) if !file.is_empty() && (line == "?" || line.parse::<u32>().is_ok()) => {
            Some(SourceLine {
                file: Some(file),
                line: line.parse().ok().filter(|line| *line > 0),
                is_inlined,
            })
        }
        // Where the source is not known, perf says the function or module again.
        _ => (!text.is_empty() && !text.contains(' ')).then_some(nothing),
    }
}
