use super::IMPORTER;
use crate::read_back::{Imported, of_bytes, partial, recognises};
use crate::{Error, Options};

/// Children precede their frame, as Proton writes them.
const TREE: &str = r#"[
  {"children": [
    {"children": [
      {"children": [], "frame": {"name": "matmul \"a\"", "type": "function"},
       "metrics": {"count": 10, "device_id": "1", "device_type": "CUDA", "time (ns)": 204800, "flops8": 1e11}}],
     "frame": {"name": "forward", "type": "function"}, "metrics": {"flops8": 2.0}},
    {"children": [], "frame": {"name": "copy", "type": "function"}, "metrics": {"count": 1, "time (ns)": 5}}],
   "frame": {"name": "ROOT", "type": "function"}, "metrics": {"count": 0, "time (ns)": 0}},
  {"CUDA": {"0": {"arch": "89", "num_sms": 128}, "1": {"arch": "90", "num_sms": 132}}}
]"#;

fn read(text: &str, options: &Options) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, text, options)
}

#[test]
fn sums_of_nodes_become_counters_by_path() {
    assert!(recognises(&IMPORTER, TREE.as_bytes()));
    let run = read(TREE, &Options::default()).unwrap();
    assert_eq!(
        run.rows("counters", "value source name"),
        [
            "10 measured sum: forward/matmul \"a\" (gpu 1) count",
            "100000000000 declared sum: forward/matmul \"a\" (gpu 1) flops8",
            "204800 measured sum: forward/matmul \"a\" (gpu 1) time (ns)",
            "2 declared sum: forward flops8",
            "1 measured sum: copy count",
            "5 measured sum: copy time (ns)"
        ]
    );
    assert_eq!(
        run.rows("devices", "device name multiprocessors"),
        ["gpu:0 CUDA 89 128", "gpu:1 CUDA 90 132"]
    );
    assert_eq!((run.wall_ns, run.run.problems.len()), (None, 1));
}

#[test]
fn stacks_deeper_than_a_parser_recurses_are_read() {
    let (mut before, mut behind) = (String::from("["), String::new());
    for level in (0..2_000).rev() {
        before.push_str("{\"children\": [");
        behind = format!(
            "{behind}], \"frame\": {{\"name\": \"f{}\"}}, \"metrics\": {{\"count\": 1}}}}",
            1_999 - level
        );
    }
    let text = format!("{before}{behind}]");
    let run = read(&text, &Options::default()).unwrap();
    let names = run.rows("counters", "name");
    assert_eq!(names.len(), 2_000);
    assert!(names[0].starts_with("sum: …/") && names[0].ends_with("/f0 count"));
    assert_eq!(names[1_999], "sum: f1999 count");
}

#[test]
fn cut_and_odd_documents_are_refused_with_their_place_or_read_in_part() {
    let partial = partial();
    let refused = |text: &str| read(text, &Options::default()).err().unwrap().to_string();
    let cut = &TREE[..TREE.find("\"1\": {\"arch\"").unwrap()];
    assert!(refused(cut).contains(&format!("byte {}", cut.len())));
    let run = read(cut, &partial).unwrap();
    assert_eq!(run.rows("counters", "name").len(), 6);
    assert_eq!(run.rows("devices", "device"), ["gpu:0"]);
    assert!(refused("[{\"children\": []}]").contains("found none"));
    for odd in [
        "[{\"children\": [} ]",
        "[1,]",
        "[{\"a\" 1}]",
        "[]]",
        "7",
        "",
        "[\"\\",
    ] {
        assert!(read(odd, &Options::default()).is_err(), "{odd}");
    }
    for end in (0..TREE.len()).step_by(13) {
        let _ = read(&TREE[..end], &partial);
    }
}
