//! The parts of a C++ function's name: namespaces, template arguments, parameters.

use std::borrow::Cow;

/// Deeper nesting does not occur in readable names.
const MAX_DEPTH: usize = 32;

/// A name as Nsight Systems writes it, in the words of other demanglers: `[lambda(int) (instance 1)]` becomes
/// `{lambda(int)#1}`.
pub fn unified(name: &str) -> Cow<'_, str> {
    const WORDS: [(&str, &str); 4] = [
        ("<unnamed>", "(anonymous namespace)"),
        ("operator ()", "operator()"),
        ("[lambda(", "{lambda("),
        ("<void ", "<"),
    ];
    if !name.contains("<unnamed>") && !name.contains("[lambda(") {
        return name.into();
    }
    let mut text = name.to_owned();
    for (word, other) in WORDS {
        text = text.replace(word, other);
    }
    text = text.replace(", void ", ", ");
    while let Some(start) = text.find(" (instance ") {
        let number = start + " (instance ".len();
        let Some(end) = text[number..].find(")]").map(|end| number + end) else {
            break;
        };
        text = format!(
            "{}#{}}}{}",
            &text[..start],
            &text[number..end],
            &text[end + 2..]
        );
    }
    text.into()
}

/// One part between `::` and `::`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Identifier, `(anonymous namespace)`, `operator…` or `lambda`.
    pub name: &'a str,
    /// Texts of template arguments.
    pub arguments: Option<Vec<&'a str>>,
    /// Texts of parameters.
    pub parameters: Option<Vec<&'a str>>,
    /// The number of a lambda, as `#2`.
    pub number: &'a str,
}

impl Part<'_> {
    /// True for a closure.
    pub fn is_lambda(&self) -> bool {
        self.name == "lambda"
    }

    /// True for the call operator of a functor.
    pub fn is_call(&self) -> bool {
        self.name == "operator()"
    }
}

/// A function: its path, and its parameters on the last part.
pub fn function(text: &str) -> Option<Vec<Part<'_>>> {
    let is_void = text.starts_with("void ");
    // Kernel descriptors of AMD, as the demanglers of GNU and LLVM write them.
    let suffixes = [" [clone .kd]", " (.kd)"];
    let descriptor = suffixes.iter().find_map(|end| text.strip_suffix(end));
    let text = descriptor.unwrap_or(text);
    let text = text.strip_suffix(" const").unwrap_or(text);
    if !(is_void || text.ends_with(')')) || !is_balanced(text) {
        return None;
    }
    let spaces = positions(text, b' ');
    let start = spaces.last().map_or(0, |at| at + 1);
    let path = path(&text[start..])?;
    let last = path.last()?;
    let takes_types = |parameters: &Vec<&str>| {
        let is_type = |one: &&str| {
            one.ends_with(['*', '&', '>']) || one.starts_with("unsigned ") || one.contains("::")
        };
        parameters.iter().any(is_type)
    };
    let is_known = match &last.parameters {
        Some(parameters) => {
            is_void || path.len() > 1 || last.arguments.is_some() || takes_types(parameters)
        }
        None => is_void,
    };
    (is_known && is_return_type(&text[..start])).then_some(path)
}

/// Returns whether this is empty or a type, rather than a word of a sentence.
fn is_return_type(text: &str) -> bool {
    let of_type = |c: char| c.is_ascii_alphanumeric() || "_:<>,*&()!#= {}".contains(c);
    let is_word = |word: &str| {
        let word = word.trim_end_matches(['*', '&']);
        let is_known = matches!(
            word,
            "" | "auto"
                | "bool"
                | "char"
                | "const"
                | "double"
                | "float"
                | "int"
                | "long"
                | "short"
                | "signed"
                | "static"
                | "unsigned"
                | "void"
                | "__half"
        );
        is_known || word.ends_with("_t") || word.contains("::") || word.ends_with('>')
    };
    let mut start = 0;
    let ends = positions(text, b' ').into_iter().chain([text.len()]);
    let mut words = ends.map(|end| &text[std::mem::replace(&mut start, end + 1)..end]);
    text.chars().all(of_type) && words.all(is_word)
}

/// A path of names; `None` where the text is none.
pub fn path(text: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut start = 0;
    let colons = positions(text, b':');
    let mut cuts = colons
        .iter()
        .filter(|at| text.as_bytes().get(**at + 1) == Some(&b':'))
        .copied()
        .peekable();
    loop {
        let end = cuts.next().unwrap_or(text.len());
        parts.push(part(text.get(start..end)?)?);
        if end == text.len() {
            return Some(parts);
        }
        start = end + 2;
        while cuts.next_if(|at| *at < start).is_some() {}
    }
}

fn part(text: &str) -> Option<Part<'_>> {
    let text = text.strip_suffix(" const").unwrap_or(text);
    if text == "(anonymous namespace)" {
        return Some(plain(text));
    }
    if let Some(inner) = text
        .strip_prefix("{lambda(")
        .and_then(|text| text.strip_suffix('}'))
    {
        let (parameters, number) = inner.rsplit_once(')')?;
        return Some(Part {
            parameters: Some(list(parameters)),
            number,
            ..plain("lambda")
        });
    }
    let (name, rest) = match text.strip_prefix("operator()") {
        Some(rest) => ("operator()", rest),
        None => {
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '~');
            let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
            text.split_at(end)
        }
    };
    let is_symbol = name.starts_with("_Z") || name.starts_with("_R");
    if name.is_empty() || is_symbol || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut part = plain(name);
    let mut rest = rest;
    if rest.starts_with('<') {
        let end = closing(rest)?;
        part.arguments = Some(list(&rest[1..end]));
        rest = &rest[end + 1..];
    }
    if rest.starts_with('(') {
        let end = closing(rest)?;
        part.parameters = Some(list(&rest[1..end]));
        rest = &rest[end + 1..];
    }
    rest.is_empty().then_some(part)
}

fn plain(name: &str) -> Part<'_> {
    Part {
        name,
        arguments: None,
        parameters: None,
        number: "",
    }
}

fn list(text: &str) -> Vec<&str> {
    let mut start = 0;
    let mut parts = Vec::new();
    for at in positions(text, b',').into_iter().chain([text.len()]) {
        let part = text[start..at].trim();
        if !part.is_empty() {
            parts.push(part);
        }
        start = at + 1;
    }
    parts
}

/// Positions of a byte outside all brackets. Blanks before `const` do not count.
fn positions(text: &str, wanted: u8) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' | b'<' | b'{' | b'[' => depth += 1,
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b')' | b'>' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_const = || wanted == b' ' && text[at + 1..].starts_with("const::");
        if *byte == wanted && depth == 0 && !is_const() {
            found.push(at);
        }
    }
    found
}

/// Position at which the bracket that the text starts with is closed.
fn closing(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' | b'<' | b'{' | b'[' => depth += 1,
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b')' | b'>' | b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn is_balanced(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        let opening = match byte {
            b'(' | b'<' | b'{' | b'[' => {
                open.push(*byte);
                if open.len() > MAX_DEPTH {
                    return false;
                }
                continue;
            }
            b'>' if at > 0 && bytes[at - 1] == b'-' => continue,
            b')' => b'(',
            b'>' => b'<',
            b'}' => b'{',
            b']' => b'[',
            _ => continue,
        };
        if open.pop() != Some(opening) {
            return false;
        }
    }
    open.is_empty()
}
