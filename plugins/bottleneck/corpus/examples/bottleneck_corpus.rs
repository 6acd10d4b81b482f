//! Writes the corpus: `cargo run --release -p trueno-corpus --example bottleneck_corpus -- FOLDER [--validation | --test]`.
//!
//! With `--validation` and `--test` the runs of those corpora. Each case becomes `NAME.run`, or `NAME.json` to be imported; `labels.tsv` has the name, the class that holds it back or `-`,
//! and the class it might be taken for or `-`. `benches/confusion.py` counts how often the plugin is right.

use std::path::PathBuf;

use trueno_corpus::{CASES, Make, host, test, validation};

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("usage: bottleneck_corpus FOLDER [--validation | --test]");
        std::process::exit(2);
    };
    std::fs::create_dir_all(&folder)?;
    let mut labels = String::new();
    let cases = match std::env::args().nth(2).as_deref() {
        Some("--validation") => validation::CASES,
        Some("--test") => test::CASES,
        _ => CASES,
    };
    for case in cases {
        match case.make {
            Make::Recorded(make) => {
                let late = host::undisturbed(&folder.join(format!("{}.run", case.name)), make);
                if late > 0.03 {
                    eprintln!("{}: {:.0} % late, a busy machine", case.name, 100.0 * late);
                }
            }
            Make::Simulated(make) => {
                std::fs::write(folder.join(format!("{}.json", case.name)), make())?
            }
        }
        labels += &format!(
            "{}\t{}\t{}\n",
            case.name,
            case.truth.unwrap_or("-"),
            case.not.unwrap_or("-")
        );
    }
    std::fs::write(folder.join("labels.tsv"), labels)
}
