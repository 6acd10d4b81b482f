//! Addresses and headers, as typed and from variables.

use super::*;

fn typed(url: &str, headers: &[&str]) -> Result<Endpoint, String> {
    let headers: Vec<String> = headers.iter().map(|text| (*text).to_owned()).collect();
    Endpoint::new(url, &headers).map_err(|error| error.to_string())
}

fn of_variables(variables: &[(&str, &str)]) -> Result<Endpoint, String> {
    let find = |name: &str| {
        let mut variables = variables.iter();
        let found = variables.find(|(known, _)| format!("OTEL_EXPORTER_OTLP_{known}") == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Endpoint::from_environment(find, &[]).map_err(|error| error.to_string())
}

#[test]
fn the_place_of_traces_is_added_once() {
    for (url, expected) in [
        ("http://localhost:4318", "http://localhost:4318/v1/traces"),
        ("http://h:1/", "http://h:1/v1/traces"),
        ("https://h/otlp/", "https://h/otlp/v1/traces"),
        ("https://h/otlp/v1/traces", "https://h/otlp/v1/traces"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
    ] {
        assert_eq!(typed(url, &[]).expect(url).url.as_str(), expected);
    }
}

#[test]
fn variables_for_traces_come_first_and_their_address_is_taken_as_it_is() {
    let url = |variables: &[_]| of_variables(variables).map(|found| found.url.to_string());
    let traces = ("TRACES_ENDPOINT", "http://t:1/own");
    let all = ("ENDPOINT", "http://a:2/base/");
    assert_eq!(url(&[traces, all]).as_deref(), Ok("http://t:1/own"));
    assert_eq!(url(&[all]).as_deref(), Ok("http://a:2/base/v1/traces"));
    let bare = ("TRACES_ENDPOINT", "http://t:1");
    assert_eq!(url(&[bare]).as_deref(), Ok("http://t:1/"));
    let empty = ("TRACES_ENDPOINT", "");
    assert_eq!(
        url(&[empty]).as_deref(),
        Ok("http://localhost:4318/v1/traces")
    );
    let found = of_variables(&[
        ("HEADERS", "authorization=Basic%20c2VjcmV0, X-Tenant = a"),
        ("TIMEOUT", "1500"),
        ("TRACES_TIMEOUT", "2500"),
        ("COMPRESSION", "none"),
    ]);
    let found = found.expect("variables of the specification");
    assert_eq!(found.headers["authorization"], "Basic c2VjcmV0");
    assert_eq!(found.headers["x-tenant"], "a");
    assert_eq!(found.timeout, Duration::from_millis(2500));
    assert!(!found.gzip);
}

#[test]
fn a_wrong_value_is_named_and_no_secret_is_shown() {
    let secret = "s3cr3t";
    let wrong = [
        typed("localhost:4318", &[]),
        typed("grpc://h:4317", &[]),
        typed(&format!("http://u:{secret}@"), &[]),
        typed("http://h", &[&format!("Authorization {secret}")]),
        typed("http://h", &[&format!("Authori zation: {secret}")]),
        typed("http://h", &[&format!("Authorization: {secret}\n")]).and_then(|_| typed("", &[])),
        of_variables(&[("HEADERS", secret)]),
        of_variables(&[("HEADERS", "a=%ff")]),
        of_variables(&[("ENDPOINT", &format!("h:{secret}"))]),
        of_variables(&[("TIMEOUT", "0")]),
        of_variables(&[("TIMEOUT", "10s")]),
        of_variables(&[("TRACES_PROTOCOL", "grpc")]),
        of_variables(&[("COMPRESSION", "zstd")]),
        of_variables(&[("CERTIFICATE", "/nothing.pem")]),
    ];
    for (number, wrong) in wrong.into_iter().enumerate() {
        let text = wrong.expect_err(&number.to_string());
        assert!(!text.contains(secret), "{text}");
        let names = ["--endpoint", "--header", "OTEL_EXPORTER_OTLP_"];
        assert!(names.iter().any(|name| text.contains(name)), "{text}");
    }
}

#[test]
fn what_is_shown_has_no_secrets() {
    let url = "https://user:s3cr3t@h/otlp?token=s3cr3t#s3cr3t";
    let endpoint = typed(url, &["Authorization: Bearer s3cr3t"]).expect("an address");
    assert_eq!(endpoint.to_string(), "https://h/otlp/v1/traces");
    let said = endpoint.without_headers("Bearer s3cr3t: no such key s3cr3t");
    assert_eq!(said, "…: no such key …");
    assert!(!format!("{:?}", endpoint.headers).contains("s3cr3t"));
}
