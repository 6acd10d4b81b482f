//! Functions in the lines of `-k` and `-kk`, and in the source places of renacer's text.

use trueno_format::run_writer::RunWriter;
use trueno_format::stacks::Frame;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameText<'t> {
    module: Option<&'t str>,
    function: Option<&'t str>,
    address: Option<u64>,
    file: Option<&'t str>,
    line: Option<u32>,
}

/// A line of a stack, which follows its call.
pub fn is_stack_line(line: &str) -> bool {
    line.starts_with(" > ")
}

impl<'t> FrameText<'t> {
    /// Parses ` > /usr/lib/libc.so.6(read+0x12) [0xf1234] read.c:26`; the function and the source may be
    /// missing. `None` if there is no location.
    pub fn parse(line: &'t str) -> Option<Self> {
        let text = line.strip_prefix(" > ")?.trim_end();
        let (place, after) = text.rsplit_once(" [0x")?;
        let (address, source) = after.split_once(']')?;
        let address = u64::from_str_radix(address, 16).ok()?;
        let (module, function) = match place.strip_suffix(')') {
            Some(place) => {
                let (module, symbol) = place.split_once('(')?;
                let name = symbol.rsplit_once("+0x").map_or(symbol, |(name, _)| name);
                (module, Some(name).filter(|name| !name.is_empty()))
            }
            None => (place, None),
        };
        let (file, line) = source_place(source.trim()).unzip();
        Some(Self {
            module: Some(module).filter(|module| !module.is_empty()),
            function,
            address: Some(address),
            file,
            line,
        })
    }

    pub fn of_source(file: &'t str, line: Option<u32>, function: Option<&'t str>) -> Self {
        Self {
            file: Some(file),
            line,
            function,
            ..Self::default()
        }
    }

    pub fn intern(self, into: &mut RunWriter) -> Frame {
        Frame {
            function: self.function.map(|text| into.text(text)),
            module: self.module.map(|text| into.text(text)),
            address: self.address,
            file: self.file.map(|text| into.text(text)),
            line: self.line,
            inlined: None,
        }
    }
}

pub fn source_place(text: &str) -> Option<(&str, u32)> {
    let (file, line) = text.rsplit_once(':')?;
    Some((file, line.parse().ok()?)).filter(|_| !file.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_module_function_and_address() {
        let line = " > /usr/lib/libc.so.6(__libc_start_main+0x85) [0x27305]\n";
        let expected = FrameText {
            module: Some("/usr/lib/libc.so.6"),
            function: Some("__libc_start_main"),
            address: Some(0x27305),
            ..FrameText::default()
        };
        assert_eq!(FrameText::parse(line), Some(expected));
        let line = FrameText::parse(" > /b/a(C::f(int)+0x1) [0x10] a.cc:12").unwrap();
        assert_eq!((line.function, line.line), (Some("C::f(int)"), Some(12)));
        for (line, function) in [
            (" > /usr/bin/ls() [0x61f1]", None),
            (" > /usr/bin/ls(+0x0) [0x61f1]", None),
            (" > [vdso] [0x9]", None),
        ] {
            assert_eq!(FrameText::parse(line).unwrap().function, function, "{line}");
        }
        for line in [" > BUG IN f", " > a [0xzz]", " > ", "x"] {
            assert_eq!(FrameText::parse(line), None, "{line}");
        }
    }
}
