//! Asking for allocations in a program whose allocator does not record them.

use trueno_recorder::alloc::Allocations;
use trueno_recorder::{Error, Recorder};

#[test]
fn another_allocator_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("never.run");
    let builder = Recorder::builder(&path).allocations(Allocations::SAMPLED);
    if cfg!(feature = "off") {
        assert!(!builder.create().unwrap().is_enabled());
        return;
    }
    let error = builder.create().unwrap_err();
    assert!(matches!(
        &error,
        Error::Option {
            option: "allocations",
            ..
        }
    ));
    assert!(error.to_string().contains("#[global_allocator]"), "{error}");
    assert!(!path.exists());
}
