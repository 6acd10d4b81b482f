//! State of the screen, as data. A key makes the next state of one; nothing else does.

use std::collections::BTreeSet;

use trueno_display_names::DisplayNames;
use trueno_execution_graph::{Critical, Filter, Graph, Group, Limits, Totals, pick};

/// Children listed per row; one row stands for the rest.
const MAX_ROWS: usize = 500;
/// Most rows opened by one key.
const OPEN_AT_ONCE: usize = 300;

pub struct Model<'a> {
    pub graph: &'a Graph,
    /// Shortened names for the tree. The detail pane has full names.
    pub names: DisplayNames,
    pub critical: Option<Critical>,
    pub can_find_path: bool,
    /// Head line: the length of the run, and whether it is complete.
    pub title: String,
    pub source: &'a dyn Fn(&str) -> Result<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Inclusive,
    SelfTime,
    Slack,
    Start,
}

impl Sort {
    pub fn word(self) -> &'static str {
        match self {
            Sort::Inclusive => "inclusive time",
            Sort::SelfTime => "self time",
            Sort::Slack => "slack, least first",
            Sort::Start => "start",
        }
    }

    fn next(self) -> Sort {
        match self {
            Sort::Inclusive => Sort::SelfTime,
            Sort::SelfTime => Sort::Slack,
            Sort::Slack => Sort::Start,
            Sort::Start => Sort::Inclusive,
        }
    }
}

#[derive(Clone)]
pub struct Row {
    pub depth: usize,
    /// `None` for the row that stands for the children left out.
    pub group: Option<Group>,
    pub left_out: usize,
    pub totals: Totals,
    pub is_open: bool,
    pub has_below: bool,
}

