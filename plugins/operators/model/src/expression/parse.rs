//! Formulas from texts.

use super::functions::Function;
use super::tokens::{Placed, Token, tokens};

const MAX_DEPTH: usize = 40;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Integer(i128),
    Text(String),
    Bool(bool),
    List(Vec<Expression>),
    /// A name, by its index among the names in scope.
    Named(usize),
    Negate(Box<Expression>),
    Not(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    If(Box<[Expression; 3]>),
    Call(Function, Vec<Expression>),
    /// Sum or product of a formula over a range of integers.
    Over(Fold, Box<[Expression; 3]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    Sum,
    Product,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: expected {expected}, found {found}")]
pub(crate) struct ParseError {
    /// Counted from 1.
    pub(crate) column: usize,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Expression {
    /// Parses a formula in which `names` may be used.
    pub(crate) fn parse(text: &str, names: &[String]) -> Result<Self, ParseError> {
        let mut parser = Parser::new(text, names)?;
        let expression = parser.whole()?;
        parser.end()?;
        Ok(expression)
    }

    /// Parses `name = formula`.
    pub(crate) fn parse_definition(
        text: &str,
        names: &[String],
    ) -> Result<(String, Self), ParseError> {
        let mut parser = Parser::new(text, names)?;
        let column = parser.column();
        let name = parser.new_name()?;
        if names.contains(&name) {
            return Err(ParseError {
                column,
                expected: "a new name".to_owned(),
                found: format!("`{name}`, which has a value already"),
            });
        }
        parser.sign("=")?;
        let expression = parser.whole()?;
        parser.end()?;
        Ok((name, expression))
    }
}

const RESERVED: [&str; 10] = [
    "and",
    "or",
    "not",
    "if",
    "then",
    "else",
    "true",
    "false",
    "sum_over",
    "product_over",
];

struct Parser {
    tokens: Vec<Placed>,
    at: usize,
    depth: usize,
    names: Vec<String>,
}

impl Parser {
    fn new(text: &str, names: &[String]) -> Result<Self, ParseError> {
        Ok(Self {
            tokens: tokens(text)?,
            at: 0,
            depth: 0,
            names: names.to_vec(),
        })
    }

    fn token(&self) -> &Token {
        &self.tokens[self.at].token
    }

    fn column(&self) -> usize {
        self.tokens[self.at].column
    }

    fn advance(&mut self) {
        // The last token is the end, and stays.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn expected<T>(&self, expected: &str) -> Result<T, ParseError> {
        Err(ParseError {
            column: self.column(),
            expected: expected.to_owned(),
            found: self.token().describe(),
        })
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let fits = matches!(self.token(), Token::Sign(found) if *found == sign);
        if fits {
            self.advance();
        }
        fits
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let fits = matches!(self.token(), Token::Word(found) if found == word);
        if fits {
            self.advance();
        }
        fits
    }

    fn sign(&mut self, sign: &str) -> Result<(), ParseError> {
        if self.takes_sign(sign) {
            return Ok(());
        }
        self.expected(&format!("`{sign}`"))
    }

    fn word(&mut self, word: &str) -> Result<(), ParseError> {
        if self.takes_word(word) {
            return Ok(());
        }
        self.expected(&format!("`{word}`"))
    }

    fn end(&self) -> Result<(), ParseError> {
        if *self.token() == Token::End {
            return Ok(());
        }
        self.expected("an operator or the end")
    }

    fn new_name(&mut self) -> Result<String, ParseError> {
        let Token::Word(word) = self.token() else {
            return self.expected("a name");
        };
        let word = word.clone();
        if RESERVED.contains(&word.as_str()) || Function::named(&word).is_some() {
            return self.expected("a name that is not a keyword");
        }
        self.advance();
        Ok(word)
    }

    fn whole(&mut self) -> Result<Expression, ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.expected(&format!("at most {MAX_DEPTH} nested formulas"));
        }
        let expression = if self.takes_word("if") {
            let condition = self.whole()?;
            self.word("then")?;
            let then = self.whole()?;
            self.word("else")?;
            let otherwise = self.whole()?;
            Expression::If(Box::new([condition, then, otherwise]))
        } else {
            self.either()?
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn either(&mut self) -> Result<Expression, ParseError> {
        let mut left = self.both()?;
        while self.takes_word("or") {
            left = binary(Operator::Or, left, self.both()?);
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Expression, ParseError> {
        let mut left = self.negated()?;
        while self.takes_word("and") {
            left = binary(Operator::And, left, self.negated()?);
        }
        Ok(left)
    }

    fn negated(&mut self) -> Result<Expression, ParseError> {
        let mut negated = false;
        while self.takes_word("not") {
            negated = !negated;
        }
        let comparison = self.comparison()?;
        Ok(if negated {
            Expression::Not(Box::new(comparison))
        } else {
            comparison
        })
    }

    fn comparison(&mut self) -> Result<Expression, ParseError> {
        const COMPARISONS: [(&str, Operator); 6] = [
            ("==", Operator::Equal),
            ("!=", Operator::Unequal),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let left = self.sum()?;
        for (sign, operator) in COMPARISONS {
            if self.takes_sign(sign) {
                return Ok(binary(operator, left, self.sum()?));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expression, ParseError> {
        let mut left = self.product()?;
        loop {
            let operator = if self.takes_sign("+") {
                Operator::Add
            } else if self.takes_sign("-") {
                Operator::Subtract
            } else {
                return Ok(left);
            };
            left = binary(operator, left, self.product()?);
        }
    }

    fn product(&mut self) -> Result<Expression, ParseError> {
        let mut left = self.signed()?;
        loop {
            let operator = if self.takes_sign("*") {
                Operator::Multiply
            } else if self.takes_sign("/") {
                Operator::Divide
            } else {
                return Ok(left);
            };
            left = binary(operator, left, self.signed()?);
        }
    }

    fn signed(&mut self) -> Result<Expression, ParseError> {
        let mut negative = false;
        while self.takes_sign("-") {
            negative = !negative;
        }
        let value = self.primary()?;
        Ok(if negative {
            Expression::Negate(Box::new(value))
        } else {
            value
        })
    }

    fn primary(&mut self) -> Result<Expression, ParseError> {
        match self.token().clone() {
            Token::Number(number) => {
                self.advance();
                Ok(Expression::Integer(number))
            }
            Token::Text(text) => {
                self.advance();
                Ok(Expression::Text(text))
            }
            Token::Sign("(") => {
                self.advance();
                let inner = self.whole()?;
                self.sign(")")?;
                Ok(inner)
            }
            Token::Sign("[") => {
                self.advance();
                self.several("]").map(Expression::List)
            }
            Token::Word(word) => self.named(&word),
            _ => self.expected("a value"),
        }
    }

    fn named(&mut self, word: &str) -> Result<Expression, ParseError> {
        match word {
            "true" | "false" => {
                self.advance();
                return Ok(Expression::Bool(word == "true"));
            }
            "sum_over" => return self.over(Fold::Sum),
            "product_over" => return self.over(Fold::Product),
            _ if RESERVED.contains(&word) => return self.expected("a value"),
            _ => {}
        }
        if let Some(place) = self.names.iter().rposition(|name| name == word) {
            self.advance();
            return Ok(Expression::Named(place));
        }
        let Some(function) = Function::named(word) else {
            return self.expected("a function, or a name with a value");
        };
        let column = self.column();
        self.advance();
        self.sign("(")?;
        let arguments = self.several(")")?;
        let (least, most) = function.arity();
        if (least..=most).contains(&arguments.len()) {
            return Ok(Expression::Call(function, arguments));
        }
        Err(ParseError {
            column,
            expected: format!("{} of `{word}`", arity_text(least, most)),
            found: arguments.len().to_string(),
        })
    }

    /// Parses `sum_over(name, from, to, formula)`; the range excludes `to`.
    fn over(&mut self, fold: Fold) -> Result<Expression, ParseError> {
        self.advance();
        self.sign("(")?;
        let name = self.new_name()?;
        self.sign(",")?;
        let from = self.whole()?;
        self.sign(",")?;
        let to = self.whole()?;
        self.sign(",")?;
        self.names.push(name);
        let body = self.whole();
        self.names.pop();
        let body = body?;
        self.sign(")")?;
        Ok(Expression::Over(fold, Box::new([from, to, body])))
    }

    /// Parses a comma-separated list up to `close`.
    fn several(&mut self, close: &str) -> Result<Vec<Expression>, ParseError> {
        let mut several = Vec::new();
        if self.takes_sign(close) {
            return Ok(several);
        }
        loop {
            several.push(self.whole()?);
            if self.takes_sign(close) {
                return Ok(several);
            }
            if !self.takes_sign(",") {
                return self.expected(&format!("`,` or `{close}`"));
            }
        }
    }
}

fn binary(operator: Operator, left: Expression, right: Expression) -> Expression {
    Expression::Binary(operator, Box::new(left), Box::new(right))
}

fn arity_text(least: usize, most: usize) -> String {
    match (least, most) {
        (1, 1) => "1 argument".to_owned(),
        (least, usize::MAX) => format!("{least} or more arguments"),
        (least, most) if least == most => format!("{least} arguments"),
        (least, most) => format!("{least} to {most} arguments"),
    }
}
