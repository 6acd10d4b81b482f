//! Categories of events, and the class of interval each stands for.

use std::collections::HashMap;

use trueno_analysis::vendors;
use trueno_analysis::vendors::Category as Stated;

/// What an interval is, judging by its category alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Operator,
    Function,
    /// A category that Kineto does not write.
    Unknown,
    Kernel,
    Copy,
    Fill,
    Call,
    CallOrWork,
    Wait,
    /// A host annotation that Kineto repeats over the kernels it launched.
    DeviceAnnotation,
    ProfilerRange,
    Overhead,
    /// The time during which the profiler was on.
    Window,
}

fn class(category: &str) -> Class {
    match category {
        "cpu_op" | "Operator" => return Class::Operator,
        "gpu_user_annotation" => return Class::DeviceAnnotation,
        "cuda_profiler_range" => return Class::ProfilerRange,
        "overhead" | "Overhead" => return Class::Overhead,
        "Trace" => return Class::Window,
        _ => {}
    }
    match vendors::category(category) {
        Some(Stated::Kernel) => Class::Kernel,
        Some(Stated::Copy) => Class::Copy,
        Some(Stated::Fill) => Class::Fill,
        Some(Stated::Call) => Class::Call,
        Some(Stated::CallOrWork) => Class::CallOrWork,
        Some(Stated::Wait) => Class::Wait,
        Some(Stated::Host) => Class::Function,
        None => Class::Unknown,
    }
}

#[derive(Debug, Default)]
pub(super) struct Categories {
    numbers: HashMap<Vec<u8>, usize>,
    all: Vec<Category>,
    last: usize,
}

#[derive(Debug)]
struct Category {
    text: Vec<u8>,
    class: Class,
    /// Event counts by phase. Few entries each.
    counts: Vec<(u8, u64)>,
}

impl Categories {
    pub fn met(&mut self, phase: u8, category: &[u8]) -> Class {
        let is_last = self
            .all
            .get(self.last)
            .is_some_and(|last| last.text == category);
        if !is_last {
            self.last = match self.numbers.get(category) {
                Some(number) => *number,
                None => self.add(category),
            };
        }
        let met = &mut self.all[self.last];
        match met.counts.iter_mut().find(|(of, _)| *of == phase) {
            Some((_, count)) => *count += 1,
            None => met.counts.push((phase, 1)),
        }
        met.class
    }

    fn add(&mut self, category: &[u8]) -> usize {
        let number = self.all.len();
        self.numbers.insert(category.to_owned(), number);
        self.all.push(Category {
            text: category.to_owned(),
            class: class(&String::from_utf8_lossy(category)),
            counts: Vec::new(),
        });
        number
    }

    pub fn has(&self, category: &str) -> bool {
        self.numbers.contains_key(category.as_bytes())
    }

    pub fn counts(&self) -> impl Iterator<Item = (String, u64)> {
        self.all.iter().flat_map(|category| {
            let text = String::from_utf8_lossy(&category.text);
            category.counts.iter().map(move |&(phase, count)| {
                let phase = match phase {
                    0 => "without ph".to_owned(),
                    phase => phase.escape_ascii().to_string(),
                };
                (format!("{phase} {text}").trim_end().to_owned(), count)
            })
        })
    }

    /// Kineto wrote the file: no other producer has these categories.
    pub fn are_of_kineto(&self) -> bool {
        self.all.iter().any(|category| {
            matches!(
                category.class,
                Class::Operator | Class::Wait | Class::DeviceAnnotation
            ) || matches!(
                category.text.as_slice(),
                b"cuda_runtime" | b"ac2g" | b"python_function"
            )
        })
    }
}
