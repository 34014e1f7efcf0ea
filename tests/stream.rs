//! Slices host data on drawn devices, as a stream of pieces or during the upload, and compares the results with the
//! reference. Some streams have so little memory that there are many pieces.

use crate::harness::{DTYPE_OF_EACH_SIZE, devices, elements, naive_slice, to_bytes};
use std::ops::Range;
use wgslice::{Backend, DType, Error, SliceSpec, spec::TfStridedSlice};

const SPECS: [&str; 10] = [
    "...",
    "::-1, ::-1, ::-1",
    "2:7, 3:30, 1:14",
    "::3, 1:9:2",
    "5:, ::-2, 1",
    ":, ::-1, ::4",
    "-1, None, ..., ::7",
    "1:2, 3, ::5",
    "::2, ::7, 2:",
    "4:4",
];

const SHAPE: [usize; 3] = [9, 40, 15];

/// Returns the bytes of a source, and the shape and the bytes of a slice of the source.
fn make_case(spec: &SliceSpec, dtype: DType) -> (Vec<u8>, Vec<usize>, Vec<u8>) {
    let input = elements(SHAPE.iter().product());
    let encoded = TfStridedSlice::try_from(spec).unwrap();
    let (shape, values) = naive_slice(&input, &SHAPE, &encoded).unwrap();
    let size = dtype.size();
    (to_bytes(&input, size), shape, to_bytes(&values, size))
}

#[test]
fn streamed_in_pieces_of_any_size() {
    for spec in SPECS.map(|text| text.parse::<SliceSpec>().unwrap()) {
        for dtype in DTYPE_OF_EACH_SIZE {
            let (source, shape, expected) = make_case(&spec, dtype);
            for device in devices() {
                for memory_bytes in [20_000, 100_000, usize::MAX] {
                    let stream = device.backend.stream(&SHAPE, &spec, dtype).unwrap();
                    let stream = stream.with_memory(memory_bytes);
                    let element_count: usize = shape.iter().product();
                    assert_eq!(stream.result_bytes(), element_count * dtype.size());
                    let mut result = Vec::new();
                    let streamed = stream
                        .run(
                            |range| Ok::<_, Error>(&source[range]),
                            |bytes| {
                                result.extend_from_slice(bytes);
                                Ok(())
                            },
                        )
                        .unwrap();
                    let describe = || format!("{}: {spec} {dtype} in {memory_bytes}", device.name);
                    assert!(result == expected, "{}", describe());
                    assert_eq!(streamed.pieces == 0, expected.is_empty(), "{}", describe());
                    assert_eq!(streamed.fallback, None);
                }
            }
        }
    }
}

#[test]
fn sliced_during_the_upload() {
    for spec in SPECS.map(|text| text.parse::<SliceSpec>().unwrap()) {
        let input: Vec<u32> = (0..5400)
            .map(|i: u32| i.wrapping_mul(0x9e37_79b9))
            .collect();
        let (shape, values) = {
            let elements: Vec<u128> = input.iter().map(|&value| value.into()).collect();
            naive_slice(&elements, &SHAPE, &TfStridedSlice::try_from(&spec).unwrap()).unwrap()
        };
        for device in devices() {
            let tensor = device
                .backend
                .upload_slice((&input, &SHAPE), &spec)
                .unwrap();
            let array = tensor.to_array::<u32>().unwrap();
            assert_eq!(array.shape, shape);
            let got: Vec<u128> = array.data.into_iter().map(Into::into).collect();
            assert!(got == values, "{}: {spec}", device.name);
        }
    }
}

/// Tests rows that are long enough to be copied from the source directly into staging memory.
#[test]
fn long_rows_are_sliced_during_the_upload() {
    let input: Vec<u16> = (0..45_000).collect();
    let spec: SliceSpec = "::-4, 7:4990".parse().unwrap();
    let expected = Backend::cpu().slice((&input, &[9, 5000]), &spec).unwrap();
    for device in devices().iter().filter(|device| !device.is_tiny()) {
        let tensor = device
            .backend
            .upload_slice((&input, &[9, 5000]), &spec)
            .unwrap();
        assert_eq!(tensor.to_array().unwrap(), expected, "{}", device.name);
    }
}

/// Every piece fetches one range of the source. The ranges do not overlap.
#[test]
fn pieces_fetch_ranges_that_do_not_overlap() {
    let source = vec![7u8; 1 << 20];
    let spec: SliceSpec = "::64, ::2".parse().unwrap();
    for device in devices().iter().filter(|device| !device.is_tiny()) {
        let stream = device
            .backend
            .stream(&[1024, 1024], &spec, DType::U8)
            .unwrap();
        let mut fetched_ranges: Vec<Range<usize>> = Vec::new();
        let fetch = |range: Range<usize>| {
            fetched_ranges.push(range.clone());
            Ok::<_, Error>(&source[range])
        };
        let streamed = stream.with_memory(16 << 10).run(fetch, |_| Ok(())).unwrap();
        assert_eq!(streamed.pieces, fetched_ranges.len());
        assert!(streamed.pieces >= 4, "{}: {streamed:?}", device.name);
        assert!(fetched_ranges.is_sorted_by_key(|range| range.start));
        for pair in fetched_ranges.windows(2) {
            assert!(pair[0].end <= pair[1].start, "{fetched_ranges:?}");
        }
    }
}

