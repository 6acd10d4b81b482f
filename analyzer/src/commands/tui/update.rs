//! Actions of keys.

use super::draw;
use super::keys::Key;
use super::state::{Cover, Model, State};

pub fn update(mut state: State, key: Key, model: &Model<'_>) -> State {
    state.message = None;
    match key {
        Key::Quit | Key::EndOfInput => state.quit = true,
        Key::Resize(columns, lines) => state.size = (columns, lines),
        key if state.typing.is_some() => typing(&mut state, key, model),
        key if state.cover.is_some() => cover(&mut state, key),
        key => tree(&mut state, key, model),
    }
    follow(&mut state);
    state
}

fn typing(state: &mut State, key: Key, model: &Model<'_>) {
    let mut text = state.typing.take().unwrap_or_default();
    match key {
        Key::Esc => return,
        Key::Enter => return state.look_for(model, &text),
        Key::Backspace => {
            text.pop();
        }
        Key::Char(c) => text.push(c),
        _ => {}
    }
    state.typing = Some(text);
}

fn cover(state: &mut State, key: Key) {
    let page = usize::from(state.size.1).saturating_sub(4).max(1);
    match key {
        Key::Char('q') => state.quit = true,
        Key::Esc | Key::Enter | Key::Char('?' | 'p') => state.cover = None,
        Key::Down | Key::Char('j') => state.scroll += 1,
        Key::Up | Key::Char('k') => state.scroll = state.scroll.saturating_sub(1),
        Key::PageDown | Key::Char(' ') => state.scroll += page,
        Key::PageUp => state.scroll = state.scroll.saturating_sub(page),
        Key::Home => state.scroll = 0,
        _ => {}
    }
    let lines = match &state.cover {
        Some(Cover::Source(_, text)) => text.lines().count(),
        Some(Cover::Help) => draw::HELP.len(),
        None => 0,
    };
    state.scroll = state.scroll.min(lines.saturating_sub(page));
}

fn tree(state: &mut State, key: Key, model: &Model<'_>) {
    let last = state.rows.len().saturating_sub(1);
    let page = draw::tree_lines(state.size).max(1);
    match key {
        Key::Char('q') => state.quit = true,
        Key::Esc if state.filter.is_some() => state.look_for(model, ""),
        Key::Esc => state.quit = true,
        Key::Down | Key::Char('j') => state.selected = (state.selected + 1).min(last),
        Key::Up | Key::Char('k') => state.selected = state.selected.saturating_sub(1),
        Key::PageDown => state.selected = (state.selected + page).min(last),
        Key::PageUp => state.selected = state.selected.saturating_sub(page),
        Key::Home | Key::Char('g') => state.selected = 0,
        Key::End | Key::Char('G') => state.selected = last,
        Key::Right | Key::Char('l') | Key::Enter => {
            let open = state.selected().is_some_and(|row| row.is_open);
            match key {
                Key::Enter if open => state.close(),
                // A second time goes in.
                _ if open => state.selected = (state.selected + 1).min(last),
                _ => state.open(model),
            }
        }
        Key::Left | Key::Char('h') => {
            if state.selected().is_some_and(|row| row.is_open) {
                state.close();
            } else if let Some(above) = state.above() {
                state.selected = above;
            }
        }
        Key::Char('*') => state.open_below(model, false),
        Key::Char('-') => state.close_all(model),
        Key::Char('s') => state.change_sort(model),
        Key::Char('m') => state.change_merge(model),
        Key::Char('/') => state.typing = Some(String::new()),
        Key::Char('p') => source(state, model),
        Key::Char('c') => state.find_path(model),
        Key::Char('?') => (state.cover, state.scroll) = (Some(Cover::Help), 0),
        _ => {}
    }
}

/// Shows the source of the selected kernel, or of the most launched one if there are several.
fn source(state: &mut State, model: &Model<'_>) {
    let group = state.selected().and_then(|row| row.group.as_ref());
    let launches = group.map_or(Vec::new(), |group| model.graph.launches(&group.members));
    let found = launches.iter().find_map(|(launch, _)| {
        let hash = launch.ptx.as_ref()?;
        Some((hash, launch.ptx_name.as_deref().unwrap_or("source")))
    });
    let Some((hash, name)) = found else {
        state.message = Some("no source was recorded for this row".to_owned());
        return;
    };
    match (model.source)(hash) {
        Ok(text) => {
            let title = format!("{name} {hash}");
            (state.cover, state.scroll) = (Some(Cover::Source(title, text)), 0);
        }
        Err(why) => state.message = Some(why),
    }
}

fn follow(state: &mut State) {
    let lines = draw::tree_lines(state.size).max(1);
    state.selected = state.selected.min(state.rows.len().saturating_sub(1));
    let first = state.first.min(state.selected);
    state.first = first.max((state.selected + 1).saturating_sub(lines));
}
