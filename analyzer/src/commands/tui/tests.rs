//! Keys and what the screen then shows, without a terminal.

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use trueno_display_names::DisplayNames;
use trueno_engine::run::Run;
use trueno_execution_graph::{Content, Critical, Graph, load};
use trueno_testing::{Made, sample};

use super::draw::{Looks, draw, tree_lines};
use super::keys::Key;
use super::lane_strip::strip;
use super::state::{Cover, Model, Sort, State};
use super::update::update;

const SOURCE: &str = ".version 8.0\n.entry gemm()\n{\n\tret;\n}\n";

fn graph_of(make: impl FnOnce(&std::path::Path)) -> Graph {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made.run");
    make(&path);
    load(&Run::open(&path).unwrap(), Content::default()).unwrap()
}

fn marked() -> Graph {
    let mut graph = graph_of(sample);
    graph.mark_path(|id| if id == 3 { 360 } else { 0 });
    for (id, slack_ns) in [(3, 0), (5, 40), (4, 90)] {
        let at = graph.find(id).unwrap();
        graph.set_slack(at, Some(slack_ns));
    }
    graph
}

fn with_model<T>(graph: &Graph, test: impl FnOnce(&Model<'_>) -> T) -> T {
    let critical = Critical {
        path_ns: 1000,
        marked_ns: 360,
        gap_ns: 640,
    };
    with_path(graph, Some(critical), test)
}

fn with_path<T>(
    graph: &Graph,
    critical: Option<Critical>,
    test: impl FnOnce(&Model<'_>) -> T,
) -> T {
    let source = |hash: &str| match hash.len() {
        16 => Ok(SOURCE.to_owned()),
        _ => Err(format!("{hash}: not there")),
    };
    test(&Model {
        graph,
        names: DisplayNames::new(graph.names.iter().map(String::as_str)),
        critical,
        can_find_path: critical.is_none(),
        title: "wall 1 µs, 15 rows".to_owned(),
        source: &source,
    })
}

fn press(model: &Model<'_>, state: State, keys: &str) -> State {
    keys.chars().fold(state, |state, c| {
        let key = match c {
            '\n' => Key::Enter,
            '\x1b' => Key::Esc,
            '>' => Key::Right,
            '<' => Key::Left,
            c => Key::Char(c),
        };
        update(state, key, model)
    })
}

fn screen(model: &Model<'_>, state: &State) -> String {
    let backend = TestBackend::new(state.size.0, state.size.1);
    let mut terminal = Terminal::new(backend).unwrap();
    let looks = Looks { coloured: false };
    terminal
        .draw(|frame| draw(frame, state, model, looks))
        .unwrap();
    terminal.backend().to_string()
}

fn names(model: &Model<'_>, state: &State) -> Vec<String> {
    let name = |row: &super::state::Row| match &row.group {
        Some(group) => format!(
            "{}{}",
            " ".repeat(row.depth),
            model.graph.names[group.name as usize]
        ),
        None => format!("{}… {}", " ".repeat(row.depth), row.left_out),
    };
    state.rows.iter().map(name).collect()
}

#[test]
fn it_opens_on_the_lanes_and_shows_what_is_selected() {
    with_model(&marked(), |model| {
        let state = State::new(model, (80, 24));
        insta::assert_snapshot!("start_80x24", screen(model, &state));
        let state = press(model, State::new(model, (120, 40)), "*jjj");
        insta::assert_snapshot!("brick_120x40", screen(model, &state));
        // A kernel, with its launch and the beginning of its source.
        let state = press(model, state, "/gemm\nGk>j");
        insta::assert_snapshot!("kernel_120x40", screen(model, &state));
    });
}

#[test]
fn help_and_sources_cover_the_tree_until_escape() {
    with_model(&marked(), |model| {
        let state = press(model, State::new(model, (80, 24)), "?");
        insta::assert_snapshot!("help_80x24", screen(model, &state));
        let state = press(model, state, "\x1b");
        assert_eq!((state.cover.clone(), state.quit), (None, false));
        // No kernel is selected: a lane.
        let state = press(model, state, "p");
        assert_eq!(
            state.message.as_deref(),
            Some("no source was recorded for this row")
        );
        let state = press(model, state, "*");
        let names = names(model, &state);
        let gemm = names.iter().position(|name| name.trim() == "gemm").unwrap();
        let state = press(model, state, &"j".repeat(gemm));
        let state = press(model, state, "p");
        let Some(Cover::Source(title, text)) = &state.cover else {
            panic!("no source: {:?}", state.message);
        };
        assert!(title.starts_with("gemm.ptx ") && text == SOURCE);
        insta::assert_snapshot!(
            "source_80x24",
            screen(model, &state).replace(&title[9..], "0123456789abcdef")
        );
        assert!(press(model, state, "\x1b\x1b").quit);
    });
}

#[test]
fn rows_open_close_and_are_walked_through() {
    with_model(&marked(), |model| {
        let state = State::new(model, (80, 24));
        assert_eq!(
            names(model, &state),
            ["thread 0 main", " iteration", "gpu0/stream 7"]
        );
        let state = press(model, state, ">");
        assert_eq!(state.selected, 1, "an open row is gone into");
        let state = press(model, state, ">>>");
        assert_eq!(
            names(model, &state)[..5],
            [
                "thread 0 main",
                " iteration",
                "  layer",
                "   QkvProjection",
                "   FfnGateUp"
            ]
        );
        let state = press(model, state, "<");
        assert_eq!(
            (state.selected, state.rows.len()),
            (2, 4),
            "an open row is closed"
        );
        let state = press(model, state, "<");
        assert_eq!(
            state.selected, 1,
            "a closed one leads to what it hangs below"
        );
        let state = press(model, state, "-");
        assert_eq!(names(model, &state), ["thread 0 main", "gpu0/stream 7"]);
    });
}

#[test]
fn the_order_changes_and_the_selection_stays_on_its_row() {
    with_model(&marked(), |model| {
        let state = press(model, State::new(model, (80, 24)), "*jjjj");
        let selected = |state: &State| names(model, state)[state.selected].clone();
        let before = selected(&state);
        let order = |state: &State| -> Vec<String> {
            names(model, state)
                .into_iter()
                .filter(|n| n.starts_with("   ") && !n.starts_with("    "))
                .collect()
        };
        assert_eq!(order(&state), ["   QkvProjection", "   FfnGateUp"]);
        let state = press(model, state, "s");
        assert_eq!(state.sort, Sort::SelfTime);
        assert_eq!(
            (selected(&state), order(&state)[0].as_str()),
            (before.clone(), "   QkvProjection")
        );
        let state = press(model, state, "ss");
        assert_eq!(state.sort, Sort::Start);
        assert_eq!(selected(&state), before);
        // The rows below FfnGateUp in the order in which they began; what has no times was recorded at 0.
        let names = names(model, &state);
        let from = names
            .iter()
            .position(|name| name == "   FfnGateUp")
            .unwrap();
        assert_eq!(
            names[from + 1..from + 6],
            ["softmax", "cudaLaunchKernel", "gemm", "dot", "device"]
                .map(|name| format!("    {name}"))
        );
    });
}

#[test]
fn a_filter_opens_what_it_keeps_and_goes_with_escape() {
    with_model(&marked(), |model| {
        let state = State::new(model, (80, 24));
        let all = names(model, &state);
        let typing = press(model, state, "/qkq");
        assert_eq!(
            (typing.typing.as_deref(), typing.quit),
            (Some("qkq"), false),
            "q is a letter here"
        );
        let typing = update(typing, Key::Backspace, model);
        let state = press(model, typing, "v\n");
        assert_eq!(
            names(model, &state),
            [
                "thread 0 main",
                " iteration",
                "  layer",
                "   QkvProjection",
                "    gemm",
                "    head 0",
                "    h2d",
                "    cudaLaunchKernel"
            ]
        );
        let state = press(model, state, "/nothing like it\n");
        assert_eq!(
            state.message.as_deref(),
            Some("nothing matches nothing like it")
        );
        let state = press(model, state, "/gpu0\n\x1b");
        assert_eq!((names(model, &state), state.quit), (all, false));
        assert!(press(model, state, "\x1b").quit);
    });
}

#[test]
fn the_strip_shows_when_and_where_it_ran() {
    let graph = marked();
    let brick = |id| trueno_execution_graph::Group {
        class: trueno_execution_graph::Class::Brick,
        name: 0,
        members: vec![graph.find(id).unwrap()],
    };
    // 20 to 400: 380 ns in 38 columns of 10.
    let found = strip(&graph, &brick(3), 38).unwrap();
    assert_eq!((found.from_ns, found.to_ns), (20, 400));
    let busy = |lane: usize| -> String {
        found.lanes[lane]
            .busy
            .iter()
            .map(|busy| if *busy > 0 { '#' } else { '.' })
            .collect()
    };
    assert_eq!(busy(0), "#".repeat(38));
    assert_eq!(
        busy(1),
        format!(".{}{}", "#".repeat(17), ".".repeat(20)),
        "the task, 30 to 200"
    );
    assert_eq!(
        busy(2),
        format!("....{}{}", "#".repeat(24), ".".repeat(10)),
        "h2d and gemm, 60 to 300"
    );
    assert!(found.lanes[0].critical.iter().all(|c| *c) && !found.lanes[1].critical.contains(&true));
    assert!(
        strip(&graph, &brick(24), 38).is_none(),
        "a row that is not valid has no times"
    );
}

#[test]
fn names_cannot_move_the_cursor() {
    let graph = graph_of(|path| {
        let mut made = Made::new(path);
        let name = "evil\x1b[31m\nname\u{202e}";
        let row = [
            ("id", 1.into()),
            ("kind", "brick".into()),
            ("name", name.into()),
            ("dur_ns", 5.into()),
        ];
        made.row("bricks", &row);
        made.finish(10);
    });
    with_model(&graph, |model| {
        let screen = screen(model, &press(model, State::new(model, (100, 30)), ">"));
        assert!(screen.contains("evil\\x1b[31m\\nname\\u{202e}"), "{screen}");
        assert!(!screen.contains('\x1b'));
    });
}

fn key() -> impl Strategy<Value = Key> {
    let letters = prop::sample::select(
        "jkhlgG*-smp?/ qax"
            .chars()
            .filter(|c| *c != 'q')
            .collect::<Vec<_>>(),
    );
    prop_oneof![
        6 => letters.prop_map(Key::Char),
        3 => prop::sample::select(vec![
            Key::Up, Key::Down, Key::Left, Key::Right, Key::PageUp, Key::PageDown,
            Key::Home, Key::End, Key::Enter, Key::Backspace, Key::Tab,
        ]),
        1 => (0..140_u16, 0..50_u16).prop_map(|(columns, lines)| Key::Resize(columns, lines)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_typed_there_is_a_screen(keys in proptest::collection::vec(key(), 0..40)) {
        let graph = marked();
        with_model(&graph, |model| {
            let mut state = State::new(model, (80, 24));
            for key in keys {
                state = update(state, key, model);
                prop_assert!(state.selected < state.rows.len());
                prop_assert!(state.first <= state.selected);
                prop_assert!(state.selected < state.first + tree_lines(state.size).max(1));
                // A row hangs below the row before it, or further up.
                let depths: Vec<usize> = state.rows.iter().map(|row| row.depth).collect();
                prop_assert_eq!(depths[0], 0);
                prop_assert!(depths.windows(2).all(|pair| pair[1] <= pair[0] + 1));
                if state.size.0 > 0 && state.size.1 > 0 {
                    screen(model, &state);
                }
            }
            Ok(())
        })?;
    }
}

#[test]
fn the_path_that_was_put_off_is_found_when_a_key_wants_it() {
    let unmarked = graph_of(sample);
    for keys in ["c", "ss"] {
        let left = with_path(&unmarked, None, |model| {
            press(model, State::new(model, (100, 24)), keys)
        });
        assert!(left.wants_path);
        assert!(
            left.message
                .is_some_and(|message| message.contains("critical path"))
        );
    }
    let left = with_path(&unmarked, None, |model| {
        let shown = screen(model, &State::new(model, (100, 24)));
        assert!(!shown.contains(" path"), "{shown}");
        press(model, State::new(model, (100, 24)), ">>c")
    });
    let selected = left.selected;
    with_model(&marked(), |model| {
        let state = left.with_path(model);
        assert!(!state.wants_path && state.message.is_none());
        assert_eq!(state.selected, selected);
        let shown = screen(model, &state);
        assert!(
            shown.contains(" path") && shown.contains("360 ns"),
            "{shown}"
        );
        // It is there.
        assert!(!press(model, state, "c").wants_path);
    });
}
