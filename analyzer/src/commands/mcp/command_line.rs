//! Requests as command lines of this program.
//!
//! Texts of an assistant stand behind `=` or behind `--`: none of them can become a flag.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use trueno_host::plugin::isolate::memory_of_this_machine;
use trueno_mcp::Request;

use crate::cli::PluginArgs;

/// Arguments of the command that answers a request. The command ends by itself a little after the limit if it was
/// not stopped before.
///
/// Charts are written to `folder`.
pub(super) fn arguments(
    request: &Request,
    plugins: &[OsString],
    limit: Duration,
    folder: Option<&Path>,
) -> Vec<OsString> {
    let mut line = Line(Vec::new());
    match request {
        Request::Info { run } => line.words(&["info", "--format=json", "--"]).path(run),
        Request::Tables { run } => line.words(&["tables", "--format=json", "--"]).path(run),
        Request::Query { run, sql, others } => {
            line.words(&["query", "--format=json"]).with(plugins);
            line.flag("--timeout", format!("{}s", limit.as_secs() + 5));
            // Two may run at once.
            line.flag("--memory", (memory_of_this_machine() / 8 * 3).to_string());
            for (name, other) in others {
                let mut named = OsString::from(format!("{name}="));
                named.push(other);
                line.flag("--run", named);
            }
            line.words(&["--"]).path(run).words(&[sql])
        }
        Request::Report {
            run,
            analyses,
            window,
            baseline,
            what_if,
            rows,
        } => {
            line.words(&["report", "--format=digest"]).with(plugins);
            line.flag("--top", rows.to_string());
            for id in analyses {
                line.flag("--plugin-id", id);
            }
            for text in what_if {
                line.flag("--what-if", text);
            }
            if let Some(window) = window {
                line.flag("--window", window);
            }
            if let Some(baseline) = baseline {
                line.flag("--baseline", baseline);
            }
            line.words(&["--"]).path(run)
        }
        Request::Picture { run, chart } => {
            line.words(&["report"]).with(plugins);
            match (chart, folder) {
                (Some((analysis, _)), Some(folder)) => {
                    line.words(&["--format=digest", "--top=1"]);
                    line.flag("--plugin-id", analysis).flag("--charts", folder);
                }
                _ => {
                    line.words(&["--card=-"]);
                }
            }
            line.words(&["--"]).path(run)
        }
        Request::Compare { base, runs } => {
            line.words(&["compare", "--format=json"]).with(plugins);
            let (first, more) = base.split_first().unzip();
            for other in more.into_iter().flatten() {
                line.flag("--base", other);
            }
            line.words(&["--"]);
            for path in first.into_iter().chain(runs) {
                line.path(path);
            }
            &mut line
        }
    };
    line.0
}

pub(super) fn plugin_flags(args: &PluginArgs) -> Vec<OsString> {
    let mut line = Line(Vec::new());
    for file in &args.plugin_files {
        line.flag("--plugin-file", file);
    }
    for folder in &args.plugin_dirs {
        line.flag("--plugin-dir", folder);
    }
    let given = [
        (args.no_default_plugins, "--no-default-plugins"),
        (args.allow_unsafe_plugins, "--allow-unsafe-plugins"),
        (args.isolate, "--isolate"),
        (args.no_isolate, "--no-isolate"),
    ];
    for (_, flag) in given.iter().filter(|(is_given, _)| *is_given) {
        line.words(&[flag]);
    }
    let times = [
        ("--plugin-timeout", args.plugin_timeout),
        ("--plugin-cpu-time", args.plugin_cpu_time),
    ];
    for (flag, time) in times {
        if let Some(time) = time {
            line.flag(flag, format!("{}ns", time.as_nanos()));
        }
    }
    if let Some(bytes) = args.plugin_memory {
        line.flag("--plugin-memory", bytes.to_string());
    }
    line.0
}

struct Line(Vec<OsString>);

impl Line {
    fn words(&mut self, words: &[&str]) -> &mut Self {
        self.0.extend(words.iter().map(OsString::from));
        self
    }

    fn with(&mut self, flags: &[OsString]) -> &mut Self {
        self.0.extend_from_slice(flags);
        self
    }

