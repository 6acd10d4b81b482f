//! The libraries that a recording needs: our own, which is injected, and CUPTI.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trueno_cupti::driver::Driver;
use trueno_cupti::library::{Candidate, Places, Usable, candidates, first_usable, record_sizes};
use trueno_cupti::walk::Sizes;
use trueno_trust::{Distrust, check_file, check_shipped};

pub fn inject(given: Option<&Path>) -> Result<PathBuf, String> {
    ours(
        given,
        "TRUENO_INJECT",
        "inject",
        ", or give it with --inject",
    )
}

/// The library for `LD_PRELOAD`.
pub fn interpose() -> Result<PathBuf, String> {
    ours(
        None,
        INTERPOSE_VARIABLE,
        "interpose",
        ", or name it in TRUENO_INTERPOSE_LIBRARY",
    )
}

const INTERPOSE_VARIABLE: &str = "TRUENO_INTERPOSE_LIBRARY";

/// Finds one of our libraries: the given one, else the one in the environment, else the one beside this command.
fn ours(
    given: Option<&Path>,
    variable: &str,
    name: &str,
    otherwise: &str,
) -> Result<PathBuf, String> {
    let file = format!("libtrueno_{name}.so");
    let named = env::var_os(variable)
        .filter(|path| given.is_none() && !path.is_empty())
        .map(PathBuf::from);
    if let Some(path) = &named {
        let distrusted = |distrust: Distrust| {
            let remedy = distrust.remedy();
            format!("{variable}: {distrust}, so it is not loaded (hint: {remedy})")
        };
        return check_file(path).map_err(distrusted);
    }
    let tried: Vec<PathBuf> = match given {
        Some(path) => vec![path.to_owned()],
        None => {
            let exe = env::current_exe()
                .map_err(|e| format!("cannot find the path of this command: {e}"))?;
            let folder = exe.parent().unwrap_or(Path::new("/"));
            [
                "",
                "deps",
                "../lib/trueno-analyze",
                "../lib",
                "../lib/trueno",
            ]
            .iter()
            .map(|part| folder.join(part).join(&file))
            .collect()
        }
    };
    let found = tried
        .iter()
        .find_map(|path| fs::canonicalize(path).ok().filter(|p| p.is_file()));
    let found = found.ok_or_else(|| {
        let all: Vec<String> = tried.iter().map(|path| path.display().to_string()).collect();
        format!(
            "the library to {name} was not found, tried {} (hint: build it with `cargo build -p trueno-{name}`{otherwise})",
            all.join(", ")
        )
    })?;
    if given.is_none() {
        check_shipped(&found).map_err(|distrust| {
            format!(
                "{distrust}, so it is not loaded (hint: {})",
                distrust.remedy()
            )
        })?;
    }
    Ok(found)
}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Found {
    pub path: String,
    pub version: u32,
}

#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Search {
    pub found: Option<Found>,
    pub passed_over: Vec<String>,
}

/// Looks for CUPTI where the recorded program will, and in the packages of its Python. Also returns the sizes of
/// its records.
pub fn cupti(chosen: Option<&Path>, program: Option<&OsStr>) -> (Search, Sizes) {
    let mut places = Places::here();
    if let Some(path) = chosen {
        places.chosen = Some(path.to_owned());
    }
    if let Some(python) = program.and_then(python_of) {
        places.python.splice(0..0, packages(&python));
    }
    places.driver_major = Driver::find()
        .ok()
        .and_then(Driver::version)
        .map(|version| version / 1000);
    let mut search = Search::default();
    // What this process has already, the program that will run has not.
    for candidate in candidates(&places)
        .into_iter()
        .filter(|candidate| !candidate.only_if_loaded)
    {
        let shown = candidate.path.display().to_string();
        let answer = ask(candidate).unwrap_or_else(|why| Answer {
            passed_over: vec![format!("{shown}: {why}")],
            ..Answer::default()
        });
        search.passed_over.extend(answer.passed_over);
        if answer.found.is_some() {
            search.found = answer.found;
            return (search, answer.sizes.into_iter().collect());
        }
    }
    (search, Sizes::from_iter([]))
}

#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
struct Answer {
    found: Option<Found>,
    passed_over: Vec<String>,
    sizes: Vec<(u32, usize)>,
}

/// Opens a library in a child process, because some versions end the process when they are called without a driver.
fn ask(candidate: Candidate) -> Result<Answer, String> {
    let (mut reader, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    // SAFETY: this command has one thread; the child writes its answer and ends.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error().to_string()),
        0 => {
            drop(reader);
            let no_core = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            // SAFETY: valid for the read.
            unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core) };
            let search = first_usable(vec![candidate], |_| Ok(()));
            let sizes = search
                .found
                .as_ref()
                .and_then(|found| record_sizes(&found.cupti).ok());
            let answer = Answer {
                found: search
                    .found
                    .map(|Usable { path, version, .. }| Found { path, version }),
                passed_over: search.passed_over,
                sizes: sizes.iter().flat_map(Sizes::iter).collect(),
            };
            let done = serde_json::to_writer(writer, &answer).is_ok();
            // SAFETY: ends the child without handlers of the parent's, or of the library.
            unsafe { libc::_exit(i32::from(!done)) }
        }
        child => {
            drop(writer);
            let mut text = Vec::new();
            let read = std::io::Read::read_to_end(&mut reader, &mut text);
            let mut status = 0;
            // SAFETY: a child of this process, and valid for the write.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            if libc::WIFSIGNALED(status) {
                let signal = libc::WTERMSIG(status);
                return Err(format!(
                    "it ends the process with signal {signal} when it is called (hint: some versions do without a driver)"
                ));
            }
            read.map_err(|error| error.to_string())?;
            serde_json::from_slice(&text)
                .map_err(|_| "it ends the process when it is called".to_owned())
        }
    }
}

/// The Python that runs a program: the program itself, or the one named in its first line.
fn python_of(program: &OsStr) -> Option<PathBuf> {
    let is_python = |path: &Path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("python"))
    };
    let path = Path::new(program);
    if is_python(path) {
        return Some(path.to_owned());
    }
    let file = if path.components().count() > 1 {
        path.to_owned()
    } else {
        let folders = env::var_os("PATH")?;
        env::split_paths(&folders)
            .map(|folder| folder.join(path))
            .find(|p| p.is_file())?
    };
    let mut line = Vec::new();
    let mut reader = BufReader::new(fs::File::open(file).ok()?);
    std::io::Read::take(&mut reader, 256)
        .read_until(b'\n', &mut line)
        .ok()?;
    let line = String::from_utf8(line).ok()?;
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let interpreter = words.find(|word| is_python(Path::new(word)))?;
    Some(interpreter.into())
}

fn packages(python: &Path) -> Vec<PathBuf> {
    let asked = Command::new(python)
        .args(["-c", "import sys; print('\\n'.join(sys.path))"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let Ok(output) = asked else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .filter(|line| line.ends_with("-packages"))
        .map(PathBuf::from)
        .collect()
}
