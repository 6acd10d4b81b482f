use proptest::prelude::*;

use super::*;
use crate::runs::Kind;

fn sample() -> Golden {
    let distribution = Distribution::from_samples(&[10.0, 12.0, 11.0, 900.0]);
    let name = |kind, name: &str| Name {
        kind,
        name: name.to_owned(),
    };
    Golden {
        source: Source {
            label: Some("nightly".to_owned()),
            program: vec!["decode".to_owned(), "--layers=2".to_owned()],
            complete: Some(true),
            ..Source::default()
        },
        backends: vec!["avx512".to_owned()],
        memory: BTreeMap::new(),
        names: vec![
            NameRow {
                name: name(Kind::Brick, "Qkv\"Projection"),
                count: 4,
                untimed: 0,
                distribution,
            },
            NameRow {
                name: name(Kind::Kernel, "gemv"),
                count: 2,
                untimed: 2,
                distribution: Distribution::from_samples(&[]),
            },
        ],
        tensors: vec![TensorRow {
            name: "qkv".to_owned(),
            layer: Some(0),
            iteration: None,
            position: Some(7),
            thread: 0,
            backend: None,
            dtype: "f32".to_owned(),
            shape: "4x64".to_owned(),
            elements: 256,
            hash: u64::MAX - 5,
            counts: [Some(0), Some(1), None],
            moments: [Some(-1.5), Some(0.1), Some(1.5), None, Some(3.25)],
        }],
    }
}

fn parse(text: &str) -> Result<Golden, GoldenError> {
    Golden::parse(Path::new("x.golden.json"), text)
}

#[test]
fn what_is_written_is_read_and_a_line_is_a_name_or_a_tensor() {
    let text = sample().text();
    assert_eq!(parse(&text).unwrap(), sample());
    assert_eq!(parse(&text).unwrap().text(), text);
    let line = |with: &str| text.lines().find(|line| line.contains(with)).unwrap();
    assert_eq!(
        line("gemv"),
        r#"{"kind": "kernel", "name": "gemv", "count": 2, "untimed": 2, "inflation": 1.0, "ns": []}],"#
    );
    assert!(line("fffffffffffffffa").starts_with(r#"["qkv",0,null,7,0,null,"f32","4x64",256,"#));
}

#[test]
fn what_is_damaged_newer_or_something_else_is_refused_with_the_place() {
    let text = sample().text();
    for (damaged, says) in [
        (String::new(), "not JSON"),
        (text[..text.len() / 2].to_owned(), "not JSON"),
        ("[]".to_owned(), "not a JSON object"),
        ("{\"a\": 1}".to_owned(), "not marked as a trueno-golden"),
        (
            text.replace("\"major\":1", "\"major\":2"),
            "format 2 of trueno-golden",
        ),
        (
            text.replace("\"backends\"", "\"backend\""),
            "backends is missing",
        ),
        (
            text.replacen("{\n", "{\n\"more\": 1,\n", 1),
            "unknown key \"more\"",
        ),
        (
            text.replace("fffffffffffffffa", "fffa"),
            "tensors, number 1: hash cannot be",
        ),
        (text.replace(",256,", ",-1,"), "elements cannot be -1"),
        (text.replace(",null,3.25", ",3.25"), "17 cells, not 18"),
        (
            text.replace("\"ns\": []", "\"ns\": [1]"),
            "kernel gemv: 1 quantiles, not 0",
        ),
        (
            text.replace("\"untimed\": 2", "\"untimed\": 3"),
            "more rows untimed",
        ),
        (
            text.replace("\"kernel\"", "\"kernels\""),
            "names: unknown variant",
        ),
        (
            text.replace("\"kernel\"", "\"brick\"").replace("gemv", "A"),
            "out of order",
        ),
        (text.replace("[10,", "[1000,"), "not quantiles"),
    ] {
        assert_ne!(damaged, text, "{says}");
        let error = parse(&damaged).expect_err(says).to_string();
        assert!(
            error.contains(says) && error.contains("x.golden.json"),
            "{error}"
        );
    }
    // A newer minor version may say more.
    let newer = text.replace("\"minor\":0", "\"minor\":3");
    let newer = newer.replacen("{\n", "{\n\"more\": 1,\n", 1);
    assert_eq!(parse(&newer).unwrap(), sample());
}

proptest! {
    /// A cut or changed byte leads to an error or another golden file, never a panic.
    #[test]
    fn damage_does_not_panic(at in 0_usize..2000, byte in 32_u8..127) {
        let mut text = sample().text().into_bytes();
        let at = at % text.len();
        text[at] = byte;
        if let Ok(text) = String::from_utf8(text) {
            let _ = parse(&text);
            let _ = parse(&text[..at]);
        }
    }
}
