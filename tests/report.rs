//! Contents and forms of a report.

use crate::harness::{Dir, STANDARD, record, section, tiny_run};
use serde_json::Value;
use trueno_recorder::Recorder;

#[test]
fn a_report_shows_the_run_and_a_section_per_plugin() {
    let dir = Dir::new();
    // Recorded now: nothing that is asked of it depends on its times.
    let run = dir.join("now.run");
    record(&run);
    let done = dir.report(&run, &[]).exits(0);
    assert_eq!(done.stderr, "");
    for expected in [
        "run       test (",
        "bound by ",
        "recorded  completely: ",
        "\ncategory ",
        "\ncritical_path ",
        "\nroofline ",
        "\ntiles ",
        "\nsanity ",
        "\n  checks: ",
        "gemv",
    ] {
        assert!(
            done.stdout.contains(expected),
            "{expected:?} is missing:\n{}",
            done.stdout
        );
    }
    for line in done.stdout.lines() {
        assert!(line.chars().count() <= 80, "wider than 80: {line}");
    }
    assert!(!done.stdout.contains('\x1b'), "no colours in a pipe");
}

/// `cargo test -p trueno-analyze --test e2e record_the_tiny_run -- --ignored`
#[test]
#[ignore = "records datasets/tiny anew"]
fn record_the_tiny_run() {
    let _ = std::fs::remove_dir_all(tiny_run());
    record(&tiny_run());
}

#[test]
fn colours_come_when_asked_for_and_never_when_refused() {
    let dir = Dir::new();
    let run = dir.run();
    assert!(
        dir.report(&run, &["--color", "always"])
            .exits(0)
            .stdout
            .contains('\x1b')
    );
    assert!(
        !dir.report(&run, &["--color", "never"])
            .env("TERM", "xterm")
            .exits(0)
            .stdout
            .contains('\x1b')
    );
    assert!(
        !dir.report(&run, &[])
            .env("NO_COLOR", "1")
            .exits(0)
            .stdout
            .contains('\x1b')
    );
}

#[test]
fn json_is_complete_versioned_and_alone_on_standard_output() {
    let dir = Dir::new();
    let run = dir.run();
    let json = dir
        .report(&run, &["--json", "-", "--top", "1"])
        .exits(0)
        .json();
    assert_eq!(json["format"], serde_json::json!({"major": 1, "minor": 2}));
    assert_eq!(json["run"]["label"], "test");
    assert_eq!(json["run"]["complete"], true);
    let coverage = json["run"]["coverage"].as_f64().unwrap();
    assert!(coverage > 0.0 && coverage <= 1.0, "{coverage}");
    let plugins: Vec<&str> = json["sections"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|s| s["plugin"].as_str())
        .collect();
    let mut sorted = plugins.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, *STANDARD);
    let place = |id| plugins.iter().position(|one| *one == id);
    // One that reads another comes after it.
    for (reader, read) in [
        ("lateness", "collectives"),
        ("critical_path", "operators"),
        ("bottleneck", "critical_path"),
        ("summary", "bottleneck"),
    ] {
        assert!(place(reader) > place(read), "{plugins:?}");
    }
    let category = section(&json, "category");
    assert_eq!(category["status"], "ok");
    let by_brick = category["tables"]
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["name"] == "by_brick")
        .unwrap();
    assert!(
        by_brick["rows"].as_array().unwrap().len() > 1,
        "--top does not cut JSON"
    );
    let text = json.to_string();
    assert!(
        !text.contains(dir.path().to_str().unwrap()),
        "no paths in a report"
    );
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let dir = Dir::new();
    let run = dir.run();
    let one = dir
        .report(&run, &["--json", "-"])
        .env("POLARS_MAX_THREADS", "1")
        .exits(0)
        .stdout;
    let two = dir
        .report(&run, &["--json", "-"])
        .env("POLARS_MAX_THREADS", "2")
        .exits(0)
        .stdout;
    assert_eq!(one, two);
    // Each plugin from a folder of its own, the folders in another order.
    let standard = crate::harness::standard_plugins(&dir);
    let mut args = vec![
        "report",
        run.to_str().unwrap(),
        "--no-default-plugins",
        "--json",
        "-",
    ];
    let mut folders = Vec::new();
    for id in crate::harness::STANDARD.iter().rev() {
        let folder = dir.folder(&format!("only_{id}"));
        let name = format!("trueno_plugin_{id}");
        let library = standard.join(format!(
            "{}{name}{}",
            std::env::consts::DLL_PREFIX,
            std::env::consts::DLL_SUFFIX
        ));
        crate::harness::install(&library, &folder, &name);
        folders.push(folder);
    }
    for folder in &folders {
        args.extend(["--plugin-dir", folder.to_str().unwrap()]);
    }
    assert_eq!(dir.command(&args).exits(0).stdout, one);
    let text = dir.report(&run, &[]).exits(0).stdout;
    assert_eq!(dir.report(&run, &[]).exits(0).stdout, text);
}

