//! Measures the host's time to record operations and, for comparison, its time to record minimal wgpu commands of the
//! same kind.
//!
//! Every figure is the time of as many operations as its group's name says, and includes the encoder's `finish`. A
//! figure in milliseconds for 1000 operations is one in microseconds for a single operation. Submission and device time
//! are included only if a name contains "submitted" or "submission". Otherwise the commands are submitted and waited
//! for after each measurement, so that their resources are freed as in a program. All slices are small, because a
//! software adapter runs on the measured cores.

mod bare;
mod rig;

use criterion::{Criterion, criterion_group, criterion_main};
use rig::{Pair, Rig};
use wgpu::{CommandEncoder, ComputePass};
use wgslice::{
    DType, Plan,
    gpu::{AdapterOptions, FoundAdapter},
    options::GatherNdOptions,
    slice,
};

/// The number of operations that each figure of the group "1000 operations" times.
const OPERATIONS: usize = 1000;

fn record(c: &mut Criterion) {
    let candidates = pollster::block_on(AdapterOptions::default().adapters()).expect("adapters");
    let Some(FoundAdapter { adapter, .. }) = candidates
        .iter()
        .find(|candidate| candidate.refused.is_none())
    else {
        return eprintln!("no figures: no adapter");
    };
    eprintln!("on {:?}", adapter.get_info());
    if adapter.features().contains(wgpu::Features::IMMEDIATES) {
        record_on(c, "immediates", &Rig::new(adapter, true));
    }
    record_on(c, "no immediates", &Rig::new(adapter, false));
}

