use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

use super::*;

const NOBODY: u32 = 65_534;

struct Place(tempfile::TempDir);

impl Place {
    /// A folder of the user that others cannot write to.
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        // The temporary folder itself may be behind a link.
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "text").unwrap();
        self.mode(name, 0o644);
        path
    }

    fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.at(name), Permissions::from_mode(mode)).unwrap();
    }
}

fn is_root() -> bool {
    let is_root = user() == 0;
    if !is_root {
        eprintln!("skipped: only root can make files of other users");
    }
    is_root
}

fn reason(found: Result<PathBuf, Distrust>) -> Option<Reason> {
    found.err().map(|distrust| distrust.reason)
}

#[test]
fn own_files_in_own_folders_are_obeyed() {
    let place = Place::new();
    let file = place.file("a/b/file");
    assert_eq!(check_file(&file), Ok(file.clone()));
    let detour = place.at("a/../a/./b/file");
    assert_eq!(check_file(&detour), Ok(file.clone()));
    assert_eq!(check_folder(&place.at("a/b")), Ok(place.at("a/b")));
    let mut text = String::new();
    open_file(&file).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "text");
    assert_eq!(check_tree(&place.at("a")), Ok(()));
}

#[test]
fn what_others_can_write_is_not() {
    let place = Place::new();
    let file = place.file("a/b/file");
    for (name, mode, expected) in [
        ("a/b/file", 0o666, Some(Reason::EveryoneWrites)),
        ("a/b/file", 0o644, None),
        ("a/b", 0o777, Some(Reason::EveryoneWrites)),
        // Everyone can put a file of that name there.
        ("a/b", 0o1777, Some(Reason::EveryoneWrites)),
        ("a/b", 0o755, None),
        ("a", 0o777, Some(Reason::EveryoneWrites)),
        // Nobody can put another folder in the place of `a/b`.
        ("a", 0o1777, None),
    ] {
        place.mode(name, mode);
        let found = check_file(&file);
        assert_eq!(reason(found), expected, "{name} {mode:o}");
    }
    place.mode("a", 0o755);
    place.mode("a/b", 0o1777);
    let distrust = check_folder(&place.at("a/b")).unwrap_err();
    assert_eq!(distrust.path, place.at("a/b"));
    assert!(
        distrust
            .to_string()
            .ends_with("a/b can be written by everyone")
    );
    assert_eq!(check_tree(&place.at("a/b")), Err(distrust));
    // Nobody else gets as far as that.
    place.mode("a", 0o700);
    assert_eq!(check_tree(&place.at("a/b")), Ok(()));
}

#[test]
fn files_of_others_are_not_obeyed_wherever_they_lie() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let file = place.file("a/b/file");
    for name in ["a/b/file", "a/b", "a"] {
        chown(place.at(name), Some(NOBODY), None).unwrap();
        let distrust = check_file(&file).unwrap_err();
        assert_eq!(distrust.path, place.at(name));
        assert_eq!(distrust.reason, Reason::OtherOwner(NOBODY));
        assert!(open_file(&file).is_err());
        chown(place.at(name), Some(0), None).unwrap();
    }
    place.mode("a/b/file", 0o664);
    chown(&file, None, Some(NOBODY)).unwrap();
    assert_eq!(reason(check_file(&file)), Some(Reason::GroupWrites));
}

#[test]
fn links_are_judged_with_their_targets() {
    let place = Place::new();
    place.file("safe/file");
    place.file("open/file");
    place.mode("open", 0o777);
    let link = |target: &str, name: &str| {
        symlink(target, place.at(name)).unwrap();
        place.at(name)
    };
    let good = link("safe/file", "good");
    assert_eq!(check_file(&good), Ok(place.at("safe/file")));
    let through = link("safe", "through");
    assert_eq!(check_folder(&through), Ok(place.at("safe")));
    let bad = link("open/file", "bad");
    assert_eq!(reason(check_file(&bad)), Some(Reason::EveryoneWrites));
    symlink("../safe/file", place.at("open/planted")).unwrap();
    let planted = check_file(&place.at("open/planted"));
    assert_eq!(reason(planted), Some(Reason::EveryoneWrites));
    let round = link("round", "round");
    assert_eq!(reason(check_file(&round)), Some(Reason::TooManyLinks));
    let dangling = check_file(&link("none", "dangling"));
    assert!(matches!(reason(dangling), Some(Reason::Unreadable(_))));
    assert_eq!(check_tree(&place.at("safe")), Ok(()));
    symlink("file", place.at("safe/second")).unwrap();
    let tree = check_tree(&place.at("safe")).unwrap_err();
    assert_eq!(tree.reason, Reason::Link);
    assert_eq!(check_tree(&through).unwrap_err().reason, Reason::Link);
    if is_root() {
        lchown(&good, Some(NOBODY), None).unwrap();
        assert_eq!(
            reason(check_file(&good)),
            Some(Reason::OtherOwner(NOBODY)),
            "the link of another user to a file of ours"
        );
    }
}

#[test]
fn pipes_and_folders_are_no_files() {
    let place = Place::new();
    let pipe = place.at("pipe");
    let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: the path lives for the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    assert_eq!(reason(check_file(&pipe)), Some(Reason::NotAFile));
    assert_eq!(reason(check_folder(&pipe)), Some(Reason::NotAFolder));
    assert_eq!(
        open_owned(&pipe, &[user()]).unwrap_err().reason,
        Reason::NotAFile
    );
}

#[test]
fn in_a_folder_of_everyone_the_owner_counts() {
    let place = Place::new();
    let file = place.file("all/map");
    place.mode("all", 0o1777);
    let found = |path: &Path| open_owned(path, &[user()]).err().map(|found| found.reason);
    assert_eq!(found(&file), None);
    place.mode("all/map", 0o666);
    assert_eq!(found(&file), Some(Reason::EveryoneWrites));
    place.mode("all/map", 0o644);
    symlink("map", place.at("all/link")).unwrap();
    assert_eq!(found(&place.at("all/link")), Some(Reason::Link));
    fs::hard_link(&file, place.at("all/second")).unwrap();
    assert_eq!(found(&file), Some(Reason::HardLinks));
    fs::remove_file(place.at("all/second")).unwrap();
    if is_root() {
        chown(&file, Some(NOBODY), None).unwrap();
        assert_eq!(found(&file), Some(Reason::OtherOwner(NOBODY)));
        assert!(open_owned(&file, &[0, NOBODY]).is_ok());
    }
}

#[test]
fn what_ships_with_the_program_may_be_a_groups() {
    let place = Place::new();
    let file = place.file("bin/plugin");
    place.mode("bin/plugin", 0o664);
    assert_eq!(check_shipped(&file), Ok(()));
    place.mode("bin/plugin", 0o666);
    let found = check_shipped(&file).unwrap_err();
    assert_eq!(found.reason, Reason::EveryoneWrites);
    if is_root() {
        place.mode("bin/plugin", 0o644);
        chown(&file, Some(NOBODY), None).unwrap();
        let found = check_shipped(&file).unwrap_err();
        assert_eq!(found.reason, Reason::OtherOwner(NOBODY));
    }
}
