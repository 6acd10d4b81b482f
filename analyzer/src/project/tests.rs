use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};

use clap::CommandFactory;

use super::*;
use crate::cli::Cli;

const PROJECT: &str = "[defaults]\ncategories = \"rules.toml\"\nisolate = true\nplugin-timeout = \"1h\"\n\
    [report]\nfail-on = \"high\"\ntop = 3\nplugin-dir = [\"a\", \"/b\"]\nhtml = \"-\"\nno-isolate = true\n\
    [options.critical_path]\npath_rows = 10\nwhat_if = [\"a=1\"]\n[[assertion]]\nname = \"x\"\n";

struct Place(tempfile::TempDir);

impl Place {
    fn new(text: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.at("a/b")).unwrap();
        fs::write(place.at(FILE), text).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn trust(&self) {
        let list = self.at("list/trusted.json");
        let mut trusted = TrustedFiles::read(&list).unwrap();
        trusted
            .add(&ProjectFile::named(&self.at(FILE)).unwrap())
            .unwrap();
        trusted.write(&list).unwrap();
    }

    fn notes_in(&self, below: &str, typed: &[&str]) -> Result<ProjectNotes, String> {
        let folder = self.at(below);
        let surroundings = Surroundings {
            folder: &folder,
            home: None,
            list: Some(self.at("list/trusted.json")),
        };
        let all: Vec<OsString> = ["trueno-analyze"]
            .iter()
            .chain(typed)
            .map(OsString::from)
            .collect();
        let found = with_surroundings(Cli::command(), all.clone(), &surroundings)
            .map_err(|error| format!("{error:#}"))?;
        assert_eq!(found.all.len(), all.len() + found.project.flags.len());
        let here = self.at("").display().to_string();
        let here = here.trim_end_matches('/');
        let shown = |text: &String| text.replace(here, "HERE");
        Ok(ProjectNotes {
            flags: found.project.flags.iter().map(shown).collect(),
            note: found.project.note.as_ref().map(shown),
            warnings: found.project.warnings.iter().map(shown).collect(),
        })
    }

    fn notes(&self, typed: &[&str]) -> ProjectNotes {
        self.notes_in("a/b", typed).unwrap()
    }
}

fn flags(text: &str, typed: &[&str]) -> Result<Vec<String>, String> {
    let place = Place::new(text);
    place.trust();
    Ok(place.notes_in("a/b", typed)?.flags)
}

#[test]
fn flags_are_those_of_the_command_and_of_all() {
    let expected = [
        "--categories=HERE/rules.toml",
        "--isolate",
        "--fail-on=high",
        "--html=-",
        "--plugin-dir=HERE/a",
        "--plugin-dir=/b",
        "--top=3",
        "--set=critical_path.path_rows=10",
        "--set=critical_path.what_if=[\"a=1\"]",
    ];
    assert_eq!(flags(PROJECT, &["report", "x.run"]).unwrap(), expected);
    let of_check = [
        "--categories=HERE/rules.toml",
        "--isolate",
        "--assert=HERE/trueno.toml",
    ];
    assert_eq!(flags(PROJECT, &["check", "x.run"]).unwrap(), of_check);
    assert!(flags(PROJECT, &["info", "x.run"]).unwrap().is_empty());
    let old_name = flags("[report]\nonly = \"summary\"\n", &["report", "x.run"]);
    assert_eq!(old_name.unwrap(), ["--only=summary"]);
}

#[test]
fn what_is_typed_comes_first() {
    let typed = [
        "report",
        "x.run",
        "--fail-on",
        "low",
        "--no-isolate",
        "--plugin-dir",
        "c",
    ];
    let found = flags(PROJECT, &typed).unwrap();
    assert!(!found.iter().any(|flag| flag.starts_with("--fail-on")));
    assert!(
        found.contains(&"--plugin-dir=HERE/a".to_owned()),
        "folders add up"
    );
    let without = flags(PROJECT, &["report", "x.run", "--no-project"]);
    assert!(without.unwrap().is_empty());
    let unfinished = flags(PROJECT, &["report"]);
    assert!(unfinished.unwrap().is_empty(), "clap says what is missing");
    let typed = ["check", "x.run", "--assert", "other.toml"];
    let found = flags(PROJECT, &typed).unwrap();
    assert!(!found.iter().any(|flag| flag.starts_with("--assert")));
}

