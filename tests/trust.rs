//! Files that are found and not named: whose they may be, and what they may do.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use crate::harness::{Dir, Done, Run, standard_plugins};
use crate::hostile::compile_hostile;

const NOBODY: u32 = 65_534;

/// Only root can give files to other users.
fn is_root(dir: &Dir) -> bool {
    let probe = dir.join("probe");
    fs::write(&probe, "").unwrap();
    let is_root = chown(&probe, Some(NOBODY), None).is_ok();
    if !is_root {
        println!("left out: only root can make files of other users");
    }
    is_root
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A report of one section, run in `folder`.
fn report(dir: &Dir, folder: &str, more: &[&str]) -> Run {
    let run = dir.join("test.run");
    let plugins = standard_plugins(dir);
    let start = [
        "report",
        run.to_str().unwrap(),
        "--no-default-plugins",
        "--plugin-dir",
        plugins.to_str().unwrap(),
        "--plugin-id",
        "summary",
    ];
    let mut run = dir.command(&[&start[..], more].concat());
    run.command.current_dir(dir.join(folder));
    run
}

#[track_caller]
fn stderr_lacks(done: Done, text: &str) -> Done {
    assert!(
        !done.stderr.contains(text),
        "standard error says {text:?}:\n{}",
        done.stderr
    );
    done
}

#[test]
fn a_project_file_that_others_could_have_put_there_is_not_obeyed() {
    let dir = Dir::new();
    let run = dir.run();
    let shared = dir.folder("shared");
    mode(&shared, 0o1777);
    let file = shared.join("trueno.toml");
    let ran = dir.join("ran");
    let planted = compile_hostile("constructor.c", &shared, "planted");
    let plugin = planted.map_or_else(String::new, |library| {
        format!("plugin = \"{}\"\n", library.display())
    });
    let text = format!(
        "[report]\nwidth = 200\nhtml = \"out.html\"\nno-isolate = true\nallow-unsafe-plugins = true\n{plugin}"
    );
    fs::write(&file, text).unwrap();
    let plain = report(&dir, "shared", &["--no-project"]).exits(0).stdout;
    let check = |why: &str| {
        let words = format!("trueno.toml is ignored: {why}");
        let all = report(&dir, "shared", &[]).env("TRUENO_TEST_PLANTED", &ran);
        let done = all.exits(0).stderr_has(&words);
        assert_eq!(done.stdout, plain, "not even how it looks");
        let quiet = report(&dir, "shared", &["-q"]).env("TRUENO_TEST_PLANTED", &ran);
        quiet.exits(0).stderr_has(&words);
        assert!(!ran.exists() && !shared.join("out.html").exists());
    };
    let mut watched = dir.command(&["watch", run.to_str().unwrap()]);
    watched.command.current_dir(&shared);
    let done = watched.exits(0).stderr_has("trueno.toml is ignored");
    assert_eq!(done.stderr.matches("is ignored").count(), 1, "said once");
    let gate = report(&dir, "shared", &["--fail-on", "critical"]);
    gate.exits(0).stderr_has("is ignored");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, "[report]\nfail-on = \"info\"\n").unwrap();
    report(&dir, "shared", &[])
        .exits(2)
        .stderr_has("and it decides whether report fails");
    fs::write(&file, text).unwrap();
    let folder = shared.canonicalize().unwrap();
    check(&format!("{} can be written by everyone", folder.display()));
    if is_root(&dir) {
        mode(&shared, 0o755);
        chown(&file, Some(NOBODY), None).unwrap();
        let why = "it belongs to another user (uid 65534)";
        check(why);
        // Also where only the link is theirs.
        fs::remove_file(&file).unwrap();
        fs::write(dir.join("own.toml"), "[report]\nwidth = 200\n").unwrap();
        symlink(dir.join("own.toml"), &file).unwrap();
        report(&dir, "shared", &[])
            .exits(0)
            .stderr_has("sets --width=200");
        lchown(&file, Some(NOBODY), None).unwrap();
        check(why);
    }
}

