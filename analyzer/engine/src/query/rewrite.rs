//! Changes to a query's text before the engine parses it.
//!
//! Queries that are answered from columns are recognised by their text, in which a table has a name of one part: so
//! `plugin.table` is put in quotes, and an order that is open is closed by all columns.

use super::tokens::{Kind, Token, tokens};

const FILE_FUNCTIONS: [&str; 4] = ["read_csv", "read_ipc", "read_json", "read_parquet"];

const QUERIES: [&str; 6] = ["select", "with", "values", "from", "show", "explain"];

/// Keywords after which rows come in no particular order.
const UNORDERED: [&str; 9] = [
    "group",
    "distinct",
    "join",
    "union",
    "except",
    "intersect",
    "limit",
    "fetch",
    "order",
];

/// Keywords that deepen the tree of a query, as operators do.
const DEEPER: [&str; 9] = [
    "and",
    "or",
    "is",
    "like",
    "join",
    "union",
    "except",
    "intersect",
    "select",
];

/// Limit of the engine: its planner recurses for each operator.
pub(super) const MAX_OPERATORS: usize = 2000;

/// Upper bound of the depth of a query's tree: the number of its operators.
pub(super) fn operators(sql: &str) -> usize {
    let tokens = tokens(sql);
    let is_deeper = |token: &&Token| match token.kind {
        Kind::Mark(mark) => !matches!(mark, ',' | '.' | ';' | '(' | ')'),
        Kind::Word => DEEPER.iter().any(|word| token.is(word)),
        Kind::Quoted | Kind::Literal => false,
    };
    tokens.iter().filter(is_deeper).count()
}

/// Whether the query may read a table with a dotted name, such as `plugin.table`. Cheaper than
/// [`tables_of`](super::tables_of), which parses: columns such as `k.name` are told apart by where they stand.
pub fn may_read_dotted(sql: &str) -> bool {
    #[derive(Clone, Copy, Default)]
    struct Place {
        in_from: bool,
        /// A name here is one of a table.
        is_table: bool,
    }
    const CLAUSES: [&str; 12] = [
        "except",
        "group",
        "having",
        "intersect",
        "limit",
        "offset",
        "order",
        "qualify",
        "select",
        "union",
        "where",
        "window",
    ];
    if !sql.contains('.') {
        return false;
    }
    let tokens = tokens(sql);
    let is_dotted = |at: usize| {
        let quoted = tokens[at]
            .name
            .as_ref()
            .is_some_and(|name| name.contains('.'));
        quoted || tokens.get(at..at + 3).and_then(dotted).is_some()
    };
    let mut outer = Vec::new();
    let mut place = Place::default();
    for (at, token) in tokens.iter().enumerate() {
        let is = |words: &[&str]| words.iter().any(|word| token.is(word));
        match token.kind {
            Kind::Mark('(') => {
                outer.push(place);
                place.in_from = place.is_table;
            }
            Kind::Mark(')') => place = outer.pop().unwrap_or_default(),
            Kind::Mark(',') => place.is_table = place.in_from,
            _ if is(&["from", "join"]) => {
                place = Place {
                    in_from: true,
                    is_table: true,
                };
            }
            _ if is(&["on", "using"]) => place.is_table = false,
            _ if is(&CLAUSES) => place = Place::default(),
            _ if place.is_table && is_dotted(at) => return true,
            _ => {}
        }
    }
    false
}

pub(super) fn check(sql: &str) -> Result<(), String> {
    let operators = operators(sql);
    if operators > MAX_OPERATORS {
        return Err(format!(
            "it has {operators} operators, at most {MAX_OPERATORS} can be planned (hint: IN (…) takes a list of any length)"
        ));
    }
    let tokens = tokens(sql);
    // The parser takes such a comment for SQL.
    if tokens.iter().any(|token| token.text(sql).starts_with("/*")) {
        return Err("a comment may not begin with /*! (hint: put a blank before the !)".to_owned());
    }
    let first = tokens.iter().find(|t| t.kind != Kind::Mark('('));
    if !first.is_some_and(|t| QUERIES.iter().any(|q| t.is(q))) {
        return Err("expected a query that begins with SELECT or WITH".to_owned());
    }
    for pair in tokens.windows(2) {
        let file_function = FILE_FUNCTIONS.iter().find(|f| pair[0].is(f));
        if let (Some(function), Kind::Mark('(')) = (file_function, pair[1].kind) {
            return Err(format!(
                "{function} is not available: a query reads the published tables only"
            ));
        }
    }
    Ok(())
}

