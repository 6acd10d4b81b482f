//! Profiles of speedscope, which py-spy, rbspy, austin2speedscope, pyinstrument, dotnet-trace and others write.
//!
//! A profile is a thread. A sampled one becomes `samples` with `stacks`: a sample stands where its weight begins. An
//! evented one becomes `bricks` of kind function. In memory are the functions, the different stacks, 12 bytes a sample
//! and 16 an event.
//!
//! Format: `src/lib/file-format-spec.ts` of github.com/jlfwong/speedscope; tried on the sampled files of its
//! `sample/profiles/speedscope` at 3613918d.

mod document;
mod evented;

use trueno_analysis::wording::counted;
use trueno_format::run_writer::RunWriter;
use trueno_format::schema::{SampleRow, ThreadRow};
use trueno_format::stacks::{Frame, Stacks};

use crate::function_names::FunctionNames;
use crate::importer::{Head, Import, Importer};
use crate::json::read_object;
use crate::time::rounded_ns;
use crate::{Error, mended};
use document::{Document, FrameText, Profile};

pub const IMPORTER: Importer = Importer {
    name: "speedscope",
    description: "speedscope's JSON, as py-spy, rbspy, pyinstrument and others write it",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let text = head.text();
    let has = |word: &str| text.contains(word);
    let names_it = has("speedscope.app/file-format-schema.json") || has("\"speedscope@");
    let has_keys = has("\"profiles\"") && (has("\"evented\"") || has("\"sampled\""));
    text.starts_with('{') && (names_it || has_keys)
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let format = mended::Document {
        expected: "JSON of speedscope",
        remedy: "export it again",
        units: "profiles",
        count: |of: &Document| of.profiles.len(),
    };
    let mut document = format.read(&mut import, |document, from| read_object(document, from))?;
    leave_out_malformed(&mut document, &mut import)?;
    if document.profiles.is_empty() {
        return Err(import.refused("expected a list of profiles, found none; export it again"));
    }
    let wall_ns = write(&document, import.of(import.path))?;
    let is_kept = |table: &str| import.notes.kept.contains_key(table);
    if !is_kept("samples") && !is_kept("bricks") {
        return Err(import.refused("expected samples, or functions with times, found none: evented profiles need a unit of time \
                      (nanoseconds to seconds); export it again with one"));
    }
    Ok(wall_ns)
}

/// Leaves out profiles whose stacks are none, and names them.
fn leave_out_malformed(document: &mut Document, import: &mut Import<'_>) -> Result<(), Error> {
    let all = document.profiles.len();
    let malformed = document.profiles.iter().zip(1..);
    let malformed: Vec<(String, &'static str)> = malformed
        .filter_map(|(profile, number)| {
            let found = profile.samples.malformed?;
            let name = match profile.name.as_str() {
                "" => format!("profile {number}"),
                name => name.to_owned(),
            };
            Some((name, found))
        })
        .collect();
    let Some((_, found)) = malformed.first() else {
        return Ok(());
    };
    let names: Vec<&str> = malformed.iter().map(|(name, _)| name.as_str()).collect();
    let text = format!(
        "{} of {} not valid: a stack is a list of numbers of frames, and those of {} hold {found}",
        malformed.len(),
        counted(all as u64, "profile is", "profiles are"),
        some_of(&names),
    );
    if malformed.len() == all {
        return Err(import.refused(format!("{text}; export it again")));
    }
    import.notes.warn(format!("{text}: left out"));
    document
        .profiles
        .retain(|profile| profile.samples.malformed.is_none());
    Ok(())
}

/// Names of a list, of which there may be many.
fn some_of(names: &[&str]) -> String {
    const MAX_NAMED: usize = 4;
    let mut text = names[..names.len().min(MAX_NAMED)].join(", ");
    if let Some(rest @ 1..) = names.len().checked_sub(MAX_NAMED) {
        text.push_str(&format!(" and {rest} more"));
    }
    text
}

/// Nanoseconds per unit; `None` if it is not a unit of time.
fn ns_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "nanoseconds" => 1.0,
        "microseconds" => 1e3,
        "milliseconds" => 1e6,
        "seconds" => 1e9,
        _ => return None,
    })
}

/// Converts times of one profile to the timeline of the run.
#[derive(Clone, Copy, Debug)]
struct Scale {
    ns: f64,
    origin_ns: f64,
}

impl Scale {
    /// `None` if it is out of range.
    fn time_ns(self, value: f64) -> Option<i64> {
        rounded_ns(value * self.ns - self.origin_ns)
    }
}

fn frames(document: &Document, into: &mut RunWriter) -> Vec<Frame> {
    // The line of a sample's frame is often the one that ran; that of an entered function is where it begins.
    let has_first_lines = document
        .profiles
        .iter()
        .all(|profile| profile.kind == "evented");
    let first_line = |frame: &FrameText| frame.line.filter(|_| has_first_lines);
    let mut names = FunctionNames::default();
    for frame in &document.frames {
        names.add(&frame.name, frame.file.as_deref(), first_line(frame));
    }
    let frames = document.frames.iter().map(|frame| {
        let name = names.name(&frame.name, frame.file.as_deref(), first_line(frame));
        Frame {
            function: Some(into.text(&name)).filter(|_| !name.is_empty()),
            file: frame.file.as_ref().map(|file| into.text(file)),
            line: frame.line,
            ..Frame::default()
        }
    });
    frames.collect()
}

