//! A directory that is filled where no other program looks, and then takes the place of the output.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::failure::SuggestFailure;
use crate::drafts::Draft;
use crate::findings::printable;
use crate::loading;
use crate::policy::{PolicySnapshot, ServerKey};

/// The mode of the directory that the files are written in: no other user enters it.
#[cfg(unix)]
const PRIVATE: u32 = 0o700;

/// The place of the output, with no symbolic link in it.
///
/// It is found before the server starts, which could put links there.
#[derive(Debug)]
pub(in crate::cli) struct OutputPlace {
    /// As the user wrote it.
    named: PathBuf,
    /// The directory nearest to it that exists.
    base: PathBuf,
    /// Directories below the base that do not exist.
    missing: Vec<OsString>,
    name: OsString,
}

/// A draft that is written. It goes again unless it is moved to its place.
#[derive(Debug)]
pub(in crate::cli) struct DraftDirectory {
    place: OutputPlace,
    /// Directories above the output that were not there, the outer ones first.
    made: Vec<PathBuf>,
    private: PathBuf,
}

impl OutputPlace {
    /// Nothing is written over what is there.
    pub(in crate::cli) fn of(output: &Path) -> Result<Self, SuggestFailure> {
        let unwritable = |cause| SuggestFailure::Write {
            file: output.to_owned(),
            cause,
        };
        let no_directory = |path: &Path| SuggestFailure::NoDirectory(path.to_owned());
        let mut missing = Vec::new();
        let mut base = output;
        let mut base = loop {
            let path = if base.as_os_str().is_empty() {
                Path::new(".")
            } else {
                base
            };
            match fs::metadata(path) {
                Ok(found) if found.is_dir() => {
                    break fs::canonicalize(path).map_err(unwritable)?;
                }
                Ok(_) => return Err(no_directory(path)),
                // A link to nothing.
                Err(_) if fs::symlink_metadata(path).is_ok() => return Err(no_directory(path)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) if error.kind() == ErrorKind::NotADirectory => {}
                Err(error) => return Err(unwritable(error)),
            }
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(unwritable(ErrorKind::InvalidInput.into()));
            };
            missing.push(name.to_owned());
            base = parent;
        };
        missing.reverse();
        let name = if let Some(name) = missing.pop() {
            name
        } else {
            let mut entries = fs::read_dir(&base).map_err(unwritable)?;
            if entries.next().is_some() {
                return Err(SuggestFailure::Taken(output.to_owned()));
            }
            let name = base.file_name().map(ToOwned::to_owned);
            let name = name.ok_or_else(|| unwritable(ErrorKind::InvalidInput.into()))?;
            base.pop();
            name
        };
        Ok(Self {
            named: output.to_owned(),
            base,
            missing,
            name,
        })
    }

    fn failure(&self, cause: io::Error) -> SuggestFailure {
        let is_taken = matches!(
            cause.kind(),
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory
        );
        if is_taken {
            return SuggestFailure::Taken(self.named.clone());
        }
        SuggestFailure::Write {
            file: self.named.clone(),
            cause,
        }
    }
}

impl DraftDirectory {
    /// Writes the files into a new directory beside the output.
    pub(in crate::cli) fn write(draft: &Draft, place: OutputPlace) -> Result<Self, SuggestFailure> {
        let mut above = place.base.clone();
        let mut written = Self {
            private: PathBuf::new(),
            made: Vec::new(),
            place,
        };
        let done = written.fill(draft, &mut above);
        done.map_err(|cause| written.place.failure(cause))?;
        Ok(written)
    }

