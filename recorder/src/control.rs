//! A socket in the run's folder `live/`, through which its user pauses, resumes and cuts the recording from outside.
//!
//! A request is one line: `status`, `stop`, `start`, or `cut PATH` with an absolute path. The answer is one line as well, and
//! begins with `ok: ` or `error: `. Only processes of the same user, or of root, are answered.

use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Weak;
use std::time::Duration;

use trueno_format::folder::Folder;
use trueno_format::live::CONTROL;

use crate::recorder::{Inner, Recorder};
use crate::reentrancy::ReentrancyGuard;

const MAX_REQUEST_BYTES: u64 = 8192;
/// Time for a request that has connected.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time in which the end of a recording is noticed.
const POLL_MS: i32 = 250;

/// Takes requests for as long as the recorder exists.
pub(crate) fn listen(live: &Folder, recorder: Weak<Inner>) -> io::Result<()> {
    let path = live.short_path(CONTROL);
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    let serve = move || {
        ReentrancyGuard::hold_forever();
        block_signals();
        serve(&listener, &recorder);
    };
    std::thread::Builder::new()
        .name("trueno-control".into())
        .spawn(serve)?;
    Ok(())
}

/// Signals are the program's, and for its own threads.
fn block_signals() {
    // SAFETY: all zeros is a valid set, and the calls write to it alone.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}

fn serve(listener: &UnixListener, recorder: &Weak<Inner>) {
    loop {
        let mut ready = libc::pollfd {
            fd: listener.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one struct, valid for the call.
        unsafe { libc::poll(&mut ready, 1, POLL_MS) };
        let Some(recorder) = recorder.upgrade().map(Recorder::of) else {
            return;
        };
        if recorder.has_ended() {
            return;
        }
        match listener.accept() {
            Ok((stream, _)) => {
                // Whoever has gone needs no answer.
                let _ = answer(stream, &recorder);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The program has closed the descriptor.
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => return,
            Err(_) => {}
        }
    }
}

fn answer(mut stream: UnixStream, recorder: &Recorder) -> io::Result<()> {
    // SAFETY: takes nothing.
    let own = unsafe { libc::geteuid() };
    let user = user_of(&stream)?;
    if user != own && user != 0 {
        return Ok(());
    }
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = String::new();
    BufReader::new((&stream).take(MAX_REQUEST_BYTES)).read_line(&mut request)?;
    let answer = match obey(request.trim_end_matches('\n'), recorder) {
        Ok(text) => format!("ok: {text}\n"),
        Err(text) => format!("error: {text}\n"),
    };
    stream.write_all(answer.as_bytes())
}

fn user_of(stream: &UnixStream) -> io::Result<libc::uid_t> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the struct and its length are valid for the call.
    let done = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut bytes,
        )
    };
    match done {
        0 => Ok(peer.uid),
        _ => Err(io::Error::last_os_error()),
    }
}

fn obey(request: &str, recorder: &Recorder) -> Result<String, String> {
    let (command, argument) = request.split_once(' ').unwrap_or((request, ""));
    match command {
        "stop" => recorder.pause(),
        "start" => recorder.resume(),
        "status" => {}
        "cut" => {
            let path = Path::new(argument);
            if !path.is_absolute() {
                return Err("cut: expected an absolute path".to_owned());
            }
            let cut = recorder.cut(path).map_err(|error| error.to_string())?;
            let path = cut.path.display();
            return Ok(format!("{} rows -> {path}", cut.rows));
        }
        _ => {
            return Err("expected start, stop, cut or status".to_owned());
        }
    }
    let status = recorder.status();
    let state = if recorder.is_paused() {
        "paused"
    } else {
        "recording"
    };
    Ok(format!(
        "{state}: {} rows, {} dropped, {} threads",
        status.rows, status.dropped, status.threads
    ))
}
