//! Queries made up at random, and a run to ask them of.

use std::path::Path;

use trueno_format::schema::{ColumnType, TABLES};
use trueno_testing::{Made, Value};

/// Pseudo-random numbers that are the same each time (xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.next() >> 11) as usize % count
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

const TEXTS: [&str; 8] = [
    "gemm",
    "softmax",
    "Attention",
    "",
    "a_b%c",
    "ä \"ö\"",
    "norm",
    "copy",
];

/// A run with rows in every table: small numbers that match in joins, and NULL in every column that allows it.
pub fn make_run(path: &Path) {
    let mut made = Made::new(path);
    let mut random = Random::new(7);
    for table in TABLES {
        for nth in 0..24_i64 {
            let mut row: Vec<(&str, Value<'_>)> = Vec::new();
            for column in table.columns {
                if column.nullable && random.chance(20) {
                    continue;
                }
                let value = match column.ty {
                    _ if column.name == "id" => Value::Number(nth + 1),
                    ColumnType::Text if matches!(column.name, "kind" | "timing") => continue,
                    ColumnType::Text => Value::Text(TEXTS[random.below(TEXTS.len())]),
                    ColumnType::Bool => Value::Truth(random.chance(50)),
                    ColumnType::F64 => Value::Real(random.below(40) as f64 / 4.0),
                    ColumnType::I64 if column.name.ends_with("_ns") => {
                        Value::Number(random.below(500) as i64)
                    }
                    _ => Value::Number(random.below(12) as i64),
                };
                row.push((column.name, value));
            }
            made.row(table.name, &row);
        }
    }
    made.finish(1000);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ty {
    Int,
    UInt,
    Float,
    Text,
    Bool,
}

/// A table or subquery that a query reads, with its alias.
#[derive(Clone)]
struct Source {
    name: String,
    columns: Vec<(String, Ty)>,
}

/// Generates queries as people write them, in the dialect that DuckDB and the engine share.
pub struct Generator {
    random: Random,
    aliases: usize,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        random.next();
        Self { random, aliases: 0 }
    }

    pub fn query(&mut self) -> String {
        self.aliases = 0;
        match self.random.below(15) {
            12 => self.nested(),
            13 => self.written(),
            14 => self.keyed(),
            0 | 1 => self.plain(),
            2 | 3 => self.joined(),
            4 | 5 => self.grouped(),
            6 => self.windows(),
            7 => self.combined(),
            8 => self.with(),
            9 => self.derived(),
            10 => self.correlated(),
            _ => self.distinct(),
        }
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("t{}", self.aliases)
    }

    fn table(&mut self) -> (String, Source) {
        loop {
            let table = &TABLES[self.random.below(TABLES.len())];
            if ["run", "segments", "problems", "ranks"].contains(&table.name) {
                continue;
            }
            return self.table_of(table.name);
        }
    }

    fn table_of(&mut self, name: &str) -> (String, Source) {
        let table = TABLES
            .iter()
            .find(|table| table.name == name)
            .expect("a table");
        let columns = table.columns.iter().map(|column| {
            let ty = match column.ty {
                ColumnType::I64 | ColumnType::U32 => Ty::Int,
                ColumnType::U64 => Ty::UInt,
                ColumnType::F64 => Ty::Float,
                ColumnType::Text => Ty::Text,
                ColumnType::Bool => Ty::Bool,
            };
            (format!("\"{}\"", column.name), ty)
        });
        let columns = columns.collect();
        let name = if self.random.chance(60) {
            self.alias()
        } else {
            table.name.to_owned()
        };
        let sql = if name == table.name {
            name.clone()
        } else if self.random.chance(50) {
            format!("{} AS {name}", table.name)
        } else {
            format!("{} {name}", table.name)
        };
        (sql, Source { name, columns })
    }

    /// A table with a unique column.
    fn table_with_id(&mut self) -> (String, Source) {
        let names = ["bricks", "kernels", "tiles", "syscalls"];
        let known: Vec<&str> = names
            .into_iter()
            .filter(|name| {
                let table = TABLES.iter().find(|table| table.name == *name);
                table.is_some_and(|table| table.columns.iter().any(|column| column.name == "id"))
            })
            .collect();
        let name = known[self.random.below(known.len())];
        self.table_of(name)
    }

    fn column(&mut self, sources: &[Source], ty: Ty) -> Option<String> {
        let several = sources.len() > 1;
        let all: Vec<(usize, &String)> = sources
            .iter()
            .enumerate()
            .flat_map(|(at, source)| {
                let own = source.columns.iter().filter(move |column| column.1 == ty);
                own.map(move |column| (at, &column.0))
            })
            .collect();
        if all.is_empty() {
            return None;
        }
        let (at, column) = all[self.random.below(all.len())];
        let name = &sources[at].name;
        Some(if several || self.random.chance(30) {
            format!("{name}.{column}")
        } else {
            column.clone()
        })
    }

    fn ty(&mut self) -> Ty {
        [
            Ty::Int,
            Ty::Int,
            Ty::UInt,
            Ty::Float,
            Ty::Text,
            Ty::Text,
            Ty::Bool,
        ][self.random.below(7)]
    }

    fn expr(&mut self, sources: &[Source], ty: Ty, depth: usize) -> String {
        if depth == 0 || self.random.chance(45) {
            if self.random.chance(85)
                && let Some(column) = self.column(sources, ty)
            {
                return column;
            }
            return self.literal(ty);
        }
        let next = depth - 1;
        let sub = |own: &mut Self, ty: Ty| own.expr(sources, ty, next);
        if self.random.chance(15) {
            let condition = sub(self, Ty::Bool);
            let (a, b) = (sub(self, ty), sub(self, ty));
            return match self.random.below(4) {
                0 => format!("CASE WHEN {condition} THEN {a} ELSE {b} END"),
                1 => format!("CASE WHEN {condition} THEN {a} END"),
                2 => format!("COALESCE({a}, {b})"),
                _ => format!("NULLIF({a}, {b})"),
            };
        }
        match ty {
            Ty::Int => {
                let a = sub(self, Ty::Int);
                match self.random.below(9) {
                    0 => format!("{a} + {}", sub(self, Ty::Int)),
                    1 => format!("(CAST({a} AS BIGINT) - {})", sub(self, Ty::Int)),
                    2 => format!("{a} * {}", self.random.below(5)),
                    3 => format!("ABS({a})"),
                    4 => format!("({a}) % {}", 1 + self.random.below(5)),
                    5 => format!("({a}) // {}", 1 + self.random.below(5)),
                    6 => format!("LENGTH({})", sub(self, Ty::Text)),
                    7 => format!("GREATEST({a}, {})", sub(self, Ty::Int)),
                    _ => format!("CAST({} AS BIGINT)", sub(self, Ty::UInt)),
                }
            }
            Ty::UInt => {
                let a = sub(self, Ty::UInt);
                match self.random.below(3) {
                    0 => format!("({a} + {})", sub(self, Ty::UInt)),
                    1 => format!("{a} * {}", self.random.below(4)),
                    _ => format!("LEAST({a}, {})", sub(self, Ty::UInt)),
                }
            }
            Ty::Float => {
                let a = sub(self, Ty::Float);
                match self.random.below(6) {
                    0 => format!("({a} + {})", sub(self, Ty::Float)),
                    1 => format!("{a} * {}", sub(self, Ty::Float)),
                    2 => format!("({}) / {}", sub(self, Ty::Int), 1 + self.random.below(6)),
                    3 => format!("ROUND({a}, 1)"),
                    4 => format!("FLOOR({a})"),
                    _ => format!("({}) * 1e-3", sub(self, Ty::Int)),
                }
            }
            Ty::Text => {
                let a = sub(self, Ty::Text);
                match self.random.below(8) {
                    0 => format!("UPPER({a})"),
                    1 => format!("LOWER({a})"),
                    2 => format!("({a} || {})", sub(self, Ty::Text)),
                    3 => format!("SUBSTR({a}, {}, 3)", 1 + self.random.below(3)),
                    4 => format!("REPLACE({a}, 'm', 'n')"),
                    5 => format!("LEFT({a}, 2)"),
                    6 => format!("TRIM({a})"),
                    _ => format!("CAST({} AS VARCHAR)", sub(self, Ty::Int)),
                }
            }
            Ty::Bool => self.condition(sources, next),
        }
    }

    fn literal(&mut self, ty: Ty) -> String {
        match ty {
            Ty::Int | Ty::UInt => self.random.below(15).to_string(),
            // With an exponent: without, it is a DECIMAL to DuckDB.
            Ty::Float => format!("{}.5e0", self.random.below(8)),
            Ty::Text => format!("'{}'", TEXTS[self.random.below(TEXTS.len())]),
            Ty::Bool => self.random.pick(&["TRUE", "FALSE"]).to_owned(),
        }
    }

    fn condition(&mut self, sources: &[Source], depth: usize) -> String {
        if depth > 0 && self.random.chance(35) {
            let a = self.condition(sources, depth - 1);
            let b = self.condition(sources, depth - 1);
            return match self.random.below(3) {
                0 => format!("({a} AND {b})"),
                1 => format!("({a} OR {b})"),
                _ => format!("NOT ({a})"),
            };
        }
        let ty = self.ty();
        let a = self.expr(sources, ty, 1);
        let not = if self.random.chance(30) { "NOT " } else { "" };
        match (ty, self.random.below(8)) {
            (_, 0) => format!("({a}) IS {not}NULL"),
            (Ty::Text, 1 | 2) => {
                let pattern = ["%m%", "g%", "%x", "_orm", "a\\_b%", "%"];
                format!(
                    "{a} {not}LIKE '{}'",
                    pattern[self.random.below(pattern.len())]
                )
            }
            (Ty::Int | Ty::UInt | Ty::Text, 3) => {
                let list: Vec<String> = (0..3).map(|_| self.literal(ty)).collect();
                format!("{a} {not}IN ({})", list.join(", "))
            }
            (Ty::Int | Ty::Float | Ty::UInt, 4) => {
                let (low, high) = (self.literal(ty), self.expr(sources, ty, 0));
                format!("{a} {not}BETWEEN {low} AND {high}")
            }
            (_, 5) => format!("({a}) IS {not}DISTINCT FROM {}", self.expr(sources, ty, 0)),
            (Ty::Int, 6) => self.subquery_condition(&a, not),
            (Ty::Bool, _) => a,
            _ => {
                let op = self.random.pick(&["=", "<>", "<", "<=", ">", ">="]);
                format!("{a} {op} {}", self.expr(sources, ty, 1))
            }
        }
    }

    fn subquery_condition(&mut self, value: &str, not: &str) -> String {
        let (sql, source) = self.table();
        let own = std::slice::from_ref(&source);
        let Some(column) = self.column(own, Ty::Int) else {
            return format!("{value} > 2");
        };
        let condition = self.condition(own, 0);
        match self.random.below(3) {
            0 => format!("{value} {not}IN (SELECT {column} FROM {sql} WHERE {condition})"),
            1 => format!("{value} > (SELECT AVG({column}) FROM {sql} WHERE {condition})"),
            _ => format!("{not}EXISTS (SELECT {column} FROM {sql} WHERE {condition})"),
        }
    }

    fn projections(&mut self, sources: &[Source], types: &[Ty]) -> Vec<String> {
        let mut all = Vec::new();
        for ty in types {
            let depth = self.random.below(3);
            let expr = self.expr(sources, *ty, depth);
            all.push(if self.random.chance(30) {
                format!("{expr} AS {}", self.alias())
            } else {
                expr
            });
        }
        all
    }

    fn types(&mut self) -> Vec<Ty> {
        (0..1 + self.random.below(4)).map(|_| self.ty()).collect()
    }

    fn filter(&mut self, sources: &[Source]) -> String {
        if self.random.chance(60) {
            format!(" WHERE {}", self.condition(sources, 1))
        } else {
            String::new()
        }
    }

    /// Sometimes an `ORDER BY` over all columns of the result, with a `LIMIT`.
    fn order(&mut self, columns: usize) -> String {
        if self.random.chance(45) {
            return String::new();
        }
        let mut keys: Vec<String> = (1..=columns).map(|at| at.to_string()).collect();
        let from = self.random.below(columns);
        keys.rotate_left(from);
        for key in &mut keys {
            key.push_str(
                ["", " ASC", " DESC", " DESC NULLS LAST", " NULLS FIRST"][self.random.below(5)],
            );
        }
        let mut order = format!(" ORDER BY {}", keys.join(", "));
        if self.random.chance(50) {
            order.push_str(&format!(" LIMIT {}", self.random.below(9)));
            if self.random.chance(40) {
                order.push_str(&format!(" OFFSET {}", self.random.below(5)));
            }
        }
        order
    }

    fn plain(&mut self) -> String {
        let (sql, source) = self.table();
        let sources = [source];
        let types = self.types();
        let columns = self.projections(&sources, &types);
        let filter = self.filter(&sources);
        let order = self.order(columns.len());
        format!("SELECT {} FROM {sql}{filter}{order}", columns.join(", "))
    }

    fn from(&mut self) -> (String, Vec<Source>) {
        let (mut sql, first) = self.table();
        let mut sources = vec![first];
        for _ in 0..1 + self.random.below(2) {
            let (next, mut source) = self.table();
            if sources.iter().any(|known| known.name == source.name) {
                continue;
            }
            let kind = self.random.pick(&[
                "JOIN",
                "INNER JOIN",
                "LEFT JOIN",
                "RIGHT JOIN",
                "FULL JOIN",
                "LEFT OUTER JOIN",
                "CROSS JOIN",
                ",",
                "SEMI JOIN",
                "ANTI JOIN",
            ]);
            let a = self.column(&sources, Ty::Int).map(|own| {
                if own.contains('.') {
                    own
                } else {
                    format!("{}.{own}", sources[0].name)
                }
            });
            let b = self.column(std::slice::from_ref(&source), Ty::Int);
            let b = b.map(|own| {
                if own.contains('.') {
                    own
                } else {
                    format!("{}.{own}", source.name)
                }
            });
            let (Some(a), Some(b)) = (a, b) else {
                continue;
            };
            match kind {
                "CROSS JOIN" | "," if sources.len() > 1 => continue,
                "CROSS JOIN" => sql.push_str(&format!(" CROSS JOIN {next}")),
                "," => {
                    // Only tables that stand alone.
                    sql.push_str(&format!(", {next}"));
                    sources.push(source);
                    return (sql, sources);
                }
                _ => {
                    let mut on = if self.random.chance(50) {
                        format!("{a} = {b}")
                    } else {
                        format!("{b} = {a}")
                    };
                    if self.random.chance(25) {
                        let both = [sources.as_slice(), std::slice::from_ref(&source)].concat();
                        on.push_str(&format!(" AND {}", self.comparison(&both)));
                    }
                    sql.push_str(&format!(" {kind} {next} ON {on}"));
                    if matches!(kind, "SEMI JOIN" | "ANTI JOIN") {
                        source.columns.clear();
                    }
                }
            }
            if !source.columns.is_empty() {
                sources.push(source);
            }
        }
        (sql, sources)
    }

    fn comparison(&mut self, sources: &[Source]) -> String {
        let op = self.random.pick(&["=", "<", ">=", "<>"]);
        let a = self
            .column(sources, Ty::Int)
            .unwrap_or_else(|| "1".to_owned());
        let b = self.column(sources, Ty::Int);
        let b = b
            .filter(|_| self.random.chance(60))
            .unwrap_or_else(|| self.literal(Ty::Int));
        format!("{a} {op} {b}")
    }

    fn joined(&mut self) -> String {
        let (sql, sources) = self.from();
        let types = self.types();
        let columns = self.projections(&sources, &types);
        let filter = self.filter(&sources);
        let order = self.order(columns.len());
        format!("SELECT {} FROM {sql}{filter}{order}", columns.join(", "))
    }

    fn aggregate(&mut self, sources: &[Source]) -> String {
        let ty = [Ty::Int, Ty::Float, Ty::UInt][self.random.below(3)];
        let value = self.expr(sources, ty, 1);
        let any = self.ty();
        let filter = if self.random.chance(20) {
            format!(" FILTER (WHERE {})", self.condition(sources, 0))
        } else {
            String::new()
        };
        match self.random.below(13) {
            0 | 1 => format!("COUNT(*){filter}"),
            2 => format!("COUNT({}){filter}", self.expr(sources, any, 1)),
            3 => format!("COUNT(DISTINCT {}){filter}", self.expr(sources, any, 0)),
            4 | 5 => format!("SUM({value}){filter}"),
            6 => format!("AVG({value}){filter}"),
            7 => format!("MIN({}){filter}", self.expr(sources, any, 1)),
            8 => format!("MAX({}){filter}", self.expr(sources, any, 1)),
            9 => format!("MEDIAN({value}){filter}"),
            10 => format!(
                "QUANTILE_CONT({value}, 0.{}){filter}",
                1 + self.random.below(9)
            ),
            11 => format!("STDDEV({value}){filter}"),
            _ => format!("SUM({value}) / COUNT(*)"),
        }
    }

    fn grouped(&mut self) -> String {
        let (sql, sources) = if self.random.chance(60) {
            let (sql, source) = self.table();
            (sql, vec![source])
        } else {
            self.from()
        };
        self.groups_of(&sql, &sources, true)
    }

    fn groups_of(&mut self, sql: &str, sources: &[Source], is_ordered: bool) -> String {
        let mut keys: Vec<String> = Vec::new();
        for _ in 0..self.random.below(3) {
            let ty = [Ty::Int, Ty::Text, Ty::Bool, Ty::UInt][self.random.below(4)];
            let depth = self.random.below(2);
            let key = self.expr(sources, ty, depth);
            // A number in GROUP BY stands for a column.
            if key.contains('"') && !key.contains("SELECT") {
                keys.push(key);
            }
        }
        let mut columns = keys.clone();
        for _ in 0..1 + self.random.below(3) {
            let aggregate = self.aggregate(sources);
            columns.push(aggregate);
        }
        let filter = self.filter(sources);
        let groups = match keys.len() {
            0 => String::new(),
            _ if self.random.chance(20) => " GROUP BY ALL".to_owned(),
            count if self.random.chance(30) => {
                let all: Vec<String> = (1..=count).map(|at| at.to_string()).collect();
                format!(" GROUP BY {}", all.join(", "))
            }
            _ => format!(" GROUP BY {}", keys.join(", ")),
        };
        let having = if self.random.chance(30) && !keys.is_empty() {
            let op = self.random.pick(&[">", "<", "<>"]);
            format!(" HAVING {} {op} {}", "COUNT(*)", self.random.below(4))
        } else {
            String::new()
        };
        let order = if is_ordered {
            self.order(columns.len())
        } else {
            String::new()
        };
        format!(
            "SELECT {} FROM {sql}{filter}{groups}{having}{order}",
            columns.join(", ")
        )
    }

    fn windows(&mut self) -> String {
        let (sql, source) = self.table_with_id();
        let name = source.name.clone();
        let sources = [source];
        let mut columns = vec![format!("{name}.id")];
        for _ in 0..1 + self.random.below(3) {
            let window = self.window(&sources, &name);
            columns.push(window);
        }
        let filter = self.filter(&sources);
        let qualify = if self.random.chance(20) {
            let window = format!(
                "ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {name}.id)",
                self.expr(&sources, Ty::Text, 0)
            );
            format!(" QUALIFY {window} <= {}", 1 + self.random.below(2))
        } else {
            String::new()
        };
        let order = self.order(columns.len());
        format!(
            "SELECT {} FROM {sql}{filter}{qualify}{order}",
            columns.join(", ")
        )
    }

    fn window(&mut self, sources: &[Source], name: &str) -> String {
        let any = self.ty();
        let ty = [Ty::Int, Ty::Float][self.random.below(2)];
        let partition = if self.random.chance(70) {
            let key = self.ty();
            format!("PARTITION BY {} ", self.expr(sources, key, 1))
        } else {
            String::new()
        };
        let direction = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"][self.random.below(4)];
        let key = self.ty();
        let by = self
            .column(sources, key)
            .unwrap_or_else(|| format!("{name}.id"));
        let total = format!("ORDER BY {by}{direction}, {name}.id");
        let open = format!("ORDER BY {by}{direction}");
        let value = self.expr(sources, ty, 1);
        let other = self.expr(sources, any, 0);
        let frame = [
            "",
            " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
            " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
            " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
            " ROWS 3 PRECEDING",
        ][self.random.below(6)];
        match self.random.below(14) {
            0 => format!("ROW_NUMBER() OVER ({partition}{total})"),
            1 => format!("RANK() OVER ({partition}{open})"),
            2 => format!("DENSE_RANK() OVER ({partition}{open})"),
            3 => format!(
                "NTILE({}) OVER ({partition}{total})",
                1 + self.random.below(5)
            ),
            4 => format!("LAG({other}) OVER ({partition}{total})"),
            5 => format!(
                "LEAD({value}, 2, {}) OVER ({partition}{total})",
                if ty == Ty::Int { "0" } else { "0.5e0" }
            ),
            6 => format!("FIRST_VALUE({other}) OVER ({partition}{total}{frame})"),
            7 => format!("LAST_VALUE({other}) OVER ({partition}{total}{frame})"),
            8 => format!("SUM({value}) OVER ({partition}{total}{frame})"),
            9 => format!("AVG({value}) OVER ({partition}{open})"),
            10 => format!("COUNT({other}) OVER ({partition}{total}{frame})"),
            11 => format!(
                "{}({value}) OVER ({partition}{total}{frame})",
                self.random.pick(&["MIN", "MAX"])
            ),
            12 => format!("PERCENT_RANK() OVER ({partition}{open})"),
            _ => format!("{value} - AVG({value}) OVER ({partition})"),
        }
    }

    fn combined(&mut self) -> String {
        let types = self.types();
        let mut part = || {
            let (sql, source) = self.table();
            let sources = [source];
            let columns = self.projections(&sources, &types);
            let filter = self.filter(&sources);
            format!("SELECT {} FROM {sql}{filter}", columns.join(", "))
        };
        let (a, b) = (part(), part());
        let op = self.random.pick(&[
            "UNION",
            "UNION ALL",
            "INTERSECT",
            "EXCEPT",
            "INTERSECT ALL",
            "EXCEPT ALL",
        ]);
        let order = self.order(types.len());
        format!("{a} {op} {b}{order}")
    }

    /// A query whose columns have names, and their types.
    fn named(&mut self) -> (String, Vec<(String, Ty)>) {
        let (sql, sources) = if self.random.chance(50) {
            let (sql, source) = self.table();
            (sql, vec![source])
        } else {
            self.from()
        };
        let mut types = self.types();
        types.push(Ty::Int);
        let mut columns = Vec::new();
        let mut names = Vec::new();
        for (at, ty) in types.into_iter().enumerate() {
            let depth = self.random.below(2);
            let expr = self.expr(&sources, ty, depth);
            columns.push(format!("{expr} AS x{at}"));
            names.push((format!("x{at}"), ty));
        }
        let filter = self.filter(&sources);
        (
            format!("SELECT {} FROM {sql}{filter}", columns.join(", ")),
            names,
        )
    }

    fn with(&mut self) -> String {
        let (query, columns) = self.named();
        let source = Source {
            name: "c".to_owned(),
            columns,
        };
        let twice = self.random.chance(40);
        if twice {
            let other = Source {
                name: "d".to_owned(),
                ..source.clone()
            };
            let sources = [source, other];
            let types = self.types();
            let columns = self.projections(&sources, &types);
            let key = self.column(&sources[..1], Ty::Int).unwrap_or_default();
            let key = key.rsplit('.').next().unwrap_or_default().to_owned();
            let order = self.order(columns.len());
            return format!(
                "WITH c AS ({query} LIMIT 0) SELECT {} FROM c JOIN c AS d ON c.{key} = d.{key}{order}",
                columns.join(", ")
            )
            .replace(" LIMIT 0)", ")");
        }
        let sources = [source];
        if self.random.chance(50) {
            let rest = self.groups_of("c", &sources, true);
            return format!("WITH c AS ({query}) {rest}");
        }
        let types = self.types();
        let columns = self.projections(&sources, &types);
        let filter = self.filter(&sources);
        let order = self.order(columns.len());
        format!(
            "WITH c AS ({query}) SELECT {} FROM c{filter}{order}",
            columns.join(", ")
        )
    }

    fn derived(&mut self) -> String {
        let (query, columns) = self.named();
        let mut sources = vec![Source {
            name: "s".to_owned(),
            columns,
        }];
        let mut from = format!("({query}) AS s");
        if self.random.chance(50) {
            let (sql, source) = self.table();
            let a = self.column(&sources, Ty::Int).unwrap_or_default();
            let a = a.rsplit('.').next().unwrap_or_default().to_owned();
            if let Some(b) = self.column(std::slice::from_ref(&source), Ty::Int) {
                let b = b.rsplit('.').next().unwrap_or_default().to_owned();
                let kind = self.random.pick(&["JOIN", "LEFT JOIN", "FULL JOIN"]);
                from.push_str(&format!(" {kind} {sql} ON s.{a} = {}.{b}", source.name));
                sources.push(source);
            }
        }
        if self.random.chance(40) {
            return self.groups_of(&from, &sources, true);
        }
        let types = self.types();
        let columns = self.projections(&sources, &types);
        let filter = self.filter(&sources);
        let order = self.order(columns.len());
        format!("SELECT {} FROM {from}{filter}{order}", columns.join(", "))
    }

    fn correlated(&mut self) -> String {
        let (sql, mut source) = self.table();
        if !sql.contains(' ') {
            source.name = "o".to_owned();
        }
        let sql = if sql.contains(' ') {
            sql
        } else {
            format!("{sql} AS o")
        };
        let (inner_sql, mut inner) = self.table();
        let inner_sql = if inner_sql.contains(' ') {
            inner_sql
        } else {
            inner.name = "i".to_owned();
            format!("{inner_sql} AS i")
        };
        let outer = [source];
        let own = [inner];
        let full = |column: Option<String>, name: &str| {
            let column = column.unwrap_or_else(|| "1".to_owned());
            let last = column.rsplit('.').next().unwrap_or_default().to_owned();
            if last == "1" {
                last
            } else {
                format!("{name}.{last}")
            }
        };
        let a = self.column(&own, Ty::Int);
        let b = self.column(&outer, Ty::Int);
        let (a, b) = (full(a, &own[0].name), full(b, &outer[0].name));
        let op = self.random.pick(&["=", "=", "=", "<", ">="]);
        let mut on = format!("{a} {op} {b}");
        if self.random.chance(30) {
            let value = self.column(&own, Ty::Int);
            on.push_str(&format!(" AND {} > 3", full(value, &own[0].name)));
        }
        let value = self.column(&own, Ty::Int);
        let value = full(value, &own[0].name);
        let columns = {
            let types = self.types();
            let columns = self.projections(&outer, &types);
            let named = |column: String| column;
            columns.into_iter().map(named).collect::<Vec<_>>()
        };
        let not = if self.random.chance(40) { "NOT " } else { "" };
        let compared = self.column(&outer, Ty::Int);
        let compared = full(compared, &outer[0].name);
        let order_of = columns.len();
        let plain = columns.join(", ");
        match self.random.below(5) {
            0 => {
                let order = self.order(order_of);
                format!(
                    "SELECT {plain} FROM {sql} WHERE {not}EXISTS (SELECT 1 FROM {inner_sql} WHERE {on}){order}"
                )
            }
            1 => {
                let order = self.order(order_of);
                format!(
                    "SELECT {plain} FROM {sql} WHERE {compared} {not}IN (SELECT {value} FROM {inner_sql} WHERE {on}){order}"
                )
            }
            2 => {
                let function = self
                    .random
                    .pick(&["COUNT(*)", "SUM", "MAX", "AVG", "COUNT"]);
                let call = if function.ends_with(')') {
                    function.to_owned()
                } else {
                    format!("{function}({value})")
                };
                let order = self.order(order_of + 1);
                format!(
                    "SELECT {plain}, (SELECT {call} FROM {inner_sql} WHERE {on}) FROM {sql}{order}"
                )
            }
            3 => {
                let order = self.order(order_of);
                format!(
                    "SELECT {plain} FROM {sql} WHERE {compared} > (SELECT AVG({value}) FROM {inner_sql} WHERE {on}){order}"
                )
            }
            _ => {
                let order = self.order(order_of + 1);
                format!(
                    "SELECT {plain}, {not}EXISTS (SELECT 1 FROM {inner_sql} WHERE {on}) AS e FROM {sql}{order}"
                )
            }
        }
    }

    /// Nested subqueries, subqueries over groups, and subqueries in conditions joined by OR.
    fn nested(&mut self) -> String {
        let (_, mut outer) = self.table_with_id();
        let table = ["bricks", "kernels"][self.random.below(2)];
        outer.columns = self.table_of(table).1.columns;
        outer.name = "o".to_owned();
        let own = [outer];
        let key = self.column(&own, Ty::Int).unwrap_or_default();
        let key = key.rsplit('.').next().unwrap_or_default().to_owned();
        let condition = self.condition(&own, 0);
        let op = self.random.pick(&["=", "=", "<", ">="]);
        match self.random.below(7) {
            0 => format!(
                "SELECT o.{key}, COUNT(*), (SELECT MAX(k.dur_ns) FROM kernels k WHERE k.stream {op} o.{key}) FROM {table} o GROUP BY o.{key}"
            ),
            1 => format!(
                "SELECT o.id FROM {table} o WHERE {condition} OR EXISTS (SELECT 1 FROM edges e WHERE e.\"from\" {op} o.{key})"
            ),
            2 => format!(
                "SELECT o.id FROM {table} o WHERE EXISTS (SELECT 1 FROM kernels k WHERE k.brick = o.id AND k.dur_ns {op} (SELECT AVG(b.dur_ns) FROM bricks b WHERE b.thread = k.stream))"
            ),
            3 => format!(
                "SELECT o.id, (SELECT COUNT(*) FROM kernels k WHERE k.brick {op} o.{key} AND EXISTS (SELECT 1 FROM edges e WHERE e.\"to\" = o.id)) FROM {table} o"
            ),
            4 => format!(
                "SELECT o.id, (SELECT k.name FROM kernels k WHERE k.brick = o.{key} ORDER BY k.dur_ns DESC NULLS LAST, k.id LIMIT 1) AS n FROM {table} o"
            ),
            5 => format!(
                "SELECT o.{key}, SUM(o.dur_ns) FROM {table} o GROUP BY 1 HAVING SUM(o.dur_ns) {op} (SELECT AVG(dur_ns) FROM kernels)"
            ),
            _ => format!(
                "SELECT o.id, COALESCE((SELECT SUM(k.dur_ns) FROM kernels k WHERE k.stream = o.{key} AND k.start_ns {op} o.start_ns), 0) + 1 AS n FROM {table} o WHERE {condition}"
            ),
        }
    }

    fn written(&mut self) -> String {
        let (sql, source) = self.table_with_id();
        let name = source.name.clone();
        let sources = [source];
        let a = self.column(&sources, Ty::Int).unwrap_or_default();
        let text = self.column(&sources, Ty::Text).unwrap_or_default();
        let count = self.random.below(6);
        let condition = self.condition(&sources, 1);
        match self.random.below(13) {
            0 => format!(
                "SELECT {text} AS k, SUM({a}) AS s FROM {sql} GROUP BY k HAVING s > {count} ORDER BY s DESC, k"
            ),
            1 => format!(
                "SELECT {text}, STRING_AGG(CAST({name}.id AS VARCHAR), '-' ORDER BY {name}.id DESC) FROM {sql} GROUP BY {text}"
            ),
            2 => format!(
                "SELECT SUM(DISTINCT {a}), AVG(DISTINCT {a}), COUNT(DISTINCT {text}) FROM {sql} WHERE {condition}"
            ),
            3 => format!("SELECT {text} FROM {sql} ORDER BY {name}.id DESC LIMIT {count}"),
            4 => format!("SELECT {name}.id, {a} * 2 AS d, d + 1 AS e FROM {sql} WHERE {condition}"),
            5 => format!(
                "SELECT {text}, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share FROM {sql} GROUP BY {text}"
            ),
            6 => format!(
                "SELECT {text}, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM {sql} GROUP BY {text} ORDER BY n DESC, 1"
            ),
            7 => format!(
                "SELECT v.x, COUNT({name}.id) FROM (VALUES (1, 'a'), (2, 'b'), (3, NULL)) AS v(x, y) LEFT JOIN {sql} ON v.x = {a} GROUP BY v.x"
            ),
            8 => format!(
                "SELECT DISTINCT ON ({text}) {text}, {name}.id FROM {sql} ORDER BY {text}, {a} DESC, {name}.id"
            ),
            9 => format!(
                "(SELECT {a} FROM {sql} WHERE {condition} UNION SELECT dur_ns FROM kernels) EXCEPT SELECT start_ns FROM bricks ORDER BY 1 LIMIT {count}"
            ),
            10 => format!(
                "SELECT {text}, ARG_MAX({name}.id, {a} * 100 + {name}.id), ANY_VALUE({text}), BOOL_AND({a} > {count}), COUNT(*) FILTER (WHERE {condition}) FROM {sql} GROUP BY {text}"
            ),
            11 => format!(
                "SELECT * FROM (SELECT {name}.id, {text} AS x, {a} AS y FROM {sql}) AS s WHERE s.id IN (SELECT MAX(id) FROM kernels GROUP BY stream) ORDER BY s.id"
            ),
            _ => format!(
                "SELECT MIN({text}), MAX({text}), VAR_POP({a}), QUANTILE_DISC({a}, 0.5) FROM {sql} WHERE {condition}"
            ),
        }
    }

    /// Joins on columns with the same name.
    fn keyed(&mut self) -> String {
        let shared = ["thread", "dur_ns", "start_ns", "id"][self.random.below(4)];
        let kind = self
            .random
            .pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        let using = if self.random.chance(30) {
            "thread, id".to_owned()
        } else {
            shared.to_owned()
        };
        let key = using.split(',').next().unwrap_or_default();
        match self.random.below(4) {
            0 => format!(
                "SELECT {key}, b.name, k.name FROM bricks b {kind} kernels k USING ({using})"
            ),
            1 => format!(
                "SELECT {key}, COUNT(*) FROM bricks {kind} kernels USING ({using}) GROUP BY {key}"
            ),
            2 => format!(
                "SELECT * FROM (SELECT id, thread FROM bricks) AS b NATURAL {kind} (SELECT id, stream FROM kernels) AS k"
            ),
            _ => format!(
                "SELECT b.{key}, k.{key} FROM bricks b {kind} kernels k USING ({using}) ORDER BY 1, 2"
            ),
        }
    }

    fn distinct(&mut self) -> String {
        let (sql, sources) = if self.random.chance(60) {
            let (sql, source) = self.table();
            (sql, vec![source])
        } else {
            self.from()
        };
        let types = self.types();
        let columns = self.projections(&sources, &types);
        let filter = self.filter(&sources);
        let order = self.order(columns.len());
        format!(
            "SELECT DISTINCT {} FROM {sql}{filter}{order}",
            columns.join(", ")
        )
    }
}
