//! The function `run_rank_task(task)`: its value is the answer of the process that it ran.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::child;
use crate::programs::Programs;
use crate::task::Envelope;

pub const NAME: &str = "run_rank_task";

#[derive(Debug, PartialEq, Eq, Hash)]
struct RunRankTask {
    signature: Signature,
    /// Set in an executor; `None` if the process only plans.
    programs: Option<Programs>,
}

pub fn of_executor(programs: Programs) -> Arc<ScalarUDF> {
    function(Some(programs))
}

/// The function in plans, where it cannot be called.
pub fn in_plans() -> Arc<ScalarUDF> {
    function(None)
}

fn function(programs: Option<Programs>) -> Arc<ScalarUDF> {
    // Volatile: no planner computes it, or thinks that two calls are one.
    let signature = Signature::exact(vec![DataType::Utf8], Volatility::Volatile);
    Arc::new(ScalarUDF::new_from_impl(RunRankTask {
        signature,
        programs,
    }))
}

impl ScalarUDFImpl for RunRankTask {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(programs) = &self.programs else {
            return Err(failed(format!("{NAME}: only executors run it")));
        };
        let [tasks] = args.args.as_slice() else {
            return Err(failed(format!("{NAME}: it takes one task")));
        };
        let tasks = tasks.to_array(args.number_rows)?;
        let tasks = tasks
            .as_string_opt::<i32>()
            .ok_or_else(|| failed(format!("{NAME}: a task is a text")))?;
        let answers = tasks.iter().map(|task| {
            let task = task.ok_or_else(|| failed(format!("{NAME}: a task is null")))?;
            let envelope: Envelope = serde_json::from_str(task)
                .map_err(|error| failed(format!("{NAME}: not a task: {error}")))?;
            let answer = child::run(programs, &envelope);
            serde_json::to_string(&answer).map_err(|error| failed(error.to_string()))
        });
        let answers = answers.collect::<Result<Vec<String>>>()?;
        let answers: ArrayRef = Arc::new(StringArray::from(answers));
        Ok(ColumnarValue::Array(answers))
    }
}

fn failed(why: String) -> DataFusionError {
    DataFusionError::Execution(why)
}
