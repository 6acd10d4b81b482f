//! Plugins in Python: as good as others, and no worse where they are bad.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Dir, Done, built_library, section};

/// True if the interpreter that plugins get is usable. If not, the tests print that they are skipped.
pub fn has_python() -> bool {
    let name = std::env::var_os("TRUENO_PYTHON").unwrap_or_else(|| "python3".into());
    let version = "import sys; sys.exit(sys.version_info < (3, 9))";
    let found = Command::new(name).args(["-c", version]).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        println!("left out: no Python of version 3.9 or later");
    }
    found
}

fn dataset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../datasets")
        .join(name)
}

/// Writes a plugin `sinner` with this body of `run`.
fn plugin(dir: &Dir, body: &str) -> PathBuf {
    let file = dir.join("trueno_plugin_sinner.py");
    let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!(
        "# /// trueno-plugin\n# id = \"sinner\"\n# version = \"1\"\n# summary = \"Sins.\"\n#\n# [inputs]\n\
         # bricks = \"SELECT name, dur_ns, layer, 0 - dur_ns AS minus FROM bricks ORDER BY id\"\n#\n# [options]\n# top = 3\n# ///\n\
         import os, sys\nfrom trueno_plugin import BadInput, Failed, Result\n\ndef run(tables, options):\n{body}"
    );
    fs::write(&file, text).expect("a plugin");
    file
}

fn report(dir: &Dir, run: &Path, file: &Path, more: &[&str]) -> Done {
    let args = [
        "--plugin",
        file.to_str().unwrap(),
        "--plugin-id",
        "sinner,sanity",
        "--json",
        "-",
    ];
    dir.report(run, &[&args[..], more].concat()).reports()
}

fn message(json: &Value) -> &str {
    section(json, "sinner")["message"].as_str().unwrap_or("")
}

#[test]
fn a_new_plugin_keeps_the_rules_and_says_what_one_in_rust_says() {
    if !has_python() {
        return;
    }
    let dir = Dir::new();
    dir.command(&["plugins", "new", "by_name", "--lang", "python"])
        .exits(0)
        .stdout_has("plugins check trueno_plugin_by_name.py RUN");
    let file = dir.join("by_name/trueno_plugin_by_name.py");
    let path = file.to_str().unwrap();
    let checked = dir
        .command(&["plugins", "check", path, "--format", "json"])
        .exits(0);
    let rules = checked.json();
    let broken = |rule: &&Value| rule["verdict"] != "kept";
    let all = rules["rules"].as_array().unwrap();
    assert_eq!(
        all.iter().filter(broken).collect::<Vec<_>>(),
        Vec::<&Value>::new()
    );
    // Found by its name in a folder, and described without being run.
    let folder = dir.join("by_name");
    let list = [
        "plugins",
        "list",
        "-v",
        "--format",
        "json",
        "--no-default-plugins",
    ];
    let list = dir.command(&[&list[..], &["--plugin-dir", folder.to_str().unwrap()]].concat());
    let listed = list.exits(0).json();
    assert_eq!(listed[0]["id"], "by_name");
    assert_eq!(listed[0]["build"], "Python source");
    assert_eq!(listed[0]["runs"], "in a process of its own");
    assert_eq!(listed[0]["options"], json!(["min_share"]));
    assert_eq!(
        listed[0]["tables"][0]["columns"][1],
        json!({"name": "total_ns", "type": "i64"})
    );
    // The template in Rust computes the same.
    let rust = built_library("template_plugin");
    let run = dataset("decode/simd.run");
    for share in ["0.5", "0.01"] {
        let of = |file: &str, id: &str| {
            let set = format!("{id}.min_share={share}");
            let args = [
                "--plugin",
                file,
                "--plugin-id",
                id,
                "--set",
                &set,
                "--json",
                "-",
            ];
            let json = dir.report(&run, &args).exits(0).json();
            let found = section(&json, id).clone();
            assert_eq!(found["status"], "ok", "{found:#}");
            (found["tables"].clone(), found["findings"].clone())
        };
        let (tables, findings) = of(path, "by_name");
        let (rust_tables, rust_findings) = of(rust.to_str().unwrap(), "template");
        assert!(tables[0]["rows"].as_array().unwrap().len() > 3);
        assert_eq!(tables, rust_tables);
        let titles = |findings: &Value| -> Vec<String> {
            let findings = findings.as_array().unwrap().iter();
            findings
                .map(|finding| finding["title"].to_string())
                .collect()
        };
        assert_eq!(titles(&findings), titles(&rust_findings));
    }
}

