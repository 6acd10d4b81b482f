//! The opcodes of Python's pickles that plain data takes. No name of Python is ever looked up, and none is called.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

/// Limits for the stack and for the texts of one value.
const MAX_STACK: usize = 1 << 24;
const MAX_TEXT_BYTES: u64 = 16 << 20;

#[derive(Clone, Debug, Default)]
pub enum Value {
    /// `None`, or a value that is not used.
    #[default]
    Nothing,
    Number(i64),
    Real(f64),
    Text(Rc<str>),
    List(Rc<RefCell<Vec<Value>>>),
    Dict(Rc<RefCell<Vec<(Value, Value)>>>),
    /// A dict, replaced by a number of the sink.
    Made(u32),
}

impl Value {
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Real(number) if number.abs() < 9e18 => Some(*number as i64),
            _ => None,
        }
    }

    pub fn real(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The value of a key in the items of a dict.
pub fn item<'v>(items: &'v [(Value, Value)], key: &str) -> Option<&'v Value> {
    let found = items.iter().find(|(name, _)| name.text() == Some(key));
    found.map(|(_, value)| value)
}

#[derive(Debug)]
pub struct Damage {
    pub place: String,
    pub text: String,
}

pub trait Sink {
    /// The items of a dict. Returns a number that replaces it, or `None` to keep it.
    fn dict(&mut self, items: &[(Value, Value)]) -> Option<u32>;
    fn end(&mut self, value: Value);
}

struct Reader<'r, R> {
    from: &'r mut R,
    at: u64,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: Vec<Value>,
}

pub fn read<R: Read>(from: &mut R, sink: &mut impl Sink) -> Result<(), Damage> {
    let mut reader = Reader {
        from,
        at: 0,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
    };
    let done = reader.run(sink);
    let place = format!("byte {}", reader.at);
    done.map_err(|text| Damage { place, text })
}

impl<R: Read> Reader<'_, R> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).map_err(cut)?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    fn long(&mut self, length: u64) -> Result<Vec<u8>, String> {
        if length > MAX_TEXT_BYTES {
            return Err(format!(
                "a value of {length} bytes, expected at most {MAX_TEXT_BYTES}"
            ));
        }
        let mut bytes = Vec::new();
        let read = self.from.by_ref().take(length).read_to_end(&mut bytes);
        let read = read.map_err(|error| error.to_string())? as u64;
        self.at += read;
        if read == length {
            Ok(bytes)
        } else {
            Err("the pickle is cut".to_owned())
        }
    }

    fn text(&mut self, length: u64) -> Result<(), String> {
        let bytes = self.long(length)?;
        let text = String::from_utf8_lossy(&bytes);
        self.push(Value::Text(Rc::from(&*text)))
    }

    fn push(&mut self, value: Value) -> Result<(), String> {
        if self.stack.len() >= MAX_STACK {
            return Err("too many values at once".to_owned());
        }
        self.stack.push(value);
        Ok(())
    }

    fn pop(&mut self) -> Result<Value, String> {
        let bottom = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= bottom {
            return Err("an opcode takes a value that is not there".to_owned());
        }
        Ok(self.stack.pop().unwrap_or_default())
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Value>, String> {
        let mark = self
            .marks
            .pop()
            .ok_or("an opcode takes a mark that is not there")?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn tuple(&mut self, count: usize) -> Result<(), String> {
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(self.pop()?);
        }
        items.reverse();
        self.push(Value::List(Rc::new(RefCell::new(items))))
    }

    fn memoize(&mut self, at: usize) -> Result<(), String> {
        // Picklers number from 0 upwards.
        if at > self.memo.len() || at >= MAX_STACK * 4 {
            return Err("a memo with a number that does not follow".to_owned());
        }
        let value = self.stack.last().cloned().ok_or("a memo of nothing")?;
        match self.memo.get_mut(at) {
            Some(known) => *known = value,
            None => self.memo.push(value),
        }
        Ok(())
    }

    fn recall(&mut self, at: usize) -> Result<(), String> {
        let value = self
            .memo
            .get(at)
            .cloned()
            .ok_or("a memo that is not there")?;
        let made = match &value {
            Value::Dict(items) => match items.borrow().first() {
                Some((Value::Made(number), _)) => Some(Value::Made(*number)),
                _ => None,
            },
            _ => None,
        };
        self.push(made.unwrap_or(value))
    }

    fn extend(&mut self, items: Vec<Value>) -> Result<(), String> {
        match self.stack.last() {
            Some(Value::List(list)) => list.borrow_mut().extend(items),
            _ => return Err("items for something that is not a list".to_owned()),
        }
        Ok(())
    }

    fn set(&mut self, items: Vec<Value>, sink: &mut impl Sink) -> Result<(), String> {
        let Some(Value::Dict(dict)) = self.stack.last().cloned() else {
            return Err("items for something that is not a dict".to_owned());
        };
        let mut items = items.into_iter();
        let mut all = dict.borrow_mut();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            all.push((key, value));
        }
        if let Some(number) = sink.dict(&all) {
            // Others refer to it by the memo, and find the number.
            all.clear();
            all.push((Value::Made(number), Value::Nothing));
            if let Some(top) = self.stack.last_mut() {
                *top = Value::Made(number);
            }
        }
        Ok(())
    }

    fn run(&mut self, sink: &mut impl Sink) -> Result<(), String> {
        loop {
            let opcode = self.byte()?;
            match opcode {
                0x80 => drop(self.byte()?),
                0x95 => drop(self.bytes::<8>()?),
                b'}' => self.push(Value::Dict(Rc::default()))?,
                b']' => self.push(Value::List(Rc::default()))?,
                b')' => self.tuple(0)?,
                0x85 => self.tuple(1)?,
                0x86 => self.tuple(2)?,
                0x87 => self.tuple(3)?,
                b't' | b'l' => {
                    let items = self.pop_to_mark()?;
                    self.push(Value::List(Rc::new(RefCell::new(items))))?;
                }
                b'(' => self.marks.push(self.stack.len()),
                b'0' => drop(self.pop()?),
                b'N' => self.push(Value::Nothing)?,
                0x88 => self.push(Value::Number(1))?,
                0x89 => self.push(Value::Number(0))?,
                b'K' => {
                    let number = self.byte()?;
                    self.push(Value::Number(number.into()))?;
                }
                b'M' => {
                    let number = u16::from_le_bytes(self.bytes()?);
                    self.push(Value::Number(number.into()))?;
                }
                b'J' => {
                    let number = i32::from_le_bytes(self.bytes()?);
                    self.push(Value::Number(number.into()))?;
                }
                0x8a => {
                    let length = self.byte()?;
                    let bytes = self.long(length.into())?;
                    self.push(long_number(&bytes))?;
                }
                b'G' => {
                    let number = f64::from_be_bytes(self.bytes()?);
                    self.push(Value::Real(number))?;
                }
                0x8c | b'U' => {
                    let length = self.byte()?;
                    self.text(length.into())?;
                }
                b'X' | b'T' => {
                    let length = u32::from_le_bytes(self.bytes()?);
                    self.text(length.into())?;
                }
                0x8d => {
                    let length = u64::from_le_bytes(self.bytes()?);
                    self.text(length)?;
                }
                // Bytes mean nothing here.
                b'C' => {
                    let length = self.byte()?;
                    self.long(length.into())?;
                    self.push(Value::Nothing)?;
                }
                b'B' => {
                    let length = u32::from_le_bytes(self.bytes()?);
                    self.long(length.into())?;
                    self.push(Value::Nothing)?;
                }
                0x94 => self.memoize(self.memo.len())?,
                b'q' => {
                    let at = self.byte()?;
                    self.memoize(at.into())?;
                }
                b'r' => {
                    let at = u32::from_le_bytes(self.bytes()?);
                    self.memoize(at as usize)?;
                }
                b'h' => {
                    let at = self.byte()?;
                    self.recall(at.into())?;
                }
                b'j' => {
                    let at = u32::from_le_bytes(self.bytes()?);
                    self.recall(at as usize)?;
                }
                b'a' => {
                    let item = self.pop()?;
                    self.extend(vec![item])?;
                }
                b'e' => {
                    let items = self.pop_to_mark()?;
                    self.extend(items)?;
                }
                b's' => {
                    let value = self.pop()?;
                    let key = self.pop()?;
                    self.set(vec![key, value], sink)?;
                }
                b'u' => {
                    let items = self.pop_to_mark()?;
                    self.set(items, sink)?;
                }
                b'.' => {
                    let value = self.pop()?;
                    sink.end(value);
                    return Ok(());
                }
                other => {
                    return Err(format!(
                        "opcode {:?} of Python's pickle, which plain data does not need: it is not executed",
                        char::from(other)
                    ));
                }
            }
        }
    }
}