    fn path(&mut self, path: &Path) -> &mut Self {
        self.0.push(path.into());
        self
    }

    fn flag(&mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> &mut Self {
        let mut flag = OsString::from(format!("{name}="));
        flag.push(value);
        self.0.push(flag);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn parsed(request: &Request) -> Command {
        let arguments = arguments(
            request,
            &[],
            Duration::from_secs(30),
            Some(Path::new("/charts")),
        );
        let all = ["trueno-analyze".into()].into_iter().chain(arguments);
        Cli::try_parse_from(all).expect("a command line").command
    }

    #[test]
    fn texts_of_an_assistant_are_never_flags() {
        let hostile = "--output=/tmp/owned".to_owned();
        let request = Request::Query {
            run: "/runs/a.run".into(),
            sql: hostile.clone(),
            others: vec![("b".to_owned(), "/runs/b=c.run".into())],
        };
        let Command::Query(args) = parsed(&request) else {
            panic!("no query");
        };
        assert_eq!((args.sql.as_ref(), &args.output), (Some(&hostile), &None));
        assert_eq!(args.others[0].run, Path::new("/runs/b=c.run"));
        let request = Request::Report {
            run: "/runs/a.run".into(),
            analyses: vec!["--html=/tmp/owned".to_owned(), "-o".to_owned()],
            window: None,
            baseline: Some("/runs/b.run".into()),
            what_if: vec![hostile.clone()],
            rows: 7,
        };
        let Command::Report(args) = parsed(&request) else {
            panic!("no report");
        };
        assert!(args.html.is_none() && args.output.is_none());
        assert_eq!((args.what_if, args.top), (vec![hostile], Some(7)));
        assert_eq!(args.only, ["--html=/tmp/owned", "-o"]);
    }

    #[test]
    fn a_picture_is_the_head_or_a_chart_in_a_folder_of_the_server() {
        let picture = |chart| {
            let run = "/runs/a.run".into();
            let Command::Report(args) = parsed(&Request::Picture { run, chart }) else {
                panic!("no report");
            };
            args
        };
        let head = picture(None);
        assert_eq!(head.card.as_deref(), Some(Path::new("-")));
        assert_eq!(head.charts, None);
        let chart = picture(Some(("--html=/tmp/owned".to_owned(), 1)));
        assert_eq!(chart.charts.as_deref(), Some(Path::new("/charts")));
        assert_eq!(chart.only, ["--html=/tmp/owned"]);
        assert!(chart.html.is_none() && chart.card.is_none());
    }

    #[test]
    fn flags_about_plugins_are_passed_on() {
        let typed = [
            "trueno-analyze",
            "mcp",
            "--plugin-file=/a.so",
            "--plugin-dir=/b",
            "--no-default-plugins",
            "--allow-unsafe-plugins",
            "--isolate",
            "--plugin-timeout=1.5s",
            "--plugin-cpu-time=30s",
            "--plugin-memory=2G",
        ];
        let Command::Mcp(args) = Cli::try_parse_from(typed).unwrap().command else {
            panic!("another command");
        };
        let passed = plugin_flags(&args.plugins);
        let all = ["trueno-analyze", "query", "a.run"].map(OsString::from);
        let all = all.into_iter().chain(passed);
        let Command::Query(query) = Cli::try_parse_from(all).unwrap().command else {
            panic!("another command");
        };
        assert_eq!(
            format!("{:?}", query.plugins),
            format!("{:?}", args.plugins)
        );
    }

    #[test]
    fn sides_of_a_comparison_stay_apart() {
        let request = Request::Compare {
            base: vec!["/a1".into(), "/a2".into(), "/a3".into()],
            runs: vec!["/b1".into(), "/b2".into()],
        };
        let Command::Compare(args) = parsed(&request) else {
            panic!("no comparison");
        };
        assert_eq!(args.base, Path::new("/a1"));
        assert_eq!(args.baseline, [Path::new("/a2"), Path::new("/a3")]);
        assert_eq!(args.runs, [Path::new("/b1"), Path::new("/b2")]);
    }
}
