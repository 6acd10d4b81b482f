//! Facts of the machine, from the comments that `perf script --header` prints first.

use trueno_format::run_json::Host;

/// Stores a comment `# name : value` in the facts; ignores other comments.
pub fn read(comment: &str, host: &mut Host) {
    let Some((name, value)) = comment.trim_start_matches('#').split_once(':') else {
        return;
    };
    let value = value.trim();
    let text = || Some(value.to_owned()).filter(|value| !value.is_empty());
    match name.trim() {
        "hostname" => host.name = text(),
        "os release" => host.kernel = text(),
        "arch" => host.arch = text(),
        "cpudesc" => host.cpu_model = text(),
        "nrcpus online" => host.logical_cpus = value.parse().ok(),
        "total memory" => {
            let kibibytes = value
                .strip_suffix(" kB")
                .and_then(|value| value.parse::<u64>().ok());
            host.memory_bytes = kibibytes.and_then(|kibibytes| kibibytes.checked_mul(1024));
        }
        _ => (),
    }
}
