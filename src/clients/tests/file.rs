use std::fs;
use std::path::{Path, PathBuf};

use super::{attachments, client, file_of, problems};
use crate::clients::{ClientErrors, ClientFile, FileChange};

struct Directory(tempfile::TempDir);

impl Directory {
    fn with(text: &str) -> (Self, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.json");
        fs::write(&path, text).unwrap();
        (Self(directory), path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn told(&self, errors: &ClientErrors) -> String {
        let directory = self.0.path().display().to_string();
        problems(errors)
            .replace(&directory, "DIR")
            .replace('\\', "/")
    }
}

fn wrap(path: &Path) -> Result<FileChange, ClientErrors> {
    let file = ClientFile::open(path, client("Cursor"))?;
    let entries = file.entries()?;
    file.wrap(&attachments(&entries))
}

fn unwrap(path: &Path) -> Result<FileChange, ClientErrors> {
    ClientFile::open(path, client("Cursor"))?.unwrap()
}

fn beside(path: &Path) -> PathBuf {
    path.with_file_name("mcp.json.before-mcp-protector")
}

#[test]
fn a_file_is_wrapped_and_unwrapped_byte_for_byte() {
    let check = |text: &str| {
        let (directory, path) = Directory::with(text);
        assert_eq!(wrap(&path).unwrap(), FileChange::Written);
        assert_eq!(fs::read_to_string(beside(&path)).unwrap(), text);
        let wrapped = fs::read_to_string(&path).unwrap();
        assert_eq!(
            wrapped.starts_with('\u{feff}'),
            text.starts_with('\u{feff}')
        );
        assert_eq!(wrap(&path).unwrap(), FileChange::None);
        assert_eq!(fs::read_to_string(&path).unwrap(), wrapped);
        assert_eq!(unwrap(&path).unwrap(), FileChange::Written);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(directory.names(), ["mcp.json"]);
        assert_eq!(unwrap(&path).unwrap(), FileChange::None);
    };
    let text = file_of("Cursor");
    check(text);
    check(&format!("\u{feff}{text}"));
    check(&text.replace('\n', "\r\n"));
}

#[test]
fn a_server_that_was_added_later_is_wrapped_too() {
    let (_directory, path) = Directory::with(file_of("Cursor"));
    wrap(&path).unwrap();
    let add = |text: &str| {
        let added = "\"mcpServers\": { \"late\": { \"command\": \"late\" }, ";
        text.replace("\"mcpServers\": {", added)
    };
    fs::write(&path, add(&fs::read_to_string(&path).unwrap())).unwrap();
    assert_eq!(wrap(&path).unwrap(), FileChange::Written);
    assert_eq!(
        fs::read_to_string(&path).unwrap().matches("attach").count(),
        3
    );
    unwrap(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), add(file_of("Cursor")));
}

#[test]
fn what_is_undone_is_as_it_was_whether_it_was_wrapped_before_or_not() {
    let (directory, path) = Directory::with(file_of("Cursor"));
    let change = || {
        let file = ClientFile::open(&path, client("Cursor")).unwrap();
        let mut attachments = attachments(&file.entries().unwrap());
        attachments.truncate(1);
        assert_eq!(file.wrap(&attachments).unwrap(), FileChange::Written);
        file.undo(&attachments).unwrap();
        (file, attachments)
    };
    change();
    assert_eq!(fs::read_to_string(&path).unwrap(), file_of("Cursor"));
    assert_eq!(directory.names(), ["mcp.json"]);
    wrap(&path).unwrap();
    let wrapped = fs::read_to_string(&path).unwrap();
    let (file, attachments) = change();
    assert_eq!(fs::read_to_string(&path).unwrap(), wrapped);
    assert_eq!(
        fs::read_to_string(beside(&path)).unwrap(),
        file_of("Cursor")
    );
    // What the client has written since is not lost.
    fs::write(&path, "{}").unwrap();
    let errors = file.undo(&attachments).unwrap_err();
    assert!(directory.told(&errors).contains("changed meanwhile"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
}

#[test]
fn a_backup_without_wrapped_entries_goes() {
    let (directory, path) = Directory::with("{}");
    fs::write(beside(&path), file_of("Cursor")).unwrap();
    assert_eq!(unwrap(&path).unwrap(), FileChange::None);
    assert_eq!(directory.names(), ["mcp.json"]);
}

#[test]
fn a_wrapped_file_without_its_backup_is_left_alone() {
    let (directory, path) = Directory::with(file_of("Cursor"));
    wrap(&path).unwrap();
    fs::remove_file(beside(&path)).unwrap();
    let wrapped = fs::read_to_string(&path).unwrap();
    insta::assert_snapshot!(directory.told(&unwrap(&path).unwrap_err()));
    assert_eq!(fs::read_to_string(&path).unwrap(), wrapped);
}

#[test]
fn a_file_that_changed_meanwhile_is_left_alone() {
    let (directory, path) = Directory::with(file_of("Cursor"));
    let file = ClientFile::open(&path, client("Cursor")).unwrap();
    let entries = file.entries().unwrap();
    fs::write(&path, "{}").unwrap();
    let errors = file.wrap(&attachments(&entries)).unwrap_err();
    insta::assert_snapshot!(directory.told(&errors));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    assert_eq!(directory.names(), ["mcp.json"]);
}

#[test]
fn what_is_no_client_file_is_not_read() {
    let (directory, path) = Directory::with("{}");
    let told = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        directory.told(&wrap(&path).unwrap_err())
    };
    let mut all = vec![told(b"{\n\"a\xff\": 1}"), told(&vec![b' '; (16 << 20) + 1])];
    fs::remove_file(&path).unwrap();
    all.push(directory.told(&wrap(&path).unwrap_err()));
    fs::create_dir(&path).unwrap();
    all.push(directory.told(&wrap(&path).unwrap_err()));
    insta::assert_snapshot!(all.concat());
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_file_keeps_its_mode_and_the_backup_is_for_its_owner() {
        let (_directory, path) = Directory::with(file_of("Cursor"));
        for bits in [0o600, 0o644, 0o660] {
            fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
            wrap(&path).unwrap();
            assert_eq!((mode(&path), mode(&beside(&path))), (bits, 0o600));
            unwrap(&path).unwrap();
            assert_eq!(mode(&path), bits);
        }
    }

    #[test]
    fn a_read_only_file_is_left_alone() {
        let (directory, path) = Directory::with(file_of("Cursor"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        insta::assert_snapshot!(directory.told(&wrap(&path).unwrap_err()));
        assert_eq!(fs::read_to_string(&path).unwrap(), file_of("Cursor"));
        assert_eq!(directory.names(), ["mcp.json"]);
    }

    #[test]
    fn no_link_is_followed() {
        let (directory, target) = Directory::with(file_of("Cursor"));
        let target_moved = target.with_file_name("other.json");
        fs::rename(&target, &target_moved).unwrap();
        symlink(&target_moved, &target).unwrap();
        let mut told = directory.told(&wrap(&target).unwrap_err());
        fs::remove_file(&target).unwrap();
        fs::copy(&target_moved, &target).unwrap();
        symlink(&target_moved, beside(&target)).unwrap();
        told += &directory.told(&wrap(&target).unwrap_err());
        told += &directory.told(&unwrap(&target).unwrap_err());
        insta::assert_snapshot!(told);
        assert_eq!(
            fs::read_to_string(&target_moved).unwrap(),
            file_of("Cursor")
        );
        assert_eq!(fs::read_to_string(&target).unwrap(), file_of("Cursor"));
    }
}
