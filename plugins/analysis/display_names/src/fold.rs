//! A function's name with less in it, by level.

use super::cpp::{Part, path};

/// Longer names lose the arguments of their innermost templates.
const LONG: usize = 96;
/// Template depth that is shown at first.
const DEPTH: usize = 3;
/// Largest number of arguments that is shown for a template at first.
const MAX_ARGUMENTS: usize = 12;
/// Templates and functions that only call their argument, so their own name says nothing.
const WRAPPERS: [&str; 9] = [
    "Kernel",
    "Kernel2",
    "ReduceOp",
    "device_kernel",
    "func_wrapper_t",
    "gpu_kernel_impl",
    "gpu_kernel_impl_nocast",
    "gpu_kernel_with_index",
    "kentry",
];
/// Arguments for how elements are accessed, which follows from the other arguments.
const ACCESS: [&str; 10] = [
    "Array",
    "LoadWithCast",
    "LoadWithoutCast",
    "OffsetCalculator",
    "StoreWithCast",
    "StoreWithoutCast",
    "TensorListMetadata",
    "TensorListScalarListMetadata",
    "TrivialOffsetCalculator",
    "array",
];
const COUNTS: [&str; 7] = [
    "int",
    "int32_t",
    "int64_t",
    "long",
    "unsigned",
    "unsigned int",
    "unsigned long",
];

/// Amount that is kept; two names that are one at a level are told apart at a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The function with its types and functors.
    Functor,
    /// Also numbers among its own arguments.
    Numbers,
    /// All arguments at any depth.
    Arguments,
    /// Also its namespaces.
    Namespaces,
    /// Also its parameters.
    Parameters,
    /// The full demangled name.
    Demangled,
    /// The name as recorded.
    Recorded,
}

impl Level {
    /// The next that keeps more.
    pub fn next(self) -> Self {
        match self {
            Level::Functor => Level::Numbers,
            Level::Numbers => Level::Arguments,
            Level::Arguments => Level::Namespaces,
            Level::Namespaces => Level::Parameters,
            Level::Parameters => Level::Demangled,
            Level::Demangled | Level::Recorded => Level::Recorded,
        }
    }
}

