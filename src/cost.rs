//! What work costs on the CPU and on a device, and so where it is done.
//!
//! Slices and gathers move bytes, and beginning a row elsewhere in memory costs a little more. So a
//! time is a sum of quotients:
//!
//! | on the CPU | on a device |
//! |---|---|
//! | of data on a device: all of it / `readback` + `submission` | of data on the host: what is sent / `upload` |
//! | bytes read and written / `cpu.bytes` + rows · `cpu.row` | bytes read and written / `device.bytes` + rows · `device.row` + `submission` |
//! | for a device: result / `upload` | for the host: result / `readback` |
//!
//! Counted is what the executors do: bytes that are read because they lie between others count as
//! read, and rows of a slice as far as they begin in another line of memory than the one before; to a
//! device goes what the host packs of a slice, and all of a gather's params and indices. What happens to
//! the result on the host, wherever it was made, is not counted: new memory for it can take longer than
//! the work.
//! Nothing is taken to overlap. That is coarse, and enough: where both take about as long, either
//! will do.

use crate::{
    Backend, DType, Error, GatherNd, Gpu, Plan, Tensor,
    plan::{Map, Rows},
    slice,
    stream::Piece,
};
use std::{
    fmt,
    time::{Duration, Instant},
};

/// What memory is read by: bytes of a cache line.
const LINE: usize = 64;

/// Bytes that are moved to measure: more than a core's caches hold.
const BYTES: usize = 16 << 20;

/// What moving bytes costs on the CPU, on a device, and between them.
///
/// [`Costs::of`] gives figures for a kind of adapter, and [`Costs::measure`] those of this machine.
/// A backend [with costs](Backend::with_costs) goes by them.
///
/// ```
/// use wgslice::{slice, Costs, DType, Place, Plan};
///
/// let costs = Costs::HARDWARE;
/// let plan = Plan::strided_slice(&[4096, 4096], &slice![.., ..; -1], DType::F32)?;
/// // Nobody sends an array to a GPU and back to flip it once.
/// assert!(costs.estimate(&plan, Place::Host, Place::Host).prefers_cpu());
/// assert!(!costs.estimate(&plan, Place::Device, Place::Device).prefers_cpu());
/// # Ok::<(), wgslice::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// The CPU.
    pub cpu: Moving,
    /// The device.
    pub device: Moving,
    /// Bytes a second from the host to the device.
    pub upload: f64,
    /// Bytes a second from the device to the host.
    pub readback: f64,
    /// Seconds from a submission to its completion, however little there is to do.
    pub submission: f64,
    /// Seconds until a device that is not open has done something.
    pub opening: f64,
}

/// What moving bytes costs where they are.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Moving {
    /// Bytes a second, read plus written.
    pub bytes: f64,
    /// Seconds more for each row: it lies somewhere else than the one before.
    pub row: f64,
}

/// Where data is, or is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In memory of the host.
    Host,
    /// In memory of the device.
    Device,
}

/// Seconds that an operation takes, about.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// On the CPU.
    pub cpu: f64,
    /// On the device.
    pub device: f64,
}

impl Estimate {
    /// Whether the CPU is to do it.
    pub fn prefers_cpu(&self) -> bool {
        // Rates that make no sense, 0 for example, speak for no device.
        !(0.0..self.cpu).contains(&self.device)
    }
}

/// As in `the CPU takes about 3.1ms and the device 12.0ms`.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [cpu, device] = [self.cpu, self.device]
            .map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        write!(
            f,
            "the CPU takes about {cpu:.1?} and the device {device:.1?}"
        )
    }
}

/// As measured on 2 cores of an AMD EPYC processor.
const CPU: Moving = Moving {
    bytes: 25e9,
    row: 3e-9,
};

impl Costs {
    /// For a GPU. Not measured: what a card of the middle does behind 8 lanes of PCIe 3.
    pub const HARDWARE: Self = Self {
        cpu: CPU,
        device: Moving {
            bytes: 200e9,
            row: 0.1e-9,
        },
        upload: 5e9,
        readback: 5e9,
        submission: 50e-6,
        opening: 0.2,
    };