fn write(document: &Document, import: Import<'_>) -> Result<Option<i64>, Error> {
    let frames = frames(document, import.into);
    let timed = document.profiles.iter();
    let starts = timed.filter_map(|profile| Some(profile.start * ns_of(&profile.unit)?));
    let origin_ns = starts.reduce(f64::min);
    import.into.run().clock.source = "speedscope".to_owned();
    let mut out = Out {
        frames,
        stacks: Stacks::default(),
        last_id: 0,
        end_ns: None,
        import,
    };
    for (profile, thread) in document.profiles.iter().zip(0..) {
        let scale = ns_of(&profile.unit).zip(origin_ns);
        let scale = scale.map(|(ns, origin_ns)| Scale { ns, origin_ns });
        out.profile(profile, thread, scale)?;
    }
    out.import.count_stacks();
    Ok(out.end_ns)
}

struct Out<'o> {
    frames: Vec<Frame>,
    stacks: Stacks,
    last_id: u64,
    end_ns: Option<i64>,
    import: Import<'o>,
}

impl Out<'_> {
    fn profile(
        &mut self,
        profile: &Profile,
        thread: u32,
        scale: Option<Scale>,
    ) -> Result<(), Error> {
        let row = ThreadRow {
            thread,
            name: Some(self.import.text(&profile.name)).filter(|_| !profile.name.is_empty()),
            start_ns: scale.and_then(|scale| scale.time_ns(profile.start)),
            ..ThreadRow::default()
        };
        self.import.add(&row)?;
        match (profile.kind.as_str(), scale) {
            ("sampled", scale) => self.sampled(profile, thread, scale)?,
            ("evented", Some(scale)) => self.evented(profile, thread, scale)?,
            ("evented", None) => {
                let reason = "event of a profile that does not count time".to_owned();
                let count = profile.events.len() as u64;
                *self.import.notes.left_out.entry(reason).or_default() += count;
            }
            (kind, _) => {
                self.import
                    .notes
                    .leave_out(&format!("profile of the type {kind:?}, which is not known"));
            }
        }
        if let Some(scale) = scale {
            self.reach(scale.time_ns(profile.end));
        }
        Ok(())
    }

    fn reach(&mut self, end_ns: Option<i64>) {
        self.end_ns = self.end_ns.max(end_ns.map(|end_ns| end_ns.max(0)));
    }

    fn frame(&mut self, number: u32) -> Frame {
        match self.frames.get(number as usize) {
            Some(frame) => *frame,
            None => {
                self.import.notes.warn(
                    "some functions are not in the file's list of frames: their names are not known",
                );
                Frame::default()
            }
        }
    }

    fn sampled(
        &mut self,
        profile: &Profile,
        thread: u32,
        scale: Option<Scale>,
    ) -> Result<(), Error> {
        let (samples, weights) = (&profile.samples, &profile.weights);
        if samples.leaves.len() != weights.len() {
            self.import.notes.warn(
                "a profile has not as many weights as samples: samples without a weight take no time",
            );
        }
        if scale.is_none() {
            let text = "profiles count something else than time: when their samples were taken is not known";
            let problems = &mut self.import.into.run().problems;
            if !problems.iter().any(|problem| problem == text) {
                problems.push(text.to_owned());
            }
            self.import.notes.warn(text);
        }
        if weights.iter().any(|weight| Some(weight) != weights.first()) {
            self.import.notes.warn(
                "samples stand for different amounts: shares count samples, the column period has the amounts",
            );
        }
        let event = match scale {
            Some(_) => "time",
            None => profile.unit.as_str(),
        };
        let event = self.import.text(event);
        let mut rows: Vec<u64> = Vec::with_capacity(samples.nodes.len());
        for &(caller, frame) in &samples.nodes {
            let caller = rows.get(caller as usize).copied();
            let frame = self.frame(frame);
            rows.push(self.stacks.row(self.import.into, caller, frame)?);
        }
        let mut at = profile.start;
        for (number, leaf) in samples.leaves.iter().enumerate() {
            self.import.notes.read("sample");
            let weight = weights.get(number).copied();
            let scaled = weight.map(|weight| weight * scale.map_or(1.0, |scale| scale.ns));
            let time_ns = scale.map_or(Some(0), |scale| scale.time_ns(at));
            at += weight.unwrap_or(0.0);
            let Some(time_ns) = time_ns else {
                self.import
                    .notes
                    .leave_out("sample with an impossible time");
                continue;
            };
            let row = SampleRow {
                time_ns,
                thread,
                stack: rows.get(*leaf as usize).copied(),
                event,
                period: scaled
                    .filter(|period| *period >= 0.0)
                    .map(|period| period.round() as u64),
                cpu: None,
            };
            self.import.add(&row)?;
        }
        if let Some(scale) = scale {
            self.reach(scale.time_ns(at));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
