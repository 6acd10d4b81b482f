//! More of everything than anybody needs.

use std::io::Write;
use std::os::fd::AsRawFd;

use trueno_plugin::{Chart, Error, Result, Run, Table};

pub fn threads(run: &mut Run) -> Result<()> {
    let mut started = 0_i64;
    while started < 1_000_000 {
        let thread = std::thread::Builder::new().stack_size(16 << 10);
        let sleep = || std::thread::sleep(std::time::Duration::from_secs(3600));
        if thread.spawn(sleep).is_err() {
            run.emit(Table::build("threads").i64("started", [started]))?;
            return Err(Error::failed("no more threads"));
        }
        started += 1;
    }
    Err(Error::failed("a million threads"))
}

pub fn standard_error() -> Result<()> {
    let line = [b'x'; 1 << 16];
    loop {
        let _ = std::io::stderr().write_all(&line);
    }
}

/// Allocates more at once than any machine has.
pub fn allocation() -> Result<()> {
    let all = vec![1_u8; 1 << 50];
    std::hint::black_box(&all);
    Ok(())
}

pub fn mapping() -> Result<()> {
    let mut touched = 0_usize;
    loop {
        // SAFETY: new pages, which nobody else has.
        let pages = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                1 << 26,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if pages == libc::MAP_FAILED {
            return Err(Error::failed("no more pages"));
        }
        for at in (0..1_usize << 26).step_by(4096) {
            // SAFETY: inside of what was mapped.
            unsafe { pages.cast::<u8>().add(at).write_volatile(1) };
            touched += 1;
        }
        std::hint::black_box(touched);
    }
}

/// Fills memory files that are not mapped.
pub fn memory_files() -> Result<()> {
    // SAFETY: a name ended by a null byte; the file is never closed.
    let file = unsafe { libc::memfd_create(c"flood".as_ptr(), 0) };
    if file < 0 {
        return Err(Error::failed("no files of memory"));
    }
    let page = [1_u8; 1 << 16];
    loop {
        // SAFETY: bytes that live for the call.
        if unsafe { libc::write(file, page.as_ptr().cast(), page.len()) } < 0 {
            return Err(Error::failed("no more room"));
        }
    }
}

/// Appends to every open file that allows it.
pub fn inputs() -> Result<()> {
    let page = [1_u8; 1 << 16];
    for file in 16..64 {
        // SAFETY: deliberately not: the files are the host's. Only those that have an end.
        unsafe {
            if libc::lseek(file, 0, libc::SEEK_END) > 0 {
                for _ in 0..1 << 20 {
                    if libc::write(file, page.as_ptr().cast(), page.len()) < 0 {
                        break;
                    }
                }
            }
        }
    }
    Err(Error::failed("no more room"))
}

pub fn pipes() -> Result<()> {
    let mut open = Vec::new();
    let page = [1_u8; 1 << 16];
    while let Ok((read, write)) = std::io::pipe() {
        // SAFETY: an open file of ours, and bytes that live for the call.
        unsafe {
            libc::fcntl(write.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK);
            libc::write(write.as_raw_fd(), page.as_ptr().cast(), page.len());
        }
        open.push((read, write));
    }
    let some = open.len();
    Err(Error::failed(format!("no more than {some} pipes")))
}

/// More tables than a plugin may emit.
pub fn tables(run: &mut Run) -> Result<()> {
    for number in 0..1_001 {
        run.emit(Table::build(format!("t{number}")).i64("x", [1]))?;
    }
    Ok(())
}

pub fn columns(run: &mut Run) -> Result<()> {
    let wide = Table::build("wide");
    run.emit((0..10_001).fold(wide, |wide, number| wide.i64(&format!("c{number}"), [1])))
}

/// Endless charts of columns that do not exist.
pub fn charts(run: &mut Run) -> Result<()> {
    for number in 0..100_001 {
        run.chart(Chart::bar(&format!("chart {number}"), "nowhere", "x", "y"))?;
    }
    Ok(())
}

/// A table above the size limit.
pub fn rows(run: &mut Run) -> Result<()> {
    run.emit(Table::build("long").i64("x", 0..8_000_000))
}

pub fn raised_memory_limit() -> Result<()> {
    let all = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the struct lives for the call.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const all) };
    let mut eaten: Vec<Vec<u8>> = Vec::new();
    // An end for where it is not bounded: the test is told, the machine not harmed.
    for _ in 0..64 {
        eaten.push(vec![1; 16 << 20]);
        std::hint::black_box(&eaten);
    }
    Err(Error::failed("it took a gibibyte"))
}
