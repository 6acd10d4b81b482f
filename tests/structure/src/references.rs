//! Paths that code names.

use std::collections::BTreeSet;

use syn::visit::Visit;

/// Collects the paths of types, values and macros in an item, and those in macro arguments.
pub(crate) fn paths_of(item: &syn::Item, to: &mut BTreeSet<Vec<String>>) {
    Paths { to }.visit_item(item);
}

struct Paths<'a> {
    to: &'a mut BTreeSet<Vec<String>>,
}

impl Visit<'_> for Paths<'_> {
    fn visit_path(&mut self, path: &syn::Path) {
        self.to.insert(
            path.segments
                .iter()
                .map(|segment| segment.ident.to_string())
                .collect(),
        );
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &syn::Macro) {
        // Arguments are no syntax tree: words with `::` between them are paths.
        let text = called.tokens.to_string().replace(" :: ", "::");
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        for word in words.filter(|word| word.contains("::")) {
            let segments = word.split("::").filter(|segment| !segment.is_empty());
            self.to.insert(segments.map(str::to_owned).collect());
        }
        syn::visit::visit_macro(self, called);
    }
}
