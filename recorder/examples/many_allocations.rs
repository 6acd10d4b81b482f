//! Records ten million allocations and releases, for `report FOLDER/allocations.run --plugin-id memory`.
//!
//!     cargo run --release -p trueno-recorder --example many_allocations -- FOLDER [ROWS]
//!
//! Ten thousand blocks live at a time. Each is released some 20,000 rows after it was allocated.

use trueno_recorder::{Overflow, Recorder};

const LIVE: u64 = 10_000;
const OF_AN_ITERATION: u64 = 1_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("which folder?")?;
    let rows: u64 = args.next().map_or(Ok(10_000_000), |text| text.parse())?;
    let rec = Recorder::builder(format!("{folder}/allocations.run"))
        .overflow(Overflow::Block)
        .create()?;
    let size = |block: u64| (16 + (block.wrapping_mul(0x9e37_79b9) >> 20) % 4000) as i64;
    let address = |block: u64| 4096 * (block % LIVE + 1);
    for block in 0..rows / 2 {
        let _iteration =
            (block % OF_AN_ITERATION == 0).then(|| rec.iteration(block / OF_AN_ITERATION));
        if let Some(gone) = block.checked_sub(LIVE) {
            rec.allocation("heap", -size(gone), address(gone));
        }
        rec.allocation("heap", size(block), address(block));
    }
    rec.finish()?;
    Ok(())
}
