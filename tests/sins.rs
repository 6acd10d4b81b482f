//! Every kind of misbehaviour that the hostile plugin knows, in a process of its own and, where that can be survived, in
//! the analyzer's.
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Dir, Done, hostile_plugin, section};

#[derive(Clone, Copy)]
enum Expected {
    Fine,
    /// The section fails, with one of these texts in the message.
    Failed(&'static [&'static str]),
    /// It is stopped after its short time limit.
    Late,
}

use Expected::{Failed, Fine, Late};

/// Sins with the same outcome in the analyzer's process as in an isolated one.
const SURVIVED: [(&str, Expected); 34] = [
    ("panic", Failed(&["panicked: deliberate panic"])),
    ("panic_with_payload", Failed(&["panicked"])),
    ("panic_after_table", Failed(&["panic after a table"])),
    ("error", Failed(&["deliberate failure"])),
    ("error_not_utf8", Failed(&["deliberate\0failure"])),
    ("error_with_escapes", Failed(&["error: fake"])),
    ("cancelled", Failed(&["stopped early"])),
    ("bad_lengths", Failed(&["its batch reaches to row"])),
    ("negative_length", Failed(&["length -1"])),
    ("huge_offset", Failed(&["offset 9223372036854775807"])),
    ("bad_type", Failed(&["Arrow type `i`"])),
    ("not_utf8", Failed(&["not UTF-8"])),
    ("bad_offsets", Failed(&["offsets that are not in order"])),
    ("duplicate_column", Failed(&["two columns are named `x`"])),
    ("failing_stream", Failed(&["deliberate stream failure"])),
    ("released_stream", Failed(&["already released"])),
    ("null_stream", Failed(&["null pointer"])),
    ("duplicate_table", Failed(&["emitted twice"])),
    ("bad_table_name", Failed(&["Bad Name; DROP"])),
    ("table_name_not_utf8", Failed(&["not UTF-8"])),
    ("bad_finding", Failed(&["a finding cannot be read"])),
    ("chart_of_nothing", Failed(&["nowhere"])),
    ("ignore_refusal", Failed(&["Arrow type `i`"])),
    ("no_output", Fine),
    ("reserved", Fine),
    ("input_released", Fine),
    ("error_but_ok", Fine),
    ("many_findings", Fine),
    ("long_words", Fine),
    ("many_tables", Failed(&["more than 1000 tables"])),
    ("many_columns", Failed(&["at most 10000 are taken"])),
    ("many_charts", Failed(&["more than 100000 charts"])),
    ("stderr_with_escapes", Fine),
    ("write_late", Fine),
];

