//! Cuts one lane into segments while the sweep walks it.

use trueno_analysis::lanes::{Class, Label, Lanes, Span};
use trueno_analysis::sweep::{Open, OpenIntervals};
use trueno_analysis::vendors;

use crate::graph::segments::{Cut, Ends, Mark, NONE, Segments, Want, waits_since};
use crate::load::dependencies::Dependency;

pub(crate) struct Cutter<'a> {
    run: &'a Lanes,
    dependencies: &'a [Dependency],
    out: &'a mut Segments,
    ends: &'a mut Ends,
    first: u32,
    cuts: &'a [Cut],
    marks: &'a [Mark],
    /// For every entry of the sweep's stack: the number of segments when it began.
    begun: Vec<u32>,
    /// Waits whose next segment is the target of a dependency: index, end, dependency.
    resuming: Vec<(u32, i64, u32)>,
}

impl<'a> Cutter<'a> {
    /// Cuts one lane. `cuts` are sorted by time, `marks` by interval.
    pub fn new(
        run: &'a Lanes,
        dependencies: &'a [Dependency],
        (out, ends): (&'a mut Segments, &'a mut Ends),
        (cuts, marks): (&'a [Cut], &'a [Mark]),
    ) -> Self {
        let first = out.len() as u32;
        Self {
            run,
            dependencies,
            out,
            ends,
            first,
            cuts,
            marks,
            begun: Vec::new(),
            resuming: Vec::new(),
        }
    }

    fn push(&mut self, span: u32, start_ns: i64, end_ns: i64) {
        let segment = self.out.len() as u32;
        self.out.starts.push(start_ns);
        self.ends.push(segment, start_ns, end_ns);
        self.out.span.push(span);
        self.out.elastic.push(false);
        if self.resuming.is_empty() {
            return;
        }
        let ends = &mut self.out.ends;
        self.resuming.retain(|&(wait, wait_end_ns, dependency)| {
            let resumed = span == wait || start_ns >= wait_end_ns;
            if resumed {
                ends[dependency as usize].1 = segment;
            }
            !resumed
        });
    }

    /// Resolves all cuts up to `until_ns`. Segments that ended by then must be pushed already.
    fn answer(&mut self, spans: &[Span], stack: &[Open<u32>], until_ns: i64) {
        while let Some(cut) = self.cuts.first().filter(|cut| cut.time_ns <= until_ns) {
            self.cuts = &self.cuts[1..];
            let (wanted, index) = (cut.dependency as usize, cut.span.index);
            match cut.want {
                Want::Apart => {}
                Want::Ended => self.out.ends[wanted].0 = self.before(self.out.len() as u32),
                Want::Running => {
                    self.out.ends[wanted].0 = self.running(spans, stack, index, cut.time_ns)
                }
                Want::After => {
                    let end_ns = spans[index as usize].end_ns;
                    self.resuming.push((NONE, end_ns, cut.dependency));
                }
                Want::Resumed => {
                    let since_ns = waits_since(self.run, &self.dependencies[wanted]);
                    self.make_elastic(spans, index, since_ns.unwrap_or(cut.time_ns));
                    self.resuming
                        .push((index, spans[index as usize].end_ns, cut.dependency));
                }
            }
        }
    }

    fn before(&self, segment: u32) -> u32 {
        if segment > self.first {
            segment - 1
        } else {
            NONE
        }
    }

    /// The segment in which `from` was running at `time_ns`. If `from` was in a wait or in another task then,
    /// the segment before that.
    fn running(&self, spans: &[Span], stack: &[Open<u32>], from: u32, time_ns: i64) -> u32 {
        let busy_elsewhere = |index: u32| {
            let span = &spans[index as usize];
            matches!(
                self.run.labels.get(span.label).class,
                Class::Wait | Class::Task
            ) && span.end_ns > time_ns
        };
        let depth = stack
            .iter()
            .rposition(|open| open.item == from)
            .map_or(stack.len(), |at| at + 1);
        match (depth..stack.len()).find(|at| busy_elsewhere(stack[*at].item)) {
            Some(at) => self.before(self.begun[at]),
            None => self.before(self.out.len() as u32),
        }
    }

    /// Marks the existing segments of a wait from `since_ns` on as elastic. What a driver asks of the system meanwhile,
    /// time and again, is part of the wait.
    fn make_elastic(&mut self, spans: &[Span], wait: u32, since_ns: i64) {
        let is_wait = self.label(spans, wait).class == Class::Wait;
        let mut segment = self.out.len();
        while segment > self.first as usize {
            segment -= 1;
            let of_wait = self.out.span[segment] == wait;
            let before = self.out.start_ns(segment) < since_ns;
            if before || self.out.span[segment] < wait || (of_wait && self.out.elastic[segment]) {
                break; // nothing of the wait lies before that, or it is marked
            }
            if of_wait || is_wait && self.is_call_of_system(spans, self.out.span[segment]) {
                self.out.elastic[segment] = true;
                self.out.span[segment] = wait;
            }
        }
    }

    fn label(&self, spans: &[Span], span: u32) -> Label {
        self.run.labels.get(spans[span as usize].label)
    }

    fn is_call_of_system(&self, spans: &[Span], span: u32) -> bool {
        let label = self.label(spans, span);
        label.class == Class::Call && vendors::call(self.run.texts.text(label.name)).is_none()
    }

    pub fn cut(&mut self, spans: &[Span]) {
        let mut open: OpenIntervals<u32> = OpenIntervals::default();
        for (index, span) in (0..).zip(spans) {
            open.advance(span.start_ns, |stack, start_ns, end_ns| {
                self.ran(spans, stack, start_ns, end_ns);
            });
            self.begin(spans, open.stack(), index);
            open.open(span.end_ns, index);
        }
        open.advance(i64::MAX, |stack, start_ns, end_ns| {
            self.ran(spans, stack, start_ns, end_ns);
        });
    }

    fn begin(&mut self, spans: &[Span], stack: &[Open<u32>], index: u32) {
        let span = &spans[index as usize];
        self.answer(spans, stack, span.start_ns);
        self.begun.truncate(stack.len());
        self.begun.push(self.out.len() as u32);
        let segment = self.out.len() as u32;
        while let Some(mark) = self.marks.first().filter(|mark| mark.span.index == index) {
            self.marks = &self.marks[1..];
            let ends = &mut self.out.ends[mark.dependency as usize];
            *(if mark.is_source {
                &mut ends.0
            } else {
                &mut ends.1
            }) = segment;
        }
        if span.dur_ns() == 0 {
            self.push(index, span.start_ns, span.start_ns);
        }
    }

    fn ran(&mut self, spans: &[Span], stack: &[Open<u32>], start_ns: i64, end_ns: i64) {
        let Some(&Open {
            item: innermost, ..
        }) = stack.last()
        else {
            return;
        };
        let mut from_ns = start_ns;
        while let Some(time_ns) = self
            .cuts
            .first()
            .map(|cut| cut.time_ns)
            .filter(|time_ns| *time_ns < end_ns)
        {
            if from_ns < time_ns {
                self.push(innermost, from_ns, time_ns);
                from_ns = time_ns;
            }
            self.answer(spans, stack, time_ns);
        }
        self.push(innermost, from_ns, end_ns);
        self.answer(spans, stack, end_ns);
    }
}
