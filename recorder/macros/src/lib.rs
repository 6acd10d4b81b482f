//! The attribute [`macro@instrument`], which `trueno-recorder` gives on (feature `macros`) and documents.
//!
//! A guard is put at the beginning of a function, whose body stays as it is: so `?`, `return`, panics and
//! `impl Trait` need no care.

mod arguments;
mod function;

use proc_macro::TokenStream;
use quote::quote;
use syn::parse_macro_input;

use arguments::Arguments;
use function::Function;

/// Records each call of a function as a row; see `trueno_recorder::instrument`.
#[proc_macro_attribute]
pub fn instrument(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let original = proc_macro2::TokenStream::from(item.clone());
    let arguments = parse_macro_input!(arguments as Arguments);
    let function = parse_macro_input!(item as Function);
    match function.instrumented(&arguments) {
        Ok(function) => function.into(),
        Err(error) => {
            // With the function, so that its callers are not wrong as well.
            let error = error.into_compile_error();
            quote!(#error #original).into()
        }
    }
}