    /// For a software adapter: lavapipe, as measured on the same 2 cores.
    pub const SOFTWARE: Self = Self {
        cpu: CPU,
        device: Moving {
            bytes: 12e9,
            row: 5e-9,
        },
        upload: 8e9,
        readback: 5e9,
        submission: 100e-6,
        opening: 0.05,
    };

    /// The figures for a device of this kind.
    pub fn of(gpu: &Gpu) -> Self {
        if gpu.is_software() {
            Self::SOFTWARE
        } else {
            Self::HARDWARE
        }
    }

    /// Measures this machine and a device that is open, in about a tenth of a second and with 100 MB of
    /// memory. `opening` is not measured.
    ///
    /// # Errors
    ///
    /// An error of the device.
    pub fn measure(gpu: &Gpu) -> Result<Self, Error> {
        let backend = Backend::from(gpu.clone());
        let (_, cpu) = probe(&Backend::cpu())?;
        let (submission, device) = probe(&backend)?;
        let values = vec![1u8; BYTES];
        let upload = fastest(|| {
            let tensor = backend.upload(&values, &[BYTES])?;
            backend.wait()?;
            Ok(tensor)
        })?;
        let tensor = backend.upload(&values, &[BYTES])?;
        let readback = fastest(|| Ok(tensor.bytes()?.len()))?;
        let rate = |seconds: f64| BYTES as f64 / seconds;
        Ok(Self {
            cpu,
            device,
            upload: rate(upload),
            readback: rate(readback),
            submission,
            opening: Self::of(gpu).opening,
        })
    }

    /// Seconds that an operation takes on the CPU and on the device, of data that lies in one place and
    /// is wanted in another.
    pub fn estimate(&self, plan: &Plan, from: Place, to: Place) -> Estimate {
        let result = plan.result_bytes() as f64;
        let [mut cpu, mut device] = [self.cpu, self.device]
            .map(|costs| plan.moved() / costs.bytes + plan.starts() * costs.row);
        device += self.submission;
        match from {
            Place::Host => device += plan.sent() / self.upload,
            Place::Device => cpu += plan.held() / self.readback + self.submission,
        }
        match to {
            Place::Host => device += result / self.readback,
            Place::Device => cpu += result / self.upload,
        }
        Estimate { cpu, device }
    }
}

/// What is counted.
impl Plan {
    /// Bytes that are read and written.
    fn moved(&self) -> f64 {
        let Rows {
            unit,
            count,
            run,
            step,
        } = self.rows;
        // A step reads what it steps over, up to a line for each unit.
        let apart = step.unsigned_abs().saturating_mul(unit);
        let read = run as f64 * apart.min(LINE.max(unit)) as f64;
        count as f64 * (read + (run * unit) as f64) + self.indices()
    }

    /// Rows that begin somewhere else than in the line of memory where the one before does.
    fn starts(&self) -> f64 {
        let apart = match &self.map {
            Map::StridedSlice(map) => map.axes.last().map_or(LINE, |axis| {
                axis.stride.unsigned_abs().saturating_mul(self.rows.unit)
            }),
            _ => LINE,
        };
        self.rows.count as f64 * apart.min(LINE) as f64 / LINE as f64
    }

    /// Bytes of 64-bit indices.
    fn indices(&self) -> f64 {
        let shape = match &self.map {
            Map::StridedSlice(_) | Map::StridedSliceUpdate(_) | Map::StridedSliceGrad(_) => {
                return 0.0;
            }
            Map::Indexed(map) => &map.indices,
            Map::ScatterNd(map) => &map.indices,
        };
        shape.iter().product::<usize>() as f64 * 8.0
    }

    /// Bytes that the operation has where it is done.
    fn held(&self) -> f64 {
        let changed = if self.is_in_place() {
            self.result_bytes()
        } else {
            0
        };
        (self.source_bytes() + changed) as f64 + self.indices()
    }

