//! Hands out ranges of a fixed capacity and takes them back.

use std::ops::Range;

/// First-fit allocator over `0..capacity`; adjacent free ranges are merged.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    capacity: u32,
    /// Elements handed out.
    used: u32,
    /// Free ranges by start; never empty ranges, never adjacent.
    free: Vec<Range<u32>>,
}

impl Ranges {
    pub fn new(capacity: u32) -> Self {
        let mut ranges = Self::default();
        ranges.grow(capacity);
        ranges
    }

    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Elements handed out.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Adds room at the end.
    pub fn grow(&mut self, capacity: u32) {
        if capacity > self.capacity {
            let added = self.capacity..capacity;
            self.capacity = capacity;
            self.insert(added);
        }
    }

    /// Start of `count` free elements, if there are that many in one piece. Zero elements fit anywhere.
    pub fn allocate(&mut self, count: u32) -> Option<u32> {
        if count == 0 {
            return Some(0);
        }
        let i = self.free.iter().position(|r| r.end - r.start >= count)?;
        let start = self.free[i].start;
        self.used += count;
        self.free[i].start += count;
        if self.free[i].is_empty() {
            self.free.remove(i);
        }
        Some(start)
    }

    /// Gives back what `allocate` handed out.
    pub fn release(&mut self, start: u32, count: u32) {
        if count > 0 {
            self.used -= count;
            self.insert(start..start + count);
        }
    }

    fn insert(&mut self, mut range: Range<u32>) {
        let at = self.free.partition_point(|r| r.start < range.start);
        if at < self.free.len() && self.free[at].start == range.end {
            range.end = self.free.remove(at).end;
        }
        if at > 0 && self.free[at - 1].end == range.start {
            self.free[at - 1].end = range.end;
        } else {
            self.free.insert(at, range);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_what_comes_back() {
        let mut r = Ranges::new(10);
        let a = r.allocate(3).unwrap();
        let b = r.allocate(4).unwrap();
        let c = r.allocate(3).unwrap();
        assert_eq!((a, b, c), (0, 3, 7));
        assert_eq!(r.allocate(1), None);
        r.release(a, 3);
        r.release(c, 3);
        assert_eq!(r.allocate(4), None);
        r.release(b, 4);
        assert_eq!(r.free, vec![0..10]);
        r.grow(12);
        assert_eq!(r.free, vec![0..12]);
    }
}
