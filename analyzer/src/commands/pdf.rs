//! `report --pdf`: the page, printed by a browser that is installed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::child_process::end_with_this_thread;

const BROWSERS: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];
/// A page of any size prints in seconds; a browser that hangs must end too.
const MAX_TIME: Duration = Duration::from_secs(180);

/// The browser that prints.
pub(super) struct Browser(PathBuf);

impl Browser {
    /// The first in the search path.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn find() -> anyhow::Result<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let mut files = BROWSERS
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        match files.find(|file| file.is_file()) {
            Some(file) => Ok(Self(file)),
            None => bail!(
                "--pdf: no Chromium or Chrome in PATH (hint: give --html FILE and print the page from any browser)"
            ),
        }
    }

    /// Prints a page to the bytes of a PDF.
    ///
    /// # Errors
    /// The browser failed, or did not end in time.
    pub(super) fn print(&self, page: &[u8]) -> anyhow::Result<Vec<u8>> {
        let folder = tempfile::Builder::new()
            .prefix("trueno-analyze-pdf-")
            .tempdir()
            .context("--pdf: no temporary folder")?;
        let (html, pdf) = (
            folder.path().join("page.html"),
            folder.path().join("page.pdf"),
        );
        fs::write(&html, page).with_context(|| format!("{}: cannot be written", html.display()))?;
        let said = self
            .run(folder.path(), &html, &pdf)
            .with_context(|| format!("--pdf: {} cannot be run", self.0.display()))?;
        fs::read(&pdf).map_err(|_| {
            let said = String::from_utf8_lossy(&said);
            let last = said.lines().last().unwrap_or("no message");
            anyhow::anyhow!("--pdf: {} printed no page: {last}", self.0.display())
        })
    }

    /// Its messages.
    fn run(&self, folder: &Path, html: &Path, pdf: &Path) -> io::Result<Vec<u8>> {
        let log = folder.join("log");
        let mut command = Command::new(&self.0);
        command
            .args([
                "--headless",
                "--disable-gpu",
                "--no-first-run",
                "--disable-extensions",
            ])
            .args(["--disable-background-networking", "--no-pdf-header-footer"])
            .arg("--virtual-time-budget=20000")
            .arg(joined("--user-data-dir=", &folder.join("profile")))
            .arg(joined("--print-to-pdf=", pdf))
            .arg(joined("file://", html))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log)?);
        // SAFETY: takes no argument and cannot fail.
        if unsafe { libc::geteuid() } == 0 {
            // Its sandbox refuses to start for root; the page is ours and loads nothing.
            command.arg("--no-sandbox");
        }
        end_with_this_thread(&mut command);
        let mut child = command.spawn()?;
        let begin = Instant::now();
        while child.try_wait()?.is_none() {
            if begin.elapsed() > MAX_TIME {
                child.kill()?;
                child.wait()?;
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("no page after {} s", MAX_TIME.as_secs()),
                ));
            }
            thread::sleep(Duration::from_millis(20));
        }
        fs::read(&log)
    }
}

fn joined(flag: &str, path: &Path) -> std::ffi::OsString {
    let mut text = std::ffi::OsString::from(flag);
    text.push(path);
    text
}
