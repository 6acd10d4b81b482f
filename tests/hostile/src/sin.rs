//! The sins, one arm each, with what a host should make of it.

use serde::Deserialize;
use trueno_plugin::arrow::{ArrowArrayStream, export_stream};
use trueno_plugin::{Chart, Error, Finding, Result, Run, Severity, Table, abi};

use crate::{escape, flood, forge, lifetime, stream};

/// Clears the screen, sets a title, rings the bell, reverses text and begins new lines, in C0, C1 and Unicode.
pub const ESCAPES: &str = "\x1b[2J\x1b]0;title\x07\u{9b}31m\u{202e}gnorw\u{2028}\r\nerror: fake\n\0</script>]]>::error::fake%0A";

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sin {
    /// Panics with a text: status 5, "deliberate panic (file:line:column)".
    Panic,
    /// Panics with a payload that is not text and panics again when dropped: status 5.
    PanicWithPayload,
    /// Panics after a good table: the table is kept, the plugin failed.
    PanicAfterTable,
    /// Fails with a message: status 1.
    Error,
    /// Fails with a message that has a NUL byte and is not UTF-8: shown, repaired.
    ErrorNotUtf8,
    /// Reports that the user cancelled: status 4.
    Cancelled,
    /// A column shorter than its batch: the table is refused.
    BadLengths,
    /// A negative length: refused.
    NegativeLength,
    /// An offset that overflows when added: refused.
    HugeOffset,
    /// Arrow type `i` (32-bit): refused.
    BadType,
    /// Text that is not UTF-8: refused.
    NotUtf8,
    /// Text offsets that run backwards: refused.
    BadOffsets,
    /// Two columns with the same name: refused.
    DuplicateColumn,
    /// A stream that fails with a message at the second batch: refused, message shown.
    FailingStream,
    /// A stream already released: refused.
    ReleasedStream,
    /// A null pointer for a stream: refused.
    NullStream,
    /// Two tables with the same name: the second is refused.
    DuplicateTable,
    /// A table name that cannot be written in a query: refused.
    BadTableName,
    /// A table name that is not UTF-8: refused.
    TableNameNotUtf8,
    BadFinding,
    /// A chart of a table that does not exist.
    ChartOfNothing,
    /// Continues after a refusal and returns OK: the refusal is still reported.
    IgnoreRefusal,
    /// Emits nothing: fine.
    NoOutput,
    /// Writes into `trueno_run.reserved`: ignored.
    Reserved,
    /// Moves its input out, releases it and reads nothing: fine.
    InputReleased,
    /// Sets an error and returns OK: fine, the error is not shown.
    ErrorButOk,
    /// Exits the process: only an isolated run survives.
    Exit,
    /// Aborts the process: only an isolated run survives.
    Abort,
    Spin,
    /// Loops for ever: only an isolated run ends.
    Loop,
    /// Writes to address 0 after a good table: only an isolated run survives.
    NullDereference,
    /// Recurses until the stack overflows: only an isolated run survives.
    StackOverflow,
    /// Allocates until there is no memory: only an isolated run survives.
    EatMemory,
    /// Prints 300 kB of garbage that begins like a report, then behaves.
    StdoutGarbage,
    /// Prints until it is killed.
    PrintForEver,
    /// Reports success on standard output and on every other open file, then exits.
    ForgeAnswer,
    /// Emits as many findings as allowed.
    ManyFindings,
    /// Emits a finding with a title of one 5 MB word, and a label as long.
    LongWords,
    /// Tries each escape route from its process. Table `ways` says which are open.
    Escape,
    /// Stops its process until another one continues it.
    Stop,
    IgnoreSignals,
    ForkWithoutEnd,
    /// Leaves a grandchild in its own session.
    LeaveADaemon,
    /// Forks and returns from both processes.
    ReturnTwice,
    /// Kills the process that waits for it, in four ways.
    KillParent,
    KillGroup,
    /// Ends only its first thread.
    LoseTheFirstThread,
    /// Waits for a lock that it holds itself.
    Deadlock,
    /// Closes all files and sleeps.
    CloseAndSleep,
    SleepForEver,
    /// Loops on eight threads.
    Burn,
    KillItself,
    Terminate,
    Illegal,
    /// Sends itself SIGFPE.
    DivideByZero,
    BreakPipe,
    /// Sends itself a real-time signal, which has no name.
    RealTimeSignal,
    /// Stops itself as Ctrl-Z does.
    StopByKeyboard,
    /// Ends by an alarm that it set.
    SetAnAlarm,
    /// Registers an exit handler that never ends.
    LoopAtExit,
    /// Exits from another thread.
    ExitFromAThread,
    /// Leaves a thread that loops for ever.
    LeaveAThread,
    /// Makes a 32-bit system call.
    CallAs32Bits,
    Threads,
    FloodStandardError,
    /// Allocates a pebibyte.
    HugeAllocation,
    /// Maps memory without reserving it, and touches it.
    Mapping,
    MemoryFiles,
    /// Appends to its inputs.
    FloodInputs,
    Pipes,
    /// Emits one table too many.
    ManyTables,
    /// Emits a table with one column too many.
    ManyColumns,
    /// Emits one chart too many.
    ManyCharts,
    /// Emits a table of 64 MB.
    ManyRows,
    /// Raises its memory limit and allocates a gibibyte.
    RaisedMemoryLimit,
    /// Forges a table whose name is a path.
    ForgePath,
    /// Forges a table twice.
    ForgeTwice,
    /// Forges a table that claims `u64::MAX` rows.
    ForgeEndlessRows,
    /// Forges a table of garbage.
    ForgeCutTable,
    ForgeChartOfNothing,
    ForgeStatus,
    /// Forges a finding of a million brackets.
    ForgeNested,
    /// Forges one finding too many.
    ForgeFindings,
    /// Forges a message that claims `u64::MAX` bytes.
    ForgeLength,
    /// Forges a message that never ends.
    ForgeLongWait,
    /// Forges crash reports.
    ForgeCrash,
    /// Forges a refusal with escape sequences.
    ForgeRefused,
    /// Forges a second description.
    ForgeDescriptor,
    /// Forges a table after the end.
    ForgeAfterEnd,
    ForgeFlood,
    /// Fails with a message that clears the screen, rings the bell and begins new lines.
    ErrorWithEscapes,
    /// Writes such a message to standard error, then behaves.
    StderrWithEscapes,
    /// Leaves a thread that writes such a message to standard error after the run, until the process ends.
    WriteLate,
}