#[test]
fn flags_stand_behind_the_command_and_not_behind_a_value_of_its_name() {
    let command = || {
        let mut command = Cli::command();
        command.build();
        command
    };
    for (typed, expected) in [
        (&["p", "report", "x.run"][..], 2),
        (&["p", "--project", "report", "report", "x.run"], 4),
        (&["p", "-q", "--color=never", "report", "report"], 4),
        (&["p", "-q"], 2),
    ] {
        let typed: Vec<OsString> = typed.iter().map(OsString::from).collect();
        assert_eq!(behind_name(&command(), &typed), expected, "{typed:?}");
    }
}

#[test]
fn an_untrusted_file_gives_settings_only() {
    let place = Place::new(PROJECT);
    let found = place.notes(&["report", "x.run"]);
    let reaching = ["--html", "--plugin-dir", "--no-isolate", "--plugin-timeout"];
    for flag in reaching {
        assert!(
            !found.flags.iter().any(|found| found.starts_with(flag)),
            "{flag}"
        );
    }
    assert!(found.flags.contains(&"--top=3".to_owned()));
    let note = found.note.unwrap();
    assert!(note.starts_with("HERE/trueno.toml sets --categories=HERE/rules.toml"));
    let [untrusted, never] = found.warnings.as_slice() else {
        panic!("{:?}", found.warnings);
    };
    let words = "HERE/trueno.toml may not set --html=- --plugin-dir=HERE/a --plugin-dir=/b: ";
    assert!(untrusted.starts_with(words), "{untrusted}");
    assert!(untrusted.contains("`trueno-analyze trust HERE/trueno.toml`"));
    let words = "HERE/trueno.toml may not set --plugin-timeout=1h --no-isolate: project files";
    assert!(never.starts_with(words), "{never}");

    assert_eq!(place.notes(&["report", "x.run", "-q"]).note, None);
    place.trust();
    let found = place.notes(&["report", "x.run", "-q"]);
    assert!(found.note.unwrap().contains("--html=-"), "said with -q too");
    assert_eq!(found.warnings.len(), 1, "limits stay as they are");
}

#[test]
fn trust_ends_with_a_change() {
    let place = Place::new("[report]\nhtml = \"x.html\"\n");
    place.trust();
    let report = ["report", "x.run"];
    assert_eq!(place.notes(&report).flags, ["--html=HERE/x.html"]);
    fs::write(place.at(FILE), "[report]\nhtml = \"y.html\"\n").unwrap();
    let found = place.notes(&report);
    assert!(found.flags.is_empty() && found.note.is_none());
    assert!(found.warnings[0].contains("has changed since you trusted it"));
}

#[test]
fn a_named_file_is_as_good_as_a_trusted_one() {
    let place = Place::new("");
    fs::write(place.at("other.toml"), PROJECT).unwrap();
    let typed = ["report", "x.run", "--project", "../../other.toml"];
    let found = place.notes(&typed);
    assert!(found.flags.contains(&"--html=-".to_owned()));
    assert!(!found.flags.contains(&"--no-isolate".to_owned()));
    let missing = place.notes_in("a", &["report", "x.run", "--project", "none.toml"]);
    assert!(missing.unwrap_err().contains("none.toml: cannot be read"));
    let refused = place.notes_in("a", &["mcp", "--project", "../other.toml"]);
    assert!(
        refused
            .unwrap_err()
            .contains("mcp does not use project files")
    );
    assert!(flags(PROJECT, &["trust", "--list"]).unwrap().is_empty());
}

