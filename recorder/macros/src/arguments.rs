//! Arguments of the attribute: the recorder, and options by name.

use proc_macro2::Ident;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, LitStr, Result, Token, parenthesized};

/// `recorder, name = "…", kind = "…", attributes(key = value, …)`.
pub struct Arguments {
    /// An expression for the recorder.
    pub recorder: Expr,
    /// The row's name; `None`: the function's.
    pub name: Option<LitStr>,
    pub kind: Kind,
    pub attributes: Vec<Attribute>,
}

/// Kind of the row.
#[derive(Clone, Copy)]
pub enum Kind {
    Brick,
    Function,
}

/// One attribute of the row.
pub struct Attribute {
    pub key: LitStr,
    pub value: Expr,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.is_empty() {
            let text =
                "expected the recorder (hint: `#[instrument(rec)]`, `#[instrument(self.rec)]`)";
            return Err(input.error(text));
        }
        let recorder: Expr = input.parse()?;
        if let Expr::Assign(option) = &recorder {
            let text = "expected the recorder before the options (hint: `#[instrument(rec, name = \"…\")]`)";
            return Err(Error::new_spanned(option, text));
        }
        let mut arguments = Self {
            recorder,
            name: None,
            kind: Kind::Function,
            attributes: Vec::new(),
        };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if !input.is_empty() {
                arguments.option(input)?;
            }
        }
        Ok(arguments)
    }
}

impl Arguments {
    fn option(&mut self, input: ParseStream<'_>) -> Result<()> {
        let option: Ident = input.parse()?;
        match option.to_string().as_str() {
            "name" => {
                input.parse::<Token![=]>()?;
                self.name = Some(input.parse()?);
            }
            "kind" => {
                input.parse::<Token![=]>()?;
                let kind: LitStr = input.parse()?;
                self.kind = match kind.value().as_str() {
                    "brick" => Kind::Brick,
                    "function" => Kind::Function,
                    _ => return Err(Error::new_spanned(kind, "expected `brick` or `function`")),
                };
            }
            "attributes" => {
                let content;
                parenthesized!(content in input);
                let list = Punctuated::<Attribute, Token![,]>::parse_terminated(&content)?;
                self.attributes.extend(list);
            }
            _ => {
                let text =
                    "expected `name = \"…\"`, `kind = \"…\"` or `attributes(key = value, …)`";
                return Err(Error::new_spanned(option, text));
            }
        }
        Ok(())
    }
}

impl Parse for Attribute {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let key = if input.peek(LitStr) {
            input.parse()?
        } else {
            let key: Ident = input.parse()?;
            LitStr::new(&key.to_string(), key.span())
        };
        input.parse::<Token![=]>()?;
        Ok(Self {
            key,
            value: input.parse()?,
        })
    }
}
