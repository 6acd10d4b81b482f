//! Patterns of operator names: `*` any letters, `?` one, `{a,b}` either.

const MAX_ALTERNATIVES: usize = 4096;

/// Expands the braces of a pattern; `None` if they do not match or expand to too many names.
pub(crate) fn alternatives(pattern: &str) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    let mut rest = pattern;
    while let Some((plain, behind)) = rest.split_once('{') {
        let (inner, after) = behind.split_once('}')?;
        if plain.contains('}') || inner.contains('{') {
            return None;
        }
        let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
        if all.len().saturating_mul(parts.len()) > MAX_ALTERNATIVES {
            return None;
        }
        all = all
            .iter()
            .flat_map(|name| parts.iter().map(move |part| format!("{name}{plain}{part}")))
            .collect();
        rest = after;
    }
    if rest.contains('}') {
        return None;
    }
    all.iter_mut().for_each(|name| name.push_str(rest));
    Some(all)
}

pub(crate) fn is_wild(pattern: &str) -> bool {
    pattern.contains(['*', '?'])
}

pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut in_name) = (0, 0);
    // Where the last `*` stands, and how much of the name it takes so far.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => {
                let Some((place, taken)) = star else {
                    return false;
                };
                star = Some((place, taken + 1));
                at = place + 1;
                in_name = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}
