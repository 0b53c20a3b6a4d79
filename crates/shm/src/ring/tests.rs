use super::*;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::VecDeque;

const SIZE: u32 = 64;

const BOUNDS: Bounds = Bounds {
    ring: SIZE,
    chunk: 100,
    chunks: 2,
};

struct Memory(RefCell<[u8; SIZE as usize]>);

impl Sink for &Memory {
    fn write(&mut self, at: u32, bytes: &[u8]) {
        self.0.borrow_mut()[at as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}

impl Source for &Memory {
    fn read(&self, at: u32, count: usize, into: &mut Place<'_>) {
        into.put(&self.0.borrow()[at as usize..][..count]);
    }
}

/// A ring whose positions begin anywhere.
struct Ring {
    memory: Memory,
    tail: Word,
    head: Word,
    producer: Producer,
    consumer: Consumer,
}

impl Ring {
    fn new(start: u32) -> Self {
        let ring = Ring {
            memory: Memory(RefCell::new([0xEE; SIZE as usize])),
            tail: Word::default(),
            head: Word::default(),
            producer: Producer {
                size: SIZE,
                tail: start,
                head: start,
            },
            consumer: Consumer {
                head: start,
                tail: start,
                ..Consumer::new(BOUNDS)
            },
        };
        ring.tail.publish(start);
        ring.head.publish(start);
        ring
    }

    fn write(&mut self, slices: &[&[u8]]) -> Result<usize, Error> {
        let parts = &mut Parts::new(slices);
        let all = parts.left();
        let (memory, head, tail) = (&mut &self.memory, &self.head, &self.tail);
        while parts.left() > 0 && self.producer.write(parts, memory, head, tail)? {}
        Ok(all - parts.left())
    }

    fn next(&mut self) -> Result<Option<Record>, Error> {
        let memory = &&self.memory;
        self.consumer.next(memory, &self.tail, &self.head)
    }

    fn read(&mut self, length: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; length];
        match self.next()? {
            None => Ok(Vec::new()),
            Some(_) => {
                let place = &mut Place::from(&mut bytes[..]);
                let taken = self.consumer.take(&&self.memory, place, &self.head);
                bytes.truncate(taken);
                Ok(bytes)
            }
        }
    }
}

proptest! {
    /// Whatever is written and read, also where positions wrap: the bytes come out in order.
    #[test]
    fn a_ring_is_a_queue(
        start in prop_oneof![Just(0), (u32::MAX - 1000..=u32::MAX).prop_map(|start| start & !7)],
        steps in prop::collection::vec((any::<bool>(), 0usize..70, 0usize..30), 1..300),
    ) {
        let mut ring = Ring::new(start);
        let mut queue = VecDeque::new();
        let mut next = 0u8;
        for (write, first, second) in steps {
            if write {
                let bytes: Vec<u8> = (0..first + second).map(|at| next.wrapping_add(at as u8)).collect();
                let (a, b) = bytes.split_at(first);
                let written = ring.write(&[a, b]).unwrap();
                prop_assert!(written > 0 || bytes.is_empty() || !queue.is_empty());
                queue.extend(&bytes[..written]);
                next = next.wrapping_add(written as u8);
            } else {
                let bytes = ring.read(first + 1).unwrap();
                prop_assert_eq!(bytes.is_empty(), queue.is_empty());
                let expected: Vec<u8> = queue.drain(..bytes.len()).collect();
                prop_assert_eq!(bytes, expected);
            }
        }
    }
}

/// Positions of the peer's that cannot be.
#[test]
fn positions_that_cannot_be() {
    // The writer has written 16 bytes at 80, and finds the reader at `head`.
    for (head, is_fine) in [
        (80, true),
        (88, true),
        (96, true),
        (72, false),
        (104, false),
        (84, false),
    ] {
        let mut ring = Ring::new(80);
        ring.write(&[&[1; 5]]).unwrap();
        ring.head.publish(head);
        // More than there is room for, so that it looks.
        let result = ring.write(&[&[1; 60]]);
        assert_eq!(result.is_ok(), is_fine, "{head}: {result:?}");
    }
    // The reader has read everything up to 80, and finds the writer at `tail`.
    for (tail, is_fine) in [
        (80, true),
        (144, true),
        (152, false),
        (72, false),
        (84, false),
    ] {
        let mut ring = Ring::new(80);
        ring.tail.publish(tail);
        let result = ring.consumer.has_record(&ring.tail);
        assert_eq!(result.is_ok(), is_fine, "{tail}: {result:?}");
    }
}

/// Headers of the peer's, where 24 bytes were written.
#[test]
fn records_that_cannot_be() {
    let rows = [
        (1, 0, true),
        (16, 0, true),
        (17, 0, false),
        (0, 0, false),
        (u32::MAX, 0, false),
        (u32::MAX - 7, 0, false),
        (1, 1, true),
        (100, 2, true),
        (101, 2, false),
        (0, 1, false),
        (1, 3, false),
        (1, u32::MAX, false),
    ];
    for (length, place, is_fine) in rows {
        let mut ring = Ring::new(0);
        let header = u64::from(place) << 32 | u64::from(length);
        (&mut &ring.memory).write(0, &header.to_ne_bytes());
        ring.tail.publish(24);
        let result = ring.next();
        assert_eq!(result.is_ok(), is_fine, "{length} {place}: {result:?}");
    }
}
