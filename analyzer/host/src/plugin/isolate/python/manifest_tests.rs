use super::*;

fn commented(toml: &str) -> String {
    let lines = toml.lines().map(|line| match line {
        "" => "#\n".to_owned(),
        line => format!("# {line}\n"),
    });
    format!(
        "\"\"\"Says something.\"\"\"\n{BEGIN}\n{}{END}\nimport nowhere\n",
        lines.collect::<String>()
    )
}

fn read(toml: &str) -> Result<Manifest, String> {
    Manifest::of_text(&commented(toml))
}

#[test]
fn a_manifest_says_what_a_descriptor_says() {
    let manifest = read(
        r#"id = "drift"
version = "1.2.0"
summary = "Drift."

[inputs]
bricks = '''
SELECT name, dur_ns
FROM bricks ORDER BY id
'''
kernels = ["name", "dur_ns"]
before = { sql = "SELECT id FROM kernels", baseline = true, optional = true }

[options]
top = 3
share = 0.5

[tables.by_name]
name = "text"
dur_ns = "i64""#,
    )
    .unwrap();
    let descriptor = &manifest.descriptor;
    descriptor.check(Path::new("any.py")).unwrap();
    assert_eq!(
        (descriptor.id.as_str(), descriptor.version.as_str()),
        ("drift", "1.2.0")
    );
    let [before, bricks, kernels] = &descriptor.inputs[..] else {
        panic!("{:?}", descriptor.inputs);
    };
    assert!(before.baseline && before.optional);
    assert_eq!(bricks.sql, "SELECT name, dur_ns\nFROM bricks ORDER BY id\n");
    assert_eq!(kernels.sql, "SELECT name, dur_ns FROM kernels");
    assert_eq!(manifest.options["share"], 0.5);
    assert_eq!(manifest.tables["by_name"]["dur_ns"], ColumnType::I64);
}

#[test]
fn what_is_wrong_is_told() {
    let wrong = |toml: &str| read(toml).unwrap_err();
    for (toml, words) in [
        ("version = \"1\"", "missing field `id`"),
        ("id = \"x\"\nsumary = \"typo\"", "unknown field `sumary`"),
        (
            "id = \"x\"\ninputs.a = 3",
            "input a: a query or a list of columns, not a integer",
        ),
        ("id = \"x\"\ninputs.a = []", "are not column names"),
        (
            "id = \"x\"\ninputs.a = [\"b; DROP\"]",
            "are not column names",
        ),
        (
            "id = \"x\"\ninputs.a = { optional = true }",
            "either sql or columns",
        ),
        (
            "id = \"x\"\ninputs.a = { sql = \"s\", wrong = 1 }",
            "unknown field `wrong`",
        ),
        ("id = \"x\"\noptions.a = nan", "option a"),
        ("id = \"x\"\ntables.t.a = \"i32\"", "unknown variant `i32`"),
        ("id = ", "its manifest is wrong"),
    ] {
        assert!(wrong(toml).contains(words), "{toml}: {}", wrong(toml));
    }
}

#[test]
fn a_file_without_a_whole_manifest_is_no_plugin() {
    let wrong = |text: &str| Manifest::of_text(text).unwrap_err();
    assert!(wrong("print(1)\n").starts_with("not a plugin"));
    assert!(wrong("# /// trueno-plugin\n# id = \"a\"\nprint(1)\n").contains("does not end"));
    let twice = commented("id = \"a\"").repeat(2);
    assert!(wrong(&twice).contains("two manifests"));
    let long = format!("id = \"{}\"", "a".repeat(MAX_MANIFEST_BYTES));
    assert!(read(&long).unwrap_err().contains("longer than"));
    // As an editor of another system writes it.
    Manifest::of_text(&commented("id = \"a\"").replace('\n', "\r\n")).unwrap();
}