#[test]
fn a_project_file_above_the_repository_is_not_looked_at() {
    let dir = Dir::new();
    dir.run();
    dir.folder("repository/.git");
    dir.folder("repository/below");
    fs::write(dir.join("trueno.toml"), "[report]\nwidth = 200\n").unwrap();
    stderr_lacks(
        report(&dir, "repository/below", &[]).exits(0),
        "trueno.toml",
    );
    let inner = dir.join("repository/trueno.toml");
    fs::write(inner, "[report]\nwidth = 199\n").unwrap();
    report(&dir, "repository/below", &[])
        .exits(0)
        .stderr_has("repository/trueno.toml sets --width=199");
    // The same with a home folder below which the work is done.
    let home = dir.folder("home");
    dir.folder("home/work");
    let at_home = report(&dir, "home/work", &[]).env("HOME", &home);
    stderr_lacks(at_home.exits(0), "trueno.toml");
}

#[test]
fn outputs_and_code_need_trust_that_ends_with_a_change() {
    let dir = Dir::new();
    dir.run();
    dir.folder("project/.git");
    let project = |text: &str| fs::write(dir.join("project/trueno.toml"), text).unwrap();
    let html = dir.join("project/out.html");
    let trust = |args: &[&str]| {
        let mut run = dir.command(&[&["trust"], args].concat());
        run.command.current_dir(dir.join("project"));
        run
    };
    project("[report]\nwidth = 200\nhtml = \"out.html\"\n");
    let refused = report(&dir, "project", &["-q"])
        .exits(0)
        .stderr_has("project/trueno.toml may not set --html=")
        .stderr_has("project/trueno.toml`");
    assert!(!refused.stdout.is_empty(), "the report is there");
    assert!(!html.exists());

    trust(&["--list"]).exits(0);
    trust(&[]).exits(0).stderr_has("may set report --html");
    let listed = trust(&["--list"]).exits(0).stdout;
    let is_listed = listed.starts_with("trusted ") && listed.ends_with("/project/trueno.toml\n");
    assert!(is_listed, "{listed}");
    let list = dir.join("config/trueno-analyze/trusted.json");
    let bits = fs::metadata(&list).unwrap().permissions().mode();
    assert_eq!(bits & 0o777, 0o600);
    // Said with -q too: it writes a file.
    report(&dir, "project", &["-q"])
        .exits(0)
        .stderr_has("trueno.toml sets --html=");
    assert!(html.exists());
    fs::remove_file(&html).unwrap();

    project("[report]\nhtml = \"out.html\"\nwidth = 200\n");
    report(&dir, "project", &[])
        .exits(0)
        .stderr_has("it has changed since you trusted it");
    assert!(!html.exists());
    trust(&["--list"]).exits(0).stdout_has("changed ");
    report(&dir, "project", &["--project", "trueno.toml"])
        .exits(0)
        .stderr_has("sets --html=");
    assert!(html.exists(), "it was named");

    trust(&["--remove"]).exits(0);
    trust(&["--remove"])
        .exits(2)
        .stderr_has("is not in the list");
    assert_eq!(trust(&["--list"]).exits(0).stdout, "");
    project("[reprot]\n");
    trust(&[]).exits(2).stderr_has("no command reprot");
    fs::remove_file(dir.join("project/trueno.toml")).unwrap();
    trust(&[]).exits(2).stderr_has("no trueno.toml in ");
}

#[test]
fn a_plugin_of_a_project_is_loaded_once_it_is_trusted() {
    let dir = Dir::new();
    dir.run();
    let project = dir.folder("project");
    let planted = compile_hostile("constructor.c", &project, "planted");
    let Some(planted) = planted else { return };
    let ran = dir.join("ran");
    let name = planted.file_name().unwrap().to_str().unwrap();
    let text = format!("[report]\nplugin = \"{name}\"\nno-isolate = true\n");
    fs::write(project.join("trueno.toml"), text).unwrap();
    let load = |more: &[&str]| report(&dir, "project", more).env("TRUENO_TEST_PLANTED", &ran);
    load(&[]).exits(0).stderr_has("may not set --plugin=");
    assert!(!ran.exists());
    dir.command(&["trust", "project/trueno.toml"]).exits(0);
    // It is no plugin; and it is loaded where it can do no harm.
    let never = "may not set --no-isolate: project files cannot remove";
    load(&[]).exits(2).stderr_has(never).stderr_has(name);
    assert!(!ran.exists());
    load(&["--no-isolate"]).exits(2);
    assert!(ran.exists(), "what is typed holds");
}

