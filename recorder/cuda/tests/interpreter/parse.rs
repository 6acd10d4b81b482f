//! From text to instructions.

use std::collections::HashMap;

use super::value::Type;

pub struct Module {
    kernels: HashMap<String, Kernel>,
}

pub struct Kernel {
    pub parameters: Vec<(usize, usize)>,
    pub code: Vec<Instruction>,
    pub registers: usize,
}

pub struct Instruction {
    pub guard: Option<(usize, bool)>,
    pub operation: Operation,
    pub operands: Vec<Operand>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Nan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Move(Type),
    Add(Type),
    Sub(Type),
    MulLow(Type),
    MulHigh(Type),
    MulWide(Type),
    Mul(Type),
    Fma(Type),
    Div(Type),
    Rem(Type),
    And(Type),
    Or(Type),
    Xor(Type),
    Not(Type),
    Neg(Type),
    ShiftLeft(Type),
    ShiftRight(Type),
    /// Inserts bits of one word into another.
    Insert,
    Min(Type),
    Max(Type),
    Set(Compare, Type),
    Select(Type),
    Convert {
        to: Type,
        from: Type,
    },
    /// Converts an address; global and generic addresses are the same.
    Global,
    Load(Type),
    LoadParameter(Type),
    Store(Type),
    LoadShared(Type),
    StoreShared(Type),
    ShuffleDown,
    /// Of one warp, on tensor cores.
    Mma(Shape),
    /// Of four warps, with operands in shared memory.
    Wgmma(Shape),
    Barrier,
    /// Instructions that have no effect when everything happens in order.
    Nothing,
    Branch,
    Return,
}

/// A product of matrices: rows, columns, depth, and the types of its elements and sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub element: Element,
    pub sum: Element,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    Bf16,
    F16,
    Tf32,
    E4m3,
    S8,
    F32,
    F64,
    S32,
}

impl Element {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "bf16" => Self::Bf16,
            "f16" => Self::F16,
            "tf32" => Self::Tf32,
            "e4m3" => Self::E4m3,
            "s8" => Self::S8,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "s32" => Self::S32,
            _ => return None,
        })
    }
}

