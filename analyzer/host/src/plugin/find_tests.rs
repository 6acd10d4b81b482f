use std::fs;

use super::*;

fn name(lib: &str, id: &str) -> String {
    format!("{lib}trueno_plugin_{id}{}", std::env::consts::DLL_SUFFIX)
}

/// A folder with empty files of these names. The search never opens them.
fn folder(names: &[String]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in names {
        fs::write(dir.path().join(name), "").unwrap();
    }
    dir
}

fn ids(found: &Found) -> Vec<&str> {
    found
        .candidates
        .iter()
        .filter_map(|candidate| candidate.id.as_deref())
        .collect()
}

fn in_dirs(dirs: &[&tempfile::TempDir]) -> Search {
    Search {
        dirs: dirs.iter().map(|dir| dir.path().to_path_buf()).collect(),
        ..Search::default()
    }
}

#[test]
fn file_names_tell_ids() {
    assert_eq!(
        id_of(Path::new(&name("lib", "a_1"))).as_deref(),
        Some("a_1")
    );
    assert_eq!(id_of(Path::new(&name("", "a"))).as_deref(), Some("a"));
    let python = Path::new("/p/trueno_plugin_a.py");
    assert_eq!(id_of(python).as_deref(), Some("a"));
    for other in [
        "libtrueno_plugin_a.txt".into(),
        "a.py".into(),
        name("lib", ""),
        name("lib", "A"),
        name("lib", "a-b"),
        "libother.so".into(),
    ] {
        assert_eq!(id_of(Path::new(&other)), None, "{other}");
    }
}

#[test]
fn other_files_are_no_plugins() {
    let dir = folder(&[
        name("lib", "b"),
        name("lib", "a"),
        "README".into(),
        "libhostile_plugin.so".into(),
    ]);
    let found = find(&in_dirs(&[&dir])).unwrap();
    assert_eq!(ids(&found), ["a", "b"]);
    assert!(found.shadowed.is_empty() && found.refused.is_empty());
}

#[test]
fn the_earlier_folder_wins_and_the_later_is_shadowed() {
    let (one, two) = (
        folder(&[name("lib", "a")]),
        folder(&[name("lib", "a"), name("lib", "b")]),
    );
    let found = find(&in_dirs(&[&one, &two])).unwrap();
    assert_eq!(ids(&found), ["a", "b"]);
    assert_eq!(found.shadowed.len(), 1);
    assert_eq!(found.shadowed[0].by, one.path().join(name("lib", "a")));
    assert_eq!(found.shadowed[0].file, two.path().join(name("lib", "a")));
}

#[test]
fn a_folder_named_twice_shadows_nothing() {
    let dir = folder(&[name("lib", "a")]);
    let found = find(&in_dirs(&[&dir, &dir])).unwrap();
    assert_eq!(ids(&found), ["a"]);
    assert!(found.shadowed.is_empty());
}

#[test]
fn two_libraries_of_one_id_in_a_folder_are_both_refused_by_name() {
    let (one, two) = (
        folder(&[name("lib", "a"), name("", "a")]),
        folder(&[name("lib", "a")]),
    );
    let found = find(&in_dirs(&[&one, &two])).unwrap();
    assert!(
        ids(&found).is_empty(),
        "the later folder must not silently take over"
    );
    assert_eq!(found.refused.len(), 2);
    for refused in &found.refused {
        assert!(
            refused.why.contains(&name("lib", "a"))
                && refused
                    .why
                    .contains(&one.path().join(name("", "a")).display().to_string())
        );
    }
    assert_eq!(found.shadowed.len(), 1);
}

#[test]
fn a_named_file_comes_first() {
    let (one, two) = (folder(&[name("lib", "a")]), folder(&[name("lib", "a")]));
    let file = two.path().join(name("lib", "a"));
    let found = find(&Search {
        files: vec![file.clone()],
        ..in_dirs(&[&one])
    })
    .unwrap();
    assert_eq!(found.candidates.len(), 1);
    assert!(found.candidates[0].explicit);
    assert_eq!(found.shadowed[0].by, file);
}

