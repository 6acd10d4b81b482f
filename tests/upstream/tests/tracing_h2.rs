//! A crate that knows nothing of us: an HTTP/2 exchange recorded through the spans that `h2` makes.

use std::collections::HashMap;

use h2::{client, server};
use http::{Request, Response};
use tokio::io::DuplexStream;
use tracing_subscriber::prelude::*;
use trueno_recorder::tracing::RecorderLayer;
use trueno_recorder::Recorder;
use trueno_testing::{folder, table, Table};

const REQUESTS: usize = 3;

async fn serve(io: DuplexStream) {
    let mut connection = server::handshake(io).await.unwrap();
    while let Some(request) = connection.accept().await {
        let (_request, mut respond) = request.unwrap();
        let mut stream = respond.send_response(Response::new(()), false).unwrap();
        stream.send_data("hello".into(), true).unwrap();
    }
}

async fn ask(io: DuplexStream) {
    let (mut sender, connection) = client::handshake(io).await.unwrap();
    let connection = tokio::spawn(connection);
    for _ in 0..REQUESTS {
        let request = Request::get("http://localhost/").body(()).unwrap();
        let (response, _) = sender.send_request(request, true).unwrap();
        let mut body = response.await.unwrap().into_body();
        assert_eq!(body.data().await.unwrap().unwrap(), "hello");
    }
    drop(sender);
    connection.await.unwrap().unwrap();
}

fn record_exchange() -> (Table, tempfile::TempDir) {
    let (folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let subscriber = tracing_subscriber::registry().with(RecorderLayer::new(rec.clone()));
    tracing::subscriber::with_default(subscriber, || {
        let _brick = tracing::info_span!("exchange", kind = "brick").entered();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (near, far) = tokio::io::duplex(4096);
            let server = tokio::spawn(serve(far));
            ask(near).await;
            server.await.unwrap();
        });
    });
    let summary = rec.finish().unwrap();
    assert_eq!((summary.dropped, rec.status().late), (0, 0));
    (table(&path, "bricks"), folder)
}

#[test]
fn spans_of_h2_are_recorded_and_nested() {
    let (bricks, _folder) = record_exchange();
    let names = bricks.texts("name");
    let count = |name| names.iter().filter(|found| **found == Some(name)).count();
    assert_eq!(count("exchange"), 1);
    // A connection's span is entered at every poll, by both sides.
    assert!(count("Connection") >= 2 * REQUESTS);
    // Headers go both ways once a request.
    assert_eq!(count("hpack::decode"), 2 * REQUESTS);
    assert_eq!(count("hpack::encode"), 2 * REQUESTS);

    let (ids, parents) = (bricks.numbers("id"), bricks.numbers("parent"));
    let (starts, durations) = (bricks.numbers("start_ns"), bricks.numbers("dur_ns"));
    let row_of: HashMap<_, _> = ids.iter().zip(0..).collect();
    assert_eq!(row_of.len(), bricks.rows, "ids are unique");
    let interval = |row: usize| {
        let start = starts[row].unwrap();
        start..=start + durations[row].unwrap()
    };
    for row in 0..bricks.rows {
        let (name, own) = (names[row].unwrap(), interval(row));
        // Everything happened on one thread inside our own span.
        let Some(parent) = parents[row] else {
            assert_eq!(name, "exchange");
            continue;
        };
        let around = row_of[&Some(parent)];
        let outer = interval(around);
        assert!(
            outer.start() <= own.start() && own.end() <= outer.end(),
            "{name}"
        );
        // As the source of h2 nests them.
        match name {
            "FramedRead::decode_frame" => assert_eq!(names[around], Some("FramedRead::poll_next")),
            "hpack::encode" => assert_eq!(names[around], Some("FramedWrite::buffer")),
            "poll" => assert_eq!(names[around], Some("Connection")),
            _ => {}
        }
    }
}