impl Shape {
    fn parse(name: &str) -> Self {
        let parts: Vec<&str> = name.split('.').collect();
        let size = parts
            .iter()
            .find(|part| part.starts_with('m') && part.ends_with(|c: char| c.is_ascii_digit()));
        let size = size.expect("a shape").trim_start_matches('m');
        let (m, rest) = size.split_once('n').expect("columns");
        let (n, k) = rest.split_once('k').expect("a depth");
        let [m, n, k] = [m, n, k].map(|number| number.parse().expect("a number"));
        // The sums' type, then those of the operands.
        let types: Vec<Element> = parts
            .iter()
            .filter_map(|part| Element::parse(part))
            .collect();
        assert_eq!(types[1], types[2], "{name}");
        Self {
            m,
            n,
            k,
            element: types[1],
            sum: types[0],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    ThreadX,
    ThreadsX,
    BlockX,
    BlocksX,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    Register(usize),
    Number(u64),
    Special(Special),
    /// Offset of a parameter from the start of all parameters.
    Parameter(u64),
    Address(Box<Operand>, i64),
    Vector(Vec<usize>),
    /// Target, and a predicate that is not stored.
    Label(usize),
}

impl Module {
    pub fn parse(text: &str) -> Self {
        Self::with(text, true)
    }

    /// Also accepts texts with unknown instructions: their kernels have names and parameters, but do nothing.
    pub fn parse_known(text: &str) -> Self {
        let unknown = ["tcgen05", "%clock64"];
        Self::with(text, !unknown.iter().any(|word| text.contains(word)))
    }

    pub fn has(&self, name: &str) -> bool {
        self.kernels.contains_key(name)
    }

    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.kernels.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    pub fn parameter_sizes(&self, name: &str) -> Vec<usize> {
        let parameters = &self.kernel(name).parameters;
        parameters.iter().map(|(_, size)| *size).collect()
    }

    /// Parses only the kernels of `names`, for texts in which other kernels have unknown instructions.
    pub fn parse_some(text: &str, names: &[&str]) -> Self {
        let mut some = String::new();
        for part in text.split(".entry ").skip(1) {
            if names.contains(&part.split('(').next().unwrap_or("").trim()) {
                some += ".entry ";
                some += part;
            }
        }
        Self::parse(&some)
    }

    fn with(text: &str, is_known: bool) -> Self {
        let mut kernels = HashMap::new();
        for part in text.split(".entry ").skip(1) {
            let (name, rest) = part.split_once('(').expect("a name");
            let (parameters, rest) = rest.split_once(')').expect("parameters");
            let (_, body) = rest.split_once('{').expect("a body");
            let body = body.rsplit_once('}').expect("its end").0;
            let body = if is_known { body } else { "" };
            kernels.insert(name.trim().to_owned(), kernel(parameters, body));
        }
        Self { kernels }
    }

    pub fn kernel(&self, name: &str) -> &Kernel {
        self.kernels
            .get(name)
            .unwrap_or_else(|| panic!("there is no kernel {name}"))
    }
}

fn kernel(parameters: &str, body: &str) -> Kernel {
    let mut names = HashMap::new();
    let mut places = Vec::new();
    let mut end = 0usize;
    for parameter in parameters.split(',').map(str::trim) {
        let words: Vec<&str> = parameter.split_whitespace().collect();
        let (name, size, align) = match words[..] {
            [".param", of, name] => {
                let of = Type::parse(&of[1..]).expect("a type").bytes();
                (name, of, of)
            }
            [".param", ".align", align, ".b8", name] => {
                let (name, count) = name.split_once('[').expect("a length");
                let count = count.trim_end_matches(']').parse().expect("a number");
                (name, count, align.parse().expect("a number"))
            }
            _ => panic!("parameter {parameter}"),
        };
        end = end.next_multiple_of(align);
        names.insert(name.to_owned(), end as u64);
        places.push((end, size));
        end += size;
    }
    let mut reader = Reader {
        parameters: names,
        registers: HashMap::new(),
        labels: HashMap::new(),
    };
    // Inline assembly stands in comments and braces of its own.
    let lines: Vec<&str> = body
        .lines()
        .map(|line| line.split("//").next().unwrap_or("").trim())
        .filter(|line| !line.is_empty() && !line.starts_with('.') && !matches!(*line, "{" | "}"))
        .collect();
    let mut count = 0;
    for line in &lines {
        if let Some(label) = line.strip_suffix(':') {
            reader.labels.insert(label.to_owned(), count);
        } else {
            count += 1;
        }
    }
    let code = lines
        .iter()
        .filter(|line| !line.ends_with(':'))
        .map(|line| reader.instruction(line))
        .collect();
    Kernel {
        parameters: places,
        code,
        registers: reader.registers.len(),
    }
}

struct Reader {
    parameters: HashMap<String, u64>,
    registers: HashMap<String, usize>,
    labels: HashMap<String, usize>,
}

impl Reader {
    fn register(&mut self, name: &str) -> usize {
        let next = self.registers.len();
        *self.registers.entry(name.to_owned()).or_insert(next)
    }

    fn instruction(&mut self, line: &str) -> Instruction {
        let mut text = line.trim_end_matches(';').trim();
        let mut guard = None;
        if let Some(rest) = text.strip_prefix('@') {
            let (name, rest) = rest.split_once(char::is_whitespace).expect("a guard");
            let wanted = !name.starts_with('!');
            guard = Some((self.register(name.trim_start_matches('!')), wanted));
            text = rest.trim();
        }
        let (name, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        Instruction {
            guard,
            operation: operation(name),
            operands: self.operands(operands),
            text: line.to_owned(),
        }
    }

    fn operands(&mut self, text: &str) -> Vec<Operand> {
        let mut operands = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let end = if rest.starts_with('{') {
                rest.find('}').expect("a brace") + 1
            } else {
                rest.find(',').unwrap_or(rest.len())
            };
            operands.push(self.operand(rest[..end].trim()));
            rest = rest[end..].trim_start().trim_start_matches(',').trim();
        }
        operands
    }

    fn operand(&mut self, text: &str) -> Operand {
        if let Some(list) = text.strip_prefix('{') {
            let list = list.trim_end_matches('}').split(',');
            return Operand::Vector(list.map(|name| self.register(name.trim())).collect());
        }
        if let Some(address) = text.strip_prefix('[') {
            let address = address.trim_end_matches(']');
            let (base, offset) = address.split_once('+').unwrap_or((address, "0"));
            let offset = offset.trim().parse().expect("an offset");
            return Operand::Address(Box::new(self.operand(base.trim())), offset);
        }
        // The predicate of a shuffle is not asked for.
        let text = text.split('|').next().unwrap_or(text);
        match text {
            "%tid.x" => return Operand::Special(Special::ThreadX),
            "%ntid.x" => return Operand::Special(Special::ThreadsX),
            "%ctaid.x" => return Operand::Special(Special::BlockX),
            "%nctaid.x" => return Operand::Special(Special::BlocksX),
            _ => {}
        }
        // The one array in shared memory that a kernel has, at the start of it.
        if text.starts_with("_ZZ") {
            return Operand::Number(0);
        }
        if text.starts_with('%') {
            return Operand::Register(self.register(text));
        }
        if let Some(at) = self.parameters.get(text) {
            return Operand::Parameter(*at);
        }
        if let Some(at) = self.labels.get(text) {
            return Operand::Label(*at);
        }
        let hex = |digits| u64::from_str_radix(digits, 16).expect("hexadecimal digits");
        if let Some(digits) = text.strip_prefix("0d").or(text.strip_prefix("0f")) {
            return Operand::Number(hex(digits));
        }
        let number = text
            .parse::<i64>()
            .map(|number| number as u64)
            .or_else(|_| text.parse());
        Operand::Number(number.unwrap_or_else(|_| panic!("operand {text}")))
    }
}

fn operation(name: &str) -> Operation {
    if name.starts_with("mma.sync.aligned.") {
        return Operation::Mma(Shape::parse(name));
    }
    if name.starts_with("wgmma.mma_async.sync.aligned.") {
        return Operation::Wgmma(Shape::parse(name));
    }
    let parts: Vec<&str> = name.split('.').collect();
    let types: Vec<Type> = parts[1..]
        .iter()
        .filter_map(|part| Type::parse(part))
        .collect();
    let of = types.last().copied();
    let has = |part: &str| parts[1..].contains(&part);
    let typed = |make: fn(Type) -> Operation| make(of.unwrap_or_else(|| panic!("type of {name}")));
    match parts[0] {
        "mov" => typed(Operation::Move),
        "add" => typed(Operation::Add),
        "sub" => typed(Operation::Sub),
        "mul" if has("lo") => typed(Operation::MulLow),
        "mul" if has("hi") => typed(Operation::MulHigh),
        "mul" if has("wide") => typed(Operation::MulWide),
        "mul" => typed(Operation::Mul),
        "fma" => typed(Operation::Fma),
        "div" => typed(Operation::Div),
        "rem" => typed(Operation::Rem),
        "and" => typed(Operation::And),
        "or" => typed(Operation::Or),
        "xor" => typed(Operation::Xor),
        "not" => typed(Operation::Not),
        "neg" => typed(Operation::Neg),
        "bfi" if name == "bfi.b32" => Operation::Insert,
        "shl" => typed(Operation::ShiftLeft),
        "shr" => typed(Operation::ShiftRight),
        "min" => typed(Operation::Min),
        "max" => typed(Operation::Max),
        "selp" => typed(Operation::Select),
        "setp" => {
            let compare = match parts[1] {
                "eq" => Compare::Eq,
                "ne" => Compare::Ne,
                "lt" => Compare::Lt,
                "le" => Compare::Le,
                "gt" => Compare::Gt,
                "ge" => Compare::Ge,
                "nan" => Compare::Nan,
                other => panic!("comparison {other}"),
            };
            Operation::Set(compare, of.expect("a type"))
        }
        "cvt" => match types[..] {
            [to, from] => Operation::Convert { to, from },
            _ => panic!("{name}"),
        },
        "cvta" => Operation::Global,
        "ld" if has("param") => typed(Operation::LoadParameter),
        "ld" if has("shared") => typed(Operation::LoadShared),
        "st" if has("shared") => typed(Operation::StoreShared),
        "bar" if has("sync") => Operation::Barrier,
        "wgmma" | "fence" => Operation::Nothing,
        "ld" if has("global") => typed(Operation::Load),
        "st" if has("global") => typed(Operation::Store),
        "shfl" if name == "shfl.sync.down.b32" => Operation::ShuffleDown,
        "bra" => Operation::Branch,
        "ret" => Operation::Return,
        _ => panic!("instruction {name} is not known here"),
    }
}
