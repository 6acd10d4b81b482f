//! Programs of two that wait for each other. Each of the two makes a call that nobody else makes, to be found.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::program::TURNS;

/// Marks this thread with a system call that the test looks for.
fn here() {
    // SAFETY: takes nothing.
    unsafe { libc::getppid() };
}

pub fn locks() {
    let turn = Arc::new((Mutex::new(0), Condvar::new()));
    let players = [0, 1].map(|own| {
        let turn = turn.clone();
        thread::spawn(move || {
            here();
            let (number, changed) = &*turn;
            for _ in 0..TURNS {
                let mut number = number.lock().unwrap();
                while *number % 2 != own {
                    number = changed.wait(number).unwrap();
                }
                *number += 1;
                changed.notify_one();
            }
        })
    });
    players
        .into_iter()
        .for_each(|player| player.join().unwrap());
}

pub fn joins() {
    let sleeper = thread::spawn(|| {
        here();
        thread::sleep(Duration::from_millis(50));
    });
    sleeper.join().unwrap();
}

fn pipe() -> [i32; 2] {
    let mut ends = [0; 2];
    // SAFETY: there is room for two.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    ends
}

fn read_one(descriptor: i32) {
    let mut byte = 0_u8;
    // SAFETY: there is room for a byte.
    assert_eq!(
        unsafe { libc::read(descriptor, (&raw mut byte).cast(), 1) },
        1
    );
}

fn write_one(descriptor: i32) {
    // SAFETY: the byte is there.
    assert_eq!(
        unsafe { libc::write(descriptor, b"x".as_ptr().cast(), 1) },
        1
    );
}

pub fn pipes() {
    let (there, back) = (pipe(), pipe());
    // SAFETY: the child calls nothing but system calls.
    let child = unsafe { libc::fork() };
    if child == 0 {
        here();
        for _ in 0..TURNS {
            read_one(there[0]);
            write_one(back[1]);
        }
        // SAFETY: ends the child without what the parent has left to do.
        unsafe { libc::_exit(0) };
    }
    here();
    for _ in 0..TURNS {
        write_one(there[1]);
        read_one(back[0]);
    }
    // SAFETY: it is this process's child.
    assert_eq!(
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) },
        child
    );
}

fn play(mut stream: impl Read + Write, is_first: bool) {
    let mut text = *b"some";
    for turn in 0..2 * TURNS {
        if (turn % 2 == 0) == is_first {
            stream.write_all(&text).unwrap()
        } else {
            stream.read_exact(&mut text).unwrap()
        }
    }
}

fn event() -> i32 {
    // SAFETY: takes numbers.
    let event = unsafe { libc::eventfd(0, 0) };
    assert!(event >= 0);
    event
}

fn add(event: i32) {
    let number = 3_u64;
    // SAFETY: the number is there.
    let written = unsafe { libc::write(event, (&raw const number).cast(), 8) };
    assert_eq!(written, 8);
}

fn take(event: i32) {
    let mut number = 0_u64;
    // SAFETY: there is room for the number.
    assert_eq!(unsafe { libc::read(event, (&raw mut number).cast(), 8) }, 8);
    assert_eq!(number, 3);
}

pub fn sockets() {
    let (near, far) = UnixStream::pair().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (there, back) = (event(), event());
    let ready = pipe();
    let other = thread::spawn(move || {
        here();
        play(far, true);
        play(TcpStream::connect(address).unwrap(), true);
        for _ in 0..TURNS {
            take(there);
            add(back);
        }
        for _ in 0..2 {
            thread::sleep(Duration::from_millis(20));
            write_one(ready[1]);
        }
    });
    here();
    play(near, false);
    play(listener.accept().unwrap().0, false);
    for _ in 0..TURNS {
        add(there);
        take(back);
    }
    poll([ready[0], there], -1);
    read_one(ready[0]);
    epoll([ready[0], there]);
    read_one(ready[0]);
    other.join().unwrap();
}

fn poll(descriptors: [i32; 2], timeout_ms: i32) {
    let mut entries = descriptors.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: there are two of them.
    unsafe { libc::poll(entries.as_mut_ptr(), 2, timeout_ms) };
}

fn epoll(descriptors: [i32; 2]) {
    // SAFETY: takes a number.
    let epoll = unsafe { libc::epoll_create1(0) };
    for descriptor in descriptors {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 1_000_000 + descriptor as u64,
        };
        // SAFETY: the event is there.
        let done = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, descriptor, &mut event) };
        assert_eq!(done, 0);
    }
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: there is room for one.
    assert_eq!(unsafe { libc::epoll_wait(epoll, &mut event, 1, -1) }, 1);
}

extern "C" fn nothing(_: i32) {}

pub fn signals() {
    // SAFETY: the handler does nothing; the set is made before it is read.
    unsafe {
        libc::signal(libc::SIGUSR1, nothing as *const () as libc::sighandler_t);
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGUSR2);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        let waiter = libc::pthread_self() as usize;
        let sender = thread::spawn(move || {
            for signal in [libc::SIGUSR1, libc::SIGUSR2] {
                thread::sleep(Duration::from_millis(50));
                libc::pthread_kill(waiter as libc::pthread_t, signal);
            }
        });
        here();
        thread::sleep(Duration::from_millis(500));
        let mut signal = 0;
        assert_eq!(libc::sigwait(&set, &mut signal), 0);
        assert_eq!(signal, libc::SIGUSR2);
        sender.join().unwrap();
    }
}

pub fn waits_in_vain() {
    here();
    let never = (Mutex::new(()), Condvar::new());
    let guard = never.0.lock().unwrap();
    let (_guard, over) = never
        .1
        .wait_timeout(guard, Duration::from_millis(20))
        .unwrap();
    assert!(over.timed_out());
    let ends = pipe();
    poll([ends[0], ends[0]], 20);
}
