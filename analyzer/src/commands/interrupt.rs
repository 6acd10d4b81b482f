//! Interrupts (Ctrl-C, or a request to end), which leave nothing behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use trueno_model::exit;

static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static WATCHER: Once = Once::new();
/// If set, an interrupt is sent here and does not end the process.
static CATCHER: Mutex<Option<Sender<()>>> = Mutex::new(None);

/// Makes exceeding the file size limit (`ulimit -f`) a write error. By default SIGXFSZ kills the process.
pub(super) fn file_sizes_are_errors() {
    // Where that fails the process ends as it would without.
    let _ = signal_hook::flag::register(libc::SIGXFSZ, Arc::default());
}

/// Reports an error and exits if a memory-mapped file is truncated while it is read (SIGBUS).
pub(super) fn cut_files_are_told() {
    const WORDS: &[u8] = b"error: a file was cut while it was read: one of the run, or a plugin's library (hint: try \
again; a run that is copied, or a plugin that is built, is read when that is done)\n";
    let end = || {
        // SAFETY: both calls are allowed in signal handlers, and the text lives for ever.
        unsafe {
            libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len());
            libc::_exit(i32::from(exit::CANNOT_ANALYSE));
        }
    };
    // SAFETY: the action does only what signal handlers may.
    let _ = unsafe { signal_hook::low_level::register(libc::SIGBUS, end) };
}

/// A file or folder that is removed if the process is interrupted while this value lives.
pub(super) struct RemovedOnInterrupt(PathBuf);

impl RemovedOnInterrupt {
    /// The file need not exist yet.
    pub(super) fn new(folder: &Path) -> Self {
        folders().push(folder.to_owned());
        WATCHER.call_once(watch);
        Self(folder.to_owned())
    }
}

impl Drop for RemovedOnInterrupt {
    fn drop(&mut self) {
        folders().retain(|folder| *folder != self.0);
    }
}

pub(super) struct Interrupted(Receiver<()>);

impl Interrupted {
    pub(super) fn wait(&self) {
        // Where no watch can be kept nothing is ever sent, and the signal ends the process.
        let _ = self.0.recv();
    }
}

/// From now on an interrupt wakes [`Interrupted::wait`] and does not end the process.
pub(super) fn caught() -> Interrupted {
    let (send, receive) = mpsc::channel();
    *CATCHER.lock().unwrap_or_else(PoisonError::into_inner) = Some(send);
    WATCHER.call_once(watch);
    Interrupted(receive)
}

fn folders() -> MutexGuard<'static, Vec<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the folders on a signal, then ends the process as the signal would have. If no watch can be set up, the
/// folders stay, under a name that says what they are.
fn watch() {
    let heeded: Vec<i32> = [SIGINT, SIGTERM].into_iter().filter(is_heeded).collect();
    let Ok(mut signals) = Signals::new(heeded) else {
        return;
    };
    let watch = move || {
        for signal in signals.forever() {
            let catcher = CATCHER.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(catcher) = &*catcher {
                // Its folders go when it returns.
                let _ = catcher.send(());
                continue;
            }
            // Held to the end: nothing is put in its place any more.
            let folders = folders();
            for folder in folders.iter() {
                if fs::symlink_metadata(folder).is_ok_and(|found| !found.is_dir()) {
                    let _ = fs::remove_file(folder);
                    continue;
                }
                // A writer may add a file while the folder is emptied.
                for _ in 0..100 {
                    match fs::remove_dir_all(folder) {
                        Err(error) if error.kind() != std::io::ErrorKind::NotFound => continue,
                        _ => break,
                    }
                }
            }
            let _ = emulate_default_handler(signal);
        }
    };
    let _ = std::thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(watch);
}

/// A script starts background jobs with interrupts ignored; that stays so.
fn is_heeded(signal: &i32) -> bool {
    // SAFETY: an all-zero `sigaction` is a valid value of a plain C struct.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action asks only; the answer goes to a variable of this frame.
    let asked = unsafe { libc::sigaction(*signal, std::ptr::null(), &mut action) };
    asked != 0 || action.sa_sigaction != libc::SIG_IGN
}