/// Sins that would end the analyzer, or never return.
const DEADLY: [(&str, Expected); 54] = [
    ("exit", Failed(&["exit code 0"])),
    ("abort", Failed(&["SIGABRT"])),
    ("spin", Late),
    ("loop", Late),
    (
        "null_dereference",
        Failed(&["a null pointer (address 0x8)"]),
    ),
    ("stack_overflow", Failed(&["its stack was full"])),
    ("eat_memory", Failed(&[MEMORY])),
    ("stdout_garbage", Fine),
    ("print_for_ever", Late),
    ("forge_answer", Failed(&["damaged"])),
    ("stop", Failed(&["it stopped its own process"])),
    ("ignore_signals", Late),
    ("fork_without_end", Failed(&["no more forks"])),
    ("leave_a_daemon", Failed(&["no daemon can be had"])),
    ("return_twice", Failed(&["nobody comes back twice"])),
    ("kill_parent", Failed(&["it lives"])),
    ("kill_group", Failed(&["it lives"])),
    ("lose_the_first_thread", Late),
    ("deadlock", Late),
    ("close_and_sleep", Late),
    ("sleep_for_ever", Late),
    ("burn", Failed(&["its time limit", "of processor time"])),
    ("kill_itself", Failed(&["SIGKILL"])),
    ("terminate", Failed(&["SIGTERM"])),
    ("illegal", Failed(&["SIGILL"])),
    ("divide_by_zero", Failed(&["SIGFPE"])),
    ("break_pipe", Failed(&["SIGPIPE"])),
    ("real_time_signal", Failed(&["signal 63"])),
    ("stop_by_keyboard", Failed(&["it stopped its own process"])),
    ("set_an_alarm", Failed(&["SIGALRM"])),
    ("loop_at_exit", Fine),
    ("exit_from_a_thread", Failed(&["exit code 3"])),
    ("leave_a_thread", Fine),
    (
        "call_as32_bits",
        Failed(&["it crashed", "the kernel took it"]),
    ),
    (
        "threads",
        Failed(&["more than 4096 threads", "no more threads"]),
    ),
    ("flood_standard_error", Late),
    ("huge_allocation", Failed(&[MEMORY])),
    ("mapping", Failed(&["no more pages"])),
    ("memory_files", Failed(&["no files of memory"])),
    ("flood_inputs", Failed(&["no more room", "SIGXFSZ"])),
    ("pipes", Failed(&["no more than"])),
    (
        "many_rows",
        Failed(&[MEMORY, "a quarter of its memory limit"]),
    ),
    ("raised_memory_limit", Failed(&[MEMORY])),
    ("forge_path", Failed(&["\"../../out\" does not fit"])),
    ("forge_twice", Failed(&["emitted twice"])),
    ("forge_endless_rows", Failed(&["cut short"])),
    ("forge_cut_table", Failed(&["a table without a name"])),
    (
        "forge_chart_of_nothing",
        Failed(&["no column a of a table none"]),
    ),
    ("forge_status", Failed(&["unknown status 77"])),
    ("forge_nested", Failed(&["invalid type: sequence"])),
    ("forge_findings", Failed(&["more than 100000 findings"])),
    ("forge_length", Failed(&["damaged"])),
    ("forge_long_wait", Failed(&["damaged"])),
    ("forge_flood", Failed(&["a quarter of its memory limit"])),
];

const FORGED: [(&str, Expected); 4] = [
    ("forge_crash", Failed(&["exit code 0"])),
    ("forge_refused", Failed(&["error: fake"])),
    ("forge_descriptor", Fine),
    ("forge_after_end", Fine),
];

const MEMORY: &str = "it reached its memory limit of 268 MB";

fn commit(dir: &Dir, run: &Path, sin: &str, more: &[&str]) -> Done {
    let plugin = hostile_plugin();
    let set = format!("hostile.sin={sin}");
    let args = ["--plugin", plugin.to_str().unwrap(), "--set", &set];
    let form = ["--plugin-id", "hostile,sanity", "--json", "-"];
    let done = dir
        .report(run, &[&args[..], &form, more].concat())
        .reports();
    let odd = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{2028}');
    assert!(!done.stderr.contains(odd), "{sin}: {:?}", done.stderr);
    let begins_fake = done.stderr.lines().any(|line| line.starts_with("error:"));
    assert!(!begins_fake, "{sin}: {}", done.stderr);
    done
}

fn check(sin: &str, expected: Expected, json: &Value) {
    let hostile = section(json, "hostile");
    let message = hostile["message"].as_str().unwrap_or("");
    let words: &[&str] = match expected {
        Fine => {
            assert_eq!(hostile["status"], "ok", "{sin}: {message}");
            return;
        }
        Failed(words) => words,
        // Whichever of its two limits it came to first: who spins spends processor time too.
        Late => &[
            "it was stopped after 1 s, its time limit",
            "it was stopped after 1 s of processor time",
        ],
    };
    assert_eq!(hostile["status"], "failed", "{sin}");
    assert!(
        words.iter().any(|word| message.contains(word)),
        "{sin}: {message:?} says nothing of {words:?}"
    );
}

fn isolated(sins: &[(&str, Expected)]) {
    let dir = Dir::new();
    let run = dir.run();
    let usual = commit(&dir, &run, "no_output", &["--isolate"]).json();
    for (sin, expected) in sins {
        let is_timed = matches!(expected, Late) || *sin == "burn";
        let time = ["--plugin-timeout", if is_timed { "1s" } else { "600s" }];
        let limits = ["--isolate", "--plugin-memory", "256M"];
        let json = commit(&dir, &run, sin, &[&limits[..], &time].concat()).json();
        check(sin, *expected, &json);
        // The other one has the same limits: where a second was too short for it, it says so.
        let sanity = section(&json, "sanity");
        let late = sanity["message"]
            .as_str()
            .is_some_and(|m| m.contains("after 1 s"));
        if !(is_timed && late) {
            assert_eq!(sanity, section(&usual, "sanity"), "after {sin}");
        }
    }
}

