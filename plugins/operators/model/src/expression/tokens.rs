//! Words and signs of a formula, each with its column.

use super::ParseError;

/// Limit of tokens per formula: deeper trees could overflow a small stack.
const MAX_TOKENS: usize = 500;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(i128),
    Text(String),
    Word(String),
    Sign(&'static str),
    End,
}

impl Token {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Number(number) => format!("the number {number}"),
            Self::Text(text) => format!("the text \"{text}\""),
            Self::Word(word) => format!("`{word}`"),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end".to_owned(),
        }
    }
}

/// A token and its column, counted from 1.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) column: usize,
}

/// Longer ones first, so that they match before their prefixes.
const SIGNS: [&str; 16] = [
    "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "(", ")", "[", "]", ",", "=",
];

/// Splits a text into tokens; the last one marks the end.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed>, ParseError> {
    let letters: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let column = at + 1;
        let first = letters[at];
        let run = |fits: fn(char) -> bool| {
            let rest = letters[at..].iter();
            rest.take_while(|letter| fits(**letter)).collect::<String>()
        };
        let token = if first.is_whitespace() {
            at += 1;
            continue;
        } else if first.is_ascii_digit() {
            let digits = run(|letter| letter.is_ascii_digit() || letter == '_');
            at += digits.chars().count();
            let number = digits.replace('_', "").parse();
            Token::Number(number.map_err(|_| ParseError {
                column,
                expected: "a whole number below 2^127".to_owned(),
                found: digits,
            })?)
        } else if first.is_alphabetic() || first == '_' {
            let word = run(|letter| letter.is_alphanumeric() || letter == '_');
            at += word.chars().count();
            Token::Word(word)
        } else if first == '"' || first == '\'' {
            let rest = &letters[at + 1..];
            let Some(length) = rest.iter().position(|letter| *letter == first) else {
                return Err(ParseError {
                    column,
                    expected: format!("a closing {first}"),
                    found: "the end".to_owned(),
                });
            };
            at += length + 2;
            Token::Text(rest[..length].iter().collect())
        } else {
            let fits = |sign: &&&str| {
                sign.chars()
                    .eq(letters[at..].iter().copied().take(sign.len()))
            };
            let Some(sign) = SIGNS.iter().find(fits) else {
                return Err(ParseError {
                    column,
                    expected: "a number, a name, a text or a sign".to_owned(),
                    found: format!("`{first}`"),
                });
            };
            at += sign.len();
            Token::Sign(sign)
        };
        found.push(Placed { token, column });
        if found.len() > MAX_TOKENS {
            return Err(ParseError {
                column,
                expected: format!("at most {MAX_TOKENS} words and signs"),
                found: "a longer formula".to_owned(),
            });
        }
    }
    found.push(Placed {
        token: Token::End,
        column: letters.len() + 1,
    });
    Ok(found)
}
