//! Reads damaged files of every format: each is read or rejected, and nothing panics. An array that is read has the
//! length of its shape.

use std::fs;

use super::{Array, data_folder, read_at};

/// Marsaglia's xorshift generator. Its seed is constant, so every run makes the same damage.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }

    fn byte(&mut self) -> u8 {
        const INTERESTING_BYTES: &[u8] = b"\x00\xff0919()[]{}'\",:<>|LTF\x80";
        match self.below(2) {
            0 => INTERESTING_BYTES[self.below(INTERESTING_BYTES.len())],
            _ => u8::try_from(self.below(256)).unwrap(),
        }
    }

    fn damage_content(&mut self, content: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let at = self.below(content.len().max(1));
            let byte = self.byte();
            match self.below(6) {
                0 => content.truncate(at),
                1 => content.insert(at.min(content.len()), byte),
                2 if at < content.len() => drop(content.remove(at)),
                3 => content.extend_from_within(at.min(content.len())..),
                _ => {
                    if let Some(hit) = content.get_mut(at) {
                        *hit = byte;
                    }
                }
            }
        }
    }
}

#[test]
fn damaged_files_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut files: Vec<_> = fs::read_dir(data_folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension != "py"))
        .collect();
    files.sort();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut read, mut refused) = (0, 0);
    for path in &files {
        let original = fs::read(path).unwrap();
        let damaged = folder.path().join(path.file_name().unwrap());
        for _ in 0..200 {
            let mut content = original.clone();
            random.damage_content(&mut content);
            fs::write(&damaged, &content).unwrap();
            match read_at(&damaged) {
                Ok(Array {
                    element,
                    shape,
                    bytes,
                    ..
                }) => {
                    let len = shape.iter().product::<usize>() * element.size();
                    assert_eq!(bytes.len(), len);
                    read += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(
        read > 500 && refused > 2000,
        "{read} read, {refused} refused"
    );
}
