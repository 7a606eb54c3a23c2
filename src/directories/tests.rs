use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::*;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// What comes of making `alice/work` in a directory that was prepared so, without the directory's name.
fn made(prepare: impl FnOnce(&Path)) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path());
    let above = dir.path().to_str().unwrap();
    let names = ["alice".to_owned(), "work".to_owned()];
    let made = make(above, &names);
    if made.is_ok() {
        assert_eq!(mode(&dir.path().join("alice")), 0o700);
        assert_eq!(mode(&dir.path().join("alice/work")), 0o700);
    }
    made.map_err(|fault| fault.to_string().replace(above, "HERE"))
}

#[test]
fn a_directory_of_ones_own_is_made_once_and_used_again() {
    assert_eq!(made(|_| {}), Ok(()));
    let again = made(|dir| {
        let names = ["alice".to_owned(), "work".to_owned()];
        make(dir.to_str().unwrap(), &names).unwrap();
    });
    assert_eq!(again, Ok(()));
}

#[test]
fn what_others_could_have_put_there_is_not_used() {
    let check = |prepare: &dyn Fn(&Path), expected: &str| {
        let told = made(prepare).unwrap_err();
        assert_eq!(told, expected);
    };
    let with_mode = |path: &Path, mode| {
        fs::create_dir_all(path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    check(
        &|dir| symlink(dir, dir.join("alice")).unwrap(),
        "`HERE/alice` is a link or no directory; remove it",
    );
    check(
        &|dir| {
            with_mode(&dir.join("alice"), 0o700);
            symlink("..", dir.join("alice/work")).unwrap();
        },
        "`HERE/alice/work` is a link or no directory; remove it",
    );
    check(
        &|dir| fs::write(dir.join("alice"), "").unwrap(),
        "`HERE/alice` is a link or no directory; remove it",
    );
    check(
        &|dir| with_mode(&dir.join("alice"), 0o750),
        "other users may use `HERE/alice` (mode 750); take their rights away (`chmod 700`)",
    );
    check(
        &|dir| with_mode(dir, 0o777),
        "other users may change `HERE`, in which the directory has to lie; take that right away \
         (`chmod go-w`)",
    );
    check(
        &|dir| fs::remove_dir(dir).unwrap(),
        "`HERE`, in which the directory has to lie, cannot be opened: No such file or directory \
         (os error 2); create it",
    );
}

#[test]
fn files_of_all_owners_go_when_they_are_too_old_and_nothing_else_does() {
    let dir = tempfile::tempdir().unwrap();
    let above = dir.path().to_str().unwrap();
    let mut files = Vec::new();
    let mut put = |directory: &[&str], file: &str, stays: bool| {
        let names: Vec<_> = directory.iter().map(|&name| name.to_owned()).collect();
        make(above, &names).unwrap();
        let path = dir.path().join(directory.join("/")).join(file);
        fs::write(&path, "text").unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(old)
            .unwrap();
        files.push((path, stays));
    };
    let ours = file_name(1);
    put(&["alice", "work", "results"], &ours, false);
    put(&["bob", "work", "results"], &ours, false);
    put(&["bob", "work", "results"], "notes.txt", true);
    put(&["bob", "work"], &ours, true);
    put(&["bob", "play", "results"], &ours, true);
    put(&["eve", "work"], &ours, true);
    put(&["outside", "results"], &ours, true);
    symlink(
        dir.path().join("outside"),
        dir.path().join("eve/work/results"),
    )
    .unwrap();
    put(&["shared", "work", "results"], &ours, true);
    let shared = dir.path().join("shared/work");
    fs::set_permissions(shared, fs::Permissions::from_mode(0o770)).unwrap();
    symlink(dir.path().join("outside"), dir.path().join("mallory")).unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let names = [None, Some("work".to_owned()), Some("results".to_owned())];
    let check = |oldest: i64, is_old: bool| {
        remove_old((above, &names), oldest);
        for (path, stays) in &files {
            assert_eq!(path.exists(), *stays || !is_old, "{}", path.display());
        }
    };
    check(1000, false);
    check(1001, true);
}