fn record_on(c: &mut Criterion, immediates_label: &str, rig: &Rig) {
    let mut bench = c.benchmark_group(format!("1000 operations, {immediates_label}"));
    bench.sample_size(10);
    let (gpu, bare) = (&rig.gpu, &rig.slice);
    let plan = Plan::slice(&[32, 32], &slice![4..20, ..; 2], DType::F32).expect("a slice");
    let fit_reason = "it fits";
    let pair = rig.pair();
    let slices = |pass: &mut ComputePass<'_>| {
        for _ in 0..OPERATIONS {
            gpu.encode(pass, &plan, &pair.inputs(), &pair.outputs())
                .expect(fit_reason);
        }
    };
    let bare_dispatches = |pass: &mut ComputePass<'_>| {
        for _ in 0..OPERATIONS {
            bare.dispatch(pass, &pair.group);
        }
    };

    bench.bench_function("slices in one pass", |b| rig.measure_pass(b, slices));
    bench.bench_function("slices in one pass, prepared", |b| {
        let plan = gpu.prepare(&plan).expect(fit_reason);
        rig.measure_pass(b, |pass| {
            for _ in 0..OPERATIONS {
                gpu.encode(pass, &plan, &pair.inputs(), &pair.outputs())
                    .expect(fit_reason);
            }
        });
    });
    bench.bench_function("slices in one pass, bare", |b| {
        rig.measure_pass(b, bare_dispatches);
    });

    bench.bench_function("slices in a pass each", |b| {
        rig.measure(
            b,
            || (),
            |(), encoder| {
                for _ in 0..OPERATIONS {
                    gpu.encode(encoder, &plan, &pair.inputs(), &pair.outputs())
                        .expect(fit_reason);
                }
            },
        );
    });
    bench.bench_function("slices in a pass each, bare", |b| {
        rig.measure(
            b,
            || (),
            |(), encoder| {
                for _ in 0..OPERATIONS {
                    let mut pass = encoder.begin_compute_pass(&Default::default());
                    bare.dispatch(&mut pass, &pair.group);
                }
            },
        );
    });

    let row_plan = Plan::slice(&[32, 32], &slice![4..20], DType::F32).expect("a slice");
    bench.bench_function("copies", |b| {
        rig.measure(
            b,
            || (),
            |(), encoder| {
                for _ in 0..OPERATIONS {
                    gpu.encode(encoder, &row_plan, &pair.inputs(), &pair.outputs())
                        .expect(fit_reason);
                }
            },
        );
    });
    bench.bench_function("copies, bare", |b| {
        rig.measure(
            b,
            || (),
            |(), encoder| {
                for _ in 0..OPERATIONS {
                    let bytes = row_plan.outputs()[0].bytes() as u64;
                    encoder.copy_buffer_to_buffer(&pair.source, 4 * 128, &pair.dest, 0, bytes);
                }
            },
        );
    });

    let tuples = rig.buffer();
    let gather = Plan::gather_nd(&[32, 32], &[16, 1], GatherNdOptions::default(), DType::F32)
        .expect("a gather");
    bench.bench_function("gathers in one pass", |b| {
        rig.measure_pass(b, |pass| {
            for _ in 0..OPERATIONS {
                let inputs = [pair.source.slice(..), tuples.slice(..)];
                gpu.encode(pass, &gather, &inputs, &pair.outputs())
                    .expect(fit_reason);
            }
        });
    });
    bench.bench_function("gathers in one pass, prepared", |b| {
        let gather = gpu.prepare(&gather).expect(fit_reason);
        rig.measure_pass(b, |pass| {
            for _ in 0..OPERATIONS {
                let inputs = [pair.source.slice(..), tuples.slice(..)];
                gpu.encode(pass, &gather, &inputs, &pair.outputs())
                    .expect(fit_reason);
            }
        });
    });
    let buffers = [&pair.source, &pair.dest, &tuples];
    let group = rig.gather.group(rig.device(), &buffers);
    bench.bench_function("gathers in one pass, bare", |b| {
        rig.measure_pass(b, |pass| {
            for _ in 0..OPERATIONS {
                rig.gather.dispatch(pass, &group);
            }
        });
    });

    let pairs: Vec<_> = (0..OPERATIONS).map(|_| rig.pair()).collect();
    let slices_of = |pairs: &[Pair], pass: &mut ComputePass<'_>| {
        for pair in pairs {
            gpu.encode(pass, &plan, &pair.inputs(), &pair.outputs())
                .expect(fit_reason);
        }
    };
    bench.bench_function("slices of 1000 pairs of buffers", |b| {
        rig.measure_pass(b, |pass| slices_of(&pairs, pass));
    });
    bench.bench_function("slices of 1000 pairs of buffers, bare", |b| {
        rig.measure_pass(b, |pass| {
            for pair in &pairs {
                bare.dispatch(pass, &pair.group);
            }
        });
    });
    drop(pairs);

    let new_pairs = || (0..OPERATIONS).map(|_| rig.pair()).collect::<Vec<_>>();
    bench.bench_function("slices of new buffers", |b| {
        rig.measure(b, new_pairs, |pairs, encoder| {
            slices_of(pairs, &mut encoder.begin_compute_pass(&Default::default()));
        });
    });
    bench.bench_function("slices of new buffers, bare", |b| {
        rig.measure(b, new_pairs, |pairs, encoder| {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for Pair { source, dest, .. } in pairs {
                let group = bare.group(rig.device(), &[source, dest]);
                bare.dispatch(&mut pass, &group);
            }
        });
    });
    gpu.trim();

    let submit_pass = |record: &dyn Fn(&mut ComputePass<'_>)| {
        let mut encoder = rig.device().create_command_encoder(&Default::default());
        record(&mut encoder.begin_compute_pass(&Default::default()));
        rig.run(encoder.finish());
    };
    bench.bench_function("slices in one pass, submitted and waited for", |b| {
        b.iter(|| submit_pass(&slices));
    });
    bench.bench_function("slices in one pass, submitted and waited for, bare", |b| {
        b.iter(|| submit_pass(&bare_dispatches));
    });
    bench.finish();

    // `submit_each` is like a program that submits the work for each result separately, and then waits for all results.
    let mut bench = c.benchmark_group(format!("100 operations, {immediates_label}"));
    bench.sample_size(10);
    let submit_each = |record: &dyn Fn(&mut CommandEncoder)| {
        for _ in 0..100 {
            let mut encoder = rig.device().create_command_encoder(&Default::default());
            record(&mut encoder);
            gpu.queue().submit([encoder.finish()]);
        }
        let wait = wgpu::PollType::wait_indefinitely();
        rig.device().poll(wait).expect("the device");
    };
    bench.bench_function("slices submitted one by one, one wait", |b| {
        b.iter(|| {
            submit_each(&|encoder| {
                gpu.encode(encoder, &plan, &pair.inputs(), &pair.outputs())
                    .expect(fit_reason);
            });
        });
    });
    bench.bench_function("slices submitted one by one, one wait, bare", |b| {
        b.iter(|| {
            submit_each(&|encoder| {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                bare.dispatch(&mut pass, &pair.group);
            });
        });
    });
    let submit_together = |record: &dyn Fn(&mut CommandEncoder)| {
        let mut encoder = rig.device().create_command_encoder(&Default::default());
        (0..100).for_each(|_| record(&mut encoder));
        rig.run(encoder.finish());
    };
    bench.bench_function("slices in one submission, one wait", |b| {
        b.iter(|| {
            submit_together(&|encoder| {
                gpu.encode(encoder, &plan, &pair.inputs(), &pair.outputs())
                    .expect(fit_reason);
            });
        });
    });
    bench.bench_function("slices in one submission, one wait, bare", |b| {
        b.iter(|| {
            submit_together(&|encoder| {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                bare.dispatch(&mut pass, &pair.group);
            });
        });
    });
    bench.finish();
}

criterion_group!(benches, record);
criterion_main!(benches);
