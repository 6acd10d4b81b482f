use proptest::prelude::*;

use super::*;
use crate::plugin::Input;

/// A plugin that reads these tables; a leading `?` makes the input optional.
fn plugin(id: &str, reads: &[&str]) -> Descriptor {
    let input = |(i, table): (usize, &&str)| Input {
        name: format!("input_{i}"),
        sql: format!(
            "SELECT * FROM {} AS t WHERE 1 = 1",
            table.trim_start_matches('?')
        ),
        baseline: false,
        optional: table.starts_with('?'),
    };
    Descriptor {
        id: id.into(),
        version: "1".into(),
        summary: String::new(),
        build: String::new(),
        abi_minor: 0,
        inputs: reads.iter().enumerate().map(input).collect(),
        merge_inputs: None,
    }
}

fn plan_of(plugins: &[Descriptor], selection: &PluginSelection) -> Vec<Step> {
    plan(&plugins.iter().collect::<Vec<_>>(), selection).unwrap()
}

fn ids(steps: &[Step]) -> Vec<&str> {
    steps.iter().map(|step| step.id.as_str()).collect()
}

#[test]
fn without_needs_the_order_is_by_id() {
    let plugins = [
        plugin("sanity", &["bricks"]),
        plugin("category", &["bricks"]),
        plugin("critical_path", &[]),
    ];
    assert_eq!(
        ids(&plan_of(&plugins, &PluginSelection::default())),
        ["category", "critical_path", "sanity"]
    );
}

#[test]
fn a_plugin_runs_after_what_it_reads() {
    let plugins = [
        plugin("a", &["z.t"]),
        plugin("z", &["m.t"]),
        plugin("m", &["bricks"]),
    ];
    let steps = plan_of(&plugins, &PluginSelection::default());
    assert_eq!(ids(&steps), ["m", "z", "a"]);
    assert!(steps.iter().all(|step| step.blocked.is_none()));
}

#[test]
fn tables_are_found_in_joins_subqueries_and_common_table_expressions() {
    let mut a = plugin("a", &["bricks"]);
    a.inputs[0].sql =
        "WITH x AS (SELECT * FROM b.one) SELECT * FROM x JOIN c.two ON x.i = c.two.i \
                       WHERE x.i IN (SELECT i FROM d.three)"
            .into();
    let needs: Vec<String> = needs_of(&a)
        .iter()
        .map(|need| format!("{}.{}", need.plugin, need.table))
        .collect();
    assert_eq!(needs, ["b.one", "c.two", "d.three"]);
}

#[test]
fn a_cycle_is_named_and_costs_its_members_only() {
    let plugins = [
        plugin("a", &["b.t"]),
        plugin("b", &["c.t"]),
        plugin("c", &["a.t"]),
        plugin("d", &["bricks"]),
        plugin("e", &["e.own"]),
    ];
    let steps = plan_of(&plugins, &PluginSelection::default());
    let blocked: Vec<(&str, String)> = steps
        .iter()
        .filter_map(|step| match &step.blocked {
            Some(Blocked::Cycle(text)) => Some((step.id.as_str(), text.clone())),
            _ => None,
        })
        .collect();
    let cycle = "plugins read each other in a cycle: a reads b reads c reads a".to_owned();
    let own = "plugins read each other in a cycle: e reads e".to_owned();
    assert_eq!(
        blocked,
        [
            ("a", cycle.clone()),
            ("b", cycle.clone()),
            ("c", cycle),
            ("e", own)
        ]
    );
    assert!(
        steps
            .iter()
            .any(|step| step.id == "d" && step.blocked.is_none())
    );
}

#[test]
fn a_missing_plugin_blocks_unless_the_input_is_optional() {
    let plugins = [
        plugin("a", &["ghost.t"]),
        plugin("b", &["?ghost.t"]),
        plugin("c", &["?ghost.t", "ghost.t"]),
    ];
    let steps = plan_of(&plugins, &PluginSelection::default());
    let text = |i: usize| match &steps[i].blocked {
        Some(Blocked::Missing(text)) => text.as_str(),
        _ => "",
    };
    assert!(
        text(0).contains("ghost.t") && text(0).contains("no plugin ghost"),
        "{}",
        text(0)
    );
    assert_eq!(text(1), "");
    assert!(
        text(2).contains("ghost.t"),
        "one input that needs it is enough"
    );
}

#[test]
fn only_runs_what_is_needed_and_shows_what_is_asked() {
    let plugins = [
        plugin("a", &["b.t"]),
        plugin("b", &["bricks"]),
        plugin("c", &["bricks"]),
    ];
    let steps = plan_of(
        &plugins,
        &PluginSelection {
            only: vec!["a".into()],
            skip: vec![],
        },
    );
    assert_eq!(ids(&steps), ["b", "a"]);
    assert_eq!(
        steps.iter().map(|step| step.shown).collect::<Vec<_>>(),
        [false, true]
    );
}

#[test]
fn skipping_a_plugin_blocks_those_that_need_it() {
    let plugins = [plugin("a", &["b.t"]), plugin("b", &["bricks"])];
    let steps = plan_of(
        &plugins,
        &PluginSelection {
            only: vec![],
            skip: vec!["b".into()],
        },
    );
    assert_eq!(ids(&steps), ["a"]);
    assert!(
        matches!(&steps[0].blocked, Some(Blocked::Missing(text)) if text.contains("--skip leaves out b"))
    );
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let plugins = [plugin("a", &[]), plugin("b", &[])];
    let refs: Vec<&Descriptor> = plugins.iter().collect();
    let error = plan(
        &refs,
        &PluginSelection {
            only: vec!["c".into()],
            skip: vec![],
        },
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "--plugin-id c: no such plugin (hint: the plugins are a, b)"
    );
}

proptest! {
    /// For any graph and any order of loading, the plan is the same and every plugin runs after those that it
    /// reads.
    #[test]
    fn the_order_does_not_depend_on_the_order_of_loading(
        edges in proptest::collection::vec((0..7_usize, 0..7_usize), 0..14),
        shuffle in Just((0..7_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let name = |i: usize| format!("p{i}");
        let plugins: Vec<Descriptor> = (0..7)
            .map(|i| {
                let reads: Vec<String> =
                    edges.iter().filter(|(a, _)| *a == i).map(|(_, b)| format!("p{b}.t")).collect();
                plugin(&name(i), &reads.iter().map(String::as_str).collect::<Vec<_>>())
            })
            .collect();
        let shuffled: Vec<Descriptor> = shuffle.iter().map(|i| plugins[*i].clone()).collect();
        let one = plan_of(&plugins, &PluginSelection::default());
        let other = plan_of(&shuffled, &PluginSelection::default());
        let strip = |steps: &[Step]| steps.iter().map(|s| (s.id.clone(), s.blocked.clone())).collect::<Vec<_>>();
        prop_assert_eq!(strip(&one), strip(&other));
        prop_assert_eq!(one.len(), 7);
        for (i, step) in one.iter().enumerate() {
            for need in &step.needs {
                let at = one.iter().position(|s| s.id == need.plugin).unwrap();
                let both_cyclic = matches!((&step.blocked, &one[at].blocked), (Some(Blocked::Cycle(a)), Some(Blocked::Cycle(b))) if a == b);
                prop_assert!(at < i || both_cyclic, "{} runs before {}", step.id, need.plugin);
            }
        }
    }
}
