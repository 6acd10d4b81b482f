//! Everything that is known of the selected row, and where each value comes from.

use trueno_execution_graph::Class;
use trueno_model::units::{NOT_MEASURED, Unit, duration, percent, show};
use trueno_model::{Cell, width};

use super::state::{Model, Row};

pub fn detail(model: &Model<'_>, row: &Row) -> Vec<(String, bool)> {
    let graph = model.graph;
    let totals = &row.totals;
    let time = |ns: i64| duration(ns as f64);
    let number = |value: u64| show(Cell::U64(value), Unit::None);
    let Some(group) = &row.group else {
        return vec![
            (
                format!("{} rows that are not listed", number(row.left_out as u64)),
                true,
            ),
            (
                times(totals.host_ns, totals.self_ns, totals.device_ns),
                false,
            ),
        ];
    };
    let mut lines = vec![(
        width::printable(&graph.names[group.name as usize]).into_owned(),
        true,
    )];
    let mut say = |line: String| lines.push((line, false));
    match group.members[..] {
        [one] if group.class == Class::Lane => {
            let kind = if graph.lane(one).is_device {
                "device stream"
            } else {
                "host thread"
            };
            say(format!("{kind}; host is its busy time (computed)"));
        }
        [one] => {
            let node = graph.node(one);
            say(format!(
                "{}{}, id {}, on {}",
                group.class.word(),
                graph.suffix(&[one]),
                node.id,
                width::printable(&graph.lane(one).name)
            ));
            say(match totals.untimed {
                [0, 0, 0] => format!(
                    "from {} to {} (measured)",
                    time(node.start_ns),
                    time(node.end_ns())
                ),
                [1, _, _] => format!(
                    "somewhere in {} to {}: bound by a wait, in no sum",
                    time(node.start_ns),
                    time(node.end_ns())
                ),
                [_, 1, _] => "its times are not valid, and in no sum".to_owned(),
                _ => "its times are impossible, and in no sum".to_owned(),
            });
        }
        _ => {
            say(format!("{} × {}", group.class.word(), number(totals.count)));
            if let Some([min, median, max]) = totals.spread_ns {
                say(format!(
                    "min {}, median {}, max {} (measured)",
                    time(min),
                    time(median),
                    time(max)
                ));
            }
            let [bound, invalid, impossible] = totals.untimed;
            if bound + invalid + impossible > 0 {
                say(format!(
                    "in no sum: {bound} bound, {invalid} not valid, {impossible} with impossible times"
                ));
            }
        }
    }
    say(times(totals.host_ns, totals.self_ns, totals.device_ns));
    let share = graph.share(totals.host_ns.or(totals.device_ns));
    let mut rest = vec![format!(
        "share of wall {}",
        share.map_or_else(|| NOT_MEASURED.to_owned(), percent)
    )];
    if model.critical.is_some() {
        rest.push(format!(
            "critical path {} (own {})",
            time(totals.path_ns),
            time(totals.path_self_ns)
        ));
        rest.push(format!(
            "slack {}",
            totals
                .slack_ns
                .map_or_else(|| NOT_MEASURED.to_owned(), time)
        ));
    }
    say(format!("{} (computed)", rest.join(", ")));
    if let Some(elements) = totals.elements {
        say(format!("elements {} (declared)", number(elements)));
    }
    if let [one] = group.members[..] {
        for (key, value) in graph.attributes.of(graph.node(one).id) {
            let said = format!("{key} {value} (declared)");
            say(width::printable(&said).into_owned());
        }
    }
    let launches = graph.launches(&group.members);
    for (launch, count) in &launches {
        let times = if group.is_one() {
            String::new()
        } else {
            format!("  × {}", number(*count))
        };
        say(format!("{}{times}", width::printable(&launch.text())));
    }
    if let Some(hash) = launches.iter().find_map(|(launch, _)| launch.ptx.as_ref()) {
        match (model.source)(hash) {
            Ok(text) => {
                say("source (p shows all of it):".to_owned());
                text.lines()
                    .filter(|line| !line.trim().is_empty())
                    .take(40)
                    .for_each(|line| {
                        say(format!(
                            "  {}",
                            width::printable(&line.replace('\t', "    "))
                        ))
                    });
            }
            Err(why) => say(why),
        }
    }
    lines
}

fn times(host_ns: Option<i64>, self_ns: Option<i64>, device_ns: Option<i64>) -> String {
    let time =
        |ns: Option<i64>| ns.map_or_else(|| NOT_MEASURED.to_owned(), |ns| duration(ns as f64));
    format!(
        "host {}, self {}, device {}",
        time(host_ns),
        time(self_ns),
        time(device_ns)
    )
}
