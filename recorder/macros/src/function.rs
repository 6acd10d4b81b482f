//! The function that becomes a row.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{
    Attribute, Error, Expr, FnArg, LitStr, Pat, ReceiverKind, Result, Signature, Token, Type,
    Visibility,
};

use crate::arguments::{Arguments, Kind};

/// A function as far as it has to be understood: its body is tokens.
pub struct Function {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    default: Option<Token![default]>,
    signature: Signature,
    body: Group,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let (visibility, default) = (input.parse()?, input.parse()?);
        let is_function = [
            input.peek(Token![fn]),
            input.peek(Token![const]),
            input.peek(Token![async]),
            input.peek(Token![unsafe]),
            input.peek(Token![extern]),
        ];
        if !is_function.contains(&true) {
            return Err(input.error("`#[instrument]` records functions"));
        }
        let signature: Signature = input.parse()?;
        if input.peek(Token![;]) {
            return Err(input.error("a function without a body does nothing to be recorded"));
        }
        let body: Group = input.parse()?;
        if body.delimiter() != Delimiter::Brace {
            return Err(Error::new(body.span(), "expected the function's body"));
        }
        Ok(Self {
            attributes,
            visibility,
            default,
            signature,
            body,
        })
    }
}

impl Function {
    /// The same function, which records itself.
    pub fn instrumented(self, arguments: &Arguments) -> Result<TokenStream> {
        if let Some(token) = &self.signature.asyncness {
            let text = "`#[instrument]` cannot record an async function: a guard stays on its thread, and a future may \
                        go on on another one after each `.await` (hint: put it on the functions that the future calls, \
                        or detach a guard: `rec.function(\"…\").detach()`)";
            return Err(Error::new_spanned(token, text));
        }
        if let Some(token) = &self.signature.constness {
            let text =
                "`#[instrument]` cannot record a const function, which may run in the compiler";
            return Err(Error::new_spanned(token, text));
        }
        let guard = self.guard(arguments);
        let Self {
            attributes,
            visibility,
            default,
            signature,
            body,
        } = self;
        let parts = |body: ParseStream<'_>| {
            let inner = body.call(Attribute::parse_inner)?;
            Ok((inner, body.parse::<TokenStream>()?))
        };
        let (inner, statements) = parts.parse2(body.stream())?;
        let mut body_with_guard =
            Group::new(Delimiter::Brace, quote!(#(#inner)* #guard #statements));
        body_with_guard.set_span(body.span());
        Ok(quote!(#(#attributes)* #visibility #default #signature #body_with_guard))
    }

    fn guard(&self, arguments: &Arguments) -> TokenStream {
        let Arguments {
            recorder,
            name,
            kind,
            attributes,
        } = arguments;
        let function = &self.signature.ident;
        // The row's place is where these tokens are: the function's name.
        let place = function.span();
        let local = |name: &str| Ident::new(name, Span::mixed_site());
        let (of, owned, row) = (local("__recorder"), local("__owned"), local("__row"));
        let plain = function.to_string();
        let plain = plain.strip_prefix("r#").unwrap_or(&plain);
        let name = name.clone().unwrap_or_else(|| LitStr::new(plain, place));
        let open = Ident::new(
            match kind {
                Kind::Brick => "brick",
                Kind::Function => "function",
            },
            place,
        );
        let take = if self.may_lose(recorder) {
            quote! {
                let #owned: ::trueno_recorder::Recorder = {
                    let #of: &::trueno_recorder::Recorder = &#recorder;
                    ::core::clone::Clone::clone(#of)
                };
                let #of: &::trueno_recorder::Recorder = &#owned;
            }
        } else {
            quote!(let #of: &::trueno_recorder::Recorder = &#recorder;)
        };
        let mutable = (!attributes.is_empty()).then(|| quote!(mut));
        let opened = quote_spanned! {place=>
            let #mutable #row = {
                static NAME: ::trueno_recorder::StaticName = ::trueno_recorder::StaticName::new(#name);
                ::trueno_recorder::Recorder::#open(#of, &NAME)
            };
        };
        let set = attributes.iter().map(|attribute| {
            let (key, value) = (&attribute.key, &attribute.value);
            quote!(::trueno_recorder::BrickGuard::set(&mut #row, #key, #value);)
        });
        // Values are computed for a recorder alone.
        let set = (!attributes.is_empty()).then(|| {
            quote! {
                if ::trueno_recorder::Recorder::is_enabled(#of) {
                    #(#set)*
                }
            }
        });
        quote!(#take #opened #set)
    }

    /// True if the body may move or change the value that contains the recorder. A guard must not borrow it
    /// then.
    fn may_lose(&self, recorder: &Expr) -> bool {
        let Some(root) = root(recorder) else {
            return false;
        };
        self.signature.inputs.iter().any(|input| match input {
            FnArg::Receiver(receiver) => {
                let is_shared = match &receiver.kind {
                    ReceiverKind::Reference(_, _, mutability) => mutability.is_none(),
                    ReceiverKind::Typed(_, ty) => is_shared(ty),
                    _ => false,
                };
                root == "self" && !is_shared
            }
            FnArg::Typed(parameter) => {
                let is_it = matches!(&*parameter.pat, Pat::Ident(pat) if pat.ident == *root);
                is_it && !is_shared(&parameter.ty)
            }
        })
    }
}

fn is_shared(ty: &Type) -> bool {
    matches!(ty, Type::Reference(of) if of.mutability.is_none())
}

fn root(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Field(field) => root(&field.base),
        Expr::Index(index) => root(&index.expr),
        Expr::MethodCall(call) => root(&call.receiver),
        Expr::Reference(reference) => root(&reference.expr),
        Expr::Paren(paren) => root(&paren.expr),
        Expr::Unary(unary) => root(&unary.expr),
        _ => None,
    }
}
