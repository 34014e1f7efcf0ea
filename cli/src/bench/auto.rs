//! Checks whether quickly measured costs predict the fastest device for host data, as `--device auto` must.

use super::{report::Report, workload::Workload};
use serde::Serialize;

/// The device that the costs choose for a workload, and how good the choice is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Choice {
    pub(crate) workload: String,
    #[serde(skip)]
    pub(crate) label: String,
    pub(crate) devices: Vec<Prediction>,
    pub(crate) chosen: String,
    /// The time on the chosen device, divided by the time on the fastest.
    pub(crate) times_the_fastest: f64,
}

/// The estimated and the measured time of a workload on a device, from host memory to host memory, in seconds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Prediction {
    pub(crate) peer: String,
    pub(crate) estimate: f64,
    pub(crate) measured: f64,
}

/// Returns the choice for a workload among the CPU and hardware. `None` if no device has costs, or if fewer than two of
/// these devices have a host-to-host time for the workload.
#[cfg(feature = "gpu")]
pub(crate) fn choice(work: &Workload, report: &Report) -> Option<Choice> {
    use super::{devices::Kind, measured::Quantity};

    // The CPU has no costs of its own, so its time is estimated by the costs of the first adapter, which include the
    // rates of this CPU.
    let costs = report.devices.iter().find_map(|device| device.costs)?;
    let predict = |device: &super::devices::Described| {
        let of = device.costs.unwrap_or(costs);
        let estimate = of.estimate(&work.plan);
        let mut results = report.of(device);
        let measured = results.find(|measured| measured.workload == work.id)?;
        Some(Prediction {
            peer: device.peer.clone(),
            estimate: match device.kind {
                Kind::Cpu => estimate.cpu,
                Kind::Software | Kind::Gpu => estimate.device,
            },
            measured: measured.median(Quantity::HostToHost)?,
        })
    };
    // `auto` takes no software adapter, however fast it is.
    let devices = report.devices.iter();
    let devices = devices.filter(|device| device.kind != Kind::Software);
    choose(work, devices.filter_map(predict).collect())
}

#[cfg(not(feature = "gpu"))]
pub(crate) fn choice(_: &Workload, _: &Report) -> Option<Choice> {
    None
}

#[cfg(any(feature = "gpu", test))]
fn choose(work: &Workload, devices: Vec<Prediction>) -> Option<Choice> {
    if devices.len() < 2 {
        return None;
    }
    let least = |of: fn(&Prediction) -> f64| {
        let devices = devices.iter();
        devices.min_by(|one, other| of(one).total_cmp(&of(other)))
    };
    let chosen = least(|device| device.estimate)?;
    let fastest = least(|device| device.measured)?;
    Some(Choice {
        workload: work.id.clone(),
        label: work.to_string(),
        chosen: chosen.peer.clone(),
        times_the_fastest: chosen.measured / fastest.measured,
        devices,
    })
}

/// Serializes costs as text, and `None` as `null`.
#[cfg(feature = "gpu")]
pub(crate) fn costs<S: serde::Serializer>(
    costs: &Option<wgslice::cost::CostModel>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    costs.map(|costs| costs.to_string()).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::workload::built_in;

    #[test]
    fn a_choice_is_judged_by_what_was_measured() {
        let work = &built_in().expect("the set")[0];
        let device = |peer: &str, estimate, measured| Prediction {
            peer: peer.into(),
            estimate,
            measured,
        };
        let cpu = device("cpu", 1.0, 3.0);
        let choose = |other: Prediction| choose(work, vec![cpu.clone(), other]).expect("a choice");
        let wrong = choose(device("gpu", 2.0, 1.5));
        assert_eq!((&*wrong.chosen, wrong.times_the_fastest), ("cpu", 2.0));
        let right = choose(device("gpu", 0.5, 1.5));
        assert_eq!((&*right.chosen, right.times_the_fastest), ("gpu", 1.0));
        assert!(super::choose(work, vec![cpu]).is_none());
    }
}
