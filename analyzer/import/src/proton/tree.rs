//! The tree, read without recursion.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::Error;

/// Limit for nesting; Python stacks are shallower.
const MAX_DEPTH: usize = 1 << 14;

pub enum Node<'n> {
    /// A frame with metrics; the path begins with the outermost frame.
    Frame {
        path: &'n [&'n str],
        metrics: &'n Metrics,
    },
    Device {
        vendor: &'n str,
        number: &'n str,
        metrics: &'n Metrics,
    },
}

#[derive(Clone, Debug, Default)]
pub struct Metrics(BTreeMap<String, Scalar>);

#[derive(Clone, Debug)]
enum Scalar {
    Number(f64),
    Text(String),
}

impl Metrics {
    pub fn numbers(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().filter_map(|(name, value)| match value {
            Scalar::Number(number) => Some((name.as_str(), *number)),
            Scalar::Text(_) => None,
        })
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        match self.0.get(name)? {
            Scalar::Number(number) => Some(*number),
            Scalar::Text(text) => text.parse().ok(),
        }
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            Scalar::Text(text) => Some(text),
            Scalar::Number(_) => None,
        }
    }

    pub fn device(&self) -> Option<&str> {
        self.text("device_id")
    }
}

pub enum Problem {
    Json { at: usize, expected: &'static str },
    Run(Error),
}

/// An open object or list: a frame, its `frame` or `metrics`, a list of children, or any other.
#[derive(Debug, Default)]
struct Open {
    key: String,
    is_list: bool,
    name: Option<String>,
    metrics: Option<Metrics>,
    scalars: Metrics,
}

/// A finished frame. Its enclosing frame is finished later, and is filled in then.
struct Frame {
    name: String,
    around: Option<usize>,
    metrics: Metrics,
}

#[derive(Default)]
struct Frames {
    all: Vec<Frame>,
    /// Level and index of frames whose enclosing frame is not finished.
    waiting: Vec<(usize, usize)>,
}

pub struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Calls a function for all frames with metrics and all devices.
    pub fn read(
        &mut self,
        take: &mut dyn FnMut(&Node<'_>) -> Result<(), Error>,
    ) -> Result<(), Problem> {
        let mut frames = Frames::default();
        let mut open: Vec<Open> = Vec::new();
        let mut key = String::new();
        loop {
            self.space();
            let at_list = open.last().is_some_and(|open| open.is_list);
            match self.byte("a value")? {
                begin @ (b'{' | b'[') => {
                    if open.len() >= MAX_DEPTH {
                        return self.expected("fewer levels of nesting");
                    }
                    open.push(Open {
                        key: std::mem::take(&mut key),
                        is_list: begin == b'[',
                        ..Open::default()
                    });
                    self.space();
                    let end = if begin == b'[' { b']' } else { b'}' };
                    if self.peek() == Some(end) {
                        self.at += 1;
                        close(&mut open, &mut frames, take)?;
                    } else {
                        if begin == b'{' {
                            key = self.key()?;
                        }
                        continue;
                    }
                }
                first => {
                    self.at -= 1;
                    let value = self.scalar(first)?;
                    match (open.last_mut(), value) {
                        (None, _) => return self.expected("a list or an object"),
                        (Some(around), Some(value)) if !at_list => {
                            around.scalars.0.insert(std::mem::take(&mut key), value);
                        }
                        _ => key.clear(),
                    }
                }
            }
            // Behind a value.
            loop {
                self.space();
                let Some(around) = open.last() else {
                    return match self.peek() {
                        None => Ok(()),
                        Some(_) => self.expected("the end of the file"),
                    };
                };
                let is_list = around.is_list;
                match self.byte("a comma or the end of a list or object")? {
                    b',' => {
                        if !is_list {
                            self.space();
                            key = self.key()?;
                        }
                        break;
                    }
                    b']' if is_list => close(&mut open, &mut frames, take)?,
                    b'}' if !is_list => close(&mut open, &mut frames, take)?,
                    _ => {
                        self.at -= 1;
                        return self.expected("a comma or the end of a list or object");
                    }
                }
            }
        }
    }

    fn expected<T>(&self, expected: &'static str) -> Result<T, Problem> {
        let at = self.at;
        Err(Problem::Json { at, expected })
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn byte(&mut self, expected: &'static str) -> Result<u8, Problem> {
        let Some(byte) = self.peek() else {
            return self.expected(expected);
        };
        self.at += 1;
        Ok(byte)
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn key(&mut self) -> Result<String, Problem> {
        if self.peek() != Some(b'"') {
            return self.expected("a key");
        }
        let key = self.string()?.into_owned();
        self.space();
        if self.byte("a colon")? != b':' {
            self.at -= 1;
            return self.expected("a colon");
        }
        Ok(key)
    }

    fn string(&mut self) -> Result<Cow<'b, str>, Problem> {
        let begin = self.at;
        self.at += 1;
        loop {
            match self.byte("the end of a text")? {
                b'"' => break,
                b'\\' => {
                    self.byte("the end of a text")?;
                }
                _ => {}
            }
        }
        let token = &self.bytes[begin..self.at];
        let plain = &token[1..token.len() - 1];
        if !plain.contains(&b'\\') {
            return Ok(String::from_utf8_lossy(plain));
        }
        match serde_json::from_slice::<String>(token) {
            Ok(text) => Ok(Cow::Owned(text)),
            Err(_) => Ok(String::from_utf8_lossy(plain)),
        }
    }

    /// A text or a number; `None` for true, false and null.
    fn scalar(&mut self, first: u8) -> Result<Option<Scalar>, Problem> {
        if first == b'"' {
            return Ok(Some(Scalar::Text(self.string()?.into_owned())));
        }
        let begin = self.at;
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        while self.peek().is_some_and(is_part) {
            self.at += 1;
        }
        match &self.bytes[begin..self.at] {
            b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity" => Ok(None),
            word => {
                let number = std::str::from_utf8(word).ok();
                let number = number.and_then(|word| word.parse::<f64>().ok());
                match number.filter(|number| number.is_finite()) {
                    Some(number) => Ok(Some(Scalar::Number(number))),
                    None => {
                        self.at = begin;
                        self.expected("a value")
                    }
                }
            }
        }
    }
}

fn close(
    open: &mut Vec<Open>,
    frames: &mut Frames,
    take: &mut dyn FnMut(&Node<'_>) -> Result<(), Error>,
) -> Result<(), Problem> {
    let Some(ended) = open.pop().filter(|ended| !ended.is_list) else {
        return Ok(());
    };
    let depth = open.len();
    match (open.last_mut(), ended.key.as_str()) {
        (Some(around), "frame") if !around.is_list => {
            around.name = ended.scalars.text("name").map(str::to_owned);
            return Ok(());
        }
        (Some(around), "metrics") if !around.is_list => {
            around.metrics = Some(ended.scalars);
            return Ok(());
        }
        _ => {}
    }
    if let Some(name) = ended.name {
        frames.add(depth, name, ended.metrics.unwrap_or_default());
        // The outermost frame ends its tree.
        if depth <= 1 {
            frames.give(take).map_err(Problem::Run)?;
        }
    } else if let [_, _, vendor] = open.as_slice()
        && !vendor.is_list
        && !ended.scalars.0.is_empty()
    {
        let node = Node::Device {
            vendor: &vendor.key,
            number: &ended.key,
            metrics: &ended.scalars,
        };
        take(&node).map_err(Problem::Run)?;
    }
    Ok(())
}

const MAX_NAMES: usize = 256;

impl Frames {
    /// Adds a finished frame; all frames inside it were added before.
    fn add(&mut self, depth: usize, name: String, metrics: Metrics) {
        let number = self.all.len();
        while let Some((_, inner)) = self.waiting.pop_if(|(of, _)| *of > depth) {
            self.all[inner].around = Some(number);
        }
        self.waiting.push((depth, number));
        self.all.push(Frame {
            name,
            around: None,
            metrics,
        });
    }

    /// Passes on the frames of a tree, whose outermost was added last.
    fn give(&mut self, take: &mut dyn FnMut(&Node<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let outermost = self.all.len().saturating_sub(1);
        for (number, frame) in self.all.iter().enumerate() {
            // Sums are of a frame alone: the outermost says 0 of each.
            let is_nothing = frame.metrics.numbers().all(|(_, value)| value == 0.0);
            if number == outermost && is_nothing {
                continue;
            }
            let mut path = vec![frame.name.as_str()];
            let mut around = frame.around;
            while let Some(at) = around.filter(|at| *at != outermost && path.len() < MAX_NAMES) {
                path.push(&self.all[at].name);
                around = self.all[at].around;
            }
            path.reverse();
            let node = Node::Frame {
                path: &path,
                metrics: &frame.metrics,
            };
            take(&node)?;
        }
        self.all.clear();
        self.waiting.clear();
        Ok(())
    }
}
