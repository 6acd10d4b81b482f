//! Rules in TOML: of categories and of operators.

use std::rc::Rc;

use trueno_model::categories::CategoryRules;
use trueno_operator_model::{Models, RecordedTexts, Signature};

pub fn categories(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    match CategoryRules::parse(text) {
        Ok(rules) => {
            for name in [
                "",
                "aten::mm",
                "İstanbul ß K",
                text.get(..64).unwrap_or(text),
            ] {
                let category = rules.category(name);
                assert!(category.is_none_or(|category| !category.trim().is_empty()));
            }
            true
        }
        Err((line, why)) => {
            assert!(
                line >= 1 && line <= 1 + text.matches('\n').count(),
                "line {line}"
            );
            assert!(!why.is_empty());
            false
        }
    }
}

/// Operator rules. After a byte 0 follow texts of a signature, separated by bytes 0.
pub fn operators(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let mut parts = text.split('\0');
    let rules = parts.next().unwrap_or_default();
    let mut part = || parts.next().unwrap_or_default();
    let name = part();
    let texts = RecordedTexts {
        dims: part(),
        types: part(),
        strides: part(),
        concrete: part(),
    };
    thread_local! {
        static STANDARD: Rc<Models> = Rc::new(Models::standard());
    }
    let models = Models::from_rules(rules, "rules.toml").map(Rc::new);
    if let Err(error) = &models {
        assert!(
            error.line >= 1 && error.line <= 1 + rules.matches('\n').count(),
            "{error}"
        );
    }
    let is_rules = models.is_ok();
    let models = models.unwrap_or_else(|_| STANDARD.with(Rc::clone));
    let Ok(signature) = Signature::parse(name, texts) else {
        return is_rules;
    };
    if let Ok(work) = models.work(&signature) {
        assert!(work.flops <= i64::MAX as u64 && work.moved_bytes <= i64::MAX as u64);
    }
    let of_result = signature.with_result_dims(Some(vec![u64::MAX, 2]));
    let _ = models.work(&of_result);
    is_rules
}