/// Behaves: emits its input.
pub fn behave(run: &mut Run) -> Result<()> {
    let bricks = run.table("bricks")?;
    run.emit(
        Table::build("seen")
            .u64("id", bricks.u64("id")?.iter())
            .i64("start_ns", bricks.i64("start_ns")?.iter()),
    )
}

pub fn commit(sin: Sin, run: &mut Run) -> Result<()> {
    match sin {
        Sin::Panic => panic!("deliberate panic"),
        Sin::PanicWithPayload => std::panic::panic_any(Bomb),
        Sin::PanicAfterTable => {
            run.emit(Table::build("before").i64("x", [1]))?;
            panic!("deliberate panic after a table")
        }
        Sin::Error => Err(Error::failed("deliberate failure")),
        Sin::ErrorNotUtf8 => {
            set_error(run, b"deliberate\0failure \xff\xfe");
            // The shim sets the text of the error itself, and the last one counts.
            Err(Error::failed("deliberate\0failure"))
        }
        Sin::Cancelled => Err(Error::Cancelled),
        Sin::BadLengths => emit(run, b"bad", &mut stream::bad_lengths()),
        Sin::NegativeLength => emit(run, b"bad", &mut stream::negative_length()),
        Sin::HugeOffset => emit(run, b"bad", &mut stream::huge_offset()),
        Sin::BadType => emit(run, b"bad", &mut stream::bad_type()),
        Sin::NotUtf8 => emit(run, b"bad", &mut stream::not_utf8()),
        Sin::BadOffsets => emit(run, b"bad", &mut stream::bad_offsets()),
        Sin::DuplicateColumn => emit(run, b"bad", &mut stream::duplicate_column()),
        Sin::FailingStream => emit(run, b"bad", &mut stream::failing()),
        Sin::ReleasedStream => emit(run, b"bad", &mut ArrowArrayStream::released()),
        Sin::NullStream => emit(run, b"bad", std::ptr::null_mut()),
        Sin::DuplicateTable => {
            run.emit(Table::build("twice").i64("x", [1]))?;
            run.emit(Table::build("twice").i64("x", [2]))
        }
        Sin::BadTableName => emit(run, b"Bad Name; DROP", &mut good()),
        Sin::TableNameNotUtf8 => emit(run, b"bad\xff", &mut good()),
        Sin::BadFinding => finding(run, b"{\"code\": 1"),
        Sin::ChartOfNothing => run.chart(Chart::bar("nothing", "nowhere", "x", "y")),
        Sin::IgnoreRefusal => {
            let _ = emit(run, b"bad", &mut stream::bad_type());
            run.finding(Finding::new("after", Severity::Info, "went on"))
        }
        Sin::NoOutput => Ok(()),
        Sin::Reserved => {
            // SAFETY: deliberately not: the run is the host's. It must not matter.
            unsafe { (*run.as_raw().cast_mut()).reserved = u32::MAX };
            behave(run)
        }
        Sin::InputReleased => {
            // SAFETY: the plugin may move an input out; dropping releases it.
            drop(unsafe { ArrowArrayStream::take(*(*run.as_raw()).inputs) });
            Ok(())
        }
        Sin::ErrorButOk => {
            set_error(run, b"never mind");
            Ok(())
        }
        Sin::Exit => std::process::exit(0),
        Sin::Abort => std::process::abort(),
        Sin::Spin => loop {
            run.check_cancelled()?;
            std::hint::spin_loop();
        },
        Sin::Loop => loop {
            std::hint::spin_loop();
        },
        Sin::NullDereference => {
            run.emit(Table::build("before").i64("x", [1]))?;
            // SAFETY: deliberately not.
            unsafe {
                std::ptr::without_provenance_mut::<i32>(std::hint::black_box(8)).write_volatile(1)
            };
            Ok(())
        }
        Sin::StackOverflow => Err(Error::failed(format!("depth {}", deeper(1)))),
        Sin::EatMemory => {
            let mut eaten: Vec<Vec<u8>> = Vec::new();
            loop {
                eaten.push(vec![1; 16 << 20]);
                std::hint::black_box(&eaten);
            }
        }
        Sin::StdoutGarbage => {
            for _ in 0..10_000 {
                println!("{{\"format\":{{\"major\":1,\"minor\":0}},");
            }
            behave(run)
        }
        Sin::PrintForEver => loop {
            println!("still here");
        },
        Sin::ForgeAnswer => {
            for file in 1..64 {
                // SAFETY: deliberately not: the files are the host's.
                let mut file = std::mem::ManuallyDrop::new(unsafe { open_file(file) });
                let _ = std::io::Write::write_all(&mut *file, &[4; 64]);
            }
            std::process::exit(0)
        }
        Sin::ManyFindings => {
            for number in 0..100_000_u32 {
                run.finding(Finding::new(
                    "same",
                    Severity::Info,
                    format!("number {number}"),
                ))?;
            }
            Ok(())
        }
        Sin::LongWords => {
            let word = "x".repeat(5 << 20);
            run.emit(
                Table::build("words")
                    .text("word", [word.as_str()])
                    .i64("x", [1]),
            )?;
            run.finding(Finding::new("long", Severity::Info, word.as_str()))
        }
        Sin::Escape => escape::try_all(run),
        Sin::Stop => {
            // SAFETY: a call with a number.
            unsafe { libc::raise(libc::SIGSTOP) };
            behave(run)
        }
        Sin::IgnoreSignals => lifetime::ignore_signals(),
        Sin::ForkWithoutEnd => lifetime::fork_without_end(),
        Sin::LeaveADaemon => lifetime::leave_a_daemon(run),
        Sin::ReturnTwice => lifetime::return_twice(run),
        Sin::KillParent => lifetime::kill_parent(),
        Sin::KillGroup => lifetime::kill_group(),
        Sin::LoseTheFirstThread => lifetime::lose_the_first_thread(),
        Sin::Deadlock => lifetime::deadlock(),
        Sin::CloseAndSleep => lifetime::close_and_sleep(),
        Sin::SleepForEver => lifetime::sleep_for_ever(),
        Sin::Burn => lifetime::burn(),
        Sin::KillItself => lifetime::raise(libc::SIGKILL),
        Sin::Terminate => lifetime::raise(libc::SIGTERM),
        Sin::Illegal => lifetime::raise(libc::SIGILL),
        Sin::DivideByZero => lifetime::raise(libc::SIGFPE),
        Sin::BreakPipe => lifetime::raise(libc::SIGPIPE),
        Sin::RealTimeSignal => lifetime::raise(63),
        Sin::StopByKeyboard => lifetime::raise(libc::SIGTSTP),
        Sin::SetAnAlarm => lifetime::set_an_alarm(),
        Sin::LoopAtExit => lifetime::loop_at_exit(run),
        Sin::ExitFromAThread => lifetime::exit_from_a_thread(run),
        Sin::LeaveAThread => lifetime::leave_a_thread(run),
        Sin::CallAs32Bits => lifetime::call_as_32_bits(),
        Sin::Threads => flood::threads(run),
        Sin::FloodStandardError => flood::standard_error(),
        Sin::HugeAllocation => flood::allocation(),
        Sin::Mapping => flood::mapping(),
        Sin::MemoryFiles => flood::memory_files(),
        Sin::FloodInputs => flood::inputs(),
        Sin::Pipes => flood::pipes(),
        Sin::ManyTables => flood::tables(run),
        Sin::ManyColumns => flood::columns(run),
        Sin::ManyCharts => flood::charts(run),
        Sin::ManyRows => flood::rows(run),
        Sin::RaisedMemoryLimit => flood::raised_memory_limit(),
        Sin::ForgePath => forge::send(forge::Forgery::Path),
        Sin::ForgeTwice => forge::send(forge::Forgery::Twice),
        Sin::ForgeEndlessRows => forge::send(forge::Forgery::EndlessRows),
        Sin::ForgeCutTable => forge::send(forge::Forgery::CutTable),
        Sin::ForgeChartOfNothing => forge::send(forge::Forgery::ChartOfNothing),
        Sin::ForgeStatus => forge::send(forge::Forgery::Status),
        Sin::ForgeNested => forge::send(forge::Forgery::Nested),
        Sin::ForgeFindings => forge::send(forge::Forgery::Findings),
        Sin::ForgeLength => forge::send(forge::Forgery::Length),
        Sin::ForgeLongWait => forge::send(forge::Forgery::LongWait),
        Sin::ForgeCrash => forge::send(forge::Forgery::Crash),
        Sin::ForgeRefused => forge::send(forge::Forgery::Refused),
        Sin::ForgeDescriptor => forge::send(forge::Forgery::Descriptor),
        Sin::ForgeAfterEnd => forge::send(forge::Forgery::AfterEnd),
        Sin::ForgeFlood => forge::send(forge::Forgery::Flood),
        Sin::ErrorWithEscapes => Err(Error::failed(ESCAPES)),
        Sin::StderrWithEscapes => {
            eprint!("{ESCAPES}");
            behave(run)
        }
        Sin::WriteLate => lifetime::write_late(run),
    }
}

