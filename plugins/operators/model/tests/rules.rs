//! Rules of a user: their language against a slow evaluator, their faults, their precedence.

use proptest::prelude::*;
use trueno_operator_model::{Models, RecordedTexts, Signature};

fn signature(name: &str, dims: &str, types: &str, concrete: &str) -> Signature {
    let texts = RecordedTexts {
        dims,
        types,
        strides: "",
        concrete,
    };
    Signature::parse(name, texts).expect("a signature")
}

/// FLOPs by a formula for a 2 × 3 tensor and a 5, or why there are none.
fn flops(formula: &str) -> Result<u64, String> {
    let rule = format!(
        "[[rule]]\nname = \"test\"\noperators = [\"test\"]\nflops = '''{formula}'''\nmoved_bytes = \"0\"\n"
    );
    let models = Models::with_rules(&rule, "rules.toml").map_err(|error| error.to_string())?;
    let call = signature("test", "[[2,3],[]]", r#"["float","Scalar"]"#, r#"["","5"]"#);
    models
        .work(&call)
        .map(|work| work.flops)
        .map_err(|error| error.to_string())
}

#[test]
fn formulas_have_their_usual_meaning() {
    let cases = [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 2 - 3", 5),
        ("12 / 2 / 3", 2),
        ("- 2 + 5", 3),
        ("if 1 < 2 and not 2 < 1 then 4 else 5", 4),
        ("if false or 2 == 2 then 4 else 5", 4),
        ("if false and refuse('never') then 4 else 5", 5),
        ("dim(0, 0) * 100 + dim(0, -1)", 203),
        (
            "rank(0) + numel(0) + bytes(0) + element_bytes(0)",
            2 + 6 + 24 + 4,
        ),
        ("product(0, 1, rank(0)) + concrete(1)", 8),
        ("concrete(7, 9)", 9),
        ("sum_over(d, 0, 4, d * d)", 14),
        ("product_over(d, 0, rank(0), dim(0, d) + 1)", 12),
        (
            "entry([7, 8], 1) + entry([7], 5) + entry(3, 5) + length([1, 2])",
            20,
        ),
        ("floor_divide(7, 2) * 10 + ceiling_divide(7, 2)", 34),
        ("floor_divide(- 7, 2) + 10", 6),
        ("min(3, 2, 5) + max(1, 4)", 6),
        ("reduced(0, [0])", 3),
        ("reduced(0, [])", 1),
        ("if operator() == 'test' then operands() else 0", 2),
        ("if contains([1, 2], 2) then 1 else 0", 1),
        ("1_000_000", 1_000_000),
    ];
    for (formula, value) in cases {
        assert_eq!(flops(formula), Ok(value), "{formula}");
    }
}

#[test]
fn formulas_without_a_value_say_why() {
    let cases = [
        ("7 / 2", "7 is not a multiple of 2"),
        ("1 / 0", "1 divided by 0"),
        ("floor_divide(1, 0)", "1 divided by 0"),
        ("1 - 2", "-1, which is negative"),
        ("dim(0, 2)", "has no dimension 2"),
        ("dim(3, 0)", "operand 3 is missing"),
        ("dim(1, 0)", "operand 1 is a scalar"),
        ("true + 1", "a truth value where a whole number is needed"),
        (
            "if 1 then 2 else 3",
            "a whole number where a truth value is needed",
        ),
        (
            "170141183460469231731687303715884105727 + 1",
            "beyond 2^127",
        ),
        ("9223372036854775807 + 1", "more than 2^63 - 1"),
        (
            "sum_over(d, 0, 1000000000, sum_over(e, 0, 1000000000, 1))",
            "steps",
        ),
        ("concrete(4)", "the value of operand 4 is not recorded"),
        ("refuse('too hard')", "too hard"),
        ("'a' < 'b'", "has no order"),
        ("broadcast(0) + count(1)", "operand 1 is a scalar"),
    ];
    for (formula, reason) in cases {
        let said = flops(formula).expect_err(formula);
        assert!(said.starts_with("not modelled: rule \"test\": "), "{said}");
        assert!(said.contains(reason), "{formula}: {said}");
    }
}

#[test]
fn faults_of_a_file_are_placed() {
    let cases = [
        ("1 +", "column 4: expected a value, found the end"),
        (
            "1 2",
            "column 3: expected an operator or the end, found the number 2",
        ),
        ("numel(0", "column 8: expected `,` or `)`, found the end"),
        (
            "numel()",
            "column 1: expected 1 argument of `numel`, found 0",
        ),
        (
            "volume(0)",
            "column 1: expected a function, or a name with a value, found `volume`",
        ),
        (
            "M * 2",
            "column 1: expected a function, or a name with a value, found `M`",
        ),
        (
            "if 1 == 1 then 2",
            "column 17: expected `else`, found the end",
        ),
        (
            "2 ? 3",
            "column 3: expected a number, a name, a text or a sign, found `?`",
        ),
        ("\"open", "column 1: expected a closing \", found the end"),
        ("(((", "column 4: expected a value, found the end"),
    ];
    for (formula, fault) in cases {
        let said = flops(formula).expect_err(formula);
        let expected = format!("rules.toml, line 1: rule \"test\", flops, {fault}");
        assert!(said.starts_with(&expected), "{said}");
    }
    assert!(flops(&"(".repeat(1000)).is_err());
    assert!(flops(&"1+".repeat(10_000)).is_err());
    let files = [
        ("x", "line 1"),
        ("\n[[rule]]\nname = 'a'\n", "missing field `operators`"),
        (
            "[[rule]]\nname = 'a'\noperators = []\nflops = '0'\nmoved_bytes = '0'\n",
            "at least one name",
        ),
        (
            "[[rule]]\nname = 'a'\noperators = ['{a']\nflops = '0'\nmoved_bytes = '0'\n",
            "found \"{a\"",
        ),
        (
            "[[rule]]\nname = 'a'\noperators = ['a']\nflops = '0'\n",
            "either moved_bytes",
        ),
        (
            "[[rule]]\nname = 'a'\noperators = ['a']\nflops = '0'\nmoved_bytes = '0'\nread_bytes = '0'\n",
            "found both or none",
        ),
        (
            "[[rule]]\nname = 'a'\noperators = ['a']\nlet = ['M = 1', 'M = 2']\nflops = '0'\nmoved_bytes = '0'\n",
            "`M`, which has a value already",
        ),
        (
            "[[rule]]\nname = 'a'\ncolour = 'red'\n",
            "unknown field `colour`",
        ),
    ];
    for (text, fault) in files {
        let said = Models::with_rules(text, "mine.toml")
            .expect_err(text)
            .to_string();
        assert!(said.starts_with("mine.toml, line "), "{said}");
        assert!(said.contains(fault), "{said}");
    }
}

#[test]
fn rules_of_a_user_come_first_and_fall_back() {
    let text = r#"
        [[rule]]
        name = "counted twice"
        operators = ["aten::m?", "mylib::*"]
        when = "rank(0) == 2 and dim(0, 0) > 100"
        flops = "7"
        moved_bytes = "8"
    "#;
    let models = Models::with_rules(text, "mine.toml").expect("rules");
    let two = r#"["float","float"]"#;
    let ours = signature("aten::mm", "[[200,2],[2,2]]", two, "");
    assert_eq!(models.work(&ours).expect("a model").family, "user");
    let standard = signature("aten::mm", "[[100,2],[2,2]]", two, "");
    assert_eq!(models.work(&standard).expect("a model").family, "gemm");
    let other = signature("mylib::big", "[[200,2]]", two, "");
    assert_eq!(models.work(&other).expect("a model").rule, "counted twice");
}

/// A random formula with a simple reference evaluation.
#[derive(Clone, Debug)]
enum Tree {
    Number(u32),
    Facts(&'static str, i128),
    Binary(char, Box<Tree>, Box<Tree>),
    If(Box<Tree>, &'static str, Box<Tree>, Box<Tree>, Box<Tree>),
    Sum(u8, Box<Tree>),
}

impl Tree {
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Facts(text, _) => (*text).to_owned(),
            Self::Binary(sign, left, right) => format!("({} {sign} {})", left.text(), right.text()),
            Self::If(left, sign, right, then, otherwise) => format!(
                "(if {} {sign} {} then {} else {})",
                left.text(),
                right.text(),
                then.text(),
                otherwise.text()
            ),
            Self::Sum(times, body) => format!("sum_over(k, 0, {times}, {})", body.text()),
        }
    }

    fn value(&self) -> Option<i128> {
        match self {
            Self::Number(number) => Some(i128::from(*number)),
            Self::Facts(_, value) => Some(*value),
            Self::Binary(sign, left, right) => {
                let (left, right) = (left.value()?, right.value()?);
                match sign {
                    '+' => left.checked_add(right),
                    '-' => left.checked_sub(right),
                    '*' => left.checked_mul(right),
                    _ => (right != 0 && left % right == 0).then(|| left / right),
                }
            }
            Self::If(left, sign, right, then, otherwise) => {
                let (left, right) = (left.value()?, right.value()?);
                let holds = match *sign {
                    "<" => left < right,
                    "<=" => left <= right,
                    "==" => left == right,
                    _ => left != right,
                };
                if holds {
                    then.value()
                } else {
                    otherwise.value()
                }
            }
            Self::Sum(0, _) => Some(0),
            Self::Sum(times, body) => {
                let body = body.value()?;
                (0..*times).try_fold(0i128, |sum, _| sum.checked_add(body))
            }
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        any::<u32>().prop_map(Tree::Number),
        (0u32..9).prop_map(Tree::Number),
        prop::sample::select(vec![
            ("numel(0)", 6),
            ("dim(0, 1)", 3),
            ("concrete(1)", 5),
            ("max(2, rank(0), 1)", 2),
        ])
        .prop_map(|(text, value)| Tree::Facts(text, value)),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            4 => (prop::sample::select(vec!['+', '-', '*', '/']), boxed(), boxed())
                .prop_map(|(sign, left, right)| Tree::Binary(sign, left, right)),
            1 => (boxed(), prop::sample::select(vec!["<", "<=", "==", "!="]), boxed(), boxed(), boxed())
                .prop_map(|(left, sign, right, then, otherwise)| Tree::If(left, sign, right, then, otherwise)),
            1 => (0u8..4, boxed()).prop_map(|(times, body)| Tree::Sum(times, body)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn formulas_agree_with_a_slow_evaluator(tree in tree()) {
        let value = tree.value().and_then(|value| u64::try_from(value).ok());
        let value = value.filter(|value| i64::try_from(*value).is_ok());
        prop_assert_eq!(flops(&tree.text()).ok(), value, "{}", tree.text());
    }

    #[test]
    fn random_formulas_have_a_value_or_a_reason(words in prop::collection::vec(prop::sample::select(vec![
        "1", "0", "-", "+", "*", "/", "(", ")", "[", "]", ",", "if", "then", "else", "and", "or", "not", "<", "==", "=",
        "numel", "dim", "entry", "broadcast", "sum_over", "product_over", "k", "true", "'x'", "concrete", "refuse",
    ]), 0..30)) {
        let _ = flops(&words.join(" "));
    }

    #[test]
    fn random_texts_are_no_rules_or_some(text in ".{0,60}") {
        let _ = flops(&text.replace("'''", ""));
        let _ = Models::with_rules(&text, "random.toml");
    }
}
