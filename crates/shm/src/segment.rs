//! The two mappings of a connection, and everything that is unsafe about them.
//!
//! Each end makes one segment and maps it for writing, then seals it against every other writable
//! mapping (`F_SEAL_FUTURE_WRITE`) and against a change of its size, and only then lets anybody
//! have it. So:
//!
//! - **Our segment** is written by this process alone. It is ordinary memory to us, which others
//!   may read.
//! - **The peer's segment** is mapped read-only, and can change at any instant. No reference to its
//!   bytes is ever made: they are copied out, by volatile loads, and the words of its first page
//!   are read as atomics.
//!
//! The seals also keep a peer from shortening the memory under us, which would end this process
//! with SIGBUS.
#![allow(unsafe_code)]

use crate::error::{Error, Refusal};
use crate::geometry::PAGE;
use crate::place::Place;
use crate::ring::{Bounds, Sink, Source};
use crate::volatile;
use crate::word::Word;
use crate::words::{Header, Words};
use memmap2::{Advice, MmapOptions, MmapRaw};
use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, memfd_create,
};
use rustix::io::Errno;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// `DVTSHM` and two bytes that a machine of another byte order reads differently.
const MAGIC: [u32; 2] = [0x5354_5644, 0x0102_4D48];

/// The version of the layout.
pub(crate) const VERSION: u32 = 1;

/// Nothing grows, shrinks, or is written through another mapping, and this cannot be changed.
const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::FUTURE_WRITE)
    .union(SealFlags::SEAL);

/// `TMPFS_MAGIC` of statfs(2), which memfds have but for those in huge pages, whose absence is a
/// SIGBUS.
const TMPFS: i64 = 0x0102_1994;

/// A cache line.
const LINE: usize = 64;

/// The segment that this end writes.
#[derive(Debug)]
pub(crate) struct OwnSegment {
    map: MmapRaw,
    bounds: Bounds,
    /// Which chunks a [`ChunkMut`] exists of.
    lent: Box<[AtomicBool]>,
}

impl OwnSegment {
    /// Makes a segment. The descriptor is for the peer, the ring for the one that writes into it.
    pub(crate) fn create(bounds: Bounds) -> Result<(OwnedFd, Arc<Self>, OutputRing), Error> {
        let length = to_length(bounds.total())?;
        let fd = create_memfd()?;
        rustix::fs::ftruncate(&fd, bounds.total())?;
        let map = MmapOptions::new().len(length).map_raw(&fd)?;
        keep_from_children(&map)?;
        fcntl_add_seals(&fd, SEALS)?;
        let segment = Arc::new(OwnSegment {
            map,
            bounds,
            lent: (0..bounds.chunks).map(|_| AtomicBool::new(false)).collect(),
        });
        let header: &Header = &segment.words().header;
        for (word, value) in header.magic.iter().zip(MAGIC) {
            word.publish(value);
        }
        header.ring.publish(bounds.ring);
        header.chunk.publish(bounds.chunk);
        header.chunks.publish(bounds.chunks);
        header.version.publish(VERSION);
        let ring = OutputRing {
            segment: segment.clone(),
        };
        Ok((fd, segment, ring))
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds
    }

    pub(crate) fn words(&self) -> &Words {
        words(&self.map)
    }

    /// The right to write a chunk, unless somebody has it.
    pub(crate) fn lend(self: &Arc<Self>, index: u32) -> Option<ChunkMut> {
        let lent = self.lent.get(index as usize)?;
        let free = !lent.swap(true, Ordering::Acquire);
        free.then(|| ChunkMut {
            segment: self.clone(),
            index,
        })
    }
}

/// The right to write into the ring of a segment: there is one for each.
#[derive(Debug)]
pub(crate) struct OutputRing {
    segment: Arc<OwnSegment>,
}

impl Sink for OutputRing {
    fn write(&mut self, at: u32, bytes: &[u8]) {
        let ring = self.segment.bounds.ring as usize;
        let at = at as usize;
        assert!(at <= ring && bytes.len() <= ring - at);
        // SAFETY: the bytes lie in the ring, as was just checked, and so in the mapping. Only
        // `self`, of which there is one, borrowed exclusively, writes there; nothing in this
        // process reads there.
        unsafe {
            let to = self.segment.map.as_mut_ptr().add(PAGE as usize + at);
            to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }
}

/// A piece of the outgoing segment to write a large payload into: all of it can be written, nobody
/// else writes it. It holds whatever was in it before. Dropped without being sent, it is free
/// again.
#[derive(Debug)]
pub struct ChunkMut {
    segment: Arc<OwnSegment>,
    index: u32,
}

impl ChunkMut {
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    pub(crate) fn is_of(&self, segment: &Arc<OwnSegment>) -> bool {
        Arc::ptr_eq(&self.segment, segment)
    }

    fn place(&self) -> *mut [u8] {
        let bounds = self.segment.bounds;
        // SAFETY: the index is below the number of chunks, as it was found in `lent`, which is as
        // long; the whole chunk lies in the mapping, whose length is `bounds.total()`, a `usize`.
        let start = unsafe {
            let offset = bounds.chunk_start(self.index) as usize;
            self.segment.map.as_mut_ptr().add(offset)
        };
        std::ptr::slice_from_raw_parts_mut(start, bounds.chunk as usize)
    }
}

impl Deref for ChunkMut {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: a chunk lies in the mapping, which `self` keeps, is initialized by the system,
        // and is written only through its one `ChunkMut`: the seal keeps other processes from
        // writing.
        unsafe { &*self.place() }
    }
}

