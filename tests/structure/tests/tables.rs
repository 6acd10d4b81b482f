//! The schema is the only list of tables.

use std::collections::BTreeSet;

use syn::visit::Visit;
use trueno_structure::{relative, root, rust_files, text};

const SCHEMA: &str = "recorder/format/src/schema/tables.rs";
/// The check of all intervals repeats the list, because plugins see tables through SQL and cannot link the format.
const IN_PLUGINS: &str = "plugins/sanity/src/rows.rs";
/// Flags of commands. Some share a name with a table.
const FLAGS: &str = "analyzer/src/project/effect.rs";
/// Maximum number of table names in an array. Two or three are a rule about these tables; more are a second list.
const MAX_NAMES: usize = 3;

/// Table names in the arrays of a file, without tests.
struct Arrays<'a> {
    tables: &'a BTreeSet<String>,
    longest: usize,
}

impl Visit<'_> for Arrays<'_> {
    fn visit_expr_array(&mut self, array: &syn::ExprArray) {
        let names = array.elems.iter().filter_map(|element| match element {
            syn::Expr::Tuple(tuple) => tuple.elems.first().and_then(literal),
            other => literal(other),
        });
        let names: BTreeSet<String> = names.filter(|name| self.tables.contains(name)).collect();
        self.longest = self.longest.max(names.len());
        syn::visit::visit_expr_array(self, array);
    }

    fn visit_item_mod(&mut self, module: &syn::ItemMod) {
        if module.ident != "tests" {
            syn::visit::visit_item_mod(self, module);
        }
    }
}

fn literal(expression: &syn::Expr) -> Option<String> {
    let syn::Expr::Lit(syn::ExprLit {
        lit: syn::Lit::Str(text),
        ..
    }) = expression
    else {
        return None;
    };
    Some(text.value())
}

#[test]
fn nothing_lists_tables_by_hand() {
    let schema = text(&root().join(SCHEMA));
    let declared = schema.lines().filter_map(|line| line.split_once("\" of "));
    let names = declared.filter_map(|(before, _)| before.split_once('"'));
    let tables: BTreeSet<String> = names.map(|(_, name)| name.to_owned()).collect();
    assert!(tables.len() > 15, "{tables:?}");
    let mut lists = Vec::new();
    for file in rust_files() {
        let path = relative(&file);
        let is_test = [
            "tests", "benches", "examples", "corpus", "testing", "hostile",
        ];
        let parts = path.split(['/', '.']);
        if [SCHEMA, IN_PLUGINS, FLAGS].contains(&path.as_str())
            || parts
                .into_iter()
                .any(|part| is_test.contains(&part) || part.ends_with("_tests"))
        {
            continue;
        }
        let mut arrays = Arrays {
            tables: &tables,
            longest: 0,
        };
        arrays.visit_file(&syn::parse_file(&text(&file)).expect("a Rust source"));
        if arrays.longest > MAX_NAMES {
            lists.push(format!("{path}: {} tables", arrays.longest));
        }
    }
    assert!(lists.is_empty(), "{}", lists.join("\n"));
}
