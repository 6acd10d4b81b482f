//! Suggestions for a rule that is about nothing: targets that a user may have meant.

use crate::graph::dependency_graph::Graph;
use crate::graph::walk::PieceKind;
use crate::predict::what_if_rule::Target;

const OFFERED: usize = 5;

pub fn suggestion(graph: &Graph<'_>, target: &Target) -> String {
    let texts = &graph.run.texts;
    let labels = || graph.run.labels.all().iter();
    let names = || labels().filter_map(|label| texts.get(label.name));
    let categories = || labels().filter_map(|label| texts.get(label.category));
    let kinds = || {
        let mut all: Vec<&str> = labels().filter_map(|label| texts.get(label.kind)).collect();
        for piece in PieceKind::ALL {
            all.push(piece.name());
        }
        sorted(all)
    };
    match target {
        Target::Id(_) => {
            "no interval has this id; the tables `path` and `slack` have ids".to_owned()
        }
        Target::Kind(kind) => {
            let all = kinds();
            let near = nearest(kind, &all);
            if near.is_empty() {
                format!("kinds are {}", all.join(", "))
            } else {
                format!("there are: {}", near.join(", "))
            }
        }
        Target::Category(category) => {
            let all = sorted(categories().collect());
            let near = nearest(category, &all);
            match (near.as_slice(), all.as_slice()) {
                ([], []) => "no interval of this run has a category".to_owned(),
                ([], _) => "look at the categories in `by_category`".to_owned(),
                (near, _) => format!("there are: {}", near.join(", ")),
            }
        }
        Target::Name(name) => {
            if categories().any(|category| category == name) {
                return format!("it is a category: `category:{name}=…`");
            }
            if kinds().contains(&name.as_str()) {
                return format!("it is a kind: `kind:{name}=…`");
            }
            let near = nearest(name, &sorted(names().collect()));
            if near.is_empty() {
                "look at the names in `by_name`; a category needs `category:`, a kind `kind:`"
                    .to_owned()
            } else {
                format!("there are: {}", near.join(", "))
            }
        }
    }
}

fn sorted(mut texts: Vec<&str>) -> Vec<&str> {
    texts.retain(|text| !text.is_empty());
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// Names that contain the typed text or are contained in it, and those within an edit distance of a third of its
/// letters, nearest first.
fn nearest<'a>(typed: &str, known: &[&'a str]) -> Vec<&'a str> {
    let typed: Vec<char> = typed.to_lowercase().chars().collect();
    let most = (typed.len() / 3).max(1);
    let text: String = typed.iter().collect();
    let mut near: Vec<(usize, &str)> = known
        .iter()
        .filter_map(|&name| {
            let lower = name.to_lowercase();
            let letters: Vec<char> = lower.chars().collect();
            // Names so much longer or shorter cannot be near; a run may have many, and long ones.
            let is_far = letters.len().abs_diff(typed.len()) > most;
            let distance = if is_far {
                usize::MAX
            } else {
                distance(&typed, &letters)
            };
            let lies_in = lower.contains(&text) || text.contains(&lower);
            (distance <= most || lies_in).then_some((distance, name))
        })
        .collect();
    near.sort_unstable();
    near.into_iter()
        .take(OFFERED)
        .map(|(_, name)| name)
        .collect()
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_hand_is_near_and_another_word_is_not() {
        let known = ["DownProjection", "QkvProjection", "RmsNorm", "aten::mm"];
        assert_eq!(nearest("QkvProjecton", &known), ["QkvProjection"]);
        assert_eq!(nearest("qkvprojektion", &known), ["QkvProjection"]);
        assert_eq!(
            nearest("projection", &known),
            ["QkvProjection", "DownProjection"]
        );
        assert_eq!(nearest("aten::mm_1", &known), ["aten::mm"]);
        assert!(nearest("Softmax", &known).is_empty());
    }
}
