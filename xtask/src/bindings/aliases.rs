//! Turns bindgen's `extern` blocks into function pointer types.
//!
//! The drivers are loaded at run time, so an `extern` block would be a link-time dependency nobody can satisfy. A
//! symbol table needs the type alone: `cuInit` becomes `pub type cuInit_t = unsafe extern "C" fn(…) -> CUresult`.

use std::collections::BTreeSet;

use anyhow::Context as _;
use quote::format_ident;

/// Rewrites `source` (bindgen's output) and formats it. Every name in `wanted` must have been declared: a misspelt or
/// vanished function is an error here, not a surprise in the backend.
pub fn rewrite(source: &str, wanted: &[&str]) -> anyhow::Result<String> {
    let mut file = syn::parse_file(source).context("bindgen's output does not parse")?;
    let mut missing: BTreeSet<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    let mut aliases: Vec<(String, syn::Item)> = Vec::new();
    let mut items = Vec::with_capacity(file.items.len());
    for item in file.items {
        let syn::Item::ForeignMod(block) = item else {
            items.push(item);
            continue;
        };
        for foreign in block.items {
            if let syn::ForeignItem::Fn(function) = foreign {
                let name = function.sig.ident.to_string();
                missing.remove(&name);
                aliases.push((name, alias(&function.sig)));
            }
        }
    }
    anyhow::ensure!(
        missing.is_empty(),
        "the headers do not declare {}: use headers of the pinned version, or correct bindings/names.rs",
        missing.into_iter().collect::<Vec<_>>().join(", ")
    );
    aliases.sort_by(|a, b| a.0.cmp(&b.0));
    items.extend(aliases.into_iter().map(|(_, item)| item));
    file.items = items;
    Ok(prettyplease::unparse(&file))
}

fn alias(sig: &syn::Signature) -> syn::Item {
    let name = format_ident!("{}_t", sig.ident);
    let inputs = &sig.inputs;
    let output = &sig.output;
    syn::parse_quote! { pub type #name = unsafe extern "C" fn(#inputs) #output; }
}

#[cfg(test)]
mod tests {
    use super::rewrite;

    const SOURCE: &str = r#"
        pub struct CUresult(pub u32);
        unsafe extern "C" { pub fn cuInit(Flags: u32) -> CUresult; }
    "#;

    #[test]
    fn extern_functions_become_pointer_types() {
        let text = rewrite(SOURCE, &["cuInit"]).unwrap();
        assert!(
            text.contains(r#"pub type cuInit_t = unsafe extern "C" fn(Flags: u32) -> CUresult;"#),
            "{text}"
        );
        assert!(!text.contains("pub fn cuInit"), "{text}");
    }

    #[test]
    fn a_function_the_headers_lack_is_named() {
        let error = rewrite(SOURCE, &["cuInit", "cuNoSuchThing"]).unwrap_err().to_string();
        assert!(error.contains("cuNoSuchThing") && !error.contains("cuInit,"), "{error}");
    }
}
