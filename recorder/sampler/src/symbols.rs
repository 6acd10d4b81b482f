//! Names and lines of places.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use blazesym::MaybeDefault;
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{CodeInfo, Input, Sym, Symbolized, Symbolizer};
use syscalls::Sysno;
use trueno_processes::effective_user;
use trueno_trust::{open_owned, user};

/// A function at a place, together with the caller that it was inlined into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub inlined: Option<bool>,
}

pub(crate) struct Symbols {
    symbolizer: Symbolizer,
    generated: HashMap<u32, Generated>,
}

impl Symbols {
    pub fn new() -> Self {
        Self {
            symbolizer: Symbolizer::builder().enable_auto_reload(false).build(),
            generated: HashMap::new(),
        }
    }

    /// The functions at an offset of a file, outermost first. One without a name if nothing is known.
    pub fn of_file(&self, path: &Path, offset: u64) -> Vec<Named> {
        let look = |debug_syms: bool| {
            let mut elf = Elf::new(path);
            elf.debug_syms = debug_syms;
            let source = Source::Elf(elf);
            let found = self
                .symbolizer
                .symbolize_single(&source, Input::FileOffset(offset));
            match found {
                Ok(Symbolized::Sym(symbol)) => Some(functions(&symbol)),
                // Or its debugging information cannot be read.
                _ => None,
            }
        };
        match (look(true), look(false)) {
            (Some(mut all), Some(mut linked)) => {
                // Linkers know it by its whole name, with modules and types; debugging information of Rust has only the
                // last part of many.
                all[0].function = linked.swap_remove(0).function;
                all
            }
            (Some(all), None) | (None, Some(all)) => all,
            (None, None) => vec![Named::default()],
        }
    }

    pub fn of_kernel(&self, address: u64) -> Named {
        let kernel = Source::Kernel(Kernel {
            vmlinux: MaybeDefault::None,
            debug_syms: false,
            ..Kernel::default()
        });
        let found = self
            .symbolizer
            .symbolize_single(&kernel, Input::AbsAddr(address));
        let function = match found {
            Ok(Symbolized::Sym(symbol)) => Some(symbol.name.into_owned()),
            _ => None,
        };
        Named {
            function,
            ..Named::default()
        }
    }

    /// A function that a program generated itself and listed in `/tmp/perf-PROCESS.map`, as CPython and Node.js
    /// do on request.
    pub fn of_memory(&mut self, process: u32, address: u64) -> Named {
        let generated = self.generated.entry(process).or_default();
        let name = generated.name(process, address);
        name.map_or_else(Named::default, |name| {
            of_python(&name).unwrap_or(Named {
                function: Some(name),
                ..Named::default()
            })
        })
    }
}

/// Parses `py::function:file`, CPython's names for functions.
fn of_python(name: &str) -> Option<Named> {
    let (function, file) = name.strip_prefix("py::")?.split_once(':')?;
    Some(Named {
        function: Some(function.to_owned()),
        file: Some(file.to_owned()),
        ..Named::default()
    })
}

fn functions(symbol: &Sym<'_>) -> Vec<Named> {
    let named = |name: &str, code: Option<&CodeInfo<'_>>| Named {
        function: Some(name.to_owned()),
        file: code.map(|code| code.to_path().to_string_lossy().into_owned()),
        line: code.and_then(|code| code.line),
        inlined: None,
    };
    let mut all = vec![named(&symbol.name, symbol.code_info.as_deref())];
    let inlined = symbol.inlined.iter().map(|inlined| Named {
        inlined: Some(true),
        ..named(&inlined.name, inlined.code_info.as_ref())
    });
    all.extend(inlined);
    // Without debugging information it is not known who was put into whom.
    if symbol.code_info.is_some() {
        all[0].inlined = Some(false);
    }
    all
}

#[derive(Default)]
struct Generated {
    read_bytes: u64,
    /// Start, end and name, sorted by start.
    functions: Vec<(u64, u64, String)>,
}

impl Generated {
    fn name(&mut self, process: u32, address: u64) -> Option<String> {
        if let Some(name) = self.find(address) {
            return Some(name);
        }
        let path = format!("/tmp/perf-{process}.map");
        let owners: Vec<u32> = effective_user(process)
            .into_iter()
            .chain([user()])
            .collect();
        self.read(Path::new(&path), &owners)?;
        self.find(address)
    }