#[test]
fn columns_come_as_they_are_and_go_as_they_are() {
    if !has_python() {
        return;
    }
    let dir = Dir::new();
    let run = dataset("decode/simd.run");
    let file = plugin(
        &dir,
        "bricks = tables['bricks']\n\
         rows = list(bricks.rows())\n\
         views = [value for view in bricks['dur_ns'].views() for value in view]\n\
         assert views == bricks['dur_ns'].to_list() and len(bricks) == len(rows)\n\
         assert next(iter(bricks)) == dict(zip(bricks.columns, rows[0]))\n\
         assert min(bricks['minus']) == -max(views) < 0\n\
         assert bricks['layer'].null_count == sum(row[2] is None for row in rows) > 0\n\
         odd = {'big': [2**63, None], 'flag': [True, None], 'x': [1, 2.5], 'text': ['ü', None]}\n\
         result = Result().table('same', bricks).table('odd', odd)\n\
         return result.chart('bar', 'Bars', 'odd', 'text', 'x')",
    );
    let json = report(&dir, &run, &file, &[]).json();
    let found = section(&json, "sinner");
    assert_eq!(found["status"], "ok", "{found:#}");
    let sql = "SELECT name, dur_ns, layer, 0 - dur_ns AS minus FROM bricks ORDER BY id";
    let path = run.to_str().unwrap();
    let asked = dir
        .command(&["query", path, sql, "--format", "json"])
        .exits(0)
        .json();
    let asked: Vec<Value> = asked
        .as_array()
        .unwrap()
        .iter()
        .map(|row| json!([row["name"], row["dur_ns"], row["layer"], row["minus"]]))
        .collect();
    assert_eq!(found["tables"][0]["rows"], json!(asked));
    let odd = json!([
        [9_223_372_036_854_775_808_u64, true, 1.0, "ü"],
        [null, null, 2.5, null]
    ]);
    assert_eq!(found["tables"][1]["rows"], odd);
    assert_eq!(found["charts"][0]["title"], "Bars");
}

const MEMORY: &str = "it reached its memory limit of 268 MB";

/// Bodies of `run`, and texts that the error must contain. If there are none, the section must succeed.
const SINS: [(&str, &[&str]); 27] = [
    (
        "raise ValueError('deliberate')",
        &["raised ValueError: deliberate (trueno_plugin_sinner.py:16 in run)"],
    ),
    (
        "raise BadInput('odd rows')",
        &["it cannot use its input: odd rows"],
    ),
    ("raise Failed('nothing to say')", &["nothing to say"]),
    ("raise BaseException", &["raised BaseException"]),
    ("sys.exit(3)", &["raised SystemExit: 3"]),
    (
        "os._exit(3)",
        &["it ended its process with exit code 3 instead of returning"],
    ),
    ("os.kill(os.getpid(), 11)", &["SIGSEGV"]),
    ("os.kill(os.getpid(), 19)", &["it stopped its own process"]),
    ("return run(tables, options)", &["raised RecursionError"]),
    (
        "import no_such_module_there",
        &[
            "No module named 'no_such_module_there'",
            "hint: install it for /",
        ],
    ),
    (
        "kept = []\nwhile True: kept.append(bytes(1 << 20))",
        &[MEMORY],
    ),
    (
        "return {'t': {'x': ['a' * 1000] * 300_000}}",
        &[MEMORY, "a quarter of its memory limit"],
    ),
    ("return 5", &["run returned a int, not tables by name"]),
    ("return {'t': 5}", &["table t: it is of type int"]),
    (
        "return {'t': {'x': [object()]}}",
        &["table t, column x: its values are of the types object"],
    ),
    (
        "return {'t': {'x': [1, 'a']}}",
        &["its values are of the types int, str"],
    ),
    (
        "return {'t': {'x': [1], 'y': [1, 2]}}",
        &["table t, column y: it has 2 rows, those before it 1"],
    ),
    (
        "return {'t': {'x': [2**64]}}",
        &["does not fit the type u64"],
    ),
    (
        "return {'t': {'x': []}}",
        &["its type is not known (hint: in the manifest"],
    ),
    (
        "return {'t': {'x': ['\\ud800']}}",
        &["a text that is not Unicode"],
    ),
    (
        "return {'../t': {'x': [1]}}",
        &["the table name '../t' does not fit"],
    ),
    (
        "return Result().finding('code', 'dreadful', 'title')",
        &["severity 'dreadful' is none of info"],
    ),
    (
        "return Result().chart('bar', 'Title', 'none', 'x', 'y')",
        &["no column x of a table none"],
    ),
    (
        "for file in range(3, 64):\n    try: os.write(file, b'garbage' * 9)\n    except OSError: pass",
        &["damaged"],
    ),
    ("print('noise' * 10_000); return {'t': {'x': [1]}}", &[]),
    (
        "import threading\nthreading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()",
        &[],
    ),
    ("return None", &[]),
];

