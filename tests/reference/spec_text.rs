//! Reads specs from text: in Python's notation (`1:4, ..., None`), or as the arguments of the operation (`b=[1,0]
//! e=[4,0] s=[1,1] el=2`).

use wgslice_vectors::reference::Spec;

use super::parse_integers;

/// A spec that owns its vectors, in the order begin, end, strides. Its masks are in the order begin, end, ellipsis, new
/// axis, shrink axis.
#[derive(Default)]
pub(crate) struct OwnedSpec {
    vectors: [Vec<i64>; 3],
    masks: [i32; 5],
}

impl OwnedSpec {
    pub(crate) fn parse(text: &str) -> Self {
        if text.contains('=') {
            Self::from_arguments(text)
        } else {
            Self::from_python(text)
        }
    }

    pub(crate) fn spec(&self) -> Spec<'_> {
        let [begin, end, strides] = &self.vectors;
        let [
            begin_mask,
            end_mask,
            ellipsis_mask,
            new_axis_mask,
            shrink_axis_mask,
        ] = self.masks;
        Spec {
            begin,
            end,
            strides,
            begin_mask,
            end_mask,
            ellipsis_mask,
            new_axis_mask,
            shrink_axis_mask,
        }
    }

    fn push(&mut self, begin: i64, end: i64, stride: i64, mask_numbers: &[usize]) {
        for &mask_number in mask_numbers {
            self.masks[mask_number] |= 1 << self.vectors[0].len();
        }
        for (vector, value) in self.vectors.iter_mut().zip([begin, end, stride]) {
            vector.push(value);
        }
    }

    fn from_python(text: &str) -> Self {
        let mut spec = Self::default();
        for item in text.split(',').map(str::trim) {
            match item {
                "..." => spec.push(0, 0, 1, &[2]),
                "None" => spec.push(0, 0, 1, &[3]),
                _ if item.contains(':') => {
                    let mut parts = item.split(':').map(|part| part.parse().ok());
                    let (begin, end) = (parts.next().unwrap(), parts.next().unwrap());
                    let stride = parts.next().flatten().unwrap_or(1);
                    let open_bounds: Vec<usize> = [begin, end]
                        .iter()
                        .enumerate()
                        .filter_map(|(mask, bound)| bound.is_none().then_some(mask))
                        .collect();
                    spec.push(begin.unwrap_or(0), end.unwrap_or(0), stride, &open_bounds);
                }
                _ => {
                    let index: i64 = item.parse().unwrap();
                    spec.push(index, index.saturating_add(1), 1, &[4]);
                }
            }
        }
        spec
    }

    fn from_arguments(text: &str) -> Self {
        let mut spec = Self::default();
        for argument in text.split_whitespace() {
            let (name, value) = argument.split_once('=').unwrap();
            match ["b", "e", "s"].iter().position(|vector| *vector == name) {
                Some(vector) => spec.vectors[vector] = parse_integers(value),
                None => {
                    let names = ["bm", "em", "el", "na", "sh"];
                    let mask = names.iter().position(|mask| *mask == name).unwrap();
                    spec.masks[mask] = value.parse().unwrap();
                }
            }
        }
        spec
    }
}
