//! `run.json` and its seal.

use trueno_format::journal::chunk_hash;
use trueno_format::run_json::{RunJson, Seal, resealed, sealed};

/// Number of bytes from the key of the seal to the end of the file.
const KEY_FROM_END: usize = "xxh3\": \"0123456789abcdef\"\n}\n".len();

/// Parses the text as it is, and once more with a valid seal.
pub fn run_json(bytes: &[u8]) -> bool {
    let seal = Seal::of(bytes);
    let Ok(run) = serde_json::from_slice::<RunJson>(bytes) else {
        return false;
    };
    let text = sealed(&run).expect("a run is JSON");
    assert_eq!(Seal::of(&text), Seal::Right);
    let again: RunJson = serde_json::from_slice(&text).expect("what was written is read");
    assert_eq!(again.run_id, run.run_id);
    assert_eq!(again.values, run.values);
    let anew = resealed(bytes, &run).expect("a run is JSON");
    let expected = match seal {
        Seal::Broken => Seal::Broken,
        Seal::Right | Seal::NotExpected => Seal::Right,
    };
    assert_eq!(
        Seal::of(&anew),
        expected,
        "sealed although it was changed, or not although it was not"
    );
    if seal == Seal::Broken {
        return true;
    }
    let any = chunk_hash(bytes).as_bytes()[1] as usize * 31 % anew.len();
    // The name of the seal's member: without it nobody may think that there never was one.
    for at in [any, anew.len() - KEY_FROM_END] {
        let mut changed = anew.clone();
        changed[at] ^= 1;
        assert_eq!(
            Seal::of(&changed),
            Seal::Broken,
            "a flipped bit of byte {at} is not seen"
        );
    }
    true
}