#[test]
fn what_a_plugin_does_costs_its_section() {
    if !has_python() {
        return;
    }
    let dir = Dir::new();
    let run = dir.run();
    for (body, words) in SINS {
        let file = plugin(&dir, body);
        // Other plugins run in the analyzer's process, which these limits do not hold.
        let json = report(&dir, &run, &file, &["--plugin-memory", "256M"]).json();
        let found = section(&json, "sinner");
        let status = if words.is_empty() { "ok" } else { "failed" };
        assert_eq!(found["status"], status, "{body}: {found:#}");
        let says = words.iter().any(|word| message(&json).contains(word));
        assert!(says || words.is_empty(), "{body}: {}", message(&json));
        assert_eq!(section(&json, "sanity")["status"], "ok", "after {body}");
    }
}

#[test]
fn a_plugin_without_end_is_ended() {
    if !has_python() {
        return;
    }
    let dir = Dir::new();
    let run = dir.run();
    for body in [
        "while True: pass",
        "import time\ntime.sleep(10_000)",
        "while True: print('noise')",
    ] {
        let file = plugin(&dir, body);
        let json = report(&dir, &run, &file, &["--plugin-timeout", "2s"]).json();
        let message = message(&json);
        assert!(
            message.starts_with("it was stopped after 2 s"),
            "{body}: {message}"
        );
    }
}

#[test]
fn a_plugin_finds_no_way_out() {
    if !has_python() {
        return;
    }
    let dir = Dir::new();
    let run = dir.run();
    let secret = dir.join("secret");
    fs::write(&secret, "secret").expect("a file");
    let body = format!(
        "import signal, socket, subprocess\n\
         def tried(way):\n    try: way(); return True\n    except OSError: return False\n\
         ways = {{\n\
         'read a file': lambda: open({secret:?}).read(),\n\
         'read a file of the system': lambda: open('/etc/passwd').read(),\n\
         'list the root': lambda: os.listdir('/'),\n\
         'write a file': lambda: open({secret:?}, 'w'),\n\
         'make a file': lambda: open({secret:?} + '2', 'w'),\n\
         'remove a file': lambda: os.remove({secret:?}),\n\
         'run a program': lambda: subprocess.run(['/bin/true']),\n\
         'become a program': lambda: os.execv('/bin/true', ['true']),\n\
         'become Python again': lambda: os.execv(sys.executable, ['python3', '-c', '0']),\n\
         'fork': os.fork,\n\
         'open a socket': lambda: socket.socket(),\n\
         'signal its parent': lambda: os.kill(os.getppid(), 0),\n\
         'make a file of memory': lambda: os.memfd_create('x'),\n\
         'read its own code': lambda: open(__file__).read(),\n\
         }}\n\
         open_ways = [name for name, way in ways.items() if tried(way)]\n\
         result = {{'ways': {{'way': open_ways}}, 'environment': {{'name': sorted(os.environ)}}}}\n\
         return result"
    );
    let file = plugin(&dir, &body);
    let done = report(&dir, &run, &file, &[]);
    if done.stderr.contains("no sandbox for plugins") {
        println!("left out: this kernel has no Landlock or no seccomp, and the report says so");
        return;
    }
    let json = done.json();
    let found = section(&json, "sinner");
    assert_eq!(found["status"], "ok", "{found:#}");
    assert_eq!(found["tables"][0]["rows"], json!([["read its own code"]]));
    let names = found["tables"][1]["rows"].to_string();
    assert!(
        !names.contains("HOME") && !names.contains("TRUENO"),
        "{names}"
    );
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
}