#[test]
fn files_are_written_beside_the_page() {
    let dir = Dir::new();
    let run = dir.run();
    let args = [
        "--json",
        "report.json",
        "--markdown",
        "report.md",
        "--csv",
        "tables",
    ];
    let done = dir.report(&run, &args).exits(0);
    assert_eq!(done.stdout, "", "files hold the report");
    let confirmed: Vec<&str> = done.stderr.lines().collect();
    assert_eq!(confirmed.len(), 3, "{}", done.stderr);
    for (line, file) in confirmed.iter().zip(["report.json", "report.md", "tables"]) {
        assert!(line.starts_with(&format!("wrote {file}, ")), "{line}");
    }
    // Both, where the page is wanted as well.
    let both = [&args[..], &["--format", "terminal"]].concat();
    dir.report(&run, &both).exits(0).stdout_has("\ncategory ");
    let json: Value = serde_json::from_str(&dir.read("report.json")).unwrap();
    assert!(dir.read("report.md").starts_with("## test\n"));
    assert!(
        dir.read("report.md")
            .contains("<summary><b>critical_path</b>")
    );
    for section in json["sections"].as_array().unwrap() {
        for table in section["tables"].as_array().unwrap() {
            let name = format!(
                "tables/{}.{}.csv",
                section["plugin"].as_str().unwrap(),
                table["name"].as_str().unwrap()
            );
            let csv = dir.read(&name);
            let heads: Vec<&str> = table["columns"]
                .as_array()
                .unwrap()
                .iter()
                .map(|c| c["name"].as_str().unwrap())
                .collect();
            assert_eq!(csv.lines().next().unwrap(), heads.join(","));
        }
    }
}

#[test]
fn a_shorter_report_replaces_a_longer_file_whole() {
    let dir = Dir::new();
    let run = dir.run();
    std::fs::write(dir.join("report.json"), "x".repeat(1 << 20)).unwrap();
    dir.report(&run, &["--json", "report.json"]).exits(0);
    serde_json::from_str::<Value>(&dir.read("report.json")).unwrap();
}

#[test]
fn a_path_that_cannot_be_written_fails_before_anything_is_read() {
    let dir = Dir::new();
    let nowhere = dir.join("nowhere.run");
    for args in [
        ["--json", "no/such/folder/x.json"],
        ["--markdown", "no/such/folder/x.md"],
        ["--csv", "file/tables"],
    ] {
        std::fs::write(dir.join("file"), "").unwrap();
        let done = dir
            .report(&nowhere, &args)
            .exits(2)
            .stderr_has(args[1])
            .stderr_has(args[0]);
        assert!(!done.stderr.contains("nowhere.run"), "{}", done.stderr);
    }
    dir.report(&nowhere, &["--json", "-", "--markdown", "-"])
        .exits(2)
        .stderr_has("standard output");
}

