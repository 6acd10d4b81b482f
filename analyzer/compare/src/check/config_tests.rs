use super::*;

fn parse(text: &str) -> Result<Config, CheckError> {
    Config::parse(Path::new("x.toml"), text)
}

const DOCUMENTED: &str = include_str!("../../../../tests/documented.toml");

#[test]
fn documented_spellings_parse() {
    let config = parse(DOCUMENTED).unwrap();
    let kinds: Vec<&str> = config.assertions.iter().map(|a| a.kind).collect();
    assert_eq!(
        kinds,
        [
            "critical_path",
            "span_count",
            "memory_usage",
            "anti_pattern"
        ]
    );
    assert!(config.assertions[0].fail_on_violation);
    assert!(!config.assertions[3].fail_on_violation);
    // One example there has no type.
    let short = "[[assertion]]\nname = \"example_startup_latency\"\nmax_duration_ms = 100\nfail_on_violation = true";
    assert_eq!(parse(short).unwrap().assertions[0].kind, "critical_path");
    let other = DOCUMENTED.replace("PCIeBottleneck", "PcieBottleneck");
    assert!(parse(&other).is_ok());
}

#[test]
fn nothing_unknown_is_passed_over() {
    for (text, says) in [
        ("", "no assertion"),
        ("assertion = []", "no assertion"),
        ("[[assertions]]\nname = \"a\"", "unknown key \"assertions\""),
        ("[[assertion]]\ntype = \"coverage\"\nmin = 0.5", "no name"),
        (
            "[[assertion]]\nname = \"a\"\ntype = \"coverag\"\nmin = 0.5",
            "did you mean coverage?",
        ),
        (
            "[[assertion]]\nname = \"a\"\ntype = \"coverage\"\nmin = 0.5\nmax_spans = 3",
            "max_spans",
        ),
        (
            "[[assertion]]\nname = \"a\"\ntype = \"coverage\"\nmin = 50",
            "between 0 and 1",
        ),
        ("[[assertion]]\nname = \"a\"\ntype = \"coverage\"", "min"),
        (
            "[[assertion]]\nname = \"a\"\ntype = \"span_count\"",
            "max_spans",
        ),
        (
            "[[assertion]]\nname = \"a\"\ntype = \"critical_path\"",
            "max_duration",
        ),
        (
            "[[assertion]]\nname = \"a\"\ntype = \"anti_pattern\"\npattern = \"Waste\"",
            "Waste",
        ),
        (
            "[[assertion]]\nname = \"a\"\ntype = \"coverage\"\nmin = 0.5\nenabled = 1",
            "true or false",
        ),
        (
            "[[assertion]]\nname = \"a\"\ntype = \"coverage\"\nmin = 0.5\nseverity = \"bad\"",
            "unknown severity",
        ),
        (
            "[[assertion]]\nname = \"a\"\ntype = \"coverage\"\nmin = 0.5\n[[assertion]]\nname = \"a\"\ntype = \"coverage\"\nmin = 0.5",
            "another assertion has that name",
        ),
    ] {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.contains(says), "{text}\n{error}");
    }
}

#[test]
fn a_severity_below_error_does_not_fail_unless_asked_to() {
    let with = |line: &str| {
        let text = format!("[[assertion]]\nname = \"a\"\ntype = \"coverage\"\nmin = 0.5\n{line}");
        let config = parse(&text).unwrap();
        (
            config.assertions[0].fail_on_violation,
            config.assertions[0].severity,
        )
    };
    assert_eq!(with(""), (true, Level::Error));
    assert_eq!(with("severity = \"warning\""), (false, Level::Warning));
    assert_eq!(with("severity = \"medium\""), (false, Level::Warning));
    assert_eq!(with("severity = \"high\""), (true, Level::Error));
    assert_eq!(
        with("severity = \"info\"\nfail_on_violation = true"),
        (true, Level::Info)
    );
    assert_eq!(with("fail_on_violation = false"), (false, Level::Warning));
}
