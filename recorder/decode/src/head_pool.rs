//! Attention heads of a layer, here or on worker threads.

use super::attention::{Head, HeadNames, Step};
use super::probe::Probe;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope};
use trueno_recorder::SpanId;

/// Runs heads as tasks, on the calling thread or on workers that live as long as the pool.
pub struct HeadPool<'a> {
    probe: &'a Probe,
    names: &'a [HeadNames],
    workers: Vec<Worker>,
}

struct Worker {
    orders: Sender<Order>,
    reports: Receiver<Report>,
}

struct Order {
    head: Head,
    step: Step,
    parent: Option<SpanId>,
}

enum Report {
    Started(SpanId),
    Done(Head),
}

impl<'a> HeadPool<'a> {
    /// `threads` workers in `scope`, or none if one thread is enough.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, 'a>,
        probe: &'a Probe,
        names: &'a [HeadNames],
        threads: usize,
    ) -> io::Result<HeadPool<'a>> {
        let workers = if threads > 1 { threads } else { 0 };
        let workers = (0..workers)
            .map(|number| Worker::start(scope, probe, names, number))
            .collect::<Result<_, _>>()?;
        Ok(HeadPool {
            probe,
            names,
            workers,
        })
    }

    /// Runs every head and returns the heads in the same order.
    ///
    /// Recorded as a function `attention heads` with a task per head, on the thread that ran it, and with the
    /// caller's waits: first for the task to exist (before that it has no id), then for its end.
    pub fn attend(&self, heads: Vec<Head>, step: Step) -> Vec<Head> {
        let rec = &self.probe.rec;
        let all = rec.function("attention heads");
        let parent = Some(all.id());
        if self.workers.is_empty() {
            let mut orders: Vec<_> = heads
                .into_iter()
                .map(|head| Order { head, step, parent })
                .collect();
            let reverse = self.probe.reverse_heads;
            if reverse {
                orders.reverse();
            }
            let run_one = |order| run(self.probe, self.names, order, |_| ());
            let mut done: Vec<Head> = orders.into_iter().map(run_one).collect();
            if reverse {
                done.reverse();
            }
            return done;
        }
        let count = heads.len();
        for (head, worker) in heads.into_iter().zip(self.workers.iter().cycle()) {
            // A worker that is gone shows when its head is asked for.
            let _ = worker.orders.send(Order { head, step, parent });
        }
        self.workers
            .iter()
            .cycle()
            .take(count)
            .map(|worker| worker.join(self.probe))
            .collect()
    }
}

impl Worker {
    fn start<'scope, 'a>(
        scope: &'scope Scope<'scope, 'a>,
        probe: &'a Probe,
        names: &'a [HeadNames],
        number: usize,
    ) -> io::Result<Worker> {
        let (orders, inbox) = channel::<Order>();
        let (outbox, reports) = channel();
        Builder::new()
            .name(format!("head worker {number}"))
            .spawn_scoped(scope, move || {
                // Ends when the pool, and with it the sending side, is dropped.
                for order in inbox {
                    // The pool is gone only if its thread panicked; then nobody listens.
                    let head = run(probe, names, order, |task| {
                        drop(outbox.send(Report::Started(task)))
                    });
                    drop(outbox.send(Report::Done(head)));
                }
            })?;
        Ok(Worker { orders, reports })
    }

    fn join(&self, probe: &Probe) -> Head {
        let report = || {
            self.reports
                .recv()
                .expect("a head worker ended early; its panic is above")
        };
        let mut wait = probe.rec.wait("join head", &[]);
        loop {
            match report() {
                Report::Started(task) => _ = wait.on(task),
                Report::Done(head) => return head,
            }
        }
    }
}

fn run(probe: &Probe, names: &[HeadNames], mut order: Order, started: impl FnOnce(SpanId)) -> Head {
    let names = &names[order.head.index];
    let task = probe.rec.task(names.task, order.parent);
    started(task.id());
    order.head.attend(probe, names, order.step);
    order.head
}
