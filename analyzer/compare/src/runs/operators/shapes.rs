//! Numbers for names and for shapes of subtrees: equal ones have equal numbers, in all trees that are compared.

use std::collections::HashMap;

use trueno_model::name_groups::NameGroups;

use super::tree::OperatorTree;

/// Numbers assigned so far: equal subtrees have equal numbers.
#[derive(Default)]
pub(super) struct Shapes {
    pub labels: Vec<String>,
    by_label: HashMap<String, u32>,
    by_parts: HashMap<Box<[u32]>, u32>,
}

pub(super) struct Numbered {
    pub labels: Vec<u32>,
    /// By operator: identifies its label and the shapes of its children.
    pub shapes: Vec<u32>,
    /// By index of the name in the tree.
    pub names: Vec<u32>,
}

impl Shapes {
    pub fn label(&mut self, label: &str) -> u32 {
        if let Some(&number) = self.by_label.get(label) {
            return number;
        }
        let number = self.labels.len() as u32;
        self.labels.push(label.to_owned());
        self.by_label.insert(label.to_owned(), number);
        number
    }

    pub fn number(&mut self, tree: &OperatorTree, groups: &NameGroups) -> Numbered {
        let names: Vec<u32> = tree
            .names
            .iter()
            .map(|name| self.label(groups.group(name).as_deref().unwrap_or(name)))
            .collect();
        let labels: Vec<u32> = tree
            .operators
            .iter()
            .map(|operator| names[operator.name as usize])
            .collect();
        let mut shapes = vec![0; labels.len()];
        let mut parts = Vec::new();
        // Those below an operator stand after it.
        for at in (0..labels.len()).rev() {
            parts.clear();
            parts.push(labels[at]);
            let children = tree.children(at as u32);
            parts.extend(children.iter().map(|child| shapes[*child as usize]));
            shapes[at] = match self.by_parts.get(parts.as_slice()) {
                Some(&number) => number,
                None => {
                    let number = self.by_parts.len() as u32;
                    self.by_parts.insert(parts.as_slice().into(), number);
                    number
                }
            };
        }
        Numbered {
            labels,
            shapes,
            names,
        }
    }
}