    /// Bytes that go to a device.
    fn sent(&self) -> f64 {
        match &self.map {
            Map::StridedSlice(_) => {
                let whole = Piece::whole(self);
                whole.map_or(0.0, |piece| piece.split().host.result_bytes() as f64)
            }
            _ => self.held(),
        }
    }
}

/// What the least work takes on a backend, and what moving costs there.
fn probe(backend: &Backend) -> Result<(f64, Moving), Error> {
    /// Bytes of a row of the table.
    const ROW: usize = 4 << 10;
    /// Scalars that are gathered from it.
    const SCALARS: usize = 1 << 18;
    let shape = [BYTES / ROW, ROW / 4];
    let reversed = slice![..; -1];
    let slice = |source: &Tensor| {
        let mut dest = source.slice(&reversed)?;
        fastest(|| {
            source.slice_into(&reversed, &mut dest)?;
            backend.wait()
        })
    };
    let table = backend.upload(&vec![1u32; BYTES / 4], &shape)?;
    let least = slice(&backend.upload(&[1u32; 64], &[64])?)?;
    let whole = slice(&table)?;
    // Where so little work hardly shows, noise must not make the device infinitely fast.
    let bytes = 2.0 * BYTES as f64 / (whole - least).max(whole / 10.0);

    let scattered: Vec<i32> = (0u32..)
        .map(|place| place.wrapping_mul(0x9e37_79b1) >> 8)
        .zip(shape.iter().cycle())
        .map(|(hash, &dim)| i32::try_from(hash as usize % dim).unwrap_or(0))
        .take(2 * SCALARS)
        .collect();
    let indices = backend.upload(&scattered, &[SCALARS, 2])?;
    let plan = Plan::gather_nd(&shape, &[SCALARS, 2], GatherNd::default(), DType::U32)?;
    let gather = fastest(|| {
        let gathered = table.gather_nd(&indices, GatherNd::default())?;
        backend.wait()?;
        Ok(gathered)
    })?;
    let row = (gather - least - plan.moved() / bytes) / SCALARS as f64;
    let row = row.max(0.0);
    Ok((least, Moving { bytes, row }))
}

