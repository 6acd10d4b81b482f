//! How the ranks of a job are parallel, as the user states it.

use serde::Deserialize;
use trueno_plugin::{Error, Result};

/// Degrees of parallelism. Ranks are numbered as Megatron does: tensor parallel first, then context, data and pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Parallel {
    data: u32,
    context: u32,
    tensor: u32,
    pipeline: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub stage: u32,
    pub data: u32,
    pub tensor: u32,
}

impl TryFrom<String> for Parallel {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        let wrong =
            |why: &str| format!("parallel `{text}`: {why}; expected such as dp=4,tp=8,pp=2");
        let mut out = Self {
            data: 1,
            context: 1,
            tensor: 1,
            pipeline: 1,
        };
        for part in text.split(',') {
            let (kind, number) = part
                .split_once('=')
                .ok_or_else(|| wrong("a part has no `=`"))?;
            let number = number.trim().parse().ok().filter(|number| *number > 0);
            let number = number.ok_or_else(|| wrong("a part has no number"))?;
            match kind.trim() {
                "dp" => out.data = number,
                "cp" => out.context = number,
                "tp" => out.tensor = number,
                "pp" => out.pipeline = number,
                _ => return Err(wrong("kinds are dp, cp, tp and pp")),
            }
        }
        Ok(out)
    }
}

impl Parallel {
    /// Checks that the product of the degrees is the number of ranks. If ranks are missing, their numbers must
    /// be below it.
    ///
    /// # Errors
    /// The job has others.
    pub fn check(self, ranks: impl Iterator<Item = u32>, is_missing: bool) -> Result<()> {
        let numbers = [self.data, self.context, self.tensor, self.pipeline].map(u64::from);
        let product = numbers.into_iter().fold(1_u64, u64::saturating_mul);
        let (count, last) = ranks.fold((0_u64, 0), |(count, last), rank| {
            (count + 1, u64::from(rank).max(last))
        });
        if last < product && (is_missing || count == product) {
            return Ok(());
        }
        Err(Error::bad_option(format!(
            "parallel: the product is {product}, and the job has {count} ranks up to number {last}"
        )))
    }

    /// Position of a rank. Context-parallel groups count as data-parallel.
    pub fn place(self, rank: u32) -> Place {
        let data = self.data * self.context;
        Place {
            tensor: rank % self.tensor,
            data: rank / self.tensor % data,
            stage: rank / self.tensor / data,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> std::result::Result<Parallel, String> {
        Parallel::try_from(text.to_owned())
    }

    #[test]
    fn ranks_are_numbered_as_megatron_does() {
        let parallel = parse("dp=4,tp=8,pp=2").unwrap();
        let place = |stage, data, tensor| Place {
            stage,
            data,
            tensor,
        };
        assert_eq!(parallel.place(0), place(0, 0, 0));
        assert_eq!(parallel.place(21), place(0, 2, 5));
        assert_eq!(parallel.place(32), place(1, 0, 0));
        assert!(parallel.check(0..64, false).is_ok());
        assert!(parallel.check(0..63, false).is_err());
        assert!(parallel.check(0..63, true).is_ok());
        assert!(parallel.check(0..65, true).is_err());
    }

    #[test]
    fn what_is_no_number_of_a_kind_is_refused() {
        for text in ["", "dp", "dp=0", "dp=x", "zz=2"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