impl Row {
    /// Identifies a row whatever the order: no two rows share a node.
    fn key(&self) -> Option<u32> {
        self.group
            .as_ref()
            .and_then(|group| group.members.iter().min().copied())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cover {
    Help,
    Source(String, String),
}

#[derive(Clone)]
pub struct State {
    pub rows: Vec<Row>,
    pub selected: usize,
    pub first: usize,
    pub sort: Sort,
    pub merge: bool,
    pub filter: Option<(String, Filter)>,
    /// Text being typed after `/`.
    pub typing: Option<String>,
    pub cover: Option<Cover>,
    pub scroll: usize,
    /// Message shown until the next key.
    pub message: Option<String>,
    pub quit: bool,
    /// The critical path must be found before the next frame.
    pub wants_path: bool,
    pub size: (u16, u16),
    open: BTreeSet<u32>,
}

impl State {
    /// Shows the lanes, with the longest one open.
    pub fn new(model: &Model<'_>, size: (u16, u16)) -> State {
        let mut state = State {
            rows: Vec::new(),
            selected: 0,
            first: 0,
            sort: Sort::Inclusive,
            merge: true,
            filter: None,
            typing: None,
            cover: None,
            scroll: 0,
            message: None,
            quit: false,
            wants_path: false,
            size,
            open: BTreeSet::new(),
        };
        state.rebuild(model);
        state.open(model);
        state
    }

    pub fn selected(&self) -> Option<&Row> {
        self.rows.get(self.selected)
    }

    fn keeps(&self) -> Option<&Filter> {
        self.filter.as_ref().map(|(_, filter)| filter)
    }

    /// Rebuilds the rows. Open rows stay open, and the selection stays on its row if it still exists.
    pub(super) fn rebuild(&mut self, model: &Model<'_>) {
        let selected = self.selected().and_then(Row::key);
        let lanes = model.graph.top(self.merge, self.keeps());
        self.rows = self.sorted(model, lanes, 0);
        let mut at = 0;
        while at < self.rows.len() {
            if self.rows[at]
                .key()
                .is_some_and(|key| self.open.contains(&key))
            {
                self.open_at(model, at);
            }
            at += 1;
        }
        let found =
            selected.and_then(|key| self.rows.iter().position(|row| row.key() == Some(key)));
        self.selected = found.unwrap_or(0);
    }

    fn sorted(&self, model: &Model<'_>, groups: Vec<Group>, depth: usize) -> Vec<Row> {
        let graph = model.graph;
        let limits = Limits {
            top: MAX_ROWS,
            min_share: 0.0,
        };
        let picked = pick(graph, groups, limits, self.sort != Sort::Start);
        let mut rows: Vec<Row> = picked
            .shown
            .into_iter()
            .map(|(group, totals)| Row {
                depth,
                has_below: graph.has_below(&group, self.keeps()),
                group: Some(group),
                left_out: 0,
                totals,
                is_open: false,
            })
            .collect();
        match self.sort {
            // They come so.
            Sort::Inclusive | Sort::Start => {}
            Sort::SelfTime => rows.sort_by_key(|row| {
                std::cmp::Reverse(
                    row.totals.self_ns.max(
                        row.totals
                            .device_ns
                            .filter(|_| row.totals.host_ns.is_none()),
                    ),
                )
            }),
            // Those without a slack come last.
            Sort::Slack => {
                rows.sort_by_key(|row| (row.totals.slack_ns.is_none(), row.totals.slack_ns))
            }
        }
        rows.extend(picked.rest.map(|rest| Row {
            depth,
            group: None,
            left_out: rest.rows,
            totals: rest.totals,
            is_open: false,
            has_below: false,
        }));
        rows
    }

    fn open_at(&mut self, model: &Model<'_>, at: usize) {
        let row = &self.rows[at];
        let (Some(group), false, true) = (&row.group, row.is_open, row.has_below) else {
            return;
        };
        let below = model.graph.below(group, self.merge, self.keeps());
        let rows = self.sorted(model, below, row.depth + 1);
        self.open.extend(row.key());
        self.rows[at].is_open = true;
        self.rows.splice(at + 1..at + 1, rows);
    }

    fn end_of(&self, at: usize) -> usize {
        let depth = self.rows[at].depth;
        let rest = &self.rows[at + 1..];
        at + 1
            + rest
                .iter()
                .position(|row| row.depth <= depth)
                .unwrap_or(rest.len())
    }

    pub(super) fn open(&mut self, model: &Model<'_>) {
        if self.selected < self.rows.len() {
            self.open_at(model, self.selected);
        }
    }

    pub(super) fn close(&mut self) {
        let Some(row) = self.rows.get(self.selected).filter(|row| row.is_open) else {
            return;
        };
        if let Some(key) = row.key() {
            self.open.remove(&key);
        }
        let end = self.end_of(self.selected);
        self.rows[self.selected].is_open = false;
        self.rows.drain(self.selected + 1..end);
    }

    pub(super) fn close_all(&mut self, model: &Model<'_>) {
        self.open.clear();
        self.rebuild(model);
    }

    /// Opens the descendants of a row, or of all rows, level by level up to a limit.
    pub(super) fn open_below(&mut self, model: &Model<'_>, all: bool) {
        let before = self.rows.len();
        let mut from = if all { 0 } else { self.selected };
        let mut opened = true;
        while opened {
            opened = false;
            let mut end = match self.rows.get(from) {
                Some(_) if !all => self.end_of(from),
                _ => self.rows.len(),
            };
            let mut at = from;
            while at < end {
                if !self.rows[at].is_open && self.rows[at].has_below {
                    if self.rows.len() - before > OPEN_AT_ONCE {
                        self.message = Some("there is more; open it row by row".to_owned());
                        return;
                    }
                    let rows = self.rows.len();
                    self.open_at(model, at);
                    let added = self.rows.len() - rows;
                    (at, end) = (at + added, end + added);
                    opened = true;
                }
                at += 1;
            }
            if all {
                from = 0;
            }
        }
    }

    pub(super) fn above(&self) -> Option<usize> {
        let depth = self.selected()?.depth;
        self.rows[..self.selected]
            .iter()
            .rposition(|row| row.depth < depth)
    }

    pub(super) fn change_sort(&mut self, model: &Model<'_>) {
        self.sort = self.sort.next();
        if self.sort == Sort::Slack {
            self.find_path(model);
        }
        self.rebuild(model);
    }

    /// Requests the critical path and slack if they are missing.
    pub(super) fn find_path(&mut self, model: &Model<'_>) {
        if model.can_find_path {
            self.wants_path = true;
            self.message = Some("finding the critical path and slack …".to_owned());
        }
    }

    /// Keeps the rows for a graph that now has the path.
    pub(super) fn with_path(mut self, model: &Model<'_>) -> State {
        self.wants_path = false;
        if self
            .message
            .as_deref()
            .is_some_and(|message| message.starts_with("finding "))
        {
            self.message = None;
        }
        self.rebuild(model);
        self
    }

    pub(super) fn change_merge(&mut self, model: &Model<'_>) {
        self.merge = !self.merge;
        // A row is now many, or part of one: only the lanes stay the same.
        let lanes = model.graph.lanes.len() as u32;
        self.open.retain(|key| *key < lanes);
        self.rebuild(model);
    }

    pub(super) fn look_for(&mut self, model: &Model<'_>, text: &str) {
        self.open.clear();
        self.filter = None;
        if !text.is_empty() {
            let filter = Filter::new(model.graph, text);
            if filter.fits == 0 {
                self.message = Some(format!("nothing matches {text}"));
            } else {
                self.filter = Some((text.to_owned(), filter));
            }
        }
        self.selected = 0;
        self.rows.clear();
        self.rebuild(model);
        if self.filter.is_some() {
            self.open_below(model, true);
        } else {
            self.open(model);
        }
    }
}
