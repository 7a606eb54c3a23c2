//! Files that are removed again unless they are kept.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Files and directories that were not there before.
#[derive(Debug, Default)]
pub(super) struct NewFiles {
    files: Vec<PathBuf>,
    /// The outer ones first.
    directories: Vec<PathBuf>,
}

impl NewFiles {
    /// Writes a new file, and makes the directories that it lies in.
    pub(super) fn write(&mut self, file: &Path, text: &str) -> io::Result<()> {
        let above = file.ancestors().skip(1);
        let missing = above.take_while(|it| !it.as_os_str().is_empty() && !it.exists());
        let missing: Vec<&Path> = missing.collect();
        for directory in missing.into_iter().rev() {
            fs::create_dir(directory)?;
            self.directories.push(directory.to_owned());
        }
        let mut opened = fs::File::create_new(file)?;
        self.files.push(file.to_owned());
        opened.write_all(text.as_bytes())
    }

    pub(super) fn keep(mut self) {
        self.files.clear();
        self.directories.clear();
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        for file in &self.files {
            // A file that another program has removed needs no removal.
            let _ = fs::remove_file(file);
        }
        for directory in self.directories.iter().rev() {
            // One that another program has put a file into stays.
            let _ = fs::remove_dir(directory);
        }
    }
}
