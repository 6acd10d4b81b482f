//! A finding as a rule writes it; the rest follows from its gain.

use super::Options;
use crate::class::Class;
use crate::facts::{Facts, Without};
use crate::verdict::{Bottleneck, Confidence, Severity, Verdicts};
use crate::wording;

/// Fewer rows are no pattern.
pub const MIN_ROWS: u64 = 3;

/// Texts and facts that a rule gives of one bottleneck.
pub struct Draft {
    pub class: Class,
    pub code: &'static str,
    pub scope_kind: &'static str,
    pub scope: String,
    pub place: String,
    pub confidence: (Confidence, String),
    /// The problem, with its figure.
    pub lead: String,
    /// The fix, as the subject of `saves up to …`; or, without a gain, what to do.
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

    /// A finding with a gain in time, if it is worth a word; no more than the run would save without any of what the fix makes
    /// less of.
    pub fn with_gain(
        self,
        facts: &Facts,
        options: &Options,
        (gain_ns, without): (i64, Without<'_>),
        verdicts: &mut Verdicts,
    ) {
        let gain_ns = gain_ns.min(facts.most_ns(&without));
        let share = facts.share(gain_ns);
        if gain_ns > 0 && share >= options.general.least_share {
            verdicts.findings.push(self.finish(
                Severity::from_share(share, &options.general),
                Some((gain_ns, share)),
            ));
        }
    }

    /// The same of so many rows: few of them are no pattern.
    pub fn with_gain_of_rows(
        mut self,
        rows: u64,
        facts: &Facts,
        options: &Options,
        gain: (i64, Without<'_>),
        verdicts: &mut Verdicts,
    ) {
        let most = if rows < MIN_ROWS {
            self.confidence = (
                Confidence::Low,
                format!("only {}", wording::many(rows, "row")),
            );
            Severity::Medium
        } else {
            Severity::Critical
        };
        let mut found = Verdicts::default();
        self.with_gain(facts, options, gain, &mut found);
        for mut finding in found.findings {
            finding.severity = finding.severity.min(most);
            verdicts.findings.push(finding);
        }
    }

    /// A finding of something else than time.
    pub fn without_gain(self, severity: Severity, verdicts: &mut Verdicts) {
        verdicts.findings.push(self.finish(severity, None));
    }
}
