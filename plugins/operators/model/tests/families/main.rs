//! FLOPs and bytes of each family against numbers worked out by hand, and rows of published traces.

mod attention;
mod convolutions;
mod elements;
mod models;
mod normalisations;
mod products;

use trueno_operator_model::{Models, RecordedTexts, Signature};

/// Name, dims, types, strides, concrete inputs.
type Call<'a> = [&'a str; 5];

fn parse(call: Call<'_>) -> Signature {
    let [name, dims, types, strides, concrete] = call;
    let texts = RecordedTexts {
        dims,
        types,
        strides,
        concrete,
    };
    Signature::parse(name, texts).expect("a signature")
}

fn work(call: Call<'_>) -> (u64, u64) {
    let models = Models::standard();
    let signature = parse(call);
    let work = models.work(&signature).expect("a model");
    assert!(!work.assumption.is_empty() && !work.source.is_empty());
    (work.flops, work.moved_bytes)
}

/// FLOPs and bytes of a call without strides and values.
fn dense(name: &str, dims: &str, types: &str) -> (u64, u64) {
    work([name, dims, types, "", ""])
}

fn refusal(call: Call<'_>) -> String {
    let models = Models::standard();
    models.work(&parse(call)).expect_err("no model").to_string()
}

const BF: &str = "\"c10::BFloat16\"";
