//! A finding as a rule writes it; the rest follows from its gain.

use trueno_analysis::evidence::{Evidence, MIN_TIME_NS, Pattern};

use super::Options;
use crate::class::Class;
use crate::facts::{Facts, Without};
use crate::verdict::{Bottleneck, Confidence, Severity, Verdicts};
use crate::wording;

const TOO_LITTLE: &str = "too little was recorded to predict a gain";

pub struct Draft {
    pub class: Class,
    pub code: &'static str,
    pub scope_kind: &'static str,
    pub scope: String,
    pub place: String,
    pub confidence: (Confidence, String),
    pub lead: String,
    /// The fix, as the subject of `saves up to …`; without a gain, what to do.
    pub fix: String,
    pub evidence: String,
    pub assumption: String,
    pub considered: String,
    pub suggestion: String,
}

impl Draft {
    fn finish(self, severity: Severity, gain: Option<(i64, f64)>) -> Bottleneck {
        let Self { lead, fix, .. } = self;
        let sentence = match gain {
            Some((ns, share)) => format!("{lead}; {fix} {}", wording::gain(ns, share)),
            None => format!("{lead}; {fix}"),
        };
        Bottleneck {
            class: self.class,
            code: self.code,
            scope_kind: self.scope_kind,
            scope: self.scope,
            place: self.place,
            severity,
            gain_ns: gain.map(|gain| gain.0),
            gain_share: gain.map(|gain| gain.1),
            time_share: None,
            confidence: self.confidence,
            sentence,
            evidence: self.evidence,
            assumption: self.assumption,
            considered: self.considered,
            fix,
            suggestion: self.suggestion,
            group: 0,
        }
    }

    /// Adds a finding with a predicted gain unless the gain is below `least_share`. The gain is capped by what
    /// removing `without` entirely would save. With too little evidence the severity is low and no gain is
    /// predicted; neither is one of device work whose dependencies are not recorded.
    pub fn with_gain(
        self,
        facts: &Facts,
        options: &Options,
        evidence: Evidence,
        (gain_ns, without): (i64, Without<'_>),
        verdicts: &mut Verdicts,
    ) {
        if without.is_device_work() && !facts.has_dependencies() {
            let share = facts.share(gain_ns);
            if share >= options.general.least_share {
                let severity = Severity::from_share(share, &options.general);
                self.unpredicted(facts, evidence, severity, verdicts);
            }
            return;
        }
        let gain_ns = gain_ns.min(facts.most_ns(&without));
        let share = facts.share(gain_ns);
        if gain_ns <= 0 || share < options.general.least_share {
            return;
        }
        verdicts.findings.push(if facts.is_enough(evidence) {
            self.finish(
                Severity::from_share(share, &options.general),
                Some((gain_ns, share)),
            )
        } else {
            self.of_too_little(evidence)
        });
    }

    /// Adds a finding that the run states, however short it is.
    pub fn certain(self, severity: Severity, verdicts: &mut Verdicts) {
        verdicts.findings.push(self.finish(severity, None));
    }

    /// Adds a finding that is not about time; with too little evidence its severity is low.
    pub fn without_gain(
        self,
        facts: &Facts,
        evidence: Evidence,
        severity: Severity,
        verdicts: &mut Verdicts,
    ) {
        let severity = if facts.is_enough(evidence) {
            severity
        } else {
            Severity::Low
        };
        let time_share = Some(facts.share(evidence.time_ns));
        verdicts.findings.push(Bottleneck {
            time_share,
            ..self.finish(severity, None)
        });
    }

    /// Adds a finding about device work that was recorded without its launches and dependencies, so what would start
    /// earlier is not known.
    pub fn unpredicted(
        mut self,
        facts: &Facts,
        evidence: Evidence,
        severity: Severity,
        verdicts: &mut Verdicts,
    ) {
        self.fix = "no gain can be predicted: dependencies were not recorded".to_owned();
        self.assumption = "none: what waits for this work was not recorded".to_owned();
        self.without_gain(facts, evidence, severity.min(Severity::High), verdicts);
    }

    fn of_too_little(mut self, evidence: Evidence) -> Bottleneck {
        let time = wording::time(evidence.time_ns);
        let instances = wording::many(evidence.instances, "instance");
        let (why, reason) = match evidence.pattern {
            // Long enough, but too rare for a pattern.
            Pattern::Recurs if evidence.time_ns >= MIN_TIME_NS => (
                format!("only {instances} of {time} in all"),
                format!("no gain is predicted from {instances}"),
            ),
            Pattern::InOneIteration => (
                format!("nearly all of it ({time}) is in one iteration"),
                "no gain is predicted from one iteration".to_owned(),
            ),
            Pattern::Recurs => (
                format!("only {instances} of {time} in all"),
                TOO_LITTLE.to_owned(),
            ),
            Pattern::Once => (format!("it lasts only {time}"), TOO_LITTLE.to_owned()),
        };
        self.confidence = (Confidence::Low, why);
        self.fix = reason;
        self.finish(Severity::Low, None)
    }
}
