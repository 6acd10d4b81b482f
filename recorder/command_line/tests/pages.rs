//! Pages and completions of a small command.

use clap::{Arg, Command};
use trueno_command_line::{ManArgs, man};

#[test]
fn each_shown_command_has_a_page_and_hidden_ones_have_none() {
    let inner = Command::new("inner")
        .about("What is inside")
        .arg(Arg::new("flag").long("flag"));
    let outer = Command::new("outer").subcommand(inner);
    let command = Command::new("tool")
        .version("1")
        .subcommand(outer)
        .subcommand(Command::new("secret").hide(true));
    let folder = tempfile::tempdir().unwrap();
    let args = ManArgs {
        output: Some(folder.path().join("man1")),
    };
    man(command, &args).unwrap();
    let files = std::fs::read_dir(folder.path().join("man1")).unwrap();
    let mut names: Vec<_> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["tool-outer-inner.1", "tool-outer.1", "tool.1"]);
    let page = std::fs::read_to_string(folder.path().join("man1/tool-outer-inner.1")).unwrap();
    assert!(
        page.contains("What is inside") && page.contains("\\-\\-flag"),
        "{page}"
    );
    let page = std::fs::read_to_string(folder.path().join("man1/tool.1")).unwrap();
    assert!(!page.contains("secret"), "{page}");
}
