//! Operators of a PyTorch trace: shapes kept, FLOPs computed, and held against ceilings that a user gives.

use serde_json::Value;

use crate::harness::{Dir, standard_plugins};

const DATASET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/pytorch");

fn report(dir: &Dir, arguments: &[&str]) -> Value {
    let trace = format!("{DATASET}/cpu_training.json.gz");
    dir.command(&["import", &trace, "-o", "cpu.run"]).exits(0);
    let all = ["--plugin-id", "operators", "--json", "-"];
    let all: Vec<&str> = all.iter().chain(arguments).copied().collect();
    dir.report(&dir.join("cpu.run"), &all).exits(0).json()
}

fn table<'a>(report: &'a Value, name: &str) -> &'a Value {
    let tables = report["sections"][0]["tables"].as_array().expect("tables");
    tables
        .iter()
        .find(|table| table["name"] == name)
        .unwrap_or_else(|| panic!("no table {name}"))
}

fn column<'a>(table: &'a Value, name: &str) -> Vec<&'a Value> {
    let columns = table["columns"].as_array().expect("columns");
    let at = columns.iter().position(|column| column["name"] == name);
    let at = at.unwrap_or_else(|| panic!("no column {name}"));
    let rows = table["rows"].as_array().expect("rows");
    rows.iter().map(|row| &row[at]).collect()
}

#[test]
fn products_of_a_cpu_lie_below_the_roof_of_its_machine() {
    let dir = Dir::new();
    let report = report(&dir, &["--ceilings", &format!("{DATASET}/ceilings.json")]);
    let by_name = table(&report, "by_name");
    let names = column(by_name, "name");
    let shares = column(by_name, "efficiency_share");
    let calls = column(by_name, "calls");
    for (name, expected) in [("aten::mm", 20), ("aten::addmm", 10)] {
        let at = names.iter().position(|found| *found == name).expect(name);
        assert_eq!(calls[at], expected);
        let share = shares[at].as_f64().expect("a share");
        assert!((0.05..=1.0).contains(&share), "{name}: {share}");
    }
    let by_shape = table(&report, "by_shape");
    let timed = column(by_shape, "timed_on");
    assert!(timed.iter().all(|on| on.is_null() || **on == "host"));
    let all = column(by_shape, "efficiency_share");
    let all: Vec<f64> = all.iter().filter_map(|share| share.as_f64()).collect();
    assert!(all.len() > 50, "{}", all.len());
    assert!(all.iter().all(|share| *share > 0.0 && *share <= 1.0));
}

#[test]
fn operators_are_points_of_the_roofline() {
    let dir = Dir::new();
    let ceilings = format!("{DATASET}/ceilings.json");
    let arguments = ["--plugin-id", "roofline", "--ceilings", &ceilings];
    let report = report(&dir, &arguments);
    let sections = report["sections"].as_array().expect("sections");
    let roofline = sections
        .iter()
        .find(|section| section["plugin"] == "roofline");
    let roofline = roofline.expect("the section");
    let tables = roofline["tables"].as_array().expect("tables");
    let points = tables.iter().find(|table| table["name"] == "points");
    let points = points.expect("points");
    let names = column(points, "name");
    assert!(
        column(points, "source")
            .iter()
            .all(|source| **source == "operator")
    );
    assert!(names.iter().any(|name| **name == "aten::addmm"));
    let findings = roofline["findings"].as_array().expect("findings");
    assert!(findings.iter().all(|finding| finding["code"] != "no_work"));

    dir.command(&[
        "tree",
        "cpu.run",
        "--name",
        "aten::addmm",
        "--format",
        "json",
    ])
    .exits(0)
    .stdout_has("\"detail\": \"1024, 512×256, 256×1024\"");
}