#[test]
fn what_can_be_survived_is_survived_in_a_process_of_its_own() {
    isolated(&SURVIVED);
}

#[test]
fn what_ends_a_process_ends_its_own() {
    isolated(&DEADLY[..DEADLY.len() / 2]);
}

#[test]
fn floods_and_forgeries_end_in_one_section() {
    isolated(&DEADLY[DEADLY.len() / 2..]);
    isolated(&FORGED);
}

#[test]
fn what_can_be_survived_is_survived_in_the_analyzer() {
    let dir = Dir::new();
    let run = dir.run();
    let usual = commit(&dir, &run, "no_output", &[]).json();
    for (sin, expected) in SURVIVED {
        let done = commit(&dir, &run, sin, &[]);
        // In a process of its own it is left out.
        let words = match sin {
            "stderr_with_escapes" => Some("plugin output: "),
            "write_late" => Some("plugin output: late"),
            _ => None,
        };
        if let Some(words) = words {
            let marked = |line: &str| line.starts_with(words);
            assert!(done.stderr.lines().any(marked), "{}", done.stderr);
        }
        let json = done.json();
        check(sin, expected, &json);
        assert_eq!(
            section(&json, "sanity"),
            section(&usual, "sanity"),
            "after {sin}"
        );
    }
}

#[test]
fn processor_time_has_a_limit_of_its_own() {
    let dir = Dir::new();
    let run = dir.run();
    for sin in ["loop", "burn", "flood_standard_error"] {
        let limits = ["--plugin-cpu-time", "1s", "--plugin-timeout", "1000s"];
        let json = commit(&dir, &run, sin, &[&limits[..], &["--isolate"]].concat()).json();
        let message = section(&json, "hostile")["message"].as_str().unwrap();
        let words =
            "it was stopped after 1 s of processor time, its limit (hint: --plugin-cpu-time TIME)";
        assert!(message.starts_with(words), "{sin}: {message}");
    }
}

/// Limits on processes and namespaces differ between root and other users, and the other tests may run as root.
#[test]
fn sins_end_for_other_users_as_for_root() {
    // SAFETY: a call without arguments.
    if unsafe { libc::geteuid() } != 0 {
        println!("left out: only root can become another user");
        return;
    }
    const NOBODY: u32 = 65534;
    let dir = Dir::new();
    let run = dir.run();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir.path(), open).unwrap();
    let plugin = hostile_plugin();
    for (sin, words) in [
        ("escape", ""),
        ("fork_without_end", "no more forks"),
        ("leave_a_daemon", "no daemon can be had"),
        ("kill_parent", "it lives"),
        ("threads", "threads"),
        ("raised_memory_limit", MEMORY),
        ("stop", "it stopped its own process"),
        ("pipes", "no more than"),
    ] {
        let set = format!("hostile.sin={sin}");
        let plugin = plugin.to_str().unwrap();
        let args = [
            "report",
            run.to_str().unwrap(),
            "--no-default-plugins",
            "--plugin",
            plugin,
        ];
        let more = [
            "--plugin-memory",
            "256M",
            "--set",
            &set,
            "--json",
            "-",
            "--fail-on",
            "error",
        ];
        let mut command = dir.command(&[&args[..], &more].concat());
        command.command.uid(NOBODY).gid(NOBODY);
        let output = match command.command.output() {
            Ok(output) => output,
            Err(error) => {
                println!("left out: another user may not run the command ({error})");
                return;
            }
        };
        let stderr = String::from_utf8_lossy(&output.stderr);
        let json: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{sin}: {error}\n{stderr}"));
        let hostile = section(&json, "hostile");
        let message = hostile["message"].as_str().unwrap_or("");
        assert!(message.contains(words), "{sin}: {message}");
        if sin == "escape" && !stderr.contains("no sandbox for plugins") {
            for way in hostile["tables"][0]["rows"].as_array().unwrap() {
                assert_eq!(way[1] == true, way[0] == "start a thread", "{}", way[0]);
            }
        }
    }
}
