//! Calls of BLAS and LAPACK.

use trueno_testing::{Table, compile};

use crate::{Place, text, value};

/// Name, FLOPs and bytes of rows, grouped by thread and in the order of their ends. The order in which threads are
/// read varies.
fn work(kernels: &Table) -> Vec<(&str, Option<i128>, Option<i128>)> {
    let names = kernels.texts("name").into_iter().flatten();
    let numbers = kernels
        .numbers("flops")
        .into_iter()
        .zip(kernels.numbers("bytes"));
    let threads = kernels.numbers("thread");
    let mut rows: Vec<_> = threads.into_iter().zip(names.zip(numbers)).collect();
    rows.sort_by_key(|(thread, _)| *thread);
    rows.into_iter()
        .map(|(_, (name, (flops, bytes)))| (name, flops, bytes))
        .collect()
}

#[test]
fn calls_are_rows_with_work_from_their_sizes() {
    let Some(place) = Place::new() else { return };
    place.record(&["--libs"], &["calls"]);
    let kernels = place.table("kernels");
    let double = |elements: i128| Some(8 * elements);
    assert_eq!(
        work(&kernels),
        [
            // With the call of the Fortran function in it.
            ("dgemm", Some(2 * 10 * 20 * 30), double(300 + 600 + 2 * 200)),
            (
                "dgemm",
                Some(2 * 100 * 200 * 300),
                double(30_000 + 60_000 + 20_000)
            ),
            ("sgemm", Some(2 * 7 * 8 * 9), Some(4 * (63 + 72 + 56))),
            ("ddot", Some(10), double(10)),
            ("sdot", Some(8), Some(4 * 8)),
            ("dtrsm", Some(6 * 5 * 5), double(15 + 2 * 30)),
            ("dpotrf", Some((5 * 5 * 5 + 5 * 5) / 3 + 5), double(2 * 15)),
            // Once: a question for the best length computes nothing.
            (
                "dgetri",
                Some((4 * 125 - 3 * 25 + 5 * 5) / 3),
                double(2 * 25)
            ),
            ("dgemm", Some(48), double(8 + 12 + 2 * 6)),
        ]
    );
    assert_eq!(value(&place.run(), "libs"), "libblas.so");
    let (threads, mut of) = (place.table("threads"), kernels.numbers("thread"));
    of.sort_unstable();
    assert_eq!(of[..8], [of[0]; 8]);
    let names = [of[0], of[8]].map(|thread| {
        let row = threads
            .numbers("thread")
            .iter()
            .position(|it| *it == thread);
        threads.texts("name")[row.unwrap()]
    });
    assert_eq!(names, [Some("program"), Some("other")]);
    assert!(
        kernels
            .texts("work_source")
            .iter()
            .all(|it| *it == Some("declared"))
    );
    assert_eq!(
        kernels.texts("backend")[..3],
        [Some("f64"), Some("f64"), Some("f32")]
    );
}

/// A `longjmp` out of a routine, as R does for an invalid argument.
#[test]
fn a_call_that_does_not_return_hides_no_later_one() {
    let Some(place) = Place::new() else { return };
    place.record(&["--libs"], &["jumps"]);
    assert_eq!(work(&place.table("kernels")).len(), 3);
}

/// As with NumPy and SciPy in one process, each with its own OpenBLAS.
#[test]
fn libraries_that_only_their_callers_see_are_told_apart() {
    let Some(place) = Place::new() else { return };
    compile("loads_plugins.c", &[], &place.path("program"), &[]);
    let plugins = [20, 30].map(|number| {
        let (blas, plugin) = (
            format!("libown{number}.so"),
            format!("libplugin{number}.so"),
        );
        place.library("blas.c", &blas, &[&format!("-DNUMBER={number}")]);
        place.library("plugin.c", &plugin, &[&place.text(&blas)]);
        place.text(&plugin)
    });
    let done = place.record(&["--libs"], &[&plugins[0], &plugins[1]]);
    assert_eq!(text(&done.stdout), "20\n30\n20\n30\n");
    assert_eq!(work(&place.table("kernels")).len(), 4);
    assert_eq!(value(&place.run(), "libs"), "libown20.so, libown30.so");
}

#[test]
fn a_million_calls_are_a_million_rows() {
    let Some(place) = Place::new() else { return };
    place.record(&["--libs", "--strict"], &["many"]);
    let kernels = place.table("kernels");
    assert_eq!(kernels.rows, 1_000_000);
    let ids: std::collections::HashSet<_> = kernels.numbers("id").into_iter().collect();
    assert_eq!(ids.len(), 1_000_000);
}
