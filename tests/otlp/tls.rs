//! Collectors behind https.

use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::collector::{Collector, Connection, TAKEN};
use super::export;
use crate::harness::Dir;

/// A certificate for `localhost` with its key. It was made for this test and nothing else trusts it.
const CERTIFICATE: &str = "localhost.pem";

fn certificate() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/otlp");
    file.join(CERTIFICATE).to_str().expect("UTF-8").to_owned()
}

fn collector() -> Collector {
    let certificates = CertificateDer::pem_file_iter(certificate()).expect("a certificate");
    let certificates = certificates.collect::<Result<_, _>>().expect("PEM");
    let key = PrivateKeyDer::from_pem_file(certificate()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .expect("the key is that of the certificate");
    let config = Arc::new(config);
    let wrap = move |stream: TcpStream| -> Box<dyn Connection> {
        let server = ServerConnection::new(config.clone()).expect("a connection");
        Box::new(StreamOwned::new(server, stream))
    };
    Collector::over(wrap, |_| TAKEN)
}

#[test]
fn a_certificate_is_checked_and_may_be_given() {
    let collector = collector();
    let url = format!("https://localhost:{}", collector.address.port());
    export(&Dir::new(), &["--endpoint", &url])
        .exits(2)
        .stderr_has("cannot be reached: invalid peer certificate");
    assert!(collector.requests().is_empty());
    let dir = Dir::new();
    let trusting = export(&dir, &["--endpoint"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
        .env("OTEL_EXPORTER_OTLP_CERTIFICATE", certificate());
    trusting
        .exits(0)
        .stderr_has("spans sent to https://localhost:");
    assert!(!collector.requests().is_empty());
}