impl DerefMut for ChunkMut {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`; and `self` is borrowed exclusively.
        unsafe { &mut *self.place() }
    }
}

impl Drop for ChunkMut {
    fn drop(&mut self) {
        if let Some(lent) = self.segment.lent.get(self.index as usize) {
            lent.store(false, Ordering::Release);
        }
    }
}

/// The segment that the peer writes.
#[derive(Debug)]
pub(crate) struct PeerSegment {
    map: MmapRaw,
    bounds: Bounds,
}

impl PeerSegment {
    /// Maps what a peer has passed, if it is what it has to be.
    pub(crate) fn open(fd: &OwnedFd, largest: u64) -> Result<Self, Error> {
        let length = check_file(fd, largest)?;
        let map = MmapOptions::new().len(length).map_raw_read_only(fd)?;
        keep_from_children(&map)?;
        let bounds = read_header(&words(&map).header, length)?;
        Ok(PeerSegment { map, bounds })
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The words, which this process can only observe.
    pub(crate) fn words(&self) -> &Words {
        words(&self.map)
    }

    /// Copies bytes of a chunk out; what lies beyond its end is left out. Returns how many were
    /// copied.
    pub(crate) fn read_chunk(
        &self,
        index: u32,
        at: usize,
        count: usize,
        into: &mut Place<'_>,
    ) -> usize {
        let left = (self.bounds.chunk as usize).saturating_sub(at);
        let count = count.min(left);
        self.read(self.bounds.chunk_start(index) + at as u64, count, into);
        count
    }

    /// Has the processor fetch the ring's bytes from there on, which are about to be read.
    pub(crate) fn expect(&self, at: u32) {
        let start = PAGE as usize + (at % self.bounds.ring) as usize;
        for line in [start, start + LINE] {
            volatile::prefetch(self.map.as_ptr().wrapping_add(line));
        }
    }

    /// Copies bytes out.
    fn read(&self, start: u64, count: usize, into: &mut Place<'_>) {
        let length = self.map.len() as u64;
        assert!(start <= length && count as u64 <= length - start);
        // SAFETY: the bytes lie in the mapping, as was just checked, and that keeps its length: the
        // file is sealed against shrinking. They may change meanwhile, which is why the loads are
        // volatile. The place is memory of our own, and `copy` gives each of the bytes a value.
        unsafe {
            let from = self.map.as_ptr().add(start as usize);
            into.fill(count, |to| volatile::copy(from, to, count));
        }
    }
}

impl Source for PeerSegment {
    fn read(&self, at: u32, count: usize, into: &mut Place<'_>) {
        self.read(u64::from(PAGE) + u64::from(at), count, into);
    }
}

/// The first page of a segment, whoever writes it.
fn words(map: &MmapRaw) -> &Words {
    assert!(map.len() >= size_of::<Words>());
    // SAFETY: the mapping begins at a page and is long enough, as was just checked, and lives as
    // long as the result. `Words` are atomics: valid whatever they hold, and whoever writes them
    // meanwhile; the page is used in no other way. Where it is mapped read-only, only `observe` is
    // called, a relaxed load of 4 bytes, which is defined there.
    unsafe { &*map.as_ptr().cast::<Words>() }
}

fn create_memfd() -> Result<OwnedFd, Error> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match memfd_create("dovetail", flags | MemfdFlags::NOEXEC_SEAL) {
        // Before Linux 6.3.
        Err(Errno::INVAL) => Ok(memfd_create("dovetail", flags)?),
        fd => Ok(fd?),
    }
}

/// A child process shall not have the memory: it would keep it after this process.
fn keep_from_children(map: &MmapRaw) -> Result<(), Error> {
    Ok(map.advise(Advice::DontFork)?)
}

fn to_length(bytes: u64) -> Result<usize, Error> {
    usize::try_from(bytes).map_err(|_| Error::Invalid("a segment larger than the address space"))
}

/// Checks a file before it is mapped. Returns its length.
fn check_file(fd: &OwnedFd, largest: u64) -> Result<usize, Error> {
    let sealed = fcntl_get_seals(fd).is_ok_and(|seals| seals.contains(SEALS));
    if !sealed || fstatfs(fd.as_fd())?.f_type as i64 != TMPFS {
        return Err(Error::Misbehaved("its segment is not a sealed memfd"));
    }
    let length = u64::try_from(fstat(fd)?.st_size).unwrap_or(0);
    if length < u64::from(PAGE) {
        return Err(Error::Misbehaved("its segment is shorter than a page"));
    }
    if length > largest {
        return Err(Error::Refused(Refusal::TooLarge));
    }
    to_length(length)
}

/// Reads each number of the header once, and checks them against each other.
fn read_header(header: &Header, length: usize) -> Result<Bounds, Error> {
    if header.magic.each_ref().map(Word::observe) != MAGIC {
        return Err(Error::Misbehaved(
            "its segment does not begin with the magic number",
        ));
    }
    if header.version.observe() != VERSION {
        return Err(Error::Refused(Refusal::Version));
    }
    let bounds = Bounds {
        ring: header.ring.observe(),
        chunk: header.chunk.observe(),
        chunks: header.chunks.observe(),
    };
    bounds.check().map_err(Error::Misbehaved)?;
    match bounds.total() == length as u64 {
        true => Ok(bounds),
        false => Err(Error::Misbehaved(
            "its segment has not the size that it says",
        )),
    }
}
