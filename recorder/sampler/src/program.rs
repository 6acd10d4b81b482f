//! The start of a sampled program.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread::{self, JoinHandle};

use libc::pid_t;

use crate::Error;

pub(crate) struct Waiting {
    pub process: pid_t,
    go: PipeWriter,
    start: JoinHandle<io::Result<Child>>,
}

pub(crate) fn prepare(mut command: Command) -> Result<Waiting, Error> {
    let failed = Error::Sample;
    let (mut number, child_number) = io::pipe().map_err(failed)?;
    let (child_go, go) = io::pipe().map_err(failed)?;
    let program = command.get_program().to_owned();
    let before = move || wait_in_child(&child_number, &child_go);
    // SAFETY: it calls nothing but system calls, with what is there already.
    unsafe { command.pre_exec(before) };
    // Starting returns when the program runs.
    let start = thread::spawn(move || command.spawn());
    let mut bytes = [0; 4];
    if number.read_exact(&mut bytes).is_err() {
        let error = match start.join() {
            Ok(Err(error)) => error,
            _ => io::ErrorKind::Other.into(),
        };
        return Err(Error::NotStarted { program, error });
    }
    Ok(Waiting {
        process: pid_t::from_ne_bytes(bytes),
        go,
        start,
    })
}

fn wait_in_child(mut number: &PipeWriter, mut go: &PipeReader) -> io::Result<()> {
    number.write_all(&std::process::id().to_ne_bytes())?;
    let mut answer = [0];
    go.read_exact(&mut answer)?;
    match answer {
        [1] => Ok(()),
        _ => Err(io::ErrorKind::Interrupted.into()),
    }
}

impl Waiting {
    pub fn run(mut self) -> io::Result<Child> {
        self.go.write_all(&[1])?;
        self.end()
    }

    pub fn cancel(mut self) {
        let _ = self.go.write_all(&[0]);
        let _ = self.end();
    }

    fn end(self) -> io::Result<Child> {
        let ended = self.start.join();
        ended.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }
}
