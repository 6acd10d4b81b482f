//! `trueno-analyze watch`: a run while it is being recorded.
//!
//! The picture itself is [`trueno_watch`]'s; here are the terminal, the stages of a run, and the report's head at its end.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::{CommandFactory, Parser};
use trueno_format::run_json::State;
use trueno_host::plugin::OwnOutput;
use trueno_model::categories::CategoryRules;
use trueno_model::exit;
use trueno_render::style::{Meaning, Palette};
use trueno_watch::lines::lines;
use trueno_watch::session::Session;
use trueno_watch::snapshot::Snapshot;
use trueno_watch::stage::{Stage, stage};

use super::report;
use super::runs::Runs;
use super::screen::{self, CaughtSignals, Screen};
use super::stderr::Stderr;
use super::stdout::{on_terminal, page_width, palette, to_stdout};
use super::terminal_modes;
use super::tui::keys::{Key, keys};
use crate::cli::{Cli, Command, PluginArgs, TextFormat, WatchArgs};
use crate::project::with_project;

const EVERY: Duration = Duration::from_millis(250);
const WAIT: Duration = Duration::from_millis(50);
const WINDOW: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Left,
    Ended(State),
    /// The program is gone without finishing its run.
    Killed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Screen,
    OneText,
    OneJson,
    JsonLines,
}

pub fn watch(args: &WatchArgs, page: Palette, cli: &Cli, stderr: &Stderr) -> anyhow::Result<u8> {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let is_screen = on_terminal() && terminal_modes::has_keys() && !is_dumb;
    let view = match (args.format, args.once) {
        (TextFormat::Json, true) => View::OneJson,
        (TextFormat::Json, false) => View::JsonLines,
        (TextFormat::Text, false) if is_screen => View::Screen,
        (TextFormat::Text, _) => View::OneText,
    };
    let rules = match &args.categories {
        Some(file) => CategoryRules::read(file)?,
        None => CategoryRules::default(),
    };
    let watched = Watched {
        run: &args.run,
        view,
        window: args.last,
        wait: args.wait,
        width: args.width,
        rules,
        palette: page,
    };
    let outcome = watched.follow()?;
    let run = args.run.display();
    match outcome {
        Outcome::Left => return Ok(exit::FINE),
        Outcome::Killed => stderr.warn(&format!(
            "{run}: its program is gone and has not ended the run (hint: `trueno-analyze recover {run}` puts it in order)"
        )),
        Outcome::Ended(state) => {
            let text = match args.format {
                TextFormat::Text => "; the head of its report follows",
                TextFormat::Json => "",
            };
            stderr.note(&format!("{run}: the run has ended ({}){text}", word(state)));
        }
    }
    match args.format {
        TextFormat::Json => Ok(exit::FINE),
        TextFormat::Text => head(&args.run, &args.plugins, args.width, page, cli),
    }
}

/// Shows a run full-screen until it ends, for `tui --follow`.
pub(super) fn until_end(run: &Path, palette: Palette, stderr: &Stderr) -> anyhow::Result<Outcome> {
    let watched = Watched {
        run,
        view: View::Screen,
        window: WINDOW,
        wait: false,
        width: None,
        rules: CategoryRules::default(),
        palette,
    };
    let outcome = watched.follow()?;
    if outcome == Outcome::Killed {
        let text = "its program is gone and has not ended the run";
        stderr.warn(&format!("{}: {text}", run.display()));
    }
    Ok(outcome)
}

fn word(state: State) -> &'static str {
    match state {
        State::Recording => "recording",
        State::Finished => "finished",
        State::Failed => "failed",
        State::Recovered => "recovered",
    }
}

/// The head of the run's report: what `report --quiet` prints.
fn head(
    run: &Path,
    plugins: &PluginArgs,
    width: Option<u16>,
    page: Palette,
    cli: &Cli,
) -> anyhow::Result<u8> {
    let mut typed: Vec<OsString> = ["trueno-analyze", "report", "--quiet"]
        .map(OsString::from)
        .into();
    typed.extend(cli.no_cache.then(|| "--no-cache".into()));
    typed.extend(cli.no_project.then(|| "--no-project".into()));
    if let Some(project) = &cli.project {
        typed.extend(["--project".into(), project.as_os_str().to_owned()]);
    }
    typed.extend(["--".into(), run.as_os_str().to_owned()]);
    let folder = std::env::current_dir().unwrap_or_default();
    let typed = with_project(Cli::command(), typed, &folder)?;
    typed
        .project
        .say(palette(cli.color, io::stderr().is_terminal()));
    let mut report = Cli::try_parse_from(typed.all)?;
    let stderr = Stderr::new(&report, page);
    let runs = Runs::new(!report.no_cache, &stderr);
    let Command::Report(args) = &mut report.command else {
        bail!("report is no command any more");
    };
    args.plugins.clone_from(plugins);
    args.width = args.width.or(width);
    report::report(args, page, &runs, &stderr)
}

struct Watched<'a> {
    run: &'a Path,
    view: View,
    window: Duration,
    wait: bool,
    width: Option<u16>,
    rules: CategoryRules,
    palette: Palette,
}

