//! Graphs that were recorded as a whole: one row a launch.

use trueno_cupti::kind;
use trueno_format::schema::KernelRow;

use super::build::Build;
use super::host_rows::correlation;
use crate::Error;
use crate::cuda::device_waits::Work;

impl Build {
    pub(super) fn graphs(&mut self, work: &mut Vec<(i64, Work)>) -> Result<(), Error> {
        let mut graphs = std::mem::take(&mut self.from.graphs);
        graphs.sort_by_key(|graph| (graph.start, graph.correlation));
        for graph in graphs {
            let Some(interval) = self.sound(&kind::name(kind::GRAPH_TRACE), graph.start, graph.end)
            else {
                continue;
            };
            let id = self.id();
            let launch = self.launch(graph.correlation);
            let stream = self.stream(Some(graph.device), graph.context, graph.stream);
            let stated = launch.and_then(|launch| launch.brick());
            let row = KernelRow {
                id,
                brick: self.brick_of(stated, graph.correlation, id)?,
                name: self.text(&format!("graph {}", graph.graph)),
                backend: Some(self.text("cuda")),
                thread: launch.map(|launch| launch.thread),
                device: Some(graph.device),
                stream,
                correlation: correlation(graph.correlation),
                start_ns: interval.start,
                dur_ns: interval.dur,
                timing: self.text("device"),
                ..KernelRow::default()
            };
            self.add(&row)?;
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
