use dovetail_idl::{LoadError, Loader, Source, beside};
use std::path::Path;
use std::{fs, io};

/// Loads contracts from files: beside the including one first, then from the include folders in
/// order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileLoader {
    include_dirs: Vec<String>,
}

impl FileLoader {
    /// Without include folders.
    pub fn new() -> Self {
        FileLoader::default()
    }

    /// Adds a folder, to be searched after those added before.
    #[must_use]
    pub fn include_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.include_dirs
            .push(dir.as_ref().to_string_lossy().into_owned());
        self
    }

    /// Returns the places where a file can be, in order of preference.
    fn candidates(&self, from: Option<&str>, include: &str) -> Vec<String> {
        let Some(from) = from else {
            return vec![include.to_owned()];
        };
        let in_dirs = self
            .include_dirs
            .iter()
            .map(|dir| beside(&format!("{dir}/"), include));
        let mut all: Vec<String> = [beside(from, include)].into_iter().chain(in_dirs).collect();
        all.dedup();
        all
    }
}

impl Loader for FileLoader {
    fn load(&self, from: Option<&str>, include: &str) -> Result<Source, LoadError> {
        let tried = self.candidates(from, include);
        for name in &tried {
            match fs::read(name) {
                Ok(bytes) => return Ok(Source::from_bytes(name, bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(LoadError::Unreadable(format!("{name}: {error}"))),
            }
        }
        Err(LoadError::NotFound { tried })
    }
}
