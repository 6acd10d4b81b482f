//! Programs whose file is another one, or none, by the time that their functions are named.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use trueno_testing::{compile, has_c_compiler, run_json};

use crate::{Place, can_sample, text};

/// Works in one function until the file `enough` exists. Before that, depending on its argument, it replaces the
/// file at its path, removes its file, or runs itself from memory.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
volatile unsigned long x;
extern char **environ;
__attribute__((noinline)) void the_true_function(void) { for (int i = 0; i < 10000000; i++) x = x * 31 + 1; }
int main(int count, char **arguments) {
    char way = count > 1 ? arguments[1][0] : 0;
    if (way == 'a') rename("other", "program");
    if (way == 'n') unlink("program");
    if (way == 'm') {
        struct stat facts;
        int memory = memfd_create("copy", 0), file = open(arguments[0], O_RDONLY);
        fstat(file, &facts);
        sendfile(memory, file, 0, facts.st_size);
        char *none[] = {arguments[0], 0};
        fexecve(memory, none, environ);
        return 1;
    }
    creat("begun", 0600);
    for (int n = 0; access("enough", F_OK) != 0; n++) {
        the_true_function();
        if (n == 20) creat("worked", 0600);
    }
    return 0;
}
"#;
/// A program with other functions everywhere.
const OTHER: &str = r#"
volatile unsigned long x;
#define F(n) __attribute__((noinline)) void false_##n(void) { x = x * n + 1; }
#define G(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
G(1) G(2) G(3) G(4) G(5) G(6) G(7) G(8) G(9)
int main(void) { false_10(); return 0; }
"#;

fn build(place: &Place, name: &str, source: &str) {
    let at = |name: &str| place.path(name);
    let file = at(&format!("{name}.c"));
    fs::write(&file, source).unwrap();
    compile(file.to_str().unwrap(), &["-O1", "-w"], &at(name), &[]);
}

fn wait_for(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < Duration::from_secs(600), "{path:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn names_of(way: &str) -> Option<(Place, Vec<String>)> {
    if !has_c_compiler() || !can_sample() {
        return None;
    }
    let place = Place::new();
    build(&place, "program", PROGRAM);
    build(&place, "other", OTHER);
    let recorder = place
        .command(&["--sample"], &["./program", way])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&place.path("worked"));
    fs::write(place.path("enough"), "").unwrap();
    let done = recorder.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let stacks = place.stacks();
    let names = stacks.0.into_iter().flat_map(|sample| sample.functions);
    Some((place, names.collect()))
}

/// Only root may open the mapped file of a process regardless of its path.
fn is_root() -> bool {
    // SAFETY: takes nothing.
    unsafe { libc::geteuid() == 0 }
}

fn are_true(names: &[String]) {
    assert!(names.iter().any(|name| name == "the_true_function"));
    assert!(!names.iter().any(|name| name.starts_with("false_")));
}

#[test]
fn a_program_that_is_replaced_has_no_names_of_another() {
    for (way, what) in [("another", "replaced"), ("none", "removed")] {
        let Some((place, names)) = names_of(way) else {
            return;
        };
        let problems = run_json(&place.run()).problems;
        if is_root() {
            are_true(&names);
            assert_eq!(problems, Vec::<String>::new(), "{what}");
        } else {
            assert!(!names.iter().any(|name| name.starts_with("false_")));
            let is_said = |text: &String| text.contains("the file on disk is another one");
            assert!(problems.iter().any(is_said), "{what}: {problems:?}");
        }
    }
}

/// A file without a path, reachable only through the kernel.
#[test]
fn a_program_that_runs_from_memory_has_its_names() {
    if !is_root() {
        eprintln!("skipped: only root may open what a process has mapped");
        return;
    }
    if let Some((_, names)) = names_of("memory") {
        are_true(&names);
    }
}

/// Seen from here, another file is at the path; the program's file is below its own root.
#[test]
fn a_program_in_a_mount_namespace_has_its_own_names() {
    if !has_c_compiler() || !can_sample() {
        return;
    }
    let place = Place::new();
    let at = |name: &str| place.path(name);
    build(&place, "program", PROGRAM);
    build(&place, "other", OTHER);
    fs::create_dir(at("inside")).unwrap();
    fs::rename(at("program"), at("true one")).unwrap();
    fs::rename(at("other"), at("program")).unwrap();
    let script = "mount --bind 'true one' program && exec ./program";
    let unshare = ["unshare", "-m", "sh", "-c", script];
    let mut command = place.command(&["--sample"], &unshare);
    let mut recorder = command.stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !at("begun").exists() && recorder.try_wait().unwrap().is_none() {
        assert!(
            begun.elapsed() < Duration::from_secs(600),
            "it does not end"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let has_begun = at("begun").exists();
    if has_begun {
        wait_for(&at("worked"));
    }
    fs::write(at("enough"), "").unwrap();
    let done = recorder.wait_with_output().unwrap();
    if !has_begun {
        eprintln!("skipped: no mount namespaces here: {}", text(&done.stderr));
        return;
    }
    let names = place.stacks().0.into_iter();
    are_true(
        &names
            .flat_map(|sample| sample.functions)
            .collect::<Vec<_>>(),
    );
}

/// The limit of `ulimit -l` is not a matter of permissions.
#[test]
fn a_limit_of_locked_memory_is_said_to_be_one() {
    if !is_root() || !can_sample() {
        eprintln!("skipped: root is needed, to become a user whose limits hold");
        return;
    }
    let place = Place::new();
    let own = env!("CARGO_BIN_EXE_trueno-record");
    let script = format!(
        "ulimit -l 0; for n in 1 2 3; do '{own}' run --sample -o $n.run -- sleep 1 & done; wait"
    );
    fs::set_permissions(
        place.folder(),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .unwrap();
    let done = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--clear-groups", "sh", "-c", &script])
        .current_dir(place.folder())
        .output()
        .unwrap();
    let said = text(&done.stderr);
    if said.contains("Permission denied") || said.contains("recorded") && !said.contains("ulimit") {
        eprintln!("skipped: that user has memory enough, or may not run this: {said}");
        return;
    }
    assert!(said.contains("`ulimit -l`"), "{said}");
    assert!(!said.contains("perf_event_paranoid of 2"), "{said}");
}
