//! Output of `dot`, read by the grammar of the DOT language, strictly.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{Dir, standard_plugins};
use trueno_testing::sample;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Id(String),
    Quoted(String),
    Mark(&'static str),
}

type Attributes = Vec<(String, String)>;

/// A graph: nodes in order, and edges with their attributes.
#[derive(Debug, Default)]
pub struct Dot {
    pub nodes: Vec<(String, Attributes)>,
    pub edges: Vec<(String, String, Attributes)>,
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => {}
            '"' => {
                let mut quoted = String::new();
                loop {
                    match chars.next().expect("the quotes end") {
                        '"' => break,
                        '\\' => {
                            quoted.push('\\');
                            quoted.push(chars.next().expect("something follows a backslash"));
                        }
                        c => {
                            assert!(!c.is_control(), "a control character in quotes");
                            quoted.push(c);
                        }
                    }
                }
                tokens.push(Token::Quoted(quoted));
            }
            '-' => {
                assert_eq!(chars.next(), Some('>'), "- without >");
                tokens.push(Token::Mark("->"));
            }
            c if "{}[];,=".contains(c) => {
                let all = ["{", "}", "[", "]", ";", ",", "="];
                tokens.push(Token::Mark(
                    all.iter().find(|mark| mark.starts_with(c)).unwrap(),
                ));
            }
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let mut id = String::from(c);
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    id.push(c);
                }
                let number = id.starts_with(|c: char| c.is_ascii_digit());
                assert!(
                    !number || id.chars().all(|c| c.is_ascii_digit()),
                    "{id} is neither name nor number"
                );
                tokens.push(Token::Id(id));
            }
            c => panic!("{c:?} stands outside of quotes"),
        }
    }
    tokens
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
}

impl Parser {
    fn mark(&mut self, mark: &'static str) {
        assert_eq!(self.tokens.next(), Some(Token::Mark(mark)));
    }

    fn id(&mut self) -> String {
        match self.tokens.next() {
            Some(Token::Id(id) | Token::Quoted(id)) => id,
            other => panic!("{other:?} where a name should be"),
        }
    }

    fn attributes(&mut self) -> Attributes {
        let mut attributes = Vec::new();
        self.mark("[");
        while self.tokens.peek() != Some(&Token::Mark("]")) {
            let name = self.id();
            self.mark("=");
            attributes.push((name, self.id()));
            self.tokens.next_if_eq(&Token::Mark(","));
        }
        self.mark("]");
        attributes
    }
}

/// Parses a graph. Panics if the syntax is wrong, or if an edge leads to a missing node.
#[track_caller]
pub fn parse(text: &str) -> Dot {
    let mut parser = Parser {
        tokens: tokens(text).into_iter().peekable(),
    };
    let mut dot = Dot::default();
    assert_eq!(parser.id(), "digraph");
    parser.id();
    parser.mark("{");
    while parser.tokens.peek() != Some(&Token::Mark("}")) {
        let id = parser.id();
        if parser.tokens.next_if_eq(&Token::Mark("->")).is_some() {
            let to = parser.id();
            let attributes = parser.attributes();
            dot.edges.push((id, to, attributes));
        } else {
            let attributes = parser.attributes();
            if !["graph", "node", "edge"].contains(&id.as_str()) {
                dot.nodes.push((id, attributes));
            }
        }
        parser.mark(";");
    }
    parser.mark("}");
    assert_eq!(parser.tokens.next(), None, "nothing follows the graph");
    let nodes: BTreeSet<&String> = dot.nodes.iter().map(|(id, _)| id).collect();
    assert_eq!(nodes.len(), dot.nodes.len(), "a node stands twice");
    for (from, to, _) in &dot.edges {
        assert!(
            nodes.contains(from) && nodes.contains(to),
            "{from} -> {to} leads to no node"
        );
    }
    dot
}

fn written(dir: &Dir, run: &str, args: &[&str]) -> String {
    let plugins = standard_plugins(dir);
    let plugins = plugins.to_str().unwrap();
    let mut all = vec![
        "export",
        "dot",
        run,
        "--no-default-plugins",
        "--plugin-dir",
        plugins,
    ];
    all.extend(args);
    dir.command(&all).exits(0).stdout
}

fn attribute<'a>(attributes: &'a [(String, String)], name: &str) -> &'a str {
    attributes
        .iter()
        .find(|(n, _)| n == name)
        .map_or("", |(_, value)| value)
}

#[test]
fn containment_launches_and_dependencies_are_edges() {
    let dir = Dir::new();
    let path = dir.join("made.run");
    sample(&path);
    let dot = parse(&written(&dir, path.to_str().unwrap(), &["--each"]));
    let label = |id: &str| {
        attribute(&dot.nodes.iter().find(|(n, _)| n == id).unwrap().1, "label").to_owned()
    };
    let title = |id: &str| label(id).split("\\n").next().unwrap().to_owned();
    let edges: BTreeSet<(String, String, String)> = dot
        .edges
        .iter()
        .map(|(from, to, attributes)| {
            (
                title(from),
                title(to),
                attribute(attributes, "label").to_owned(),
            )
        })
        .collect();
    for (from, to, kind) in [
        ("thread 0 main", "iteration 4", ""),
        ("layer 2", "QkvProjection", ""),
        ("QkvProjection", "gemm", ""),
        ("cudaLaunchKernel", "gemm", "launches"),
        ("QkvProjection", "FfnGateUp", "depends_on"),
        ("gemm", "device", "joins"),
    ] {
        let edge = (from.to_owned(), to.to_owned(), kind.to_owned());
        assert!(edges.contains(&edge), "{edge:?} is not in {edges:#?}");
    }
    let gemm = dot
        .nodes
        .iter()
        .find(|(id, _)| title(id) == "gemm")
        .unwrap();
    assert!(attribute(&gemm.1, "label").contains("<<<(32,2,1),(256,1,1)>>>"));
    // Every node but the lanes hangs below one.
    let tree = dot
        .edges
        .iter()
        .filter(|(_, _, attributes)| attribute(attributes, "label").is_empty());
    assert_eq!(tree.count() + 2, dot.nodes.len());
}

#[test]
fn a_merged_picture_is_small_and_says_what_is_not_in_it() {
    let dir = Dir::new();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode/simd.run");
    let text = written(&dir, run.to_str().unwrap(), &["--top", "2", "--depth", "4"]);
    let dot = parse(&text);
    assert!(dot.nodes.len() < 40, "{}", dot.nodes.len());
    assert!(
        text.contains("nodes summed up (hint: --top)")
            && text.contains("there is more below level 4")
    );
    let critical =
        |(_, attributes): &&(String, Attributes)| attribute(attributes, "penwidth") == "2";
    assert!(dot.nodes.iter().filter(critical).count() > 3, "{text}");
}

#[test]
fn graphviz_takes_it() {
    let there = Command::new("dot")
        .arg("-V")
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !there {
        eprintln!("Graphviz is not installed: not tried");
        return;
    }
    let dir = Dir::new();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode/simd.run");
    written(&dir, run.to_str().unwrap(), &["-o", "run.dot"]);
    let output = Command::new("dot")
        .args(["-Tsvg", "run.dot"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("iteration"));
}