#[test]
fn flops_are_those_of_the_model_that_was_trained() {
    let dir = Dir::new();
    let report = report(&dir, &[]);
    let by_category = table(&report, "by_category");
    let names = column(by_category, "category");
    let at = names.iter().position(|name| *name == "gemm").expect("gemm");
    // Weights of the five linear layers: each meets 512 rows forward, and again for the gradients of the input and of
    // itself; the bias is added forward.
    let [width, classes] = [256_u64, 1000];
    let weights = width * 3 * width + width * width + 2 * 4 * width * width + width * classes;
    let outputs = 3 * width + width + 4 * width + width + classes;
    let rows = 4 * 128;
    let step = 2 * rows * 3 * weights + rows * outputs;
    let flops = column(by_category, "flops")[at].as_f64().expect("FLOPs");
    assert_eq!(flops, (2 * step) as f64, "two steps");
}

#[test]
fn runs_are_compared_by_operator_and_shape() {
    let dir = Dir::new();
    let trace = format!("{DATASET}/cpu_training.json.gz");
    dir.command(&["import", &trace, "-o", "cpu.run"]).exits(0);
    let plugins = standard_plugins(&dir);
    let plugins = plugins.to_str().expect("a path in UTF-8");
    let compare = |format: &str| {
        let plugins = ["--no-default-plugins", "--plugin-dir", plugins];
        let runs = ["compare", "cpu.run", "cpu.run", "--format", format];
        dir.command(&[&runs[..], &plugins].concat()).exits(0)
    };
    let rows = compare("json").json()["signatures"].take();
    let rows = rows.as_array().expect("rows");
    let is_product =
        |row: &&Value| row["name"] == "aten::mm" && row["input_dims"] == "[[512,256],[256,256]]";
    let product = rows.iter().find(is_product).expect("a product");
    assert_eq!(product["base"], product["run"]);
    let flops_per_s = product["run"]["flops_per_s"].as_f64().expect("a rate");
    let time_s = product["run"]["counted_ns"].as_f64().expect("a time") / 1e9;
    let flops = product["run"]["calls"].as_f64().expect("calls") * 2.0 * 512.0 * 256.0 * 256.0;
    assert!((flops_per_s * time_s / flops - 1.0).abs() < 1e-9);
    compare("table").stdout_has("Operators by shape");
}

#[test]
fn rules_and_ceilings_of_a_user_are_taken_or_refused_in_words() {
    let dir = Dir::new();
    std::fs::write(
        dir.join("mine.toml"),
        "family = \"mine\"\n[[rule]]\nname = \"my softmax\"\noperators = [\"aten::_log_softmax\"]\nflops = \"7\"\n\
         moved_bytes = \"bytes(0)\"\nassumption = \"none\"\nsource = \"here\"\n",
    )
    .expect("a file");
    let report = report(&dir, &["--operators", "mine.toml"]);
    let by_shape = table(&report, "by_shape");
    let names = column(by_shape, "name");
    let at = names.iter().position(|name| *name == "aten::_log_softmax");
    let at = at.expect("the operator");
    assert_eq!(column(by_shape, "model")[at], "my softmax");
    assert_eq!(column(by_shape, "flops")[at], 14.0, "two calls");
    assert!(
        column(by_shape, "efficiency_share")
            .iter()
            .all(|share| share.is_null())
    );

    std::fs::write(dir.join("wrong.json"), "{\"ceilings\": []}").expect("a file");
    let run = dir.join("cpu.run");
    let with = |flag: &str, file: &str| dir.report(&run, &[flag, file]).exits(2);
    with("--ceilings", "wrong.json").stderr_has("holds no ceiling");
    with("--ceilings", "mine.toml").stderr_has("trueno-record peaks -o FILE");
    with("--ceilings", "none.json").stderr_has("none.json: cannot be read");
    with("--operators", "none.toml").stderr_has("none.toml: cannot be read");
    std::fs::write(
        dir.join("gpu.json"),
        "[{\"gpu\": {\"name\": \"NVIDIA L4\"}, \"ceilings\": [{\"device\": \"gpu:0\", \"kind\": \"bandwidth\", \
         \"level\": \"DRAM\", \"value\": 3e11, \"source\": \"measured\"}]}]",
    )
    .expect("a file");
    with("--ceilings", "gpu.json")
        .stderr_has("they belong to NVIDIA L4, and the run names no device");
}