#[test]
fn a_file_that_others_could_write_is_not_obeyed() {
    let place = Place::new("[report]\ntop = 3\n");
    let report = ["report", "x.run"];
    assert_eq!(place.notes(&report).flags, ["--top=3"]);
    for (name, mode, why) in [
        (FILE, 0o666, "it can be written by everyone"),
        ("", 0o1777, "HERE can be written by everyone"),
    ] {
        let before = fs::metadata(place.at(name)).unwrap().permissions();
        fs::set_permissions(place.at(name), Permissions::from_mode(mode)).unwrap();
        let found = place.notes(&report);
        assert!(found.flags.is_empty() && found.note.is_none());
        let [warning] = found.warnings.as_slice() else {
            panic!("{:?}", found.warnings);
        };
        let words = format!("HERE/trueno.toml is ignored: {why} (hint: --project ");
        assert!(warning.starts_with(&words), "{warning}");
        fs::set_permissions(place.at(name), before).unwrap();
    }
    fs::set_permissions(place.at(FILE), Permissions::from_mode(0o666)).unwrap();
    for (text, typed, is_error) in [
        (
            "[report]\nfail-on = \"high\"\n",
            &["report", "x.run"][..],
            true,
        ),
        (
            "[defaults]\nfail-on = \"high\"\n",
            &["report", "x.run"],
            true,
        ),
        (
            "[defaults]\nfail-on = \"high\"\n",
            &["info", "x.run"],
            false,
        ),
        (
            "[report]\nfail-on = \"high\"\n",
            &["report", "x.run", "--fail-on", "low"],
            false,
        ),
        ("[[assertion]]\n", &["check", "x.run"], true),
        (
            "[[assertion]]\n",
            &["check", "x.run", "--assert", "y"],
            false,
        ),
        ("[[assertion]]\n", &["report", "x.run"], false),
        ("no toml", &["report", "x.run"], false),
    ] {
        fs::write(place.at(FILE), text).unwrap();
        let found = place.notes_in("a/b", typed);
        assert_eq!(found.is_err(), is_error, "{text} {typed:?}: {found:?}");
        let words = found.map_or_else(|error| error, |found| found.warnings[0].clone());
        assert!(words.contains("trueno.toml is ignored"), "{words}");
    }
    fs::write(place.at(FILE), "[report]\ntop = 3\n").unwrap();
    fs::set_permissions(place.at(FILE), Permissions::from_mode(0o644)).unwrap();
    if trueno_trust::user() == 0 {
        chown(place.at(FILE), Some(65_534), None).unwrap();
        let found = place.notes(&report);
        assert!(found.flags.is_empty());
        assert!(found.warnings[0].contains("belongs to another user (uid 65534)"));
        let named = place.notes(&["report", "x.run", "--project", "../../trueno.toml"]);
        assert_eq!(named.flags, ["--top=3"], "the user's choice");
    } else {
        eprintln!("skipped: only root can make files of other users");
    }
}

#[test]
fn the_search_ends_at_the_repository_and_at_home() {
    let place = Place::new("");
    let file = place.at(FILE);
    let below = place.at("a/b");
    assert_eq!(nearest(&below, None), Some(file.clone()));
    assert_eq!(nearest(&below, Some(&place.at("a"))), None, "above home");
    assert_eq!(nearest(&below, Some(&place.at(""))), Some(file.clone()));
    fs::create_dir(place.at("a/.git")).unwrap();
    assert_eq!(nearest(&below, None), None, "above the repository");
    assert_eq!(nearest(&below, Some(&place.at(""))), None);
    fs::write(place.at("a").join(FILE), "").unwrap();
    assert_eq!(nearest(&below, None), Some(place.at("a").join(FILE)));
    fs::create_dir(below.join(FILE)).unwrap();
    assert_eq!(nearest(&below, None), Some(place.at("a").join(FILE)));
    std::os::unix::fs::symlink("nowhere", place.at("a/b/c")).unwrap();
    fs::remove_dir(below.join(FILE)).unwrap();
    fs::rename(place.at("a/b/c"), below.join(FILE)).unwrap();
    assert_eq!(nearest(&below, None), Some(below.join(FILE)));
}

#[test]
fn mistakes_are_errors_that_name_the_file() {
    for (text, words) in [
        ("[reprot]\n", "there is no command reprot"),
        (
            "[report]\nfail_on = \"high\"\n",
            "report has no flag --fail_on",
        ),
        (
            "[report]\ntop = { a = 1 }\n",
            "report.top is table, expected a text",
        ),
        (
            "[report]\nisolate = \"yes\"\n",
            "report.isolate is string, expected true or false",
        ),
        (
            "[report]\nproject = \"other.toml\"\n",
            "report has no flag --project",
        ),
        ("report = 1\n", "report is not a table"),
        (
            "[options]\nroofline = 1\n",
            "options.roofline is not a table",
        ),
        ("[report\n", "--no-project does without it"),
    ] {
        let error = flags(text, &["report", "x.run"]).unwrap_err();
        assert!(error.contains(words) && error.contains(FILE), "{error}");
    }
}
