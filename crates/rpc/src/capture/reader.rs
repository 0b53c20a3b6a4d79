use super::format::{
    self, CaptureHeader, CaptureSummary, CapturedCall, HEAD, Head, Kind, MAGIC, broken,
};
use dovetail_wire::{Bytes, tagged};
use std::io::{self, Read, Seek, SeekFrom};

/// Reads the file of a capture, call by call, in the order in which they ended.
///
/// A file whose end is missing gives the calls that are there, and has no
/// [`summary`](Self::summary).
///
/// ```no_run
/// use dovetail::capture::Reader;
///
/// # fn run() -> std::io::Result<()> {
/// let mut capture = Reader::new(std::fs::File::open("shop.capture")?)?;
/// for call in &mut capture {
///     let call = call?;
///     println!("{}/{}: {} in {} µs", call.service, call.method, call.code, call.elapsed);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    header: CaptureHeader,
    /// The calls of the chunk that has been read last.
    calls: Bytes,
    summary: Option<CaptureSummary>,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the header. An error if the input is no capture.
    pub fn new(mut input: R) -> io::Result<Self> {
        let mut magic = [0; MAGIC.len()];
        let read = input.read_exact(&mut magic);
        if read.is_err() || magic != MAGIC {
            return Err(broken("it does not begin as one"));
        }
        let mut reader = Reader {
            input,
            header: CaptureHeader::default(),
            calls: Bytes::new(),
            summary: None,
            ended: false,
        };
        match reader.chunk()? {
            Some((Kind::Header, content)) => {
                reader.header = tagged::from_bytes(&content).map_err(broken)?;
                Ok(reader)
            }
            _ => Err(broken("its header is missing")),
        }
    }

    /// Returns when the capture began, and the contracts of the calls.
    pub fn header(&self) -> &CaptureHeader {
        &self.header
    }

    /// Returns the summary, once all calls have been read.
    pub fn summary(&self) -> Option<&CaptureSummary> {
        self.summary.as_ref()
    }

    /// Reads the next chunk; `None` where the file has been cut off.
    fn chunk(&mut self) -> io::Result<Option<(Kind, Bytes)>> {
        let mut head = [0; HEAD];
        if !fill(&mut self.input, &mut head)? {
            return Ok(None);
        }
        let head = Head::read(head)?;
        let mut stored = Vec::new();
        let mut input = (&mut self.input).take(head.stored as u64);
        input.read_to_end(&mut stored)?;
        match stored.len() == head.stored {
            true => Ok(Some((head.kind, head.content(stored)?))),
            false => Ok(None),
        }
    }

    fn read(&mut self) -> io::Result<Option<CapturedCall>> {
        while self.calls.is_empty() {
            match self.chunk()? {
                Some((Kind::Calls, content)) => self.calls = content,
                Some((Kind::Summary, content)) => {
                    self.summary = Some(tagged::from_bytes(&content).map_err(broken)?);
                    return Ok(None);
                }
                Some((Kind::Header, _)) => return Err(broken("it has two headers")),
                None => return Ok(None),
            }
        }
        format::next_call(&mut self.calls).map(Some)
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Goes to the first chunk with calls that went on at this time or later, in microseconds after
    /// the beginning of the capture. Without an index, in a file that has been cut off, it stays
    /// where it is.
    pub fn skip_to(&mut self, time: i64) -> io::Result<()> {
        let here = self.input.stream_position()?;
        let summary = self.at_the_end().ok().flatten();
        let place = summary.and_then(|summary| {
            let found = summary.index.iter().find(|entry| entry.last >= time);
            // None at all: behind the last one.
            let last = summary.index.last();
            found
                .or(last)
                .and_then(|entry| u64::try_from(entry.offset).ok())
        });
        self.input.seek(SeekFrom::Start(place.unwrap_or(here)))?;
        if place.is_some() {
            self.calls = Bytes::new();
        }
        Ok(())
    }

    /// Reads the summary by what stands at the end of the file.
    fn at_the_end(&mut self) -> io::Result<Option<CaptureSummary>> {
        let mut end = [0; 8 + format::END.len()];
        let back = i64::try_from(end.len()).map_err(broken)?;
        self.input.seek(SeekFrom::End(-back))?;
        self.input.read_exact(&mut end)?;
        let Some((offset, mark)) = end.split_first_chunk::<8>() else {
            return Ok(None);
        };
        if mark != format::END {
            return Ok(None);
        }
        self.input
            .seek(SeekFrom::Start(u64::from_le_bytes(*offset)))?;
        match self.chunk()? {
            Some((Kind::Summary, content)) => {
                tagged::from_bytes(&content).map(Some).map_err(broken)
            }
            _ => Ok(None),
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = io::Result<CapturedCall>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.read();
        self.ended = !matches!(read, Ok(Some(_)));
        read.transpose()
    }
}

/// Fills a buffer. Returns false where the input ends before.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