fn cut(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the pickle is cut".to_owned(),
        _ => error.to_string(),
    }
}

/// Little-endian two's complement; numbers of more than 64 bits are not used.
fn long_number(bytes: &[u8]) -> Value {
    let is_negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
    let mut word = if is_negative { [0xff; 9] } else { [0; 9] };
    if bytes.len() > word.len() {
        return Value::Nothing;
    }
    word[..bytes.len()].copy_from_slice(bytes);
    let (low, high) = word.split_at(8);
    let number = low
        .iter()
        .rev()
        .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    match high[0] {
        // Addresses above 2^63 keep their bits.
        0 => Value::Number(number.cast_signed()),
        0xff if number >> 63 == 1 => Value::Number(number.cast_signed()),
        _ => Value::Nothing,
    }
}

#[cfg(test)]
pub mod tests {
    use serde_json::Value;

    /// The pickle of a document, as PyTorch's pickler writes it.
    pub fn pickled(document: &Value) -> Vec<u8> {
        fn put(value: &Value, into: &mut Vec<u8>) {
            let text = |text: &str, into: &mut Vec<u8>| {
                into.push(b'X');
                into.extend((text.len() as u32).to_le_bytes());
                into.extend(text.bytes());
            };
            match value {
                Value::Object(items) => {
                    into.extend(b"}(");
                    for (key, item) in items {
                        text(key, into);
                        put(item, into);
                    }
                    into.push(b'u');
                }
                Value::Array(items) => {
                    into.extend(b"](");
                    items.iter().for_each(|item| put(item, into));
                    into.push(b'e');
                }
                Value::String(value) => text(value, into),
                Value::Null => into.push(b'N'),
                Value::Bool(value) => into.push(if *value { 0x88 } else { 0x89 }),
                Value::Number(number) => match number.as_i64() {
                    Some(number) => {
                        into.extend([0x8a, 8]);
                        into.extend(number.to_le_bytes());
                    }
                    None => {
                        into.push(b'G');
                        into.extend(number.as_f64().unwrap().to_be_bytes());
                    }
                },
            }
        }
        let mut bytes = vec![0x80, 2];
        put(document, &mut bytes);
        bytes.push(b'.');
        bytes
    }
}