/// The seconds that work takes at best: whatever else the machine does makes it longer.
fn fastest<R>(mut work: impl FnMut() -> Result<R, Error>) -> Result<f64, Error> {
    let mut least = f64::INFINITY;
    for _ in 0..4 {
        let begin = Instant::now();
        let done = work()?;
        least = least.min(begin.elapsed().as_secs_f64());
        drop(done);
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SliceSpec;
    use Place::{Device, Host};

    /// Rates that make for round figures.
    const ROUND: Costs = Costs {
        cpu: Moving {
            bytes: 1e9,
            row: 1e-9,
        },
        device: Moving {
            bytes: 10e9,
            row: 0.0,
        },
        upload: 2e9,
        readback: 0.5e9,
        submission: 1e-3,
        opening: 0.0,
    };

    fn plan(shape: &[usize], spec: &str) -> Plan {
        let spec: SliceSpec = spec.parse().unwrap();
        Plan::strided_slice(shape, &spec, DType::U8).unwrap()
    }

    #[track_caller]
    fn assert_takes(estimate: Estimate, cpu: f64, device: f64) {
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        assert!(
            close(estimate.cpu, cpu) && close(estimate.device, device),
            "{estimate:?}"
        );
    }

    #[test]
    fn every_byte_and_every_row_is_counted_where_it_moves() {
        // 1000 rows of 1000 bytes.
        let crop = plan(&[1000, 2000], ":, 500:1500");
        let (cpu, device) = (2e-3 + 1e-6, 0.2e-3 + 1e-3);
        assert_takes(
            ROUND.estimate(&crop, Device, Device),
            cpu + 5e-3 + 0.5e-3,
            device,
        );
        assert_takes(
            ROUND.estimate(&crop, Host, Device),
            cpu + 0.5e-3,
            device + 0.5e-3,
        );
        assert_takes(
            ROUND.estimate(&crop, Device, Host),
            cpu + 5e-3,
            device + 2e-3,
        );
        assert_takes(
            ROUND.estimate(&crop, Host, Host),
            cpu,
            device + 0.5e-3 + 2e-3,
        );
    }

    #[test]
    fn bytes_that_are_stepped_over_are_read_up_to_a_line() {
        for (step, read) in [
            (1, 1.0),
            (-1, 1.0),
            (2, 2.0),
            (-3, 3.0),
            (64, 64.0),
            (500, 64.0),
        ] {
            let plan = plan(
                &[100 * 500],
                &format!("{}::{step}", if step > 0 { "" } else { "100" }),
            );
            let units = plan.rows.units() as f64 * plan.rows.unit as f64;
            assert_eq!(plan.moved(), units * (1.0 + read), "{step}");
        }
    }

    #[test]
    fn rows_that_begin_within_a_line_share_it() {
        assert_eq!(plan(&[100, 128], ":, :3").starts(), 100.0);
        assert_eq!(plan(&[100, 16], ":, :3").starts(), 25.0);
        assert_eq!(plan(&[100, 16], "::-1, :3").starts(), 25.0);
        assert_eq!(plan(&[100], "::2").starts(), 1.0);
    }

    #[test]
    fn what_a_device_does_not_need_is_not_sent() {
        assert_eq!(plan(&[1000, 2000], ":, 500:1500").sent(), 1e6);
        // Every second byte is taken along, and one in a hundred is not.
        assert_eq!(
            plan(&[1000, 2000], ":, ::2").sent(),
            1999.0 * 1000.0 + 999.0
        );
        assert_eq!(plan(&[100, 2000], ":, ::100").sent(), 2000.0);
        assert_eq!(plan(&[1000], "5:5").sent(), 0.0);
        let gather = Plan::gather_nd(&[100, 30], &[7, 1], GatherNd::default(), DType::F32).unwrap();
        assert_eq!(gather.sent(), 100.0 * 30.0 * 4.0 + 7.0 * 8.0);
    }

    #[test]
    fn what_is_on_a_device_stays_there_and_what_comes_from_the_host_is_worth_it_or_not() {
        let prefers_cpu =
            |costs: &Costs, plan: &Plan, from, to| costs.estimate(plan, from, to).prefers_cpu();
        let flip = plan(&[4096, 4096], ":, ::-1");
        let tiny = plan(&[16, 16], "1:");
        for plan in [&flip, &tiny] {
            for costs in [Costs::HARDWARE, Costs::SOFTWARE] {
                assert!(prefers_cpu(&costs, plan, Host, Host));
                assert!(!prefers_cpu(&costs, plan, Device, Device));
            }
        }
        // Scalars from a small table: the CPU jumps for each, and the bus carries few bytes.
        let costs = Costs {
            upload: 50e9,
            readback: 50e9,
            ..Costs::HARDWARE
        };
        let scalars = |count| {
            Plan::gather_nd(&[1 << 20], &[count, 1], GatherNd::default(), DType::F32).unwrap()
        };
        assert!(!prefers_cpu(&costs, &scalars(10_000_000), Host, Host));
        assert!(prefers_cpu(&costs, &scalars(1000), Host, Host));
        assert!(prefers_cpu(
            &Costs::SOFTWARE,
            &scalars(10_000_000),
            Host,
            Host
        ));
    }

    #[test]
    fn rates_that_make_no_sense_speak_for_the_cpu() {
        for upload in [0.0, -0.0, f64::NAN] {
            let costs = Costs { upload, ..ROUND };
            for shape in [[1000, 1000], [0, 0]] {
                let estimate = costs.estimate(&plan(&shape, "::-1"), Host, Host);
                assert!(estimate.prefers_cpu(), "{estimate}");
            }
        }
    }
}
