//! Ids that other libraries gave to calls (`cuptiActivityPushExternalCorrelationId`): what they stand for only those
//! libraries know, so each is kept as it was given, at its call.

use trueno_format::schema::CounterRow;

use super::build::Build;
use crate::Error;
use crate::cuda::cupti_enums::external_kind;

/// From 2^53 on, a value of `counters` (a float) cannot hold every integer.
const TOO_LARGE: u64 = 1 << 53;

impl Build {
    pub(super) fn externals(&mut self) -> Result<(), Error> {
        let mut all = std::mem::take(&mut self.from.externals);
        all.sort_by_key(|of| (of.correlation, of.what, of.external));
        // A call of the runtime and that of the driver in it have a record each, of the same call.
        all.dedup();
        for of in all {
            let Some(call) = self.launch(of.correlation) else {
                self.not_sound("external correlation", "no call that has it");
                continue;
            };
            if of.external >= TOO_LARGE {
                self.not_sound(
                    "external correlation",
                    "the id is 2^53 or more, which a counter cannot hold",
                );
                continue;
            }
            let row = CounterRow {
                time_ns: call.start_ns,
                span: Some(call.call),
                thread: Some(call.thread),
                name: self.text(&format!("external id: {}", external_kind(of.what))),
                value: of.external as f64,
                unit: Some(self.text("id")),
                source: self.text("declared"),
            };
            self.add(&row)?;
        }
        Ok(())
    }
}