#[test]
fn errors_of_the_callers_functions_come_back() {
    #[derive(Debug, PartialEq)]
    enum CallerError {
        Library(Error),
        Disk,
    }
    impl From<Error> for CallerError {
        fn from(error: Error) -> Self {
            Self::Library(error)
        }
    }
    let source = [1u8; 4096];
    let spec: SliceSpec = "::-1".parse().unwrap();
    for device in devices() {
        let stream = device.backend.stream(&[4096], &spec, DType::U8).unwrap();
        let stream = stream.with_memory(10_000);
        let outcome = stream.run(|_| Err::<Vec<u8>, _>(CallerError::Disk), |_| Ok(()));
        assert_eq!(outcome.unwrap_err(), CallerError::Disk);
        let outcome = stream.run(|range| Ok(&source[range]), |_| Err(CallerError::Disk));
        assert_eq!(outcome.unwrap_err(), CallerError::Disk);
        let outcome = stream.run(|_| Ok([0u8; 3]), |_| Ok(()));
        let error = outcome.unwrap_err();
        assert!(
            matches!(error, CallerError::Library(Error::Length { found: 3, .. })),
            "{error:?}"
        );
        // A stream can be run again after a failed run.
        let mut bytes = 0;
        let count = |piece: &[u8]| {
            bytes += piece.len();
            Ok::<_, CallerError>(())
        };
        stream.run(|range| Ok(&source[range]), count).unwrap();
        assert_eq!(bytes, 4096);
    }
}

#[cfg(feature = "gpu")]
mod fallback {
    use wgslice::{
        Backend, DType, Error, Gpu, SliceSpec, gpu::AdapterOptions, options::GatherNdOptions, slice,
    };

    fn gpu() -> Option<Gpu> {
        let gpu = Gpu::open(&AdapterOptions::default()).ok();
        assert!(gpu.is_some() || crate::harness::gpu::adapters().is_empty());
        gpu
    }

    #[test]
    fn a_device_lost_in_the_middle_of_a_stream() {
        let Some(gpu) = gpu() else { return };
        let source: Vec<u8> = (0..=250).cycle().take(100_000).collect();
        let spec: SliceSpec = "::-1".parse().unwrap();
        let expected: Vec<u8> = source.iter().rev().copied().collect();
        let backend = Backend::from(gpu.clone()).with_fallback();
        let stream = backend.stream(&[100_000], &spec, DType::U8).unwrap();
        let mut result = Vec::new();
        let streamed = stream
            .with_memory(60_000)
            .run(
                |range| Ok::<_, Error>(&source[range]),
                |bytes| {
                    result.extend_from_slice(bytes);
                    if result.len() > 30_000 {
                        gpu.device().destroy();
                    }
                    Ok(())
                },
            )
            .unwrap();
        assert!(result == expected);
        let reason = streamed.fallback.expect("the device was lost");
        assert!(matches!(reason, Error::DeviceLost { .. }), "{reason:?}");
        assert_eq!(backend.last_fallback(), Some(reason));
    }

    #[test]
    fn calls_on_host_values_fall_back() {
        let Some(gpu) = gpu() else { return };
        gpu.device().destroy();
        let without_fallback = Backend::from(gpu);
        let spec = slice![..; -1];
        let error = without_fallback
            .slice((&[1u32, 2, 3], &[3]), &spec)
            .unwrap_err();
        assert!(error.is_device_error(), "{error:?}");
        assert_eq!(without_fallback.last_fallback(), None);

        let backend = without_fallback.with_fallback();
        assert_eq!(backend.last_fallback(), None);
        let sliced = backend.slice((&[1u32, 2, 3], &[3]), &spec).unwrap();
        assert_eq!(sliced.data, [3, 2, 1]);
        assert!(
            backend
                .last_fallback()
                .is_some_and(|reason| reason.is_device_error())
        );

        let clone = backend.clone();
        let (gathered, report) = clone
            .gather_nd(
                (&[1u32, 2, 3], &[3]),
                (&[2i32, 9][..], &[2, 1]),
                GatherNdOptions::default(),
            )
            .unwrap();
        assert_eq!((gathered.data, report.out_of_range), (vec![3, 0], 1));
        // An invalid argument of the caller is not a reason to fall back.
        let error = backend.slice((&[1u32], &[1]), &slice![9]).unwrap_err();
        assert!(matches!(error, Error::Argument(_)));
    }
}
