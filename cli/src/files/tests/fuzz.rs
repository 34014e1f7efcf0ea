//! Reads damaged files of every format: each is read or rejected, and nothing panics. An array that is read has as many
//! bytes as its shape and type need.

use std::fs;

use super::{Array, data_folder, read_at};

/// Marsaglia's xorshift generator. Its seed is constant, so every run makes the same damage.
struct Random(u64);

impl Random {
    fn number_below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }

    fn byte(&mut self) -> u8 {
        const INTERESTING_BYTES: &[u8] = b"\x00\xff0919()[]{}'\",:<>|LTF\x80";
        match self.number_below(2) {
            0 => INTERESTING_BYTES[self.number_below(INTERESTING_BYTES.len())],
            _ => u8::try_from(self.number_below(256)).unwrap(),
        }
    }

    fn damage_content(&mut self, content: &mut Vec<u8>) {
        for _ in 0..=self.number_below(3) {
            let at = self.number_below(content.len().max(1));
            let byte = self.byte();
            match self.number_below(6) {
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
    let (mut read_count, mut refused_count) = (0, 0);
    for path in &files {
        let original = fs::read(path).unwrap();
        let damaged_path = folder.path().join(path.file_name().unwrap());
        for _ in 0..200 {
            let mut content = original.clone();
            random.damage_content(&mut content);
            fs::write(&damaged_path, &content).unwrap();
            match read_at(&damaged_path) {
                Ok(Array {
                    element,
                    shape,
                    bytes,
                    ..
                }) => {
                    let len = shape.iter().product::<usize>() * element.size();
                    assert_eq!(bytes.len(), len);
                    read_count += 1;
                }
                Err(_) => refused_count += 1,
            }
        }
    }
    assert!(
        read_count > 500 && refused_count > 2000,
        "{read_count} read, {refused_count} refused"
    );
}
