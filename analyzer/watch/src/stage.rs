//! State of a run's folder, for whoever watches it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use trueno_format::live;
use trueno_format::regular_file;
use trueno_format::run_json::{RUN_JSON, RunJson, State};
use trueno_format::schema::{FORMAT_MAJOR, FORMAT_NAME};

#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    NoRun,
    Recording(Box<RunJson>),
    /// The state is "recording", but no process records: the program was killed.
    Killed,
    Ended(State),
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    #[error("{}: {why}", path.display())]
    NotWatchable {
        path: PathBuf,
        /// What is wrong, in words.
        why: String,
    },
}

/// Reads the stage of a run.
///
/// # Errors
/// It is something else than a run, a job of several ranks, or of a newer format.
pub fn stage(run: &Path) -> Result<Stage, StageError> {
    let not = |why: String| StageError::NotWatchable {
        path: run.to_owned(),
        why,
    };
    if run.is_file() {
        return Err(not(
            "it is a file, and only a run directory that is being recorded can be watched (hint: `trueno-analyze report` reads files of other profilers)".to_owned(),
        ));
    }
    let path = run.join(RUN_JSON);
    let text = match regular_file::read(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return match ranks(run) {
                Some(rank) => Err(not(several(&rank))),
                None => Ok(Stage::NoRun),
            };
        }
        Err(error) => return Err(not(format!("{RUN_JSON} cannot be read: {error}"))),
    };
    let json: RunJson = match serde_json::from_slice(&text) {
        Ok(json) => json,
        Err(error) => {
            return Err(match ranks(run) {
                Some(rank) => not(several(&rank)),
                None => not(format!("{RUN_JSON} cannot be understood: {error}")),
            });
        }
    };
    let format = &json.format;
    if format.name != FORMAT_NAME || format.major > FORMAT_MAJOR {
        let (name, major) = (&format.name, format.major);
        return Err(not(format!(
            "it is a run of format {name} {major}, and this program watches {FORMAT_NAME} {FORMAT_MAJOR}"
        )));
    }
    Ok(match json.state {
        State::Recording if live::is_recording(run) == Some(false) => Stage::Killed,
        // Without a log nothing says whether there was a kill, but the process that is gone.
        State::Recording if !run.join(live::LIVE).exists() && !runs_here(&json) => Stage::Killed,
        State::Recording => Stage::Recording(Box::new(json)),
        state => Stage::Ended(state),
    })
}

/// Whether a process with this id runs on this machine. Also true for another machine, which cannot be checked.
fn runs_here(json: &RunJson) -> bool {
    let is_here = trueno_format::host::facts().name == json.host.name;
    let pid = json.program.pid.filter(|_| is_here);
    pid.is_none_or(|pid| Path::new(&format!("/proc/{pid}")).exists())
}

fn several(rank: &str) -> String {
    format!(
        "it is a job of several ranks, of which one can be watched at a time (hint: watch its folder {rank})"
    )
}

fn ranks(run: &Path) -> Option<String> {
    let entries = std::fs::read_dir(run).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with("rank=")).min()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_stage_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(stage(&at("none")).unwrap(), Stage::NoRun);
        fs::create_dir(at("empty")).unwrap();
        assert_eq!(stage(&at("empty")).unwrap(), Stage::NoRun);
        fs::write(at("file"), "x").unwrap();
        assert!(
            stage(&at("file"))
                .unwrap_err()
                .to_string()
                .contains("it is a file")
        );

        let rec = trueno_recorder::Recorder::create(at("run")).unwrap();
        assert!(
            matches!(stage(&at("run")).unwrap(), Stage::Recording(json) if json.program.pid == Some(std::process::id()))
        );
        rec.finish().unwrap();
        assert_eq!(stage(&at("run")).unwrap(), Stage::Ended(State::Finished));

        let json = fs::read_to_string(at("run").join(RUN_JSON)).unwrap();
        let json = json.replace("\"finished\"", "\"recording\"");
        fs::write(at("run").join(RUN_JSON), &json).unwrap();
        fs::create_dir(at("run").join(live::LIVE)).unwrap();
        fs::write(at("run").join(live::LIVE).join(live::LOG), "").unwrap();
        assert_eq!(stage(&at("run")).unwrap(), Stage::Killed);

        fs::write(
            at("run").join(RUN_JSON),
            json.replace("\"major\": 1", "\"major\": 2"),
        )
        .unwrap();
        assert!(
            stage(&at("run"))
                .unwrap_err()
                .to_string()
                .contains("trueno-run 2")
        );
        fs::write(at("run").join(RUN_JSON), "{").unwrap();
        assert!(
            stage(&at("run"))
                .unwrap_err()
                .to_string()
                .contains("understood")
        );
        fs::create_dir_all(at("job").join("rank=0")).unwrap();
        assert!(
            stage(&at("job"))
                .unwrap_err()
                .to_string()
                .contains("rank=0")
        );
    }
}