#[test]
fn no_project_file_takes_protections_away() {
    let dir = Dir::new();
    dir.run();
    let text = "[defaults]\nallow-unsafe-plugins = true\nplugin-memory = \"1T\"\nplugin-timeout = \"9000s\"\n\
        [report]\ncsv-exact = true\nno-isolate = true\ntop = 3\n";
    fs::write(dir.join("named.toml"), text).unwrap();
    let words = "named.toml may not set --allow-unsafe-plugins --plugin-memory=1T --plugin-timeout=9000s --csv-exact \
        --no-isolate: ";
    report(&dir, ".", &["--project", "named.toml", "-q"])
        .exits(0)
        .stderr_has(words);
    report(&dir, ".", &["--project", "named.toml"])
        .exits(0)
        .stderr_has("named.toml sets --top=3\n");
    report(&dir, ".", &["--project", "none.toml"])
        .exits(2)
        .stderr_has("none.toml: cannot be read");
    // What it sets is said beside what clap finds wrong with it.
    fs::write(dir.join("named.toml"), "[report]\ntop = \"many\"\n").unwrap();
    report(&dir, ".", &["--project", "named.toml"])
        .exits(2)
        .stderr_has("named.toml sets --top=many\n");
}

#[test]
fn plugins_of_another_user_are_not_loaded() {
    let dir = Dir::new();
    let plugins = standard_plugins(&dir);
    let run = |folder: &Path| {
        let run = dir.command(&["plugins", "list", "--no-default-plugins"]);
        run.env("TRUENO_PLUGIN_PATH", folder)
    };
    let list = |folder: &Path| run(folder).exits(0);
    let refused = |folder: &Path| run(folder).exits(2);
    list(&plugins).stdout_has("summary 0.1.0  ok");
    // A link that anyone could have put there, to plugins that nobody else could.
    let open = dir.folder("open");
    symlink(&plugins, open.join("link")).unwrap();
    mode(&open, 0o777);
    refused(&open.join("link")).stderr_has("can be written by everyone");
    if is_root(&dir) {
        mode(&open, 0o755);
        list(&open.join("link")).stdout_has("summary 0.1.0  ok");
        lchown(open.join("link"), Some(NOBODY), None).unwrap();
        refused(&open.join("link")).stderr_has("open/link belongs to another user (uid 65534)");
        chown(&plugins, Some(NOBODY), None).unwrap();
        refused(&plugins).stderr_has("standard belongs to another user (uid 65534)");
    }
}

fn trace(dir: &Dir) {
    let event = r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5}"#;
    let text = format!(r#"{{"schemaVersion": 1, "traceEvents": [{event}]}}"#);
    fs::write(dir.join("trace.json"), text).unwrap();
}

fn cached(dir: &Dir) -> PathBuf {
    let folder = dir.join("cache/trueno-analyze/imported");
    let entries = fs::read_dir(folder).unwrap();
    let mut runs = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    runs.next().expect("a run is kept")
}

#[test]
fn a_cached_run_that_another_user_could_have_made_is_made_anew() {
    let dir = Dir::new();
    trace(&dir);
    let info = || dir.command(&["info", "trace.json"]).exits(0);
    let first = info();
    let kept = cached(&dir);
    stderr_lacks(info(), "is not used").stderr_has("taken from");

    let elsewhere = dir.join("elsewhere.run");
    fs::rename(&kept, &elsewhere).unwrap();
    symlink(&elsewhere, &kept).unwrap();
    let again = info().stderr_has("is a symbolic link");
    assert_eq!(again.stdout, first.stdout);
    assert!(!kept.is_symlink() && kept.is_dir());
    assert!(elsewhere.is_dir(), "what the link led to stays");
    stderr_lacks(info(), "is not used").stderr_has("taken from");
    if is_root(&dir) {
        chown(kept.join("run.json"), Some(NOBODY), None).unwrap();
        info().stderr_has("run.json belongs to another user (uid 65534)");
        stderr_lacks(info(), "is not used").stderr_has("taken from");
    }
}

#[test]
fn a_cache_that_others_can_write_is_not_used() {
    let dir = Dir::new();
    trace(&dir);
    let open = dir.folder("open");
    mode(&open, 0o777);
    dir.folder("cache");
    symlink(&open, dir.join("cache/trueno-analyze")).unwrap();
    dir.command(&["info", "trace.json"])
        .exits(0)
        .stderr_has("open can be written by everyone: the imported run is not cached");
    let kept = fs::read_dir(open.join("imported")).unwrap().count();
    assert_eq!(kept, 0);
}