    fn fill(&mut self, draft: &Draft, above: &mut PathBuf) -> io::Result<()> {
        for name in &self.place.missing {
            above.push(name);
            fs::create_dir(&*above)?;
            self.made.push(above.clone());
        }
        let mut name = OsString::from(".mcp-protector-draft-");
        name.push(format!("{:016x}", getrandom::u64()?));
        let private = above.join(name);
        create_private(&private)?;
        self.private = private;
        let files = self.files();
        fs::create_dir(&files)?;
        for (name, text) in &draft.files {
            let file = files.join(name);
            if let Some(directory) = file.parent() {
                fs::create_dir_all(directory)?;
            }
            fs::File::create_new(file)?.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// The directory with the files, until they are moved.
    pub(in crate::cli) fn files(&self) -> PathBuf {
        self.private.join("policies")
    }

    /// Moves the files to their place, unless something is there now.
    pub(in crate::cli) fn keep(mut self) -> Result<(), SuggestFailure> {
        let above = self.private.parent().unwrap_or(&self.private);
        let place = above.join(&self.place.name);
        self.replace(&place)
            .map_err(|cause| self.place.failure(cause))?;
        self.made.clear();
        Ok(())
    }

    fn replace(&self, place: &Path) -> io::Result<()> {
        // An empty directory keeps its mode. Of what is no directory, the move fails.
        if let Ok(found) = fs::symlink_metadata(place)
            && found.is_dir()
        {
            fs::set_permissions(self.files(), found.permissions())?;
        }
        fs::rename(self.files(), place)
    }
}

fn create_private(directory: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, PRIVATE);
    builder.create(directory)
}

impl Drop for DraftDirectory {
    fn drop(&mut self) {
        if !self.private.as_os_str().is_empty() {
            // What another program has removed needs no removal.
            let _ = fs::remove_dir_all(&self.private);
        }
        for directory in self.made.iter().rev() {
            // One that another program has put a file into stays.
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Writes a draft, and loads it as one of several servers or of one without a key. It goes again unless it is kept.
pub(super) fn write(
    draft: &Draft,
    place: OutputPlace,
    servers: &[ServerKey],
) -> Result<(DraftDirectory, PolicySnapshot), SuggestFailure> {
    let written = DraftDirectory::write(draft, place)?;
    let settings = loading::Settings {
        dir: Some(written.files()),
        servers: servers.to_vec(),
        ..loading::Settings::default()
    };
    let policies = loading::load(&settings)?.snapshot;
    Ok((written, policies))
}

pub(super) fn tell_files(draft: &Draft, output: &Path, out: &mut dyn Write) -> io::Result<()> {
    for (name, _) in &draft.files {
        let file = output.join(name);
        writeln!(out, "wrote {}", printable(&file.display().to_string()))?;
    }
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn draft() -> Draft {
        Draft {
            files: vec![
                ("a.cedar", "// a".to_owned()),
                ("tests/t.toml", "# t".to_owned()),
            ],
        }
    }

    /// All that is below a directory.
    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap().map(|it| it.unwrap());
        let mut names: Vec<String> = entries
            .map(|it| it.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_draft_takes_its_place_whole() {
        let check = |output: &str, found_at: &str, rest: &[&str]| {
            let dir = tempfile::tempdir().unwrap();
            let at = |name: &str| dir.path().join(name);
            fs::create_dir(at("empty")).unwrap();
            fs::set_permissions(at("empty"), fs::Permissions::from_mode(0o750)).unwrap();
            symlink(at("empty"), at("link")).unwrap();
            let place = OutputPlace::of(&at(output)).unwrap();
            let written = DraftDirectory::write(&draft(), place).unwrap();
            let private = fs::metadata(written.files().parent().unwrap()).unwrap();
            assert_eq!(private.permissions().mode() & 0o777, PRIVATE);
            written.keep().unwrap();
            assert_eq!(names(&at(found_at)), ["a.cedar", "tests"], "{output}");
            assert_eq!(names(&at(found_at).join("tests")), ["t.toml"]);
            assert_eq!(names(dir.path()), rest, "{output}");
            let mode = fs::metadata(at(found_at)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777 == 0o750, found_at == "empty");
        };
        check("new", "new", &["empty", "link", "new"]);
        check("a/b/c", "a/b/c", &["a", "empty", "link"]);
        check("empty", "empty", &["empty", "link"]);
        check("link", "empty", &["empty", "link"]);
        check("link/d", "empty/d", &["empty", "link"]);
    }

    #[test]
    fn an_output_that_is_no_empty_directory_is_refused_by_its_kind() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        symlink(dir.path().join("nothing"), dir.path().join("dangling")).unwrap();
        let check = |output: &Path, why: &str| {
            let failure = OutputPlace::of(output).unwrap_err();
            assert!(failure.to_string().contains(why), "{failure}");
        };
        check(&dir.path().join("file"), "file` is no directory");
        check(&dir.path().join("file/a"), "file` is no directory");
        check(&dir.path().join("dangling"), "is no directory");
        check(dir.path(), "exists and is not empty");
        check(&dir.path().join("x/.."), "cannot be written");
        check(Path::new("/"), "exists and is not empty");
    }

    #[test]
    fn what_appears_at_the_output_is_not_taken_over_and_nothing_is_left() {
        let check = |appears: &dyn Fn(&Path)| {
            let dir = tempfile::tempdir().unwrap();
            let (outside, output) = (dir.path().join("outside"), dir.path().join("output"));
            fs::create_dir(&outside).unwrap();
            // The server runs from here on.
            let place = OutputPlace::of(&output).unwrap();
            appears(&output);
            let before = names(dir.path());
            let written = DraftDirectory::write(&draft(), place);
            let failure = written.and_then(DraftDirectory::keep).unwrap_err();
            assert!(matches!(failure, SuggestFailure::Taken(_)), "{failure}");
            assert_eq!(names(dir.path()), before);
            assert_eq!(names(&outside), [""; 0]);
        };
        check(&|output| {
            fs::create_dir(output).unwrap();
            fs::write(output.join("extra.cedar"), "").unwrap();
        });
        check(&|output| {
            fs::create_dir(output).unwrap();
            symlink(output.with_file_name("outside"), output.join("tests")).unwrap();
        });
        check(&|output| symlink(output.with_file_name("outside"), output).unwrap());
        check(&|output| fs::write(output, "").unwrap());
    }

    #[test]
    fn a_directory_above_the_output_that_appears_is_not_entered() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let place = OutputPlace::of(&dir.path().join("a/b")).unwrap();
        symlink(outside.path(), dir.path().join("a")).unwrap();
        let written = DraftDirectory::write(&draft(), place);
        assert!(matches!(written, Err(SuggestFailure::Taken(_))));
        assert_eq!(names(outside.path()), [""; 0]);
    }
}
