use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

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