/// Quotes `plugin.table` where `is_table` knows the name, and also where a table is expected: a plugin may have the
/// name of a table, and a table that it did not create must not resolve to that one.
pub(super) fn quote_dotted(sql: &str, is_table: impl Fn(&str) -> bool) -> String {
    let tokens = tokens(sql);
    let mut out = String::with_capacity(sql.len() + 16);
    let mut copied = 0;
    let mut at = 0;
    while at < tokens.len() {
        let after_dot = at > 0 && tokens[at - 1].kind == Kind::Mark('.');
        // `run.timeline.spans` before `run.timeline`.
        let named = |is_it: &dyn Fn(&str) -> bool| {
            [5, 3].into_iter().find_map(|count| {
                let name = dotted(tokens.get(at..at + count)?)?;
                (!after_dot && is_it(&name)).then_some((count, name))
            })
        };
        let name =
            named(&is_table).or_else(|| named(&|_| true).filter(|_| names_a_table(&tokens[..at])));
        match name {
            Some((count, name)) => {
                out.push_str(&sql[copied..tokens[at].range.start]);
                out.push('"');
                out.push_str(&name.replace('"', "\"\""));
                out.push('"');
                copied = tokens[at + count - 1].range.end;
                at += count;
            }
            None => at += 1,
        }
    }
    out.push_str(&sql[copied..]);
    out
}

/// A table comes next: after FROM or JOIN of a query, but not after the FROM of a function such as EXTRACT.
fn names_a_table(before: &[Token]) -> bool {
    let Some((last, rest)) = before.split_last() else {
        return false;
    };
    if last.is("join") {
        return true;
    }
    let mut closed = 0_usize;
    let own = rest.iter().rev().take_while(|token| {
        match token.kind {
            Kind::Mark(')') => closed += 1,
            Kind::Mark('(') if closed == 0 => return false,
            Kind::Mark('(') => closed -= 1,
            _ => {}
        }
        true
    });
    last.is("from") && own.into_iter().any(|token| token.is("select"))
}

fn dotted(tokens: &[Token]) -> Option<String> {
    let mut name = String::new();
    for (at, token) in tokens.iter().enumerate() {
        match at % 2 {
            0 => name.push_str(token.name.as_ref()?),
            _ if token.kind == Kind::Mark('.') => name.push('.'),
            _ => return None,
        }
    }
    Some(name)
}

/// The rows come in no particular order, because the query groups, joins, or compares with a subquery, which is a
/// join too.
fn is_unordered(tokens: &[Token]) -> bool {
    let looks_up = tokens.windows(3).any(|three| {
        let is_list = three[1].kind == Kind::Mark('(') && three[2].is("select");
        is_list && (three[0].is("in") || three[0].is("exists"))
    });
    let is_word = |token: &Token| UNORDERED.iter().any(|word| token.is(word));
    looks_up || tokens.iter().any(is_word)
}