#[test]
fn only_and_skip_choose_sections() {
    let dir = Dir::new();
    let run = dir.run();
    let plugins = |args: &[&str]| {
        let mut all = vec!["--json", "-"];
        all.extend(args);
        let json = dir.report(&run, &all).exits(0).json();
        let sections = json["sections"].as_array().unwrap();
        sections
            .iter()
            .map(|s| s["plugin"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(plugins(&["--plugin-id", "sanity"]), ["sanity"]);
    assert_eq!(
        plugins(&["--plugin-id", "sanity,category"]),
        ["category", "sanity"]
    );
    let mut left = plugins(&["--skip", "sanity,tiles"]);
    left.sort_unstable();
    let expected = STANDARD
        .iter()
        .filter(|id| !["sanity", "tiles"].contains(id));
    assert!(left.iter().eq(expected), "{left:?}");
}

#[test]
fn top_cuts_the_page_and_counts_the_rest() {
    let dir = Dir::new();
    let run = dir.run();
    let json = dir.report(&run, &["--json", "-"]).exits(0).json();
    let tables = section(&json, "critical_path")["tables"]
        .as_array()
        .unwrap()
        .clone();
    let path = tables.iter().find(|table| table["name"] == "path").unwrap();
    let hidden = path["rows"].as_array().unwrap().len() - 1;
    let text = dir
        .report(&run, &["--plugin-id", "critical_path", "--top", "1"])
        .exits(0)
        .stdout;
    assert!(text.contains(&format!("… and {hidden} more row")), "{text}");
}

#[test]
fn a_page_is_brief_unless_more_is_asked_for() {
    let dir = Dir::new();
    let run = dir.run();
    let brief = dir.report(&run, &[]).exits(0).stdout;
    // What would be gained comes before where the time went.
    let places = [
        "\ncritical_path ",
        "\n  opportunity\n",
        "\n  by kind\n",
        "\n  by category",
    ];
    let places = places.map(|text| {
        brief
            .find(text)
            .unwrap_or_else(|| panic!("{text:?}:\n{brief}"))
    });
    assert!(places.is_sorted(), "{brief}");
    assert!(brief.contains("\nmore:\n"), "{brief}");
    // The flags of the test for plugins make its commands long.
    assert!(brief.lines().count() <= 120, "{brief}");
    assert!(!brief.contains("\n  path\n"), "{brief}");
    for args in [&["--plugin-id", "critical_path"][..], &["-v"]] {
        let full = dir.report(&run, args).exits(0).stdout;
        assert!(full.contains("\n  path\n"), "{args:?}:\n{full}");
        assert!(!full.contains("\nmore:\n"), "{args:?}:\n{full}");
    }
    let head = dir.report(&run, &["-q"]).exits(0).stdout;
    assert!(
        head.contains("recorded  ") && !head.contains("\ncategory "),
        "{head}"
    );
    assert!(brief.starts_with(head.trim_end()), "{head}");
}

#[test]
fn findings_of_a_brief_page_stand_in_one_place() {
    let dir = Dir::new();
    let run = dir.run();
    let brief = dir.report(&run, &[]).exits(0).stdout;
    let json = dir.report(&run, &["--json", "-"]).exits(0).json();
    let sections = json["sections"].as_array().unwrap();
    let findings = sections.iter().filter(|one| one["plugin"] != "bottleneck");
    let titles: Vec<&str> = findings
        .flat_map(|one| one["findings"].as_array().unwrap())
        .filter_map(|finding| finding["title"].as_str())
        .collect();
    assert!(titles.len() > 2, "{titles:?}");
    // Titles are wrapped; their beginnings are not.
    let begin = |title: &str| title.chars().take(24).collect::<String>();
    let counts = titles
        .iter()
        .map(|title| brief.matches(&begin(title)).count());
    assert!(counts.clone().all(|count| count <= 1), "{brief}");
    assert!(counts.sum::<usize>() > 1, "{brief}");
}

#[test]
fn no_line_is_wider_than_asked() {
    let dir = Dir::new();
    let run = dir.run();
    for width in ["80", "97", "133", "200"] {
        for detail in [&["-q"][..], &[], &["-v"]] {
            let args = [&["--width", width], detail].concat();
            let text = dir.report(&run, &args).exits(0).stdout;
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width.parse().unwrap(), "{widest} > {width}");
        }
    }
}

#[test]
fn a_run_that_was_cut_off_says_so_first() {
    let dir = Dir::new();
    let run = dir.run();
    let path = run.join("run.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut json: Value = serde_json::from_str(&text).unwrap();
    json["state"] = "recording".into();
    json["wall_ns"] = Value::Null;
    // No process has this number; the one that recorded it has been given to others since.
    json["program"]["pid"] = 4_000_000_000_u32.into();
    std::fs::write(&path, serde_json::to_string_pretty(&json).unwrap()).unwrap();
    let done = dir.report(&run, &[]).exits(0);
    let (top, _) = done.stdout.split_once("\ncategory ").unwrap();
    let warning = "INCOMPLETE: the program ended without finishing its recording";
    assert!(top.starts_with(warning), "{top}");
    assert!(!top.contains("completely"));
    for args in [&["-q"][..], &["-v"], &["--findings"]] {
        let page = dir.report(&run, args).exits(0).stdout;
        assert!(page.starts_with(warning), "{args:?}: {page}");
    }
    let markdown = dir.report(&run, &["--markdown", "-"]).exits(0).stdout;
    let first = format!("## test\n\n> **{warning}");
    assert!(markdown.starts_with(&first), "{markdown}");
    let html = dir.report(&run, &["--html", "-"]).exits(0).stdout;
    let (warned, verdict) = (html.find(warning), html.find("class=\"answer\""));
    assert!(
        warned.is_some() && warned < verdict,
        "{warned:?} {verdict:?}"
    );
    let json = dir.report(&run, &["--json", "-"]).exits(0).json();
    let headline = json["headline"].as_str().unwrap();
    assert!(headline.starts_with(warning), "{headline}");
    let incomplete = json["incomplete"].as_array().unwrap();
    assert!(!incomplete.is_empty(), "{incomplete:?}");
    assert_eq!(json["run"]["complete"], false);
    dir.command(&["compare", "test.run", "test.run", "--no-path"])
        .exits(3)
        .stdout_starts("INCOMPLETE");
    assert_eq!(json["run"]["wall_source"], "last_event");
}

#[test]
fn an_empty_run_is_reported_as_nothing_measured() {
    let dir = Dir::new();
    let run = dir.join("empty.run");
    Recorder::create(&run).unwrap().finish().unwrap();
    let json = dir.report(&run, &["--json", "-"]).exits(3).json();
    assert_eq!(json["run"]["coverage"], Value::Null);
    dir.report(&run, &[])
        .exits(3)
        .stdout_has("no bricks, kernels or calls were recorded");
}

#[test]
fn a_baseline_that_is_not_there_is_an_error() {
    let dir = Dir::new();
    let run = dir.run();
    dir.report(&run, &["--baseline", "other.run"])
        .exits(2)
        .stderr_has("other.run");
    dir.report(&run, &["--baseline", run.to_str().unwrap()])
        .exits(0);
}

const MAX_FULL_LINES: usize = 2_000;

#[test]
fn a_full_report_of_any_dataset_is_a_few_hundred_lines() {
    let dir = Dir::new();
    for name in [
        "decode/simd.run",
        "decode/scalar.run",
        "divergence/base.run",
        "roofline/avx2.run",
        "pytorch/cpu_training.json.gz",
        "tiny/test.run",
    ] {
        let run = crate::harness::datasets().join(name);
        let full = dir.report(&run, &["-v"]).exits(0).stdout;
        let lines = full.lines().count();
        assert!(lines < MAX_FULL_LINES, "{name}: {lines} lines");
        let json = dir.report(&run, &["--json", "-"]).exits(0).json();
        // All findings, those that differ in numbers alone once.
        let findings = dir.report(&run, &["--findings"]).exits(0).stdout;
        for section in json["sections"].as_array().unwrap() {
            let plugin = section["plugin"].as_str().unwrap();
            let found = section["findings"].as_array().unwrap();
            let heading = format!("\n{plugin} {} finding", found.len());
            assert!(
                found.is_empty() || findings.contains(&heading),
                "{name}: {heading}\n{findings}"
            );
            let tables = section["tables"].as_array().unwrap();
            for table in tables
                .iter()
                .filter(|one| one["rows"].as_array().unwrap().len() > 10)
            {
                let command = format!("FROM {plugin}.{}'", table["name"].as_str().unwrap());
                assert!(full.contains(&command), "{name}: {command}");
            }
        }
    }
}

/// Commands on a page, each with the text before it. Continued lines are joined.
fn commands(page: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let mut is_continued = false;
    for line in page.lines() {
        if is_continued {
            let (_, command) = commands.last_mut().unwrap();
            command.push('\n');
            command.push_str(line);
        } else if let Some((words, command)) = line.split_once("  trueno-analyze ") {
            let command = format!("trueno-analyze {command}");
            commands.push((words.trim().to_owned(), command));
        } else {
            continue;
        }
        is_continued = line.ends_with('\\');
    }
    commands
}

/// Runs a line in a shell that finds the program in its search path.
fn pasted(dir: &Dir, line: &str) -> crate::harness::Done {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_trueno-analyze"));
    let mut run = dir.command(&[]);
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(line).current_dir(dir.path());
    for (name, value) in run.command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let folder = program.parent().unwrap().display();
    shell.env("PATH", format!("{folder}:{path}"));
    run.command = shell;
    run.exits(0)
}

#[test]
fn what_a_report_points_to_works_when_it_is_pasted() {
    let dir = Dir::new();
    let odd = dir.join("it's a run.run");
    crate::harness::copy(&tiny_run(), &odd);
    let brief = dir.report(&odd, &[]).exits(0).stdout;
    let full = dir.report(&odd, &["-v", "--top", "1"]).exits(0);
    let mut seen = Vec::new();
    let of_brief = commands(&brief);
    let of_full = commands(&full.stdout);
    assert!(!of_full.is_empty(), "{}", full.stdout);
    for (words, line) in of_brief.iter().chain(of_full.iter().take(3)) {
        let done = pasted(&dir, line);
        let expected = match words.as_str() {
            "all findings" => "findings\n",
            "one analysis" => "\n  path\n",
            "missing data" => "\nbottleneck ",
            "all tables" => "\ncritical_path ",
            "all rows" => "",
            other => panic!("{other}: {line}"),
        };
        assert!(done.stdout.contains(expected), "{line}:\n{}", done.stdout);
        if words == "all rows" {
            assert!(
                !done.stdout.contains("more row"),
                "{line}:\n{}",
                done.stdout
            );
        }
        seen.push(words.as_str());
    }
    for words in ["all findings", "one analysis", "all rows", "all tables"] {
        assert!(seen.contains(&words), "{words}: {seen:?}\n{brief}");
    }
    // Flags that decide what is analysed stay; those of its form go.
    let args = ["-v", "--window", "iteration=0", "--top", "1"];
    let part = dir.report(&odd, &args).exits(0).stdout;
    let rows = commands(&part);
    let (_, line) = rows.iter().find(|(words, _)| words == "all rows").unwrap();
    assert!(line.contains("--window=iteration=0"), "{line}");
    pasted(&dir, line).stdout_has("window    ");
}

#[test]
fn a_run_is_called_by_its_label_or_else_by_its_directory() {
    let dir = Dir::new();
    let run = dir.join("before.run");
    Recorder::create(&run).unwrap().finish().unwrap();
    let page = dir.report(&run, &[]).exits(3).stdout;
    assert!(page.contains("\nrun       before.run ("), "{page}");
    dir.report(&run, &["--markdown", "-"])
        .exits(3)
        .stdout_starts("## before.run\n");
    dir.report(&run, &["--html", "-"])
        .exits(3)
        .stdout_has("<title>before.run");
    let json = dir.report(&run, &["--json", "-"]).exits(3).json();
    assert_eq!(json["run"]["title"], "before.run");
    assert_eq!(json["run"]["label"], Value::Null);
}
