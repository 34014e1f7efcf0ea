//! The tables of peers: kernels modelled on the kernels of other projects, compared with wgslice's.

use super::{Kernel, NOT_RUN, format_number, format_percents, or_dash};
use crate::{
    cases::{CaseWork, Peer},
    estimate::{self, GPUS},
};
use std::fmt::Write as _;

const PEERS_LEGEND: &str = include_str!("peers.md");
const COMPARED_LEGEND: &str = include_str!("compared.md");

/// Returns the table of peers' kernels, and the table that compares their times with the library's.
pub(super) fn peer_tables(library: &[Kernel<'_>], peers: &[Kernel<'_>]) -> String {
    let mut text = PEERS_LEGEND.to_owned();
    let mut last_name = "";
    for peer in peers {
        let name = peer.case.name.split(' ').next().unwrap_or_default();
        if name != last_name {
            let own_kernels = library.iter().filter(|kernel| kernel.case.name == name);
            text.extend(own_kernels.map(peer_row));
            last_name = name;
        }
        text += &peer_row(peer);
    }
    text + &comparison_table(library, peers)
}

fn peer_row(kernel: &Kernel<'_>) -> String {
    let Kernel {
        counts,
        wide_counts,
        ..
    } = kernel;
    let name = kernel.case.name.split(' ').next().unwrap_or_default();
    let owner = match kernel.case.work {
        CaseWork::Peer(peer, _) => peer.to_string(),
        _ => format!("wgslice, {}", kernel.kernel_name()),
    };
    let mut cells = vec![
        format_percents(&counts.read, &wide_counts.read),
        format_percents(&counts.other, &wide_counts.other),
        or_dash(counts.read.mean_access_bytes()),
        or_dash(counts.written.mean_access_bytes()),
    ];
    match (kernel.estimated_times(), &kernel.compiled[..]) {
        (Some(times), [rdna2, ..]) => {
            let [vector, for_16_bytes] = kernel.vector_cells(rdna2);
            let (unit, bound) = times.h100_bound();
            cells.extend([
                rdna2.path.bytes_in_flight.to_string(),
                vector,
                for_16_bytes,
                format_number(counts.divisions),
                format!("{:.2}", times.navi21),
                format!("{:.2}", times.mi300x),
                format!("{bound:.2}"),
                unit.into(),
            ]);
        }
        _ => {
            cells.extend(vec![NOT_RUN.to_owned(); 3]);
            cells.push(format_number(counts.divisions));
            cells.extend(vec![NOT_RUN.to_owned(); 4]);
        }
    }
    let description = if owner.starts_with("wgslice") {
        &*kernel.case.description
    } else {
        ""
    };
    format!(
        "| {name} | {description} | {owner} | {} |\n",
        cells.join(" | ")
    )
}

/// Returns the estimated time of a kernel on each GPU for each byte of its result. The unit is the time in which memory
/// transfers a byte. `None` if the kernel was not compiled.
fn times_of_byte(kernel: &Kernel<'_>) -> Option<[f64; 3]> {
    let bytes = estimate::memory_bytes(&kernel.counts) / kernel.counts.written.useful_bytes;
    Some(
        kernel
            .estimated_times()?
            .largest_ratios()
            .map(|bound| bound * bytes),
    )
}

fn comparison_table(library: &[Kernel<'_>], peers: &[Kernel<'_>]) -> String {
    let mut text = COMPARED_LEGEND.to_owned();
    for peer in Peer::ALL {
        let _ = write!(text, " {peer}: {} |", GPUS.join(" | "));
    }
    text += "\n|---|";
    text += &"---|".repeat(Peer::ALL.len() * GPUS.len());
    text.push('\n');
    for own_kernel in library {
        let kernel_of = |peer: Peer| {
            let name = format!("{} {peer}", own_kernel.case.name);
            peers.iter().find(|kernel| kernel.case.name == name)
        };
        if Peer::ALL.into_iter().all(|peer| kernel_of(peer).is_none()) {
            continue;
        }
        let cells_of_peer = |peer| {
            let Some(peer_kernel) = kernel_of(peer) else {
                return GPUS.map(|_| "–".to_owned());
            };
            match (times_of_byte(peer_kernel), times_of_byte(own_kernel)) {
                (Some(peer_times), Some(own_times)) => {
                    [0, 1, 2].map(|gpu| format!("{:.1}", peer_times[gpu] / own_times[gpu]))
                }
                _ => GPUS.map(|_| NOT_RUN.to_owned()),
            }
        };
        let cells: Vec<String> = Peer::ALL.into_iter().flat_map(cells_of_peer).collect();
        let _ = writeln!(text, "| {} | {} |", own_kernel.case.name, cells.join(" | "));
    }
    text
}
