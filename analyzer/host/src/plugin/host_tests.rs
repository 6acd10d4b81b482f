use trueno_plugin::Column;
use trueno_plugin::arrow::{ArrowArray, ArrowSchema, export_stream};

use super::*;

fn lent(host: &'static Host) -> abi::Run {
    host.lent("{}", &[], Stage::Whole)
}

fn stream() -> ArrowArrayStream {
    let column = Column::I64(vec![1, 2, 3].into());
    export_stream(Table::from_columns("", vec![("x".to_owned(), column)]).unwrap())
}

fn emit(run: &abi::Run, name: &str, stream: *mut ArrowArrayStream) -> abi::Status {
    // SAFETY: a run of a live host, and a stream of the SDK.
    unsafe { run.emit_table.unwrap()(run.host, Str::lend(name), stream) }
}

#[test]
fn what_is_emitted_is_taken_in_order() {
    let host = Host::open();
    let run = lent(host);
    assert_eq!(emit(&run, "b", &mut stream()), abi::OK);
    assert_eq!(emit(&run, "a", &mut stream()), abi::OK);
    let finding =
        Str::lend(r#"{"code": "c", "severity": "warning", "title": "t", "detail": null}"#);
    // SAFETY: the host is live.
    assert_eq!(
        unsafe { run.emit_finding.unwrap()(run.host, finding) },
        abi::OK
    );
    let taken = host.close();
    assert_eq!(
        taken.tables.iter().map(Table::name).collect::<Vec<_>>(),
        ["b", "a"]
    );
    assert_eq!(taken.findings[0].severity, trueno_model::Level::Warning);
    assert!(taken.rejected.is_empty());
}

#[test]
fn an_unknown_severity_is_an_error_that_names_the_known_ones() {
    let host = Host::open();
    let run = lent(host);
    let finding = Str::lend(r#"{"code": "c", "severity": "fatal", "title": "t"}"#);
    // SAFETY: the host is live.
    assert_eq!(
        unsafe { run.emit_finding.unwrap()(run.host, finding) },
        abi::FAILED
    );
    let taken = host.close();
    assert!(taken.findings.is_empty());
    assert!(
        taken.rejected[0].contains("fatal") && taken.rejected[0].contains("warning"),
        "{:?}",
        taken.rejected
    );
}

#[test]
fn after_the_run_the_door_is_closed() {
    let host = Host::open();
    let run = lent(host);
    host.close();
    let mut late = stream();
    assert_eq!(emit(&run, "late", &mut late), abi::FAILED);
    assert!(
        late.release.is_none(),
        "the stream is released all the same"
    );
    // SAFETY: hosts are never freed.
    unsafe { run.set_error.unwrap()(run.host, Str::lend("late")) };
    let taken = host.close();
    assert!(taken.tables.is_empty() && taken.error.is_none());
}

#[test]
fn another_thread_is_turned_away_and_reported() {
    let host = Host::open();
    std::thread::spawn(|| {
        let run = lent(host);
        assert_eq!(emit(&run, "other", &mut stream()), abi::FAILED);
    })
    .join()
    .unwrap();
    let taken = host.close();
    assert!(taken.tables.is_empty());
    assert!(
        taken.rejected[0].contains("thread of its own"),
        "{:?}",
        taken.rejected
    );
}

#[test]
fn a_null_host_and_null_texts_do_no_harm() {
    let host = Host::open();
    let mut run = lent(host);
    let nothing = Str {
        ptr: std::ptr::null(),
        len: 7,
    };
    // SAFETY: the host is live; what it is given is the point.
    unsafe {
        assert_eq!(run.emit_finding.unwrap()(run.host, nothing), abi::FAILED);
        assert_eq!(run.emit_chart.unwrap()(run.host, nothing), abi::FAILED);
        run.set_error.unwrap()(run.host, nothing);
        assert_eq!(
            run.emit_table.unwrap()(run.host, nothing, std::ptr::null_mut()),
            abi::FAILED
        );
        run.host = std::ptr::null_mut();
        assert_eq!(
            run.emit_finding.unwrap()(run.host, Str::lend("{}")),
            abi::FAILED
        );
        run.set_error.unwrap()(run.host, Str::lend("x"));
    }
    assert_eq!(host.close().rejected.len(), 4);
}

#[test]
fn only_the_first_mistakes_are_kept() {
    let host = Host::open();
    let run = lent(host);
    for _ in 0..1_000 {
        assert_eq!(emit(&run, "Bad", &mut stream()), abi::FAILED);
    }
    assert_eq!(host.close().rejected.len(), MAX_REJECTIONS_KEPT);
}

#[test]
fn a_stream_may_call_back_while_it_is_read() {
    unsafe extern "C" fn schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> i32 {
        // SAFETY: private_data is the run lent in the test; the stream below is live.
        unsafe {
            let run = &*(*stream).private_data.cast::<abi::Run>();
            let json = Str::lend(r#"{"code": "c", "severity": "info", "title": "from within"}"#);
            assert_eq!(run.emit_finding.unwrap()(run.host, json), abi::OK);
            let mut inner = super::tests::stream();
            inner.get_schema.unwrap()(&mut inner, out)
        }
    }
    unsafe extern "C" fn next(_: *mut ArrowArrayStream, out: *mut ArrowArray) -> i32 {
        // SAFETY: the consumer gives a place to fill; released means the end.
        unsafe { out.write(ArrowArray::released()) };
        0
    }
    unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
        // SAFETY: called once on the live stream.
        unsafe { (*stream).release = None };
    }
    let host = Host::open();
    let run = lent(host);
    let mut calls_back = ArrowArrayStream {
        get_schema: Some(schema),
        get_next: Some(next),
        get_last_error: None,
        release: Some(release),
        private_data: std::ptr::from_ref(&run).cast_mut().cast(),
    };
    assert_eq!(emit(&run, "t", &mut calls_back), abi::OK);
    let taken = host.close();
    assert_eq!(taken.findings[0].title, "from within");
    assert_eq!(taken.tables[0].rows(), 0);
}