#[test]
fn numbers_that_are_none_and_noise_break_rules() {
    if !has_python() {
        return;
    }
    let dir = Dir::new();
    for (body, rule) in [
        ("return {'t': {'x': [float('nan')]}}", "numbers"),
        ("print('noise'); return {'t': {'x': [1]}}", "prints_nothing"),
        (
            "import random; return {'t': {'x': [random.random()]}}",
            "same_twice",
        ),
        (
            "return {'t': {'x': [tables['bricks']['name'][0]]}}",
            "odd_inputs",
        ),
    ] {
        let file = plugin(&dir, body);
        let done = dir.command(&[
            "plugins",
            "check",
            file.to_str().unwrap(),
            "--format",
            "json",
        ]);
        let checked = done.exits(1).json();
        let rules = checked["rules"].as_array().unwrap();
        let found = rules.iter().find(|found| found["rule"] == rule).unwrap();
        assert_eq!(found["verdict"], "broken", "{body}: {found:#}");
    }
}

#[test]
fn two_processes_hash_texts_alike() {
    if !has_python() {
        return;
    }
    let dir = Dir::new();
    let run = dir.run();
    let file = plugin(&dir, "return {'t': {'x': [hash('a text')]}}");
    let hash = || section(&report(&dir, &run, &file, &[]).json(), "sinner")["tables"].clone();
    assert_eq!(hash(), hash());
}

#[test]
fn options_are_those_of_the_manifest() {
    let dir = Dir::new();
    let run = dir.run();
    if !has_python() {
        return;
    }
    let file = plugin(&dir, "return {'t': {'top': [options['top']]}}");
    let top = |json: &Value| section(json, "sinner")["tables"][0]["rows"][0][0].clone();
    assert_eq!(top(&report(&dir, &run, &file, &[]).json()), 3);
    let set = |value: &str| {
        let plugin = ["--plugin", file.to_str().unwrap(), "--plugin-id", "sinner"];
        dir.report(
            &run,
            &[&plugin[..], &["--set", value, "--json", "-"]].concat(),
        )
    };
    assert_eq!(top(&set("sinner.top=7").exits(0).json()), 7);
    set("sinner.topp=7").exits(2).stderr_has("it takes top");
    set("sinner.top=many")
        .exits(2)
        .stderr_has("the type of its default 3");
}

#[test]
fn without_an_interpreter_the_section_says_what_to_install() {
    let dir = Dir::new();
    let run = dir.run();
    let file = plugin(&dir, "return None");
    let path = file.to_str().unwrap();
    let args = [
        "--plugin",
        path,
        "--plugin-id",
        "sinner,sanity",
        "--json",
        "-",
    ];
    let done = dir
        .report(&run, &args)
        .env("TRUENO_PYTHON", "/no/such/python");
    let json = done.exits(1).json();
    let message = message(&json);
    assert!(
        message.starts_with("it needs Python 3.9 or later, and /no/such/python cannot be started"),
        "{message}"
    );
    assert!(
        message.contains("hint: install python3, or name one with TRUENO_PYTHON"),
        "{message}"
    );
    // It is described all the same.
    let list = ["plugins", "list", "--no-default-plugins", "--plugin", path];
    let list = dir.command(&list).env("TRUENO_PYTHON", "/no/such/python");
    list.exits(0).stdout_has("sinner 1");
}

#[test]
fn files_that_are_no_plugins_are_refused_with_the_reason() {
    let dir = Dir::new();
    for (text, words) in [
        (
            "print(1)\n",
            "not a plugin: no line of it is `# /// trueno-plugin`",
        ),
        (
            "# /// trueno-plugin\n# id = \"other\"\n# ///\n",
            "its id is other, its file name says mine",
        ),
        (
            "# /// trueno-plugin\n# id = \"mine\"\n# [inputs]\n# a = \"\"\n# ///\n",
            "input a has no query",
        ),
        (
            "# /// trueno-plugin\n# ident = \"mine\"\n# ///\n",
            "unknown field `ident`",
        ),
    ] {
        let folder = dir.folder("plugins");
        fs::write(folder.join("trueno_plugin_mine.py"), text).expect("a file");
        let list = [
            "plugins",
            "list",
            "--no-default-plugins",
            "--plugin-dir",
            folder.to_str().unwrap(),
        ];
        dir.command(&list).exits(2).stderr_has(words);
    }
}
