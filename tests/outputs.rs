//! Files that a command writes: never over what it reads, and whole or not at all.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use crate::harness::Dir;

const RULES: &str = "[[rule]]\ncategory = \"a\"\ncontains = [\"gemv\"]\n";
const ASSERTIONS: &str = "[[assertion]]\nname = \"few\"\ntype = \"span_count\"\nmax_spans = 100\n";

/// Names of all files in the test's folder and in its run.
fn names(dir: &Dir) -> Vec<String> {
    let list = |path| {
        fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let mut names: Vec<String> = list(dir.path().to_owned())
        .chain(list(dir.join("test.run")))
        .map(|path| path.display().to_string())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_read_is_never_written() {
    let dir = Dir::new();
    dir.run();
    let files = [
        ("rules.toml", RULES),
        ("assert.toml", ASSERTIONS),
        ("old.json", "old"),
    ];
    for (name, text) in files {
        fs::write(dir.join(name), text).unwrap();
    }
    symlink("rules.toml", dir.join("link")).unwrap();
    dir.command(&["golden", "save", "test.run", "-o", "g.json"])
        .exits(0);
    let golden = dir.read("g.json");
    let before = names(&dir);
    let segment = fs::read_dir(dir.join("test.run/bricks")).unwrap().next();
    let segment = segment.unwrap().unwrap().path();
    let rows = fs::read(&segment).unwrap();
    let segment = segment.to_str().unwrap();
    for args in [
        &["export", "chrome", "test.run", "-o", segment][..],
        &["export", "folded", "test.run", "-o", "test.run/new.txt"],
        &["report", "test.run", "--json", "test.run/run.json"],
        &["report", "test.run", "--html", segment],
        &["report", "test.run", "--csv", "test.run/tables"],
        &["report", "test.run", "--charts", "test.run"],
        &["dot", "test.run", "-o", segment],
        &[
            "golden",
            "save",
            "test.run",
            "-o",
            "test.run/run.json",
            "--overwrite",
        ],
        &[
            "compare",
            "test.run",
            "test.run",
            "--html",
            "test.run/run.json",
        ],
        &["compare", "g.json", "test.run", "--html", "g.json"],
        &[
            "check",
            "test.run",
            "--assert",
            "assert.toml",
            "--junit",
            "assert.toml",
        ],
        &[
            "report",
            "test.run",
            "--baseline",
            "g.json",
            "--json",
            "g.json",
        ],
        &[
            "report",
            "test.run",
            "--categories",
            "rules.toml",
            "--html",
            "./rules.toml",
        ],
        &[
            "report",
            "test.run",
            "--categories",
            "rules.toml",
            "--html",
            "link",
        ],
        &[
            "report", "test.run", "--json", "new.txt", "--html", "new.txt",
        ],
        &[
            "report",
            "test.run",
            "--json",
            "old.json",
            "--markdown",
            "old.json",
        ],
    ] {
        let done = dir.command(args).exits(2);
        assert!(
            done.stderr.contains("(hint: choose a"),
            "{args:?}: {}",
            done.stderr
        );
        assert_eq!(names(&dir), before, "{args:?}");
    }
    for (name, text) in files {
        assert_eq!(dir.read(name), text, "{name}");
    }
    assert_eq!(dir.read("g.json"), golden);
    assert_eq!(fs::read(segment).unwrap(), rows);
    dir.command(&["info", "test.run"]).exits(0);
}

#[test]
fn a_file_keeps_what_it_was_until_the_new_one_is_whole() {
    let dir = Dir::new();
    let run = dir.run();
    fs::write(dir.join("old.html"), "as it was").unwrap();
    fs::set_permissions(dir.join("old.html"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("old.html", dir.join("link.html")).unwrap();
    let before = names(&dir);
    let page = dir.report(&run, &["--html", "link.html"]).command;
    let args: Vec<_> = page.get_args().map(|arg| arg.to_str().unwrap()).collect();
    // 4 kB or 8 kB, as the shell counts: less than the page has.
    let limited = Command::new("sh")
        .arg("-c")
        .arg("ulimit -f 8; exec \"$@\"")
        .arg("sh")
        .arg(page.get_program())
        .args(&args)
        .current_dir(dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&limited.stderr);
    assert_eq!(limited.status.code(), Some(2), "{said}");
    assert!(
        said.contains("link.html: cannot be written: File too large"),
        "{said}"
    );
    assert_eq!(dir.read("old.html"), "as it was");
    // The folder of plugins was made by the report.
    let after: Vec<String> = names(&dir)
        .into_iter()
        .filter(|name| !name.ends_with("standard"))
        .collect();
    assert_eq!(after, before);

    dir.report(&run, &["--html", "link.html"]).exits(0);
    assert!(dir.read("old.html").contains("</html>"));
    let link = fs::symlink_metadata(dir.join("link.html")).unwrap();
    assert!(link.file_type().is_symlink(), "a link stays one");
    let mode = fs::metadata(dir.join("old.html"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640, "permissions stay");
    dir.report(&run, &["--json", "/dev/null", "--markdown", "/dev/null"])
        .exits(0);
}

/// Lines of standard error that confirm a file.
fn confirmed(stderr: &str) -> Vec<&str> {
    let lines = stderr.lines();
    lines
        .filter_map(|line| line.strip_prefix("wrote "))
        .collect()
}

#[test]
fn each_file_is_confirmed_with_its_size() {
    let dir = Dir::new();
    let run = dir.run();
    let trace =
        r#"[{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]"#;
    fs::write(dir.join("trace.json"), trace).unwrap();
    fs::write(dir.join("assert.toml"), ASSERTIONS).unwrap();
    for (args, expected) in [
        (&["report", "test.run", "--html", "a.html"][..], "a.html, "),
        (&["report", "test.run", "--charts", "charts"], "charts, "),
        (&["report", "test.run", "--csv", "csv"], "csv, "),
        (&["report", "test.run", "-o", "a.txt"], "a.txt, "),
        (
            &["compare", "test.run", "test.run", "-o", "b.txt"],
            "b.txt, ",
        ),
        (
            &["compare", "test.run", "test.run", "--html", "b.html"],
            "b.html, ",
        ),
        (
            &[
                "check",
                "test.run",
                "--assert",
                "assert.toml",
                "--junit",
                "c.xml",
            ],
            "c.xml, ",
        ),
        (&["tree", "test.run", "-o", "d.txt"], "d.txt, "),
        (&["query", "test.run", "SELECT 1", "-o", "e.txt"], "e.txt, "),
        (&["tables", "test.run", "-o", "f.txt"], "f.txt, "),
        (&["info", "test.run", "-o", "g.txt"], "g.txt, "),
        (&["golden", "save", "test.run", "-o", "h.json"], "h.json, "),
        (
            &["export", "chrome", "test.run", "-o", "i.json"],
            "i.json, ",
        ),
        (&["export", "dot", "test.run", "-o", "i.dot"], "i.dot, "),
        (&["export", "parquet", "test.run", "-o", "j.run"], "j.run, "),
        (&["import", "trace.json", "-o", "k.run"], "k.run, "),
    ] {
        let code = if args[0] == "compare" { [0, 3] } else { [0, 0] };
        let mut command = dir.command_with_plugins(args);
        let output = command.ends_within(crate::harness::PATIENCE).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            code.contains(&output.status.code().unwrap()),
            "{args:?}: {stderr}"
        );
        let lines = confirmed(&stderr);
        assert_eq!(lines.len(), 1, "{args:?}: {stderr}");
        assert!(lines[0].starts_with(expected), "{args:?}: {}", lines[0]);
        assert!(lines[0].ends_with('B'), "{args:?}: {}", lines[0]);
    }
    // A file takes the place of the page; `--format terminal` prints it as well.
    let page = dir.report(&run, &["--html", "a.html"]).exits(0);
    assert_eq!(page.stdout, "");
    let quiet = dir.report(&run, &["--html", "a.html", "-q"]).exits(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    let device = dir.report(&run, &["--json", "/dev/null"]).exits(0);
    assert!(confirmed(&device.stderr).is_empty(), "{}", device.stderr);
    dir.report(&run, &["--html", "a.html", "--format", "terminal"])
        .exits(0)
        .stdout_has("\ncategory ");
}
