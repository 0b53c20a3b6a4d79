//! Sessions that outlive their server.

use super::Handle;
use crate::identity::Principal;
use dovetail_wire::{Bytes, DecodeError, EncodeError, Encoding, Field, Kind, Limits, Value};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Keeps the state of sessions across restarts: a database, or a folder of files ([`FileStore`]).
///
/// Its methods run where the handlers of calls do, and must not take long. A record is saved as a
/// whole: whoever reads it after a crash finds the old or the new one.
pub trait SessionStore: Send + Sync + 'static {
    /// Saves the record of a session, in place of an earlier one.
    fn save(&self, handle: Handle, record: &[u8]) -> io::Result<()>;

    /// Removes a session, which may have no record.
    fn remove(&self, handle: Handle) -> io::Result<()>;

    /// Returns all sessions that have a record.
    fn handles(&self) -> io::Result<Vec<Handle>>;

    /// Returns the record of a session.
    fn load(&self, handle: Handle) -> io::Result<Vec<u8>>;
}

/// Keeps each session in a file of a folder of its own, which nobody else may read.
///
/// A new record is written beside the old one and takes its place by renaming, so that a process
/// which is killed leaves the old or the new one. With [`synced`](Self::synced) that is so for a
/// machine that loses its power as well.
#[derive(Clone, Debug)]
pub struct FileStore {
    folder: PathBuf,
    synced: bool,
}

const ENDING: &str = "session";

impl FileStore {
    /// Opens a folder, which is made if it is not there.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
        let store = FileStore {
            folder,
            synced: false,
        };
        store.remove_halves()?;
        Ok(store)
    }

    /// Waits for the disk before a call is answered.
    #[must_use]
    pub fn synced(mut self) -> Self {
        self.synced = true;
        self
    }

    fn path(&self, handle: Handle, ending: &str) -> PathBuf {
        self.folder.join(format!("{handle}.{ending}"))
    }

    fn files(&self, ending: &str) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|own| own == ending) {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// Removes what a process has left that was killed while it wrote.
    fn remove_halves(&self) -> io::Result<()> {
        self.files("new")?.iter().try_for_each(fs::remove_file)
    }

    fn write(&self, path: &Path, record: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(path)?;
        file.write_all(record)?;
        match self.synced {
            true => file.sync_data(),
            false => Ok(()),
        }
    }
}

impl SessionStore for FileStore {
    fn save(&self, handle: Handle, record: &[u8]) -> io::Result<()> {
        let new = self.path(handle, "new");
        self.write(&new, record)?;
        fs::rename(new, self.path(handle, ENDING))?;
        match self.synced {
            true => File::open(&self.folder)?.sync_all(),
            false => Ok(()),
        }
    }

    fn remove(&self, handle: Handle) -> io::Result<()> {
        match fs::remove_file(self.path(handle, ENDING)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn handles(&self) -> io::Result<Vec<Handle>> {
        let files = self.files(ENDING)?;
        let stems = files.iter().filter_map(|file| file.file_stem()?.to_str());
        Ok(stems.filter_map(|stem| stem.parse().ok()).collect())
    }

    fn load(&self, handle: Handle) -> io::Result<Vec<u8>> {
        fs::read(self.path(handle, ENDING))
    }
}

/// A session as it is stored: the principal to which it belongs, and its state, in Dovetail's
/// tagged encoding.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    pub(super) owner: Option<Principal>,
    pub(super) state: Bytes,
}

const FIELDS: &[Field<'static>] = &[
    Field::new(1, "kind", Kind::String),
    Field::new(2, "name", Kind::String),
    Field::new(3, "state", <Bytes as Value>::KIND),
];

impl Record {
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let (kind, name) = match &self.owner {
            Some(owner) => (owner.kind().to_owned(), owner.name().to_owned()),
            None => Default::default(),
        };
        Encoding::Tagged.to_bytes(&(&(&kind, &name, &self.state), FIELDS))
    }

    pub(super) fn from_bytes(record: Vec<u8>) -> Result<Self, DecodeError> {
        let mut values = (String::new(), String::new(), Bytes::new());
        let record = Bytes::from(record);
        let read =
            Encoding::Tagged.decode(&mut (&mut values, FIELDS), &record, Limits::default())?;
        if read != record.len() {
            return Err(DecodeError::malformed(
                "there is something behind the record",
            ));
        }
        let (kind, name, state) = values;
        let owner = (!kind.is_empty()).then(|| Principal::new(name, kind));
        Ok(Record { owner, state })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_are_written() {
        for owner in [None, Some(Principal::new("ada", Principal::TOKEN))] {
            let record = Record {
                owner,
                state: Bytes::from_static(b"state"),
            };
            let bytes = record.to_bytes().unwrap();
            assert_eq!(Record::from_bytes(bytes.clone()).unwrap(), record);
            for end in 0..bytes.len() {
                // A part of a record is an error, or lacks its last fields.
                let part = Record::from_bytes(bytes[..end].to_vec());
                assert!(part.is_err() || part.unwrap() != record, "{end}");
            }
        }
    }

    #[test]
    fn files_come_and_go() {
        let folder = std::env::temp_dir().join(format!("dovetail-sessions-{}", std::process::id()));
        let store = FileStore::open(&folder).unwrap().synced();
        let handle = Handle::random().unwrap();
        store.remove(handle).unwrap();
        for record in ["one", "two"] {
            store.save(handle, record.as_bytes()).unwrap();
            assert_eq!(store.load(handle).unwrap(), record.as_bytes());
        }
        fs::write(store.path(handle, "new"), "half").unwrap();
        let store = FileStore::open(&folder).unwrap();
        assert_eq!(store.handles().unwrap(), [handle]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        store.remove(handle).unwrap();
        assert!(store.handles().unwrap().is_empty());
        fs::remove_dir(folder).unwrap();
    }
}
