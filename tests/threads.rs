//! Tests the limit on threads. Results have the same bits under any limit, and no operation uses more threads than the
//! limit.

use wgslice::{
    Backend, DType, Plan,
    options::{GatherNdOptions, ScatterOptions},
    slice,
};
use wgslice_vectors::{
    Call, Operation, check_all, parse,
    random::{answered, case_of},
};

/// Even the smallest results are cut into parts for the given number of threads. Random cases also test the operations
/// that have no vectors.
#[test]
fn every_case_has_the_same_result_on_any_number_of_threads() {
    let vectors = parse(include_str!("vectors/seed1.jsonl")).map(|case| case.unwrap());
    let random_cases = Operation::ALL.iter().flat_map(|&operation| {
        (0..60).map(move |number| answered(case_of(operation, 5, number)).unwrap())
    });
    let cases: Vec<_> = vectors.chain(random_cases).collect();
    assert!(cases.len() > 2000, "{}", cases.len());
    // Only one in `interval` cases is checked, because starting 63 threads for every case would take a minute. Without
    // rayon, each operation starts its threads anew.
    let intervals = match cfg!(feature = "rayon") {
        true => [4, 1, 16],
        false => [16, 4, 64],
    };
    for (thread_count, interval) in [2, 3, 64].into_iter().zip(intervals) {
        with_at_most(thread_count, || {
            let cpu = Backend::cpu().with_threads_for_any_work(thread_count);
            for case in cases.iter().step_by(interval) {
                if let Err(difference) = check_all(case, &Call::of(case).unwrap(), &cpu) {
                    panic!(
                        "on {thread_count} threads: {difference:?}\n{}",
                        case.to_line()
                    );
                }
            }
        });
    }
}

/// A size in bytes for which 69 threads would be worth their cost.
const LARGE_BYTES: usize = 128 << 20;

#[test]
fn no_operation_uses_more_threads_than_the_limit() {
    let shape = [LARGE_BYTES / 4];
    let (gather_options, scatter_options) = (GatherNdOptions::default(), ScatterOptions::default());
    let plans = [
        Plan::slice(&shape, &slice![..; -1], DType::F32),
        Plan::slice_update(&shape, &slice![..; -1], &shape, DType::F32),
        Plan::slice_grad(&shape, &slice![..; -1], &shape, DType::F32),
        Plan::gather_nd(&shape, &[shape[0], 1], gather_options, DType::F32),
        Plan::scatter_nd(&shape, &[shape[0], 1], &shape, scatter_options, DType::F32),
    ];
    let plans = plans.map(Result::unwrap);
    // No operation uses more threads than its pool has.
    for pool_size in [3, 64] {
        with_at_most(pool_size, || {
            for (plan, thread_count) in plans
                .iter()
                .flat_map(|plan| [1, 2, 3, 64].map(|n| (plan, n)))
            {
                let line = Backend::cpu().with_threads(thread_count).explain(plan);
                let thread_count = if cfg!(feature = "rayon") {
                    thread_count.min(pool_size)
                } else {
                    thread_count
                };
                let plural = if thread_count == 1 { "" } else { "s" };
                assert!(
                    line.contains(&format!(" on {thread_count} thread{plural}")),
                    "{line}"
                );
            }
        });
    }
    for plan in &plans {
        let default = Backend::cpu().explain(plan);
        assert_eq!(Backend::cpu().with_threads(0).explain(plan), default);
    }
}

/// Calls `test` in an environment where an operation can use this many threads: with the feature `rayon`, in a pool of
/// that many threads.
fn with_at_most(thread_count: usize, test: impl FnOnce() + Send) {
    #[cfg(feature = "rayon")]
    build_pool(thread_count).install(test);
    #[cfg(not(feature = "rayon"))]
    {
        let _ = thread_count;
        test();
    }
}

/// Large results are cut into parts without a special setting, and equal the results of a single thread.
#[test]
fn large_results_do_not_depend_on_the_limit() {
    let shape = [1500, 4001];
    let input: Vec<u16> = (0..1500 * 4001u32).map(|i| (i % 65_521) as u16).collect();
    let flipped = |thread_count| {
        let cpu = Backend::cpu().with_threads(thread_count);
        cpu.slice((&input, &shape), &slice![..; -1, ..; -3])
            .unwrap()
    };
    let on_one_thread = flipped(1);
    for thread_count in [0, 2, 3, 64, usize::MAX] {
        assert!(
            flipped(thread_count) == on_one_thread,
            "{thread_count} threads"
        );
    }
}

#[cfg(feature = "rayon")]
fn build_pool(thread_count: usize) -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(thread_count);
    pool.build().unwrap()
}

/// Operations run in the threads of a small pool, and each waits for jobs in the same pool.
#[cfg(feature = "rayon")]
#[test]
fn operations_within_the_jobs_of_a_small_pool_finish() {
    use crate::harness::{elements, to_bytes};
    use rayon::prelude::*;

    let source = to_bytes(&elements(1 << 20), 8);
    let x = wgslice::Tensor::from_bytes(&Backend::cpu(), source.clone(), DType::U64, &[1 << 20])
        .unwrap();
    let expected: Vec<u8> = source.chunks(8).rev().flatten().copied().collect();
    for thread_count in [1, 2] {
        let results: Vec<_> = build_pool(thread_count).install(|| {
            let jobs = (0..16).into_par_iter();
            jobs.map(|_| x.slice(&slice![..; -1]).unwrap()).collect()
        });
        assert!(
            results
                .iter()
                .all(|result| result.bytes().unwrap() == expected)
        );
    }
}

/// An operation in a pool does not wait for the pool's other threads to be idle.
#[cfg(feature = "rayon")]
#[test]
fn an_operation_finishes_while_the_rest_of_its_pool_is_busy() {
    let input = vec![7u8; 16 << 20];
    let (send, receive) = std::sync::mpsc::channel();
    let (result, ()) = build_pool(2).join(
        || {
            let result = Backend::cpu().slice((&input, &[16 << 20]), &slice![..; -1]);
            send.send(()).unwrap();
            result
        },
        move || receive.recv().unwrap(),
    );
    assert!(result.unwrap().data == input);
}
