//! Graphs that were recorded as a whole: one row a launch.

use trueno_cupti::kind;

use super::build::Build;
use super::host_rows::correlation;
use crate::Error;
use crate::cuda::device_waits::Work;
use trueno_recorder::run_writer::Cell;

/// Columns of `kernels` from `grid_x` to `smem_dynamic`, and from `ptx_hash` to `work_source`.
const SHAPE: usize = 9;
const SOURCE_AND_WORK: usize = 6;

impl Build {
    pub(super) fn graphs(&mut self, work: &mut Vec<(i64, Work)>) -> Result<(), Error> {
        let table = self.table("kernels")?;
        let mut graphs = std::mem::take(&mut self.from.graphs);
        graphs.sort_by_key(|graph| (graph.start, graph.correlation));
        for graph in graphs {
            let interval = match self.interval(graph.start, graph.end) {
                Ok(interval) => interval,
                Err(reason) => {
                    self.not_sound(&kind::name(kind::GRAPH_TRACE), reason);
                    continue;
                }
            };
            let id = self.id();
            let launch = self.launch(graph.correlation);
            let stream = self.stream(Some(graph.device), graph.context, graph.stream);
            let mut cells = vec![
                Cell::U64(id),
                launch.and_then(|launch| launch.brick()).into(),
                self.text(&format!("graph {}", graph.graph)),
                self.text("cuda"),
                launch.map(|launch| u64::from(launch.thread)).into(),
                Cell::U64(graph.device.into()),
                stream.map(u64::from).into(),
                correlation(graph.correlation),
                Cell::I64(interval.start),
                Cell::I64(interval.dur),
                self.text("device"),
                Cell::Null, // queued_ns
                Cell::Null, // submitted_ns
            ];
            cells.extend(std::iter::repeat_with(|| Cell::Null).take(SHAPE + SOURCE_AND_WORK));
            cells.push(Cell::Bool(true));
            cells.push(Cell::Null); // reason
            self.into.row(table, &cells)?;
            self.reach(interval);
            let done = Work {
                id,
                process: 0,
                device: Some(graph.device),
                stream,
                launched_ns: 0,
                end_ns: interval.start + interval.dur,
            };
            self.launched(work, launch, interval.start, done)?;
        }
        Ok(())
    }
}
