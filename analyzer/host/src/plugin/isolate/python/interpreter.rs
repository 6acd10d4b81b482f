//! The interpreter that runs plugins in Python: found and asked once by the analyzer, outside of any sandbox.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// Environment variable with the interpreter. The default is `python3` in `PATH`.
pub const VARIABLE: &str = "TRUENO_PYTHON";
const MIN_VERSION: (u32, u32) = (3, 9);

/// Prints the interpreter's path, version and module folders. The dynamic loader named in the binary must be
/// executable in the sandbox, too. Folders that do not exist are left out.
const QUESTION: &str = r#"
import json, os, struct, sys, sysconfig
program = os.path.realpath(sys.executable)
executable = [program]
with open(program, "rb") as binary:
    head = binary.read(1 << 16)
if head[:5] == b"\x7fELF\x02":
    start, size, count = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
    for at in range(start, start + size * count, size):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", head, at)
        if kind == 3:
            executable.append(head[offset : offset + length].rstrip(b"\0").decode())
path = [os.path.abspath(folder) for folder in sys.path if folder]
named = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
readable = path + named + [sysconfig.get_config_var("LIBDIR")]
readable = sorted({folder for folder in readable if folder and os.path.exists(folder)})
print(json.dumps({
    "program": program, "version": list(sys.version_info[:2]), "path": path,
    "executable": executable, "readable": readable,
}))
"#;

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Interpreter {
    pub program: PathBuf,
    version: (u32, u32),
    pub path: Vec<String>,
    pub executable: Vec<PathBuf>,
    pub readable: Vec<PathBuf>,
}

/// The interpreter. It is queried once per process.
///
/// # Errors
/// There is none, for people.
pub fn interpreter() -> Result<Interpreter, String> {
    static FOUND: OnceLock<Result<Interpreter, String>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
            let name = named.unwrap_or_else(|| "python3".into());
            ask(&name).map_err(|why| {
                let (major, minor) = MIN_VERSION;
                format!(
                    "it needs Python {major}.{minor} or later, and {} {why} (hint: install python3, or name one with {VARIABLE})",
                    name.display()
                )
            })
        })
        .clone()
}

fn ask(name: &std::ffi::OsStr) -> Result<Interpreter, String> {
    // Nothing of the working folder or of the environment's Python variables.
    let asked = Command::new(name)
        .args(["-I", "-B", "-c", QUESTION])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot be started: {error}"))?;
    if !asked.status.success() {
        let said = String::from_utf8_lossy(&asked.stderr);
        let last = said.trim().lines().last().unwrap_or("nothing");
        return Err(format!("did not report its module folders: {last}"));
    }
    let found: Interpreter = serde_json::from_slice(&asked.stdout)
        .map_err(|error| format!("did not report its module folders: {error}"))?;
    if found.version < MIN_VERSION {
        let (major, minor) = found.version;
        return Err(format!("is of version {major}.{minor}"));
    }
    Ok(found)
}
