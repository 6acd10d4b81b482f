//! Ranges of XLA and TensorFlow, whose texts carry values: `XlaPass:#name=copy-insertion,module=jit_step,program_id=3317#`.

/// Longer texts stay as they are.
const MAX_BYTES: usize = 4096;

/// A text taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation<'t> {
    /// The text before the values and the first value: `XlaPass: copy-insertion`.
    pub name: String,
    pub values: Vec<(&'t str, &'t str)>,
}

impl<'t> Annotation<'t> {
    /// `None` for every other text.
    pub fn parse(text: &'t str) -> Option<Self> {
        if text.len() > MAX_BYTES {
            return None;
        }
        let (name, rest) = text.strip_suffix('#')?.split_once('#')?;
        let mut values: Vec<(&str, &str)> = Vec::new();
        let mut from = 0;
        while from < rest.len() {
            // A value may contain commas: the next one begins behind a comma and has a name.
            let part = &rest[from..];
            let (key, value) = part.split_once('=')?;
            let next = value.match_indices(',').find(|(at, _)| {
                let key = value[at + 1..].split('=').next().unwrap_or("");
                let is_key = |of: char| of.is_ascii_alphanumeric() || of == '_';
                value[at + 1..].contains('=') && !key.is_empty() && key.chars().all(is_key)
            });
            let end = next.map_or(value.len(), |(at, _)| at);
            values.push((key, &value[..end]));
            from += key.len() + 1 + end + 1;
        }
        let (key, first) = values.first()?;
        let name = name.trim_end_matches(':');
        let name = if name.is_empty() || first.is_empty() {
            return None;
        } else if *key == "step_num" {
            // Each step would have a name of its own.
            name.to_owned()
        } else {
            format!("{name}: {first}")
        };
        Some(Self { name, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_xla_have_a_name_and_values() {
        let pass = Annotation::parse("XlaPass:#name=copy-insertion,module=jit_f,program_id=3317#");
        let pass = pass.unwrap();
        assert_eq!(pass.name, "XlaPass: copy-insertion");
        let values = [
            ("name", "copy-insertion"),
            ("module", "jit_f"),
            ("program_id", "3317"),
        ];
        assert_eq!(pass.values, values);
        let thunk = Annotation::parse("Thunk:#name=jit(f)/slice[a=1, b],hlo_op=slice.2#").unwrap();
        assert_eq!(
            thunk.values,
            [("name", "jit(f)/slice[a=1, b]"), ("hlo_op", "slice.2")]
        );
    }

    #[test]
    fn steps_have_one_name() {
        let step = Annotation::parse("train#step_num=3,_r=1#").unwrap();
        assert_eq!(step.name, "train");
        assert_eq!(step.values, [("step_num", "3"), ("_r", "1")]);
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "step",
            "ProfilerStep#3",
            "a#b#",
            "#x=1#",
            "x:##",
            "x:#k=#",
            "#",
            "##",
        ] {
            assert_eq!(Annotation::parse(text), None, "{text}");
        }
    }
}
