//! A plugin in Python: one file with a function from tables to tables, run by an interpreter in the child's place.
//!
//! Its description is a comment ([`manifest`]) that this program reads; no line of the plugin runs for that. To run it,
//! the child enters the same sandbox as for a library, with two differences: the folders of the interpreter's modules can
//! be read, and the interpreter can be started, in the same process and with the same limits. It then runs a few hundred
//! lines of our own (`tables.py`, `results.py`, `main.py`, handed over on the command line), which lend the plugin the
//! Arrow data of the memory file where it lies, and send back what it gives as the same messages, sealed with CRC-32.

pub mod interpreter;
mod manifest;
mod options;

use std::convert::Infallible;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use serde::Serialize;
use trueno_model::units;
use trueno_plugin::abi;

use super::exit_reason::End;
use super::message::{Kind, send};
use super::request::{Request, Task};
use super::sandbox::{self, Program};
use interpreter::Interpreter;
use manifest::{Manifest, TableTypes};

/// The host's Python code in the process.
const RUNNER: &str = concat!(
    include_str!("tables.py"),
    include_str!("results.py"),
    include_str!("main.py")
);

/// Instructions for that code. The rest is in the request.
#[derive(Serialize)]
struct Job<'a> {
    id: &'a str,
    file: &'a str,
    inputs: Vec<&'a str>,
    tables: &'a TableTypes,
    defaults: &'a serde_json::Map<String, serde_json::Value>,
    path: &'a [String],
    memory: String,
    memory_file: RawFd,
    answer: RawFd,
}

/// Runs the child's job. The process is not in a sandbox yet.
///
/// # Errors
/// The sandbox cannot be set up, the interpreter cannot be started, or there is nobody left to answer.
pub fn serve(request: &Request, memory: &File, to: &File) -> Result<Infallible, String> {
    match &request.task {
        Task::Describe => {
            enter(request, None)?;
            match Manifest::read(&request.file) {
                Ok(manifest) => {
                    let json = serde_json::to_vec(&manifest.descriptor);
                    let json = json.map_err(|error| error.to_string())?;
                    answer(to, Kind::Descriptor, &json)
                }
                Err(why) => {
                    let why = format!("{}: {why}", request.file.display());
                    answer(to, Kind::Refused, why.as_bytes())
                }
            }
        }
        Task::Run { options, .. } => {
            let interpreter = request.interpreter.as_ref();
            let interpreter = interpreter.ok_or("no Python was named to run it with")?;
            let program = c_string(interpreter.program.as_os_str().as_bytes())?;
            enter(request, Some((interpreter, &program)))?;
            let manifest = match Manifest::read(&request.file) {
                Ok(manifest) => manifest,
                Err(why) => return answer(to, Kind::Refused, why.as_bytes()),
            };
            if let Err(why) = options::check(options, &manifest.options) {
                let end = End {
                    status: abi::BAD_OPTION,
                    charts: Vec::new(),
                    error: Some(why),
                    rejected: Vec::new(),
                };
                let json = serde_json::to_vec(&end).map_err(|error| error.to_string())?;
                return answer(to, Kind::End, &json);
            }
            start(request, interpreter, &program, &manifest, memory, to)
        }
    }
}

fn enter(request: &Request, started: Option<(&Interpreter, &CString)>) -> Result<(), String> {
    let program = started.map(|(interpreter, path)| Program {
        path,
        executable: &interpreter.executable,
        readable: &interpreter.readable,
    });
    sandbox::enter(&request.file, program.as_ref())
        .map_err(|why| format!("the sandbox cannot be set up ({why})"))
}

fn answer(to: &File, kind: Kind, says: &[u8]) -> Result<Infallible, String> {
    send(to, kind, says).map_err(|error| error.to_string())?;
    // SAFETY: without preconditions.
    unsafe { libc::_exit(0) }
}

fn start(
    request: &Request,
    interpreter: &Interpreter,
    program: &CString,
    manifest: &Manifest,
    memory: &File,
    to: &File,
) -> Result<Infallible, String> {
    let descriptor = &manifest.descriptor;
    let file = request.file.to_str();
    let inputs = descriptor.inputs.iter();
    let job = Job {
        id: &descriptor.id,
        file: file.ok_or("the name of its file is not UTF-8")?,
        inputs: inputs.map(|input| input.name.as_str()).collect(),
        tables: &manifest.tables,
        defaults: &manifest.options,
        path: &interpreter.path,
        memory: units::scaled(request.memory_bytes as f64, "B"),
        memory_file: memory.as_raw_fd(),
        answer: to.as_raw_fd(),
    };
    let job = serde_json::to_vec(&job).map_err(|error| error.to_string())?;
    for kept in [memory, to] {
        // SAFETY: a call with numbers, of a file that is open.
        if unsafe { libc::fcntl(kept.as_raw_fd(), libc::F_SETFD, 0) } < 0 {
            return Err(io::Error::last_os_error().to_string());
        }
    }
    // Neither `site` nor anything of a user's: the folders of modules are given.
    let flags = ["-S", "-s", "-B", "-u", "-c", RUNNER];
    let flags = flags.into_iter().map(|flag| c_string(flag.as_bytes()));
    let mut arguments = vec![program.clone()];
    arguments.extend(flags.collect::<Result<Vec<_>, _>>()?);
    arguments.push(c_string(&job)?);
    let environment = environment()?;
    let (arguments, environment) = (pointers(&arguments), pointers(&environment));
    // SAFETY: texts that end with a NUL, and lists of them that end with a null, which live for the call.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    Err(format!(
        "{} cannot be started: {}",
        interpreter.program.display(),
        io::Error::last_os_error()
    ))
}

/// Environment that makes runs reproducible: fixed hash order, UTF-8, and a fixed order of sums in thread pools.
fn environment() -> Result<Vec<CString>, String> {
    let fixed = [
        "PYTHONHASHSEED=0",
        "PYTHONUTF8=1",
        "LC_ALL=C.UTF-8",
        "OMP_NUM_THREADS=1",
        "OPENBLAS_NUM_THREADS=1",
        "MKL_NUM_THREADS=1",
        "POLARS_MAX_THREADS=1",
    ];
    let mut all = Vec::new();
    for text in fixed {
        all.push(c_string(text.as_bytes())?);
    }
    if let Some(folders) = std::env::var_os(sandbox::LIBRARY_PATH) {
        let text = [
            sandbox::LIBRARY_PATH.as_bytes(),
            b"=".as_slice(),
            folders.as_bytes(),
        ]
        .concat();
        all.push(c_string(&text)?);
    }
    Ok(all)
}

fn c_string(bytes: &[u8]) -> Result<CString, String> {
    CString::new(bytes).map_err(|_| "a text with a NUL byte".to_owned())
}

fn pointers(texts: &[CString]) -> Vec<*const libc::c_char> {
    let pointers = texts.iter().map(|text| text.as_ptr());
    pointers.chain([std::ptr::null()]).collect()
}