/// Adds all `columns` to the order of a query, after its own sort keys. `None` if the rows are in the order of the
/// files.
pub(super) fn order_totally(sql: &str, columns: usize) -> Option<String> {
    let tokens = tokens(sql);
    if columns == 0 || !is_unordered(&tokens) {
        return None;
    }
    let top: Vec<&Token> = tokens.iter().filter(|t| t.depth == 0).collect();
    let is = |at: usize, word: &str| top.get(at).is_some_and(|t| t.is(word));
    if is(0, "show") || is(0, "explain") {
        return None;
    }
    let order = (0..top.len()).find(|&at| is(at, "order") && is(at + 1, "by"));
    let cut = (order.unwrap_or(0)..top.len()).find(|&at| {
        is(at, "limit") || is(at, "offset") || is(at, "fetch") || top[at].kind == Kind::Mark(';')
    });
    let at = cut.map_or(sql.len(), |at| top[at].range.start);
    let all: Vec<String> = (1..=columns).map(|n| n.to_string()).collect();
    let words = if order.is_some() { "," } else { " ORDER BY" };
    // A line of its own: what stands before may end in a comment.
    Some(format!(
        "{}\n{words} {} {}",
        &sql[..at],
        all.join(", "),
        &sql[at..]
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::query::tables_of;

    proptest! {
        #[test]
        fn any_text_without_such_a_table_stays_as_it_is(text in any::<String>()) {
            prop_assert_eq!(quote_dotted(&text, |_| false), text);
        }

        #[test]
        fn a_name_is_found_wherever_sql_would_see_it(before in "[a-z ,(]{0,9}", after in "[ ,)a-z]{0,9}") {
            let sql = format!("{before} category.by_brick {after}");
            prop_assert_eq!(quoted(&sql), format!("{before} \"category.by_brick\" {after}"));
        }
    }

    fn quoted(sql: &str) -> String {
        quote_dotted(sql, |name| name == "category.by_brick")
    }

    #[test]
    fn queries_that_read_dotted_tables_are_told_from_those_with_dotted_columns() {
        for reads in [
            "SELECT a FROM p.t",
            "SELECT a FROM \"p.t\" AS t",
            "FROM p.t",
            "SELECT k.a FROM k JOIN p.t AS t ON k.a = t.a",
            "SELECT k.a FROM k JOIN j ON (k.a = j.a), p.t",
            "SELECT a FROM k WHERE a IN (SELECT b FROM p.t)",
            "SELECT a FROM (k JOIN p.t ON k.a = t.a)",
            "WITH w AS (SELECT a FROM p.t) SELECT a FROM w",
            "SELECT a FROM k UNION ALL SELECT a FROM x, p.t",
        ] {
            assert!(may_read_dotted(reads), "{reads}");
            assert!(
                tables_of(reads).is_none_or(|tables| tables.contains("p.t")),
                "{reads}"
            );
        }
        for reads_none in [
            "SELECT k.a, k.b FROM k WHERE k.c = k.d ORDER BY k.e",
            "SELECT k.a FROM k JOIN j ON k.a = j.a AND k.b = j.b GROUP BY k.a, k.b",
            "SELECT k.a FROM k JOIN (SELECT MAX(t.b) AS b, t.c FROM t) AS j ON k.a = j.b, x WHERE (k.a, k.b) = x.a",
            "SELECT 'p.t' FROM k",
        ] {
            assert!(!may_read_dotted(reads_none), "{reads_none}");
        }
    }

    #[test]
    fn dotted_tables_are_quoted_and_nothing_else() {
        assert_eq!(
            quoted("SELECT * FROM category.by_brick b"),
            "SELECT * FROM \"category.by_brick\" b"
        );
        assert_eq!(
            quoted("FROM \"category\" . by_brick"),
            "FROM \"category.by_brick\""
        );
        assert_eq!(
            quoted("SELECT category.by_brick.calls"),
            "SELECT \"category.by_brick\".calls"
        );
        for same in [
            "SELECT b.category FROM bricks b",
            "SELECT 'category.by_brick'",
            "x.category.by_brick",
            "a.b -- category.by_brick",
        ] {
            assert_eq!(quoted(same), same);
        }
    }

    /// A plugin may have the name of a table; a table that it did not create must not resolve to that one.
    #[test]
    fn a_table_that_is_not_there_keeps_its_whole_name() {
        assert_eq!(
            quoted("SELECT * FROM tiles.levels AS l JOIN ranks.of USING (id)"),
            "SELECT * FROM \"tiles.levels\" AS l JOIN \"ranks.of\" USING (id)"
        );
        let same =
            "SELECT EXTRACT(DAY FROM (k.time)), TRIM(BOTH ' ' FROM k.name), k.id FROM kernels k";
        assert_eq!(quoted(same), same);
        assert_eq!(
            quoted("SELECT (SELECT MAX(t.n) FROM a.b t) FROM kernels"),
            "SELECT (SELECT MAX(t.n) FROM \"a.b\" t) FROM kernels"
        );
    }

    #[test]
    fn files_cannot_be_read_nor_tables_changed() {
        assert!(
            check("SELECT * FROM read_parquet('/etc/x')")
                .unwrap_err()
                .contains("read_parquet")
        );
        assert!(check("SELECT * FROM /*! read_csv('/etc/x') */ t").is_err());
        assert!(check("SELECT 1 /* ! read_csv( */").is_ok());
        assert!(check("DROP TABLE bricks").is_err());
        assert!(check("").is_err());
        assert!(check("SELECT 'read_csv(' AS read_csv FROM bricks").is_ok());
        assert!(check("(SELECT 1)").is_ok());
    }

    #[test]
    fn a_chain_of_operators_is_not_endless() {
        let chain = |terms: usize| format!("SELECT {}1", "1+".repeat(terms));
        assert!(check(&chain(1900)).is_ok());
        let error = check(&chain(5000)).unwrap_err();
        assert!(
            error.contains("5001 operators") && error.contains("2000"),
            "{error}"
        );
        let list = format!("SELECT id FROM t WHERE id IN ({}1)", "1,".repeat(9000));
        assert!(check(&list).is_ok());
    }

    #[test]
    fn an_order_is_made_total() {
        let total =
            |sql| order_totally(sql, 2).map(|s| s.split_whitespace().collect::<Vec<_>>().join(" "));
        assert_eq!(total("SELECT a, b FROM t WHERE a IN (1, 2)"), None);
        assert_eq!(
            total("SELECT a, b FROM t WHERE a NOT IN (SELECT c FROM u)").unwrap(),
            "SELECT a, b FROM t WHERE a NOT IN (SELECT c FROM u) ORDER BY 1, 2"
        );
        assert_eq!(
            total("SELECT a, SUM(b) FROM t GROUP BY a -- x").unwrap(),
            "SELECT a, SUM(b) FROM t GROUP BY a -- x ORDER BY 1, 2"
        );
        assert_eq!(
            total("SELECT a, b FROM (SELECT * FROM t ORDER BY c LIMIT 3) ORDER BY b DESC LIMIT 5;")
                .unwrap(),
            "SELECT a, b FROM (SELECT * FROM t ORDER BY c LIMIT 3) ORDER BY b DESC , 1, 2 LIMIT 5;"
        );
    }
}
