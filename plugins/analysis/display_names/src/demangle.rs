//! Names of functions as their language spells them.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// Limit of a demangled name: substitutions may expand a short symbol to gigabytes.
const MAX_DEMANGLED_BYTES: usize = 16 << 10;

/// A name that a demangler gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demangled {
    Cpp(String),
    /// A Rust name without the hash.
    Rust(String),
}

/// The name behind a symbol of Rust or of the Itanium C++ ABI; `None`: it is no such symbol.
pub fn demangle(name: &str) -> Option<Demangled> {
    if !is_symbol(name) {
        return None;
    }
    let symbol = name.strip_suffix(".kd").unwrap_or(name);
    if (symbol.starts_with("_R") || has_rust_hash(symbol))
        && let Ok(rust) = rustc_demangle::try_demangle(symbol)
    {
        let text = bounded(|to| write!(to, "{rust:#}"))?;
        return Some(Demangled::Rust(text));
    }
    let Ok(parsed) = Symbol::new(symbol) else {
        return nested_name(symbol).map(Demangled::Cpp);
    };
    let options = DemangleOptions::default();
    let text = bounded(|to| {
        parsed
            .structured_demangle(to, &options)
            .map_err(|_| fmt::Error)
    })?;
    Some(Demangled::Cpp(text))
}

/// The namespaces and the name at the start of a symbol that the demangler does not read, without arguments.
fn nested_name(symbol: &str) -> Option<String> {
    let mut rest = symbol.strip_prefix("_ZN")?;
    let mut names = Vec::new();
    while rest.starts_with(|letter: char| letter.is_ascii_digit()) {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest[..digits].parse().ok()?;
        names.push(rest.get(digits..digits.checked_add(length)?)?);
        rest = &rest[digits + length..];
    }
    // Of less it is not certain that the last one names the function.
    (names.len() > 1 && rest.starts_with('I')).then(|| format!("{}(…)", names.join("::")))
}

/// True where a demangler would try.
pub fn is_symbol(name: &str) -> bool {
    name.starts_with("_Z") || name.starts_with("_R")
}

/// Symbols of the legacy mangling end with `17h`, sixteen hex digits and `E`.
fn has_rust_hash(symbol: &str) -> bool {
    let hash = symbol
        .strip_suffix('E')
        .and_then(|symbol| symbol.get(symbol.len().checked_sub(19)?..));
    hash.and_then(|hash| hash.strip_prefix("17h"))
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn bounded(write: impl FnOnce(&mut Bounded) -> fmt::Result) -> Option<String> {
    let mut text = Bounded(String::new());
    write(&mut text).ok()?;
    (!text.0.is_empty()).then_some(text.0)
}

struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_DEMANGLED_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