    /// Reads the map again if it has grown. Anyone can put a file with that name into `/tmp`, so it only counts
    /// if one of `owners` owns it.
    fn read(&mut self, path: &Path, owners: &[u32]) -> Option<()> {
        let mut map = open_owned(path, owners).ok()?;
        let length = map.metadata().ok()?.len();
        if length == self.read_bytes {
            return None;
        }
        self.read_bytes = length;
        let mut text = String::new();
        map.read_to_string(&mut text).ok()?;
        self.functions = functions_of(&text);
        Some(())
    }

    fn find(&self, address: u64) -> Option<String> {
        let behind = self
            .functions
            .partition_point(|(start, ..)| *start <= address);
        let (_, end, name) = self.functions.get(behind.checked_sub(1)?)?;
        (address < *end).then(|| name.clone())
    }
}

/// Parses lines of start and length, in hexadecimal digits, and name. Of lines with the same start, the last one wins.
fn functions_of(map: &str) -> Vec<(u64, u64, String)> {
    let line = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let mut number = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
        let (start, length) = (number()?, number()?);
        Some((start, start.checked_add(length)?, words.next()?.to_owned()))
    };
    let mut all: Vec<_> = map.lines().filter_map(line).collect();
    all.reverse();
    all.sort_by_key(|(start, ..)| *start);
    all.dedup_by_key(|(start, ..)| *start);
    all
}

/// Name of the system call that a kernel function implements. Some have no frame of their own because of the
/// compiler; then the name is that of the function that does the work.
pub(crate) fn system_call(function: &str) -> Option<&str> {
    let prefixes = [
        "__x64_sys_",
        "__arm64_sys_",
        "__ia32_sys_",
        "__se_sys_",
        "__do_sys_",
        "ksys_",
        "kernel_",
        "do_",
    ];
    let name = prefixes
        .iter()
        .find_map(|prefix| function.strip_prefix(prefix))?;
    Sysno::from_str(name).ok().map(|_| name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn functions_of_the_kernel_name_the_system_call_that_they_do() {
        assert_eq!(system_call("__x64_sys_futex"), Some("futex"));
        assert_eq!(system_call("kernel_wait4"), Some("wait4"));
        assert_eq!(system_call("ksys_read"), Some("read"));
        assert_eq!(system_call("do_wait"), None);
        assert_eq!(system_call("do_syscall_64"), None);
        assert_eq!(system_call("schedule"), None);
    }

    #[test]
    fn functions_made_by_a_program_are_found_by_their_addresses() {
        let map = "1000 10 py::main:/a/b.py\n0x1010 8 stub\nnonsense\n1000 20 later\n";
        let generated = Generated {
            read_bytes: 0,
            functions: functions_of(map),
        };
        let name = |address| generated.find(address);
        assert_eq!(name(0x1000).as_deref(), Some("later"));
        assert_eq!(name(0x1017).as_deref(), Some("stub"));
        assert_eq!(name(0x1018), None);
        assert_eq!(name(0xfff), None);
    }

    #[test]
    fn a_map_that_another_user_put_there_names_nothing() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        const NOBODY: u32 = 65_534;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let map = at("perf-1.map");
        fs::write(&map, "1000 10 planted\n").unwrap();
        let name = |path: &Path, owners: &[u32]| {
            let mut generated = Generated::default();
            generated.read(path, owners);
            generated.find(0x1000)
        };
        assert_eq!(name(&map, &[user()]).as_deref(), Some("planted"));
        assert_eq!(name(&map, &[user() + 1]), None);
        symlink(&map, at("perf-2.map")).unwrap();
        assert_eq!(name(&at("perf-2.map"), &[user()]), None);
        if user() == 0 {
            chown(&map, Some(NOBODY), None).unwrap();
            assert_eq!(name(&map, &[0]), None);
            assert_eq!(name(&map, &[NOBODY, 0]).as_deref(), Some("planted"));
        } else {
            eprintln!("skipped: only root can make files of other users");
        }
        fs::set_permissions(&map, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(name(&map, &[NOBODY, user()]), None, "everyone can write it");
    }

    #[test]
    fn a_function_of_python_has_its_file() {
        let named = of_python("py::Model.forward:/home/a/model.py").unwrap();
        assert_eq!(named.function.as_deref(), Some("Model.forward"));
        assert_eq!(named.file.as_deref(), Some("/home/a/model.py"));
        assert_eq!(of_python("Builtin:x"), None);
    }
}
