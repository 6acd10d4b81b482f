//! Ceilings of the machine, as the program found them.

use trueno_format::schema::TableId;
use trueno_format::{Ceiling, CeilingSource, RecordedCeilings};

use crate::mailbox::Request;
use crate::recorder::Recorder;

impl Recorder {
    /// Records ceilings, and in `run.json` what they are.
    pub fn ceilings(&self, source: &dyn CeilingSource) {
        self.recorded_ceilings(source.recorded());
    }

    pub(crate) fn recorded_ceilings(&self, recorded: RecordedCeilings) {
        for ceiling in recorded.ceilings {
            self.ceiling(ceiling);
        }
        for (key, text) in recorded.values {
            self.value(key, text);
        }
    }

    /// Records a ceiling of the machine.
    pub fn ceiling(&self, ceiling: Ceiling) {
        if self.records(TableId::Ceilings) {
            self.shared().mailbox.request(Request::Ceiling(ceiling));
        }
    }
}
