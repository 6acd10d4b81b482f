//! Charts beside a report: the timeline and evidence of a page, and a folder of charts.

use std::path::{Path, PathBuf};

use anyhow::Context;
use trueno_engine::run::Run;
use trueno_engine::timeline::{Limits, timeline};
use trueno_export::{StackPictures, stack_pictures};
use trueno_host::evidence;
use trueno_model::categories::CategoryRules;
use trueno_model::evidence::Evidence;
use trueno_model::timeline::{StackPicture, Timeline};
use trueno_model::{Level, Problem, Report};
use trueno_render::chart::{self, Scene, flame};

use super::stderr::Stderr;

#[derive(Clone, Copy)]
pub(super) struct Beside {
    pub(super) evidence: bool,
    pub(super) timeline: bool,
}

impl Beside {
    pub(super) fn is_any(self) -> bool {
        self.evidence || self.timeline
    }
}

pub(super) struct Charts {
    timeline: Option<Timeline>,
    stacks: StackPictures,
    evidence: Evidence,
}

impl Charts {
    /// Reads the timeline, the stacks and the evidence of findings. If one cannot be read, the report gets a
    /// problem and is written without it.
    pub(super) fn gather(
        run: &Run,
        report: &mut Report,
        categories: &CategoryRules,
        beside: Beside,
        stderr: &Stderr,
    ) -> Charts {
        let mut charts = Charts {
            timeline: None,
            stacks: StackPictures::default(),
            evidence: Evidence::default(),
        };
        let of_ranks = !report.header.facts.ranks.is_empty();
        let wall_ns = report.header.facts.wall_ns;
        let made = run
            .sql_context()
            .map_err(|error| error.to_string())
            .and_then(|database| {
                if beside.evidence {
                    stderr.step("looking up evidence of findings");
                    charts.evidence = evidence::gather(report, &database);
                }
                if !beside.timeline {
                    return Ok(None);
                }
                stderr.step("reading the timeline");
                let made = timeline(&database, wall_ns, of_ranks, Limits::default());
                made.map(Some).map_err(|e| e.to_string())
            });
        match made {
            Ok(None) => {}
            Ok(Some(mut made)) => {
                let category = |name: &String| categories.category(name).map(str::to_owned);
                made.categories = made.names.iter().map(category).collect();
                match stack_pictures(run) {
                    Ok(stacks) => charts.stacks = stacks,
                    Err(why) => report.problems.push(Problem {
                        severity: Level::Warning,
                        code: "no_stacks".into(),
                        text: format!("stacks cannot be drawn: {why}"),
                    }),
                }
                if charts.stacks.are_all {
                    // That threads ran or waited is all that their rows say.
                    made.frames.clear();
                }
                charts.timeline = Some(made);
            }
            Err(why) => report.problems.push(Problem {
                severity: Level::Warning,
                code: "no_timeline".into(),
                text: format!("the timeline cannot be drawn: {why}"),
            }),
        }
        charts
    }

    pub(super) fn timeline(&self) -> Option<&Timeline> {
        self.timeline.as_ref()
    }

    pub(super) fn stacks(&self) -> &[StackPicture] {
        &self.stacks.pictures
    }

    pub(super) fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Writes `PLUGIN.N-title.svg` and `.png` for each chart, and the stacks of the run. Returns their paths.
    pub(super) fn write(&self, report: &Report, dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for section in &report.sections {
            for (number, spec) in section.charts.iter().enumerate() {
                if let Some(scene) = chart::scene(spec, section) {
                    let name = format!("{}.{}-{}", section.plugin, number + 1, plain(&spec.title));
                    files.extend(write(&scene, dir, &name)?);
                }
            }
        }
        let frames = self.timeline.as_ref().map(|of| of.frames.as_slice());
        if let Some(scene) = flame::scene("Self time by stack", frames.unwrap_or_default()) {
            files.extend(write(&scene, dir, "stacks")?);
        }
        for picture in self.stacks() {
            if let Some(scene) = flame::scene(picture.title, &picture.frames) {
                files.extend(write(&scene, dir, picture.name)?);
            }
        }
        Ok(files)
    }
}

pub(super) fn write(scene: &Scene, dir: &Path, name: &str) -> anyhow::Result<Vec<PathBuf>> {
    let contents = [
        ("svg", scene.svg_file()?.into_bytes()),
        ("png", scene.png()?),
    ];
    let mut files = Vec::new();
    for (kind, bytes) in contents {
        let path = dir.join(format!("{name}.{kind}"));
        std::fs::write(&path, bytes)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        files.push(path);
    }
    Ok(files)
}

fn plain(title: &str) -> String {
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let mut name: String = title.chars().map(keep).take(60).collect();
    while name.contains("--") {
        name = name.replace("--", "-");
    }
    name.trim_matches('-').to_owned()
}
