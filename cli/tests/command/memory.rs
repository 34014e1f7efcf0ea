//! The memory that the command uses, on Linux.

use crate::support::{Folder, command, devices};
use std::{
    fs,
    io::{Read, Seek, SeekFrom, Write},
    process::Stdio,
    thread,
    time::Duration,
};

/// The command holds only pieces of a slice's input and result in memory. Its remaining memory is for the program, its
/// threads and, on a GPU, two rings of staging buffers: one for uploads and one for readbacks.
#[test]
fn a_slice_holds_neither_its_input_nor_its_result() {
    const MIB: u64 = 1 << 20;
    // The input has 256 MiB, of which the slice selects 108 MiB.
    let shape = [64, 256, 256, 16];
    let folder = Folder::new();
    let row_major = folder.write_sparse("in.npy", "<f4", &shape, 256 * MIB);
    let big_endian = folder.write_sparse("big.npy", ">f4", &shape, 256 * MIB);
    let fortran = folder.write_sparse("fortran.npy", "<f4", &shape, 256 * MIB);
    let mut file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&fortran)
        .expect("the file");
    let mut header = [0; 128];
    file.read_exact(&mut header).expect("the header");
    let at = header
        .windows(6)
        .position(|word| word == b"False,")
        .expect("the order");
    file.seek(SeekFrom::Start(at as u64)).expect("its place");
    file.write_all(b"True ,").expect("another order");
    drop(file);
    let inputs = [&row_major, &big_endian, &fortran];
    for (&device, input) in devices()
        .iter()
        .flat_map(|device| inputs.map(|input| (device, input)))
    {
        let output = folder.path("out.npy");
        let spec = "8:56, 32:224, 32:224, :";
        let mut running = command(&["slice", input, spec, "-o", &output, "--device", device])
            .stdout(Stdio::null())
            .spawn()
            .expect("the command starts");
        let path = format!("/proc/{}/status", running.id());
        let mut peak = 0;
        while running.try_wait().expect("its state").is_none() {
            let status = fs::read_to_string(&path).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
            peak = peak.max(kilobytes.unwrap_or(0) * 1024);
            thread::sleep(Duration::from_millis(1));
        }
        assert!(running.wait().expect("it ends").success(), "{device}");
        let max_memory = if device == "cpu" { 64 } else { 192 } * MIB;
        assert!(
            (MIB..max_memory).contains(&peak),
            "{input} {device}: {peak} bytes"
        );
    }
}
