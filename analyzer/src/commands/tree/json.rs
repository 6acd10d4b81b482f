//! A tree as data: a flat list, because readers of JSON stop at some depth.

use serde_json::{Map, Value, json};
use trueno_engine::attributes::AttributeValue;
use trueno_execution_graph::{Detail, Graph, Launch};

use super::{Item, Tree};
use crate::commands::graph_input::GraphInput;

pub(super) fn json(look: &GraphInput, tree: &Tree, merged: bool) -> String {
    let facts = look.facts();
    let rows: Vec<Value> = tree
        .items
        .iter()
        .enumerate()
        .map(|(at, item)| row(&look.graph, at, item))
        .collect();
    let value = json!({
        "format": {"major": 1, "minor": 0},
        "run": {
            "run_id": facts.run_id,
            "label": facts.label,
            "wall_ns": look.graph.wall_ns,
            "complete": facts.complete,
        },
        "critical_path": look.critical.map(|critical| json!({
            "path_ns": critical.path_ns,
            "marked_ns": critical.marked_ns,
            "gap_ns": critical.gap_ns,
        })),
        "merged": merged,
        "depth": tree.depth,
        "cut": tree.is_cut,
        "rows": rows,
    });
    format!("{value:#}\n")
}

fn row(graph: &Graph, at: usize, item: &Item) -> Value {
    let totals = &item.totals;
    let [min_ns, median_ns, max_ns] = totals
        .spread_ns
        .map_or([None; 3], |spread| spread.map(Some));
    let [bound, invalid, impossible] = totals.untimed;
    let mut row = Map::new();
    let mut put = |key: &str, value: Value| row.insert(key.to_owned(), value);
    put("row", json!(at));
    put("parent", json!(item.parent));
    put("depth", json!(item.depth));
    put("count", json!(totals.count));
    put("bound", json!(bound));
    put("invalid", json!(invalid));
    put("impossible", json!(impossible));
    put("host_ns", json!(totals.host_ns));
    put("self_ns", json!(totals.self_ns));
    put("device_ns", json!(totals.device_ns));
    put(
        "share",
        json!(graph.share(totals.host_ns.or(totals.device_ns))),
    );
    put("path_ns", json!(totals.path_ns));
    put("path_self_ns", json!(totals.path_self_ns));
    put("slack_ns", json!(totals.slack_ns));
    put("elements", json!(totals.elements));
    put("min_ns", json!(min_ns));
    put("median_ns", json!(median_ns));
    put("max_ns", json!(max_ns));
    let Some(group) = &item.group else {
        put("what", json!("rest"));
        put("name", Value::Null);
        put("left_out", json!(item.left_out));
        return Value::Object(row);
    };
    put("what", json!(group.class.word()));
    put("name", json!(graph.names[group.name as usize]));
    if let [one] = group.members[..] {
        let node = graph.node(one);
        put("lane", json!(graph.lane(one).name));
        if node.id != 0 {
            put("id", json!(node.id));
            put("start_ns", json!(node.start_ns));
            put("dur_ns", json!(node.dur_ns));
        }
        if let Some(detail) = graph.detail(one) {
            put(
                "detail",
                match detail {
                    Detail::Shapes(shapes) => json!(shapes),
                    other => json!(other.suffix().trim_start()),
                },
            );
        }
        let attributes: Map<String, Value> = (graph.attributes.of(node.id))
            .map(|(key, value)| (key.to_owned(), attribute(value)))
            .collect();
        if !attributes.is_empty() {
            put("attributes", Value::Object(attributes));
        }
    }
    let launches = graph.launches(&group.members);
    if !launches.is_empty() {
        put("launches", launches.into_iter().map(launch).collect());
    }
    Value::Object(row)
}

/// Numbers that JSON cannot represent become strings.
fn attribute(value: AttributeValue<'_>) -> Value {
    match value {
        AttributeValue::Integer(value) => json!(value),
        AttributeValue::Unsigned(value) => json!(value),
        AttributeValue::Number(value) if value.is_finite() => json!(value),
        AttributeValue::Number(value) => json!(value.to_string()),
        AttributeValue::Truth(value) => json!(value),
        AttributeValue::Text(value) => json!(value),
    }
}

fn launch((launch, count): (&Launch, u64)) -> Value {
    json!({
        "count": count,
        "grid": launch.grid,
        "block": launch.block,
        "smem_static": launch.smem_static,
        "smem_dynamic": launch.smem_dynamic,
        "registers": launch.registers,
        "ptx": launch.ptx,
        "ptx_name": launch.ptx_name,
        "reason": launch.reason,
    })
}
