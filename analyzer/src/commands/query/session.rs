//! A session of queries on a terminal.

use std::collections::VecDeque;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use trueno_engine::query::output;
use trueno_host::plugin::OwnOutput;
use trueno_model::{exit, width};

use super::Source;
use super::line::{Line, Pressed};
use crate::commands::stderr::Stderr;
use crate::commands::stdout::{page_width, to_stdout};
use crate::commands::terminal_modes;
use crate::commands::tui::keys::{Key, keys};

const HELP: &str = "SELECT …;       a query, over several lines up to its semicolon
.tables         the tables
.columns TABLE  its columns
.quit           the end; so is Ctrl-D
Tab completes names, arrows bring earlier lines back.";
const MAX_HISTORY: usize = 1_000;
const KEYWORDS: [&str; 24] = [
    "SELECT", "FROM", "WHERE", "GROUP", "ORDER", "BY", "LIMIT", "JOIN", "LEFT", "ON", "AS", "AND",
    "OR", "NOT", "NULL", "DESC", "HAVING", "DISTINCT", "COUNT", "SUM", "AVG", "MIN", "MAX", "WITH",
];

pub(super) fn session(mut source: Source<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    let (width, top) = (source.args.width, source.args.top);
    let file = history_file();
    let history = file
        .as_deref()
        .and_then(|file| fs::read_to_string(file).ok());
    let history = history.unwrap_or_default();
    let mut line = Line::new(history.lines().map(str::to_owned).collect());
    let words = words(&source);
    let about = format!("SQL over {}; .help tells more\n", source.shown());
    OwnOutput::Stderr.write_all(about.as_bytes())?;
    let mut typed = VecDeque::new();
    let mut statement = String::new();
    loop {
        let text = match read(&mut line, &words, &mut typed, statement.is_empty())? {
            Read::Text(text) => text,
            Read::Dropped => {
                statement.clear();
                continue;
            }
            Read::End => break,
        };
        match (statement.is_empty(), text.trim()) {
            (true, "") => continue,
            (true, ".quit" | ".exit") => break,
            (true, ".help") => say(&format!("{HELP}\n"))?,
            (true, ".tables") => {
                let tables: Vec<&str> = source.database.table_names().collect();
                say(&format!("{}\n", tables.join("\n")))?;
            }
            (true, command) if command.starts_with('.') => match command.split_once(' ') {
                Some((".columns", table)) => {
                    let sql = format!("SELECT * FROM {} LIMIT 0", table.trim());
                    match source.collect(&sql) {
                        Ok(frame) => {
                            for column in frame.columns() {
                                say(&format!("{}  {}\n", column.name(), column.dtype()))?;
                            }
                        }
                        Err(why) => stderr.fail(&format!("{why:#}")),
                    }
                }
                _ => stderr.fail(&format!("{command}: no such command (hint: .help)")),
            },
            (_, part) => {
                statement.push_str(part);
                statement.push('\n');
                if part.ends_with(';') {
                    let sql = std::mem::take(&mut statement);
                    let sql = sql.trim().trim_end_matches(';');
                    match source.collect(sql) {
                        Ok(frame) => say(&output::table(&frame, page_width(width), top))?,
                        Err(why) => stderr.fail(&format!("{why:#}")),
                    }
                }
            }
        }
    }
    if let Some(file) = file {
        keep(&file, line.history(), stderr);
    }
    Ok(exit::FINE)
}

enum Read {
    Text(String),
    /// Discards the line and the earlier lines of its statement.
    Dropped,
    End,
}

/// Reads a line. Keys typed beyond its end stay in `typed`.
fn read(
    line: &mut Line,
    words: &[String],
    typed: &mut VecDeque<Key>,
    is_new: bool,
) -> io::Result<Read> {
    let prompt = if is_new { "sql> " } else { "...> " };
    let _raw = Raw(terminal_modes::raw()?);
    loop {
        show(prompt, line)?;
        let key = match typed.pop_front() {
            Some(key) => key,
            None => {
                let Some(bytes) = terminal_modes::typed(-1)? else {
                    return Ok(Read::End);
                };
                typed.extend(keys(&bytes));
                continue;
            }
        };
        match line.press(key, words) {
            Pressed::Edited => {}
            Pressed::Dropped => {
                say("^C\r\n")?;
                return Ok(Read::Dropped);
            }
            Pressed::Candidates(all) => say(&format!("\r\n{}\r\n", all.join("  ")))?,
            Pressed::Entered(text) => {
                say("\r\n")?;
                return Ok(Read::Text(text));
            }
            Pressed::Ended => {
                say("\r\n")?;
                return Ok(Read::End);
            }
        }
    }
}

/// Terminal modes to restore when the line has been read.
struct Raw(libc::termios);

impl Drop for Raw {
    fn drop(&mut self) {
        terminal_modes::restore(&self.0);
    }
}

fn say(text: &str) -> io::Result<()> {
    to_stdout(text.as_bytes())
}

fn show(prompt: &str, line: &Line) -> io::Result<()> {
    let (letters, at) = line.shown();
    let room = page_width(None).saturating_sub(prompt.len() + 1).max(1);
    let from = at.saturating_sub(room);
    let part = &letters[from..letters.len().min(from + room)];
    let part: String = part.iter().collect();
    let before: String = letters[from..at].iter().collect();
    let column = prompt.len() + width::measure(&before);
    say(&format!(
        "\r\x1b[K{prompt}{}\r\x1b[{column}C",
        width::printable(&part)
    ))
}

/// Words for tab completion: tables, their columns, and SQL keywords.
fn words(source: &Source<'_>) -> Vec<String> {
    let tables: Vec<String> = source.database.table_names().map(str::to_owned).collect();
    let mut words: Vec<String> = KEYWORDS.map(str::to_owned).to_vec();
    for table in &tables {
        words.extend(source.columns(table));
    }
    words.extend(tables);
    words
}

/// `$XDG_CACHE_HOME/trueno-analyze/query_history`, else `~/.cache/…`.
fn history_file() -> Option<PathBuf> {
    let folder = |name: &str| {
        let path = env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    let folder = cache.join("trueno-analyze");
    // Another user's lines would be run by somebody who goes back one too far.
    let is_safe = !folder.exists() || trueno_trust::check_folder(&folder).is_ok();
    is_safe.then(|| folder.join("query_history"))
}

fn keep(file: &Path, history: &[String], stderr: &Stderr) {
    let last = &history[history.len().saturating_sub(MAX_HISTORY)..];
    let folder = file.parent().map_or(Ok(()), fs::create_dir_all);
    let kept = folder.and_then(|()| fs::write(file, last.join("\n") + "\n"));
    if let Err(why) = kept {
        stderr.warn(&format!(
            "{}: the history is not saved: {why}",
            file.display()
        ));
    }
}