/// # Safety
/// `number` is an open file that nobody else writes to, or none at all.
unsafe fn open_file(number: i32) -> std::fs::File {
    // SAFETY: the caller vouches for it.
    unsafe { std::os::fd::FromRawFd::from_raw_fd(number) }
}

#[expect(unconditional_recursion, reason = "that is the sin")]
fn deeper(depth: u64) -> u64 {
    let room = std::hint::black_box([depth; 512]);
    deeper(depth + 1) + room[7]
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

fn good() -> ArrowArrayStream {
    let column = trueno_plugin::Column::I64(vec![1, 2].into());
    match Table::from_columns("good", vec![("x".to_owned(), column)]) {
        Ok(table) => export_stream(table),
        Err(_) => ArrowArrayStream::released(),
    }
}

fn text(bytes: &[u8]) -> abi::Str {
    abi::Str {
        ptr: bytes.as_ptr().cast(),
        len: bytes.len(),
    }
}

/// Bypasses the checks of the SDK.
fn emit(run: &Run, name: &[u8], stream: *mut ArrowArrayStream) -> Result<()> {
    // SAFETY: the callback and its argument are the host's; what else is wrong is the point.
    let status = unsafe {
        let raw = &*run.as_raw();
        raw.emit_table.map_or(abi::FAILED, |emit_table| {
            emit_table(raw.host, text(name), stream)
        })
    };
    refused(status)
}

fn finding(run: &Run, json: &[u8]) -> Result<()> {
    // SAFETY: as in `emit`.
    let status = unsafe {
        let raw = &*run.as_raw();
        raw.emit_finding.map_or(abi::FAILED, |emit_finding| {
            emit_finding(raw.host, text(json))
        })
    };
    refused(status)
}

fn set_error(run: &Run, message: &[u8]) {
    // SAFETY: as in `emit`.
    unsafe {
        let raw = &*run.as_raw();
        if let Some(set_error) = raw.set_error {
            set_error(raw.host, text(message));
        }
    }
}

fn refused(status: abi::Status) -> Result<()> {
    match status {
        abi::OK => Ok(()),
        _ => Err(Error::failed(format!("refused with status {status}"))),
    }
}
