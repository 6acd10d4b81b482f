//! The user's browser.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use trueno_host::plugin::OwnOutput;

const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Opens an address in the user's browser.
///
/// # Errors
/// Why no browser can be opened.
pub(super) fn open(address: &str) -> Result<(), String> {
    if !has_display() {
        return Err("there is no display (hint: set DISPLAY, or BROWSER)".to_owned());
    }
    start(address).map_err(|error| format!("{OPENER}: {error}"))
}

/// Without a display, the opener would start a text-mode browser, which cannot show the page.
fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"]
            .into_iter()
            .any(is_set)
}

fn start(address: &str) -> io::Result<()> {
    let mut child = Command::new(OPENER)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C ends the server, not the browser.
        .process_group(0)
        .spawn()?;
    // Some openers end at once, others stay as long as the browser does.
    std::thread::spawn(move || {
        if child.wait().is_ok_and(|status| !status.success()) {
            let text = format!("warning: {OPENER} opened no browser\n");
            // With standard error gone there is nobody left to tell.
            let _ = OwnOutput::Stderr.write_all(text.as_bytes());
        }
    });
    Ok(())
}
