use trueno_recorder::{BrickId, Error, Recorder};

fn main() -> Result<(), Error> {
    // Replaces an existing run; without `overwrite`, `create` fails if there is one.
    let rec = Recorder::builder("my.run").overwrite(true).create()?;
    let gemv = rec.name("gemv_f32");                  // a name interned once costs nothing later
    let (weights, input) = (vec![0.5f32; 1024 * 1024], vec![1.0f32; 1024]);
    for token in 0..16 {
        let _token = rec.iteration(token);            // a guard is a row; it ends with its scope
        let _layer = rec.layer(0);
        let output: Vec<f32> = {
            let _brick = rec.brick(BrickId::QkvProjection); // or any name: rec.brick("my op")
            let mut kernel = rec.kernel(gemv);        // nests under the brick
            kernel.backend("scalar");
            // FLOPs and bytes of one row make a point of the roofline.
            kernel.flops(2 * 1024 * 1024).bytes(4 * 1024 * 1024);
            weights.chunks(1024).map(|row| dot(row, &input)).collect()
        };
        // After the guards have ended, so its time does not count as the kernel's.
        rec.checksum("qkv.out", Some(token), &output, &[1, 1024]);
    }
    rec.finish()?;                                    // also on drop
    Ok(())
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