/// A function at a level below [`Level::Demangled`].
pub fn function(parts: &[Part<'_>], level: Level) -> String {
    let mut depth = DEPTH;
    loop {
        let text = Fold { level, depth }.function(parts);
        if level >= Level::Arguments || depth == 0 || text.chars().count() <= LONG {
            return text;
        }
        depth -= 1;
    }
}

#[derive(Clone, Copy)]
struct Fold {
    level: Level,
    depth: usize,
}

impl Fold {
    fn function(self, parts: &[Part<'_>]) -> String {
        let Some((last, before)) = parts.split_last() else {
            return String::new();
        };
        if last.is_call() || last.is_lambda() {
            return self.entity(parts);
        }
        let arguments = last.arguments.as_deref().unwrap_or_default();
        if let (Level::Functor, true, Some(inner)) = (
            self.level,
            WRAPPERS.contains(&last.name),
            self.wrapped(arguments),
        ) {
            return inner;
        }
        let arguments = match self.level {
            Level::Functor => self.types(arguments),
            _ => arguments.iter().map(|one| self.argument(one)).collect(),
        };
        let is_template = !arguments.is_empty() && self.level == Level::Functor;
        let name = last.name;
        let name = match name.strip_suffix("_kernel") {
            Some(stem) if is_template && !stem.is_empty() => stem,
            _ => name,
        };
        let mut text = String::new();
        let namespaces = match (self.level >= Level::Namespaces, last.name) {
            (true, _) => before,
            // Of a name that says nothing, the one before it is the name.
            (false, "kernel" | "Kernel") => &before[before.len().saturating_sub(1)..],
            (false, _) => &[],
        };
        for part in namespaces {
            text.push_str(&self.part(part));
            text.push_str("::");
        }
        text.push_str(name);
        text.push_str(&bracketed(&arguments));
        if self.level >= Level::Parameters {
            let parameters = last.parameters.iter().flatten();
            let parameters: Vec<String> = parameters.map(|one| self.argument(one)).collect();
            text.push_str(&format!("({})", parameters.join(", ")));
        }
        text
    }

    /// The functor or function that a wrapper calls.
    fn wrapped(self, arguments: &[&str]) -> Option<String> {
        let inner = arguments
            .iter()
            .find(|one| !is_number(one) && !is_basic(bare(one)))?;
        Some(self.argument(inner))
    }

    /// Arguments without numbers, repetitions and ways of access.
    fn types(self, arguments: &[&str]) -> Vec<String> {
        let is_access = |one: &str| {
            let last = path(bare(one)).and_then(|parts| parts.last().map(|part| part.name));
            last.is_some_and(|name| ACCESS.contains(&name))
        };
        let types = arguments
            .iter()
            .filter(|one| !is_number(one) && !is_access(one));
        // With each, those before are compared.
        let types = types.take(MAX_ARGUMENTS);
        let all: Vec<String> = types.map(|one| self.argument(one)).collect();
        let is_count = |one: &String| COUNTS.contains(&one.as_str());
        let only_counts = all.iter().all(is_count);
        let mut kept: Vec<String> = Vec::new();
        for one in all {
            let is_said = kept.iter().any(|kept| says(kept, &one));
            if !is_said && (only_counts || !is_count(&one)) {
                kept.push(one);
            }
        }
        kept
    }

    fn argument(self, text: &str) -> String {
        let text = bare(text);
        if is_number(text) {
            return number(text).to_owned();
        }
        let stem = text.trim_end_matches(['*', '&', ' ']);
        let stem = stem.strip_suffix(" const").unwrap_or(stem);
        let is_pointer = text.ends_with('*');
        let stem_of_address = stem.trim_start_matches('&');
        match path(stem_of_address) {
            Some(parts) if is_pointer => format!("{}*", self.entity(&parts)),
            Some(parts) => self.entity(&parts),
            None => text.to_owned(),
        }
    }

    fn entity(self, parts: &[Part<'_>]) -> String {
        if self.level >= Level::Arguments {
            let named = parts
                .iter()
                .position(|part| part.is_lambda() || part.is_call());
            let first = named.unwrap_or(parts.len()).saturating_sub(1);
            let parts: Vec<String> = parts[first..]
                .iter()
                .filter(|part| !part.is_call())
                .map(|part| self.part(part))
                .collect();
            return parts.join("::");
        }
        let is_of_function = |part: &Part<'_>| part.is_lambda() || part.is_call();
        let Some(at) = parts.iter().rposition(|part| !is_of_function(part)) else {
            return parts.last().map_or(String::new(), |part| self.part(part));
        };
        let base = &parts[at];
        let arguments = base.arguments.as_deref().unwrap_or_default();
        if WRAPPERS.contains(&base.name)
            && let Some(inner) = self.wrapped(arguments)
        {
            return inner;
        }
        let mut text = match at.checked_sub(1).map(|before| &parts[before]) {
            // A member of a class template, as `Policy<int>::Kind`; `type` says nothing.
            Some(before) if before.arguments.is_some() && base.arguments.is_none() => {
                match base.name {
                    "type" => self.part(before),
                    _ => format!("{}::{}", self.part(before), base.name),
                }
            }
            _ => self.part(base),
        };
        let is_functor = parts.get(at + 1).is_some_and(Part::is_call);
        if let (Some(lambda), false) = (parts.iter().rfind(|part| part.is_lambda()), is_functor) {
            text.push_str("::");
            text.push_str(&self.part(lambda));
        }
        text
    }

    fn part(self, part: &Part<'_>) -> String {
        if part.is_lambda() {
            let parameters = part.parameters.iter().flatten();
            let parameters: Vec<String> = parameters.map(|one| self.argument(one)).collect();
            let list = if parameters.is_empty() {
                String::new()
            } else {
                format!("({})", parameters.join(", "))
            };
            let number = if self.level >= Level::Arguments {
                part.number
            } else {
                ""
            };
            return format!("lambda{number}{list}");
        }
        let arguments = part.arguments.as_deref().unwrap_or_default();
        if self.depth == 0 && self.level < Level::Arguments {
            return part.name.to_owned();
        }
        let deeper = Fold {
            depth: self.depth.saturating_sub(1),
            ..self
        };
        let mut folded = if self.level >= Level::Arguments {
            Vec::new()
        } else {
            deeper.types(arguments)
        };
        if folded.is_empty() {
            folded = arguments.iter().map(|one| deeper.argument(one)).collect();
        }
        format!("{}{}", part.name, bracketed(&folded))
    }
}

fn bracketed(arguments: &[String]) -> String {
    if arguments.is_empty() {
        String::new()
    } else {
        format!("<{}>", arguments.join(", "))
    }
}

fn says(text: &str, word: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_of_word) && !after.is_some_and(is_of_word)
    })
}

/// Removes `const` qualifiers.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_prefix("const ").unwrap_or(text);
    text.strip_suffix(" const").unwrap_or(text)
}

fn is_number(text: &str) -> bool {
    let text = number(text);
    matches!(text, "true" | "false")
        || text.starts_with(|c: char| c.is_ascii_digit())
        || text
            .strip_prefix('-')
            .is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()))
}

/// Removes the type of a number: `(Kind)2` becomes 2, `4ul` becomes 4.
fn number(text: &str) -> &str {
    let text = match (text.starts_with('('), text.rfind(')')) {
        (true, Some(end)) => &text[end + 1..],
        _ => text,
    };
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        text.trim_end_matches(['u', 'l', 'U', 'L'])
    } else {
        text
    }
}

/// Returns whether this is a basic type, which every kernel may have and no wrapper calls.
fn is_basic(text: &str) -> bool {
    let last = text.rsplit("::").next().unwrap_or(text);
    let last = last.trim_end_matches(['*', '&', ' ']);
    COUNTS.contains(&last)
        // The architecture that Composable Kernel builds for.
        || last.starts_with("gfx")
        || matches!(
            last,
            "BFloat16" | "Half" | "bool" | "char" | "double" | "float" | "half" | "short" | "void"
        )
        || matches!(
            last,
            "__half" | "__nv_bfloat16" | "signed char" | "unsigned char"
        )
        || matches!(last, "unsigned short" | "long long" | "unsigned long long")
}