impl Watched<'_> {
    fn follow(&self) -> anyhow::Result<Outcome> {
        let mut session: Option<Session> = None;
        let mut screen: Option<Screen> = None;
        let mut caught: Option<CaughtSignals> = None;
        loop {
            if let Some(left) = left()? {
                return Ok(left);
            }
            let ended = match stage(self.run)? {
                Stage::NoRun if session.is_some() => {
                    bail!(
                        "{}: the run was removed while it was watched",
                        self.run.display()
                    )
                }
                Stage::NoRun if !self.wait => bail!(
                    "{}: there is no run here yet (hint: --wait waits for it)",
                    self.run.display()
                ),
                Stage::NoRun => None,
                Stage::Recording(json) => {
                    if !session
                        .as_mut()
                        .is_some_and(|session| session.is_still(&json))
                    {
                        let rules = self.rules.clone();
                        session = Some(Session::new(self.run, *json, self.window, rules));
                    }
                    None
                }
                Stage::Killed => Some(Outcome::Killed),
                Stage::Ended(state) => Some(Outcome::Ended(state)),
            };
            if let Some(outcome) = ended {
                self.last(session.as_mut(), outcome)?;
                return Ok(outcome);
            }
            // Nothing of the terminal is taken for a run that has ended or is none.
            match self.view {
                View::Screen if screen.is_none() => screen = Some(Screen::take()?),
                _ if caught.is_none() && screen.is_none() => caught = Some(CaughtSignals::new()),
                _ => {}
            }
            let Some(session) = &mut session else {
                if self.view == View::Screen {
                    let text = format!("waiting for {}", self.run.display());
                    self.draw(&[text], "")?;
                }
                if self.pause(screen.is_some(), WAIT)? {
                    return Ok(Outcome::Left);
                }
                continue;
            };
            let end = Instant::now() + EVERY;
            while Instant::now() < end {
                session.look();
                // It may have ended: the stage tells.
                if session.is_ending() {
                    break;
                }
                let delay = session
                    .delay()
                    .min(end.saturating_duration_since(Instant::now()));
                if self.pause(screen.is_some(), delay)? {
                    return Ok(Outcome::Left);
                }
            }
            if session.is_ending() {
                if self.pause(screen.is_some(), WAIT)? {
                    return Ok(Outcome::Left);
                }
                continue;
            }
            let picture = session.snapshot();
            match self.view {
                View::Screen => self.show(&picture)?,
                View::JsonLines => json_line(&picture)?,
                View::OneJson => {
                    json_line(&picture)?;
                    return Ok(Outcome::Left);
                }
                View::OneText => {
                    let lines = lines(&picture, page_width(self.width), None, self.palette);
                    to_stdout(format!("{}\n", lines.join("\n")).as_bytes())?;
                    return Ok(Outcome::Left);
                }
            }
        }
    }

    /// Writes the last picture if pictures are data.
    fn last(&self, session: Option<&mut Session>, outcome: Outcome) -> io::Result<()> {
        if !matches!(self.view, View::OneJson | View::JsonLines) {
            return Ok(());
        }
        let mut picture = session.map_or_else(Snapshot::default, Session::snapshot);
        picture.state = match outcome {
            Outcome::Ended(state) => word(state),
            Outcome::Killed | Outcome::Left => "killed",
        };
        json_line(&picture)
    }

    /// Waits that long. Returns true if a key that quits was pressed.
    fn pause(&self, has_keys: bool, time: Duration) -> anyhow::Result<bool> {
        if !has_keys {
            std::thread::sleep(time);
            return Ok(left()?.is_some());
        }
        let wait_ms = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
        let Some(bytes) = terminal_modes::typed(wait_ms)? else {
            return Ok(true);
        };
        let leaves =
            |key: &Key| matches!(key, Key::Quit | Key::EndOfInput | Key::Esc | Key::Char('q'));
        Ok(keys(&bytes).iter().any(leaves) || left()?.is_some())
    }

    fn show(&self, picture: &Snapshot) -> io::Result<()> {
        let size = terminal_size::terminal_size_of(OwnOutput::Stdout);
        let height = size.map_or(24, |(_, lines)| usize::from(lines.0)).max(8);
        let width = page_width(self.width);
        let lines = lines(picture, width, Some(height - 1), self.palette);
        self.draw(&lines, "q leaves")
    }

    fn draw(&self, lines: &[String], last: &str) -> io::Result<()> {
        let size = terminal_size::terminal_size_of(OwnOutput::Stdout);
        let height = size.map_or(24, |(_, lines)| usize::from(lines.0)).max(2);
        let mut text = String::new();
        for at in 0..height - 1 {
            let line = lines.get(at).map_or("", String::as_str);
            text.push_str(&format!("\x1b[{};1H{line}\x1b[K", at + 1));
        }
        let last = self.palette.paint(Meaning::Faint, last);
        text.push_str(&format!("\x1b[{height};1H{last}\x1b[K"));
        let mut out = OwnOutput::Stdout;
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

/// An interrupt quits like a key. A request to terminate is an error, as elsewhere.
fn left() -> anyhow::Result<Option<Outcome>> {
    match screen::signal() {
        None => Ok(None),
        Some(libc::SIGINT) => Ok(Some(Outcome::Left)),
        Some(_) => bail!("stopped by a signal"),
    }
}

fn json_line(picture: &Snapshot) -> io::Result<()> {
    let text = serde_json::to_string(picture).map_err(io::Error::other)?;
    to_stdout(format!("{text}\n").as_bytes())
}
