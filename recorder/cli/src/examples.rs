//! Examples in the help of each command.

pub(crate) const ROOT: &str = "\
Examples:
  trueno-record run python train.py
  trueno-record run --sample -o decode.run ./decode --tokens 64
  trueno-record doctor";

pub(crate) const RUN: &str = "\
Examples:
  trueno-record run python train.py
  trueno-record run --sample -o decode.run ./decode --tokens 64
  trueno-record run --calls=file,network -- ./server --port 80
  trueno-record run --sample --pid 4711 --duration 10s
  trueno-record run --calls --keep-last 30s --signal USR1 -- ./server";

pub(crate) const COMPARE: &str = "\
Examples:
  trueno-record compare -- ./decode-old -- ./decode-new
  trueno-record compare -n 20 --fail-on slower -- ./old {} -- ./new {}
  trueno-record compare -n 5 --sample -- ./old -- ./new
  trueno-record compare --git HEAD~1 --build 'make' -- ./decode";

pub(crate) const CONTROL: &str = "\
Examples:
  trueno-record control server.run status
  trueno-record control server.run cut -o slow.run";

pub(crate) const COLLECT: &str = "\
Examples:
  trueno-record collect decode.run.capture-4711 -o decode.run";

pub(crate) const DOCTOR: &str = "\
Examples:
  trueno-record doctor
  trueno-record doctor --need cuda python";

pub(crate) const PEAKS: &str = "\
Examples:
  trueno-record peaks
  trueno-record peaks --gpu -o gpu.json
  trueno-record peaks --into decode.run";

pub(crate) const MAN: &str = "\
Examples:
  trueno-record man -o share/man/man1";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  trueno-record completions bash";
