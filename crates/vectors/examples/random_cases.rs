//! Prints random cases as a vector file: `cargo run -p wgslice-vectors --example random_cases -- SEED COUNT`.

use std::{env, error::Error, io, io::Write};
use wgslice_vectors::random::{answered, case};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<u64> =
        (env::args().skip(1).map(|text| text.parse())).collect::<Result<_, _>>()?;
    let &[seed, count] = &arguments[..] else {
        return Err("usage: random_cases SEED COUNT".into());
    };
    let mut stdout = io::stdout().lock();
    for number in 0..usize::try_from(count)? {
        writeln!(stdout, "{}", answered(case(seed, number))?.to_line())?;
    }
    Ok(())
}
