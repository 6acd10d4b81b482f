//! `trueno-record control`: requests to a recorder that a program links.

use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use trueno_format::folder::Folder;
use trueno_format::live::{CONTROL, LIVE, is_recording};

use crate::{Failure, say};

/// Arguments of `control`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run that is being recorded
    run: PathBuf,
    /// What to do
    #[arg(value_enum)]
    request: Request,
    /// With cut: the run directory to make [default: RUN.cut-1.run and so on]
    #[arg(short, long, value_name = "RUN")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Request {
    /// Record again after a stop
    Start,
    /// Pause the recording
    Stop,
    /// Write the current rolling window as a separate run
    Cut,
    /// Say how much was recorded
    Status,
}

/// Gives the exit code.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let failed =
        |problem: String| Failure::NotStarted(format!("{}: {problem}", args.run.display()));
    if args.output.is_some() && args.request != Request::Cut {
        return Err(failed("--output is for cut".to_owned()));
    }
    match is_recording(&args.run) {
        Some(true) => {}
        Some(false) => {
            let text = "its program is gone (hint: trueno-analyze recover)";
            return Err(failed(text.to_owned()));
        }
        None => return Err(failed("is not being recorded".to_owned())),
    }
    let request = match args.request {
        Request::Start => "start".to_owned(),
        Request::Stop => "stop".to_owned(),
        Request::Status => "status".to_owned(),
        Request::Cut => {
            let output = args.output.clone().unwrap_or_else(|| free_path(&args.run));
            let output = std::path::absolute(&output).map_err(|error| failed(error.to_string()))?;
            match output.to_str() {
                Some(path) if !path.contains('\n') => format!("cut {path}"),
                _ => {
                    return Err(failed(
                        "the path of the cut must be one line of text".to_owned(),
                    ));
                }
            }
        }
    };
    let answer = ask(&args.run, &request).map_err(|error| {
        let hint = "the program must ask for it: Builder::control(true)";
        failed(match error.kind() {
            io::ErrorKind::NotFound => format!("takes no requests (hint: {hint})"),
            io::ErrorKind::ConnectionRefused => {
                "its recorder takes no requests any more".to_owned()
            }
            _ => error.to_string(),
        })
    })?;
    let answer = answer.trim_end();
    match answer.split_once(": ") {
        Some(("ok", text)) => {
            say(text);
            Ok(0)
        }
        Some(("error", problem)) => Err(failed(problem.to_owned())),
        _ => Err(failed(
            "gave no answer: it belongs to another user".to_owned(),
        )),
    }
}

fn ask(run: &Path, request: &str) -> io::Result<String> {
    // By the folder's descriptor, because addresses of sockets are short.
    let live = Folder::open(run)?.folder(LIVE)?;
    let mut stream = UnixStream::connect(live.short_path(CONTROL))?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    match BufReader::new(stream).read_line(&mut answer) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
        read => {
            read?;
        }
    }
    Ok(answer)
}

/// A path beside a run where nothing is: `job.cut-1.run` for `job.run`.
fn free_path(run: &Path) -> PathBuf {
    let paths = (1..u32::MAX).map(|number| crate::kept::path_of_cut(run, number));
    let mut free = paths.filter(|path| path.symlink_metadata().is_err());
    free.next().unwrap_or_else(|| run.to_owned())
}