#[test]
fn named_places_must_be_there() {
    let error = find(&Search {
        dirs: vec!["/no/such/folder".into()],
        ..Search::default()
    })
    .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("--plugin-dir /no/such/folder: "),
        "{error}"
    );
    let error = find(&Search {
        files: vec!["/no/such/file".into()],
        ..Search::default()
    })
    .unwrap_err();
    assert!(
        error.to_string().starts_with("plugin /no/such/file: "),
        "{error}"
    );
    let dir = folder(&[]);
    let error = find(&Search {
        files: vec![dir.path().into()],
        ..Search::default()
    })
    .unwrap_err();
    assert!(error.to_string().contains("--plugin-dir"), "{error}");
}

#[test]
fn the_variable_gives_whole_paths_only() {
    let dir = folder(&[name("lib", "a")]);
    let value = std::env::join_paths([Path::new(""), dir.path(), Path::new("relative")]).unwrap();
    let found = find(&Search {
        path_variable: Some(value),
        ..Search::default()
    })
    .unwrap();
    assert_eq!(ids(&found), ["a"]);
    let refused: Vec<&Place> = found.places.iter().filter(|place| place.refused).collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].dir, Path::new("relative"));
}

#[test]
fn defaults_are_beside_the_executable_and_in_lib() {
    let prefix = tempfile::tempdir().unwrap();
    let lib = prefix.path().join("lib").join("trueno-analyze");
    let bin = prefix.path().join("bin");
    fs::create_dir_all(&lib).unwrap();
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join(name("lib", "a")), "").unwrap();
    fs::write(lib.join(name("lib", "b")), "").unwrap();
    let with = Search {
        executable: Some(bin.join("trueno-analyze")),
        ..Search::default()
    };
    assert_eq!(ids(&find(&with).unwrap()), ["a", "b"]);
    assert!(
        find(&Search::default()).unwrap().places.is_empty(),
        "without defaults nothing is searched, the working directory least of all"
    );
}

#[cfg(unix)]
mod permissions {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_folder_everyone_can_write_is_refused_unless_allowed() {
        let dir = folder(&[name("lib", "a")]);
        chmod(dir.path(), 0o777);
        let error = find(&in_dirs(&[&dir])).unwrap_err().to_string();
        assert!(error.contains(&dir.path().display().to_string()), "{error}");
        assert!(
            error.contains("--allow-unsafe-plugins") && error.contains("chmod o-w"),
            "{error}"
        );
        let found = find(&Search {
            allow_unsafe: true,
            ..in_dirs(&[&dir])
        })
        .unwrap();
        assert_eq!(ids(&found), ["a"]);
    }

    #[test]
    fn such_a_folder_of_the_variable_is_left_out_and_reported() {
        let dir = folder(&[name("lib", "a")]);
        chmod(dir.path(), 0o777);
        let found = find(&Search {
            path_variable: Some(dir.path().into()),
            ..Search::default()
        })
        .unwrap();
        assert!(found.candidates.is_empty());
        assert!(found.places[0].refused);
    }

    #[test]
    fn a_file_everyone_can_write_costs_itself() {
        let dir = folder(&[name("lib", "a"), name("lib", "b")]);
        chmod(&dir.path().join(name("lib", "a")), 0o666);
        let found = find(&in_dirs(&[&dir])).unwrap();
        assert_eq!(ids(&found), ["b"]);
        assert_eq!(found.refused[0].id, "a");
    }

    #[test]
    fn a_link_is_judged_by_where_it_leads() {
        let (dir, open) = (folder(&[]), folder(&[name("lib", "a")]));
        chmod(open.path(), 0o777);
        std::os::unix::fs::symlink(
            open.path().join(name("lib", "a")),
            dir.path().join(name("lib", "a")),
        )
        .unwrap();
        let found = find(&in_dirs(&[&dir])).unwrap();
        assert!(found.candidates.is_empty());
        assert!(
            found.refused[0].why.contains("everyone"),
            "{:?}",
            found.refused
        );
    }
}
