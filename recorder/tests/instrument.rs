//! Functions that record themselves by an attribute.
#![cfg(feature = "macros")]

use std::fmt::Display;
use std::sync::{Arc, LazyLock, OnceLock};

use trueno_recorder::{Recorder, instrument};
use trueno_testing::{Cell, Table, folder, table};

static GLOBAL: OnceLock<Recorder> = OnceLock::new();
static OFF: LazyLock<Recorder> = LazyLock::new(Recorder::disabled);

fn of_global() -> &'static Recorder {
    GLOBAL.get().unwrap()
}

struct Model {
    rec: Recorder,
    shared: Arc<Recorder>,
    calls: u32,
}

impl Model {
    #[instrument(self.rec, attributes(batch = inputs.len(), "model.name" = name))]
    fn shared(&self, inputs: &[u8], name: &str) -> usize {
        inputs.len()
    }

    #[instrument(self.shared, name = "changes")]
    fn exclusive(&mut self) -> &mut u32 {
        self.count();
        &mut self.calls
    }

    /// Not recorded.
    fn count(&mut self) {
        self.calls += 1;
    }

    #[instrument(self.rec, kind = "brick")]
    fn consumed(self) -> u32 {
        drop(self.rec);
        self.calls
    }

    #[instrument(self.rec)]
    fn held(self: &Arc<Self>) -> u32 {
        self.calls
    }
}

trait Shape {
    const REC: fn() -> &'static Recorder = of_global;

    #[instrument(Self::REC())]
    fn sides(&self) -> u32 {
        4
    }
}

impl Shape for () {}

#[instrument(rec)]
fn generic<T, const N: usize>(rec: &Recorder, of: [T; N]) -> String
where
    T: Display + 'static,
{
    of.iter().map(T::to_string).collect()
}

#[instrument(rec)]
fn question(rec: &Recorder, text: &str) -> Result<u32, std::num::ParseIntError> {
    let number: u32 = text.parse()?;
    if number > 9 {
        return Ok(9);
    }
    Ok(number)
}

#[instrument(rec, attributes(count = count))]
fn lazily<'a>(rec: &'a Recorder, count: u32) -> impl Iterator<Item = u32> + 'a {
    #![expect(unused_variables, reason = "attributes within a body come first")]
    let unused = 0;
    (0..count).inspect(|at| drop(rec.brick(format!("item {at}"))))
}

#[instrument(rec)]
fn given(rec: Recorder) -> Recorder {
    rec
}

#[instrument(of_global())]
fn panics() {
    panic!("on purpose");
}

#[instrument(of_global(), attributes(a = 1, a = 2.5, a = true, a = "text", a = u64::MAX,),)]
unsafe extern "C" fn r#match() {}

#[instrument(&OFF, attributes(never = unreachable()))]
fn off() -> u32 {
    7
}

fn unreachable() -> u32 {
    panic!("no attribute is computed for a recorder that is off");
}

fn kind_of(bricks: &Table, name: &str) -> String {
    match bricks.cell("kind", bricks.named(name)) {
        Cell::T(kind) => kind.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn functions_of_all_kinds_are_rows() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    GLOBAL.set(rec.clone()).unwrap();
    let mut model = Model {
        rec: rec.clone(),
        shared: Arc::new(rec.clone()),
        calls: 0,
    };
    assert_eq!(model.shared(b"abc", "tiny"), 3);
    *model.exclusive() += 1;
    assert_eq!(model.calls, 2);
    assert_eq!(model.consumed(), 2);
    let held = Model {
        rec: rec.clone(),
        shared: Arc::new(Recorder::disabled()),
        calls: 5,
    };
    assert_eq!(Arc::new(held).held(), 5);
    assert_eq!(().sides(), 4);
    assert_eq!(generic(&rec, [1, 2, 3]), "123");
    assert_eq!(question(&rec, "3"), Ok(3));
    assert_eq!(question(&rec, "33"), Ok(9));
    assert!(question(&rec, "x").is_err());
    assert_eq!(lazily(&rec, 2).count(), 2);
    given(rec.clone());
    std::panic::catch_unwind(panics).unwrap_err();
    // SAFETY: it does nothing.
    unsafe { r#match() };
    assert_eq!(off(), 7);
    assert_eq!(rec.finish().unwrap().open, 0);

    let bricks = table(&path, "bricks");
    let functions = [
        "shared", "changes", "held", "sides", "generic", "lazily", "given", "panics", "match",
    ];
    for name in functions {
        assert_eq!(kind_of(&bricks, name), "function", "{name}");
        let row = bricks.named(name);
        assert_eq!(bricks.cell("file", row), &Cell::T(file!().into()));
    }
    assert_eq!(kind_of(&bricks, "consumed"), "brick");
    let names = bricks.texts("name");
    let count = |name| names.iter().filter(|found| **found == Some(name)).count();
    assert_eq!(count("question"), 3);
    // What it gives is used when it has returned.
    assert_eq!(bricks.number("parent", bricks.named("item 0")), None);
    assert_eq!(bricks.rows, functions.len() + 1 + 3 + 2);
    // The line of the function's name, not of the attribute.
    let line = bricks.number("line", bricks.named("panics")).unwrap();
    let source = include_str!("instrument.rs").lines();
    let declared = source.clone().position(|line| line == "fn panics() {");
    assert_eq!(line as usize, declared.unwrap() + 1);

    let attributes = table(&path, "attributes");
    let of = |name: &str| {
        let id = bricks.number("id", bricks.named(name));
        let rows = (0..attributes.rows).filter(|row| attributes.number("span", *row) == id);
        rows.collect::<Vec<_>>()
    };
    let [batch, model] = of("shared")[..] else {
        panic!("{attributes:?}");
    };
    assert_eq!(attributes.number("integer", batch), Some(3));
    assert_eq!(
        attributes.cell("name", model),
        &Cell::T("model.name".into())
    );
    assert_eq!(attributes.cell("text", model), &Cell::T("tiny".into()));
    assert_eq!(of("match").len(), 5);
    assert_eq!(of("lazily").len(), 1);
    assert_eq!(attributes.rows, 8);
}
