//! Checks that the public interface is the one that `tests/public_api.txt` lists, so that a review shows every change
//! to the interface.
//!
//! The list is made from the source, with all features, and has a line for each name at its public path: modules, types
//! with their fields and variants, traits, macros, constants, functions and methods with their signatures, and
//! implemented traits.
//! For items that the crate's macros make, the list has the names of types and the declarations of methods as they are
//! written.
//!
//! `WGSLICE_WRITE_API=1 cargo test --workspace --all-features --test root public_api` rewrites the list.

use quote::ToTokens;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use syn::{Attribute, ImplItem, Item, ItemImpl, TraitItem, Type, UseTree, Visibility};

/// The largest number of names that the crate may have at its root, modules included.
const MAX_ROOT_NAMES: usize = 28;

#[test]
fn the_interface_is_the_reviewed_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = Crate::read(&root.join("src")).into_list();
    let path = root.join("tests/public_api.txt");
    if std::env::var_os("WGSLICE_WRITE_API").is_some() {
        fs::write(&path, list.join("\n") + "\n").unwrap();
    }
    let reviewed = fs::read_to_string(&path).unwrap();
    let reviewed: BTreeSet<&str> = reviewed.lines().collect();
    let list: BTreeSet<&str> = list.iter().map(String::as_str).collect();
    let added: Vec<_> = list.difference(&reviewed).collect();
    let removed: Vec<_> = reviewed.difference(&list).collect();
    assert!(
        added.is_empty() && removed.is_empty(),
        "the public interface differs from tests/public_api.txt\nadded: {added:#?}\nremoved: {removed:#?}\n\
         if this is intended, set WGSLICE_WRITE_API=1 and review the list"
    );
}

#[test]
fn the_root_has_few_names() {
    let list = Crate::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).into_list();
    let root_name = |line: &String| {
        let path = line.split_once(" wgslice::")?.1;
        path.chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '!')
            .then(|| path.to_owned())
    };
    let names: BTreeSet<String> = list.iter().filter_map(root_name).collect();
    assert!(names.contains("Backend") && names.contains("options"));
    assert!(
        names.len() <= MAX_ROOT_NAMES,
        "{} names: {names:?}",
        names.len()
    );
}

/// The parsed source of the crate, and the list that is made from it.
struct Crate {
    folder: PathBuf,
    /// The items of all files, each with the path of the module that its file defines.
    items: Vec<(String, Item)>,
    /// The names of public items, with the paths that they have in the list.
    public_paths: BTreeMap<String, String>,
    /// The names of traits for the crate's own use.
    private_traits: BTreeSet<String>,
    list: Vec<String>,
}

impl Crate {
    fn read(folder: &Path) -> Self {
        let mut items = Vec::new();
        read_files(folder, "wgslice", &mut items);
        let private_traits = items.iter().filter_map(|(_, item)| match item {
            Item::Trait(item) if !is_public(&item.vis) => Some(item.ident.to_string()),
            _ => None,
        });
        Self {
            private_traits: private_traits.collect(),
            folder: folder.into(),
            items,
            public_paths: BTreeMap::new(),
            list: Vec::new(),
        }
    }

    fn into_list(mut self) -> Vec<String> {
        let root = parse(&self.folder.join("lib.rs"));
        self.list_module("wgslice", &self.folder.clone(), &root);
        for (_, item) in &self.items {
            if let Item::Macro(item) = item
                && let Some(name) = &item.ident
                && has_attribute(&item.attrs, "macro_export")
                && !has_attribute(&item.attrs, "doc(hidden)")
            {
                self.list.push(format!("macro wgslice::{name}!"));
            }
        }
        for (_, item) in std::mem::take(&mut self.items) {
            match item {
                Item::Impl(item) => self.list_implementation(&item),
                Item::Macro(item) => self.list_methods(&item.mac),
                _ => {}
            }
        }
        self.list.sort();
        self.list.dedup();
        self.list
    }

    /// Lists the public items of module `path`. The files of its submodules are in `folder`.
    fn list_module(&mut self, path: &str, folder: &Path, items: &[Item]) {
        for item in items {
            match item {
                // These are pages of the documentation, which no program can name.
                Item::Mod(module) if has_attribute(&module.attrs, "cfg(any(doc, doctest))") => {}
                Item::Mod(module) if is_public(&module.vis) => {
                    let name = module.ident.to_string();
                    self.list.push(format!("mod {path}::{name}"));
                    let items = match &module.content {
                        Some((_, items)) => items.clone(),
                        None => read_module(folder, &name),
                    };
                    self.list_module(&format!("{path}::{name}"), &folder.join(&name), &items);
                }
                Item::Use(item) if is_public(&item.vis) => {
                    self.list_exports(path, path, &item.tree);
                }
                _ => self.list_definition(path, item),
            }
        }
    }

    /// Lists the names that a `pub use` exports from module `from`, as items of module `path`. `tree` is the part of
    /// the `pub use` after `from`.
    fn list_exports(&mut self, path: &str, from: &str, tree: &UseTree) {
        match tree {
            UseTree::Path(tree) if tree.ident == "crate" => {
                self.list_exports(path, "wgslice", &tree.tree);
            }
            UseTree::Path(tree) => {
                self.list_exports(path, &format!("{from}::{}", tree.ident), &tree.tree);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.list_exports(path, from, tree);
                }
            }
            UseTree::Name(name) if name.ident == "wgpu" => {
                self.list.push(format!("crate {path}::wgpu"));
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                let all_items = self.items.iter();
                let matching_items = all_items
                    .filter(|(_, item)| defined_name(item).is_some_and(|defined| defined == name));
                let mut matching_items: Vec<(String, Item)> = matching_items.cloned().collect();
                if matching_items.len() > 1 {
                    matching_items.retain(|(module, _)| module == from);
                }
                match &matching_items[..] {
                    // `defined_name` names only inline modules, so no folder is read.
                    [(_, item @ Item::Mod(_))] => {
                        self.list_module(path, &self.folder.clone(), std::slice::from_ref(item));
                    }
                    [(_, item)] => self.list_definition(path, item),
                    [] => {
                        let path = format!("{path}::{name}");
                        self.list.push(format!("made by a macro: {path}"));
                        self.public_paths.insert(name, path);
                    }
                    _ => panic!("{from}::{name} is defined {} times", matching_items.len()),
                }
            }
            UseTree::Rename(_) | UseTree::Glob(_) => panic!("{path} exports names in another way"),
        }
    }

    /// Lists a type, trait, function or constant if it is public.
    fn list_definition(&mut self, path: &str, item: &Item) {
        let Some(name) = defined_name(item) else {
            return;
        };
        let path = format!("{path}::{name}");
        self.public_paths.insert(name, path.clone());
        let mut lines = Vec::new();
        let attrs = match item {
            Item::Struct(item) => {
                lines.push(format!("struct {path}{}", source_text(&item.generics)));
                for (number, field) in item.fields.iter().enumerate() {
                    if is_public(&field.vis) {
                        let name = field.ident.as_ref().map_or(number.to_string(), source_text);
                        lines.push(format!("field {path}.{name}: {}", source_text(&field.ty)));
                    }
                }
                &item.attrs
            }
            Item::Enum(item) => {
                lines.push(format!("enum {path}{}", source_text(&item.generics)));
                for variant in &item.variants {
                    let mut fields = variant.fields.clone();
                    fields.iter_mut().for_each(|field| field.attrs.clear());
                    let (name, fields) = (source_text(&variant.ident), source_text(&fields));
                    lines.push(format!("variant {path}::{name} {fields}").trim().into());
                }
                &item.attrs
            }
            Item::Trait(item) => {
                let bounds = source_text(&item.supertraits);
                lines.push(format!("trait {path}: {bounds}"));
                for item in &item.items {
                    if let TraitItem::Fn(function) = item
                        && !has_attribute(&function.attrs, "doc(hidden)")
                    {
                        lines.push(format!("{path}: {}", source_text(&function.sig)));
                    }
                }
                &item.attrs
            }
            Item::Fn(item) => {
                lines.push(format!("{path}: {}", source_text(&item.sig)));
                &item.attrs
            }
            Item::Const(item) => {
                lines.push(format!("const {path}: {}", source_text(&item.ty)));
                &item.attrs
            }
            Item::Type(item) => {
                lines.push(format!("type {path} = {}", source_text(&item.ty)));
                &item.attrs
            }
            _ => return,
        };
        let mut notes = Vec::new();
        if has_attribute(attrs, "non_exhaustive") {
            notes.push("non-exhaustive".to_owned());
        }
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("derive")) {
            notes.push(source_text(&attr.meta.require_list().unwrap().tokens));
        }
        if !notes.is_empty() {
            lines[0] += &format!(" ({})", notes.join("; "));
        }
        self.list.append(&mut lines);
    }

    /// Lists the methods that one of the macros for methods makes.
    fn list_methods(&mut self, invocation: &syn::Macro) {
        let name = invocation.path.segments.last().unwrap().ident.to_string();
        let type_name = match &name[..] {
            "host_methods" => "wgslice::Backend",
            "tensor_methods" => "wgslice::Tensor",
            _ => return,
        };
        let mut tokens = invocation
            .tokens
            .clone()
            .into_iter()
            .map(|token| token.to_string());
        let old_length = self.list.len();
        while tokens.any(|token| token == "fn") {
            let declaration: Vec<String> =
                tokens.by_ref().take_while(|token| token != "=").collect();
            self.list.push(format!(
                "{type_name}: fn {}",
                tidy_spaces(&declaration.join(" "))
            ));
        }
        assert!(self.list.len() > old_length, "{name} declares no method");
    }

    /// Lists the public methods and constants, or the trait, of an implementation for a public type.
    fn list_implementation(&mut self, item: &ItemImpl) {
        let Type::Path(self_type) = &*item.self_ty else {
            return;
        };
        let name = self_type.path.segments.last().unwrap().ident.to_string();
        let Some(path) = self.public_paths.get(&name) else {
            return;
        };
        if let Some((trait_path, _)) = &item.trait_ {
            let arguments = source_text(&trait_path.segments.last().unwrap().arguments);
            let trait_name = source_text(&trait_path.segments.last().unwrap().ident);
            if !self.private_traits.contains(&trait_name) {
                self.list
                    .push(format!("impl {trait_name}{arguments} for {path}"));
            }
            return;
        }
        for item in &item.items {
            match item {
                ImplItem::Fn(item) if is_public(&item.vis) && !is_for_tests(&item.attrs) => {
                    self.list
                        .push(format!("{path}: {}", source_text(&item.sig)));
                }
                ImplItem::Const(item) if is_public(&item.vis) => {
                    let (name, constant_type) = (source_text(&item.ident), source_text(&item.ty));
                    self.list
                        .push(format!("const {path}::{name}: {constant_type}"));
                }
                _ => {}
            }
        }
    }
}

/// Reads the files of a module's folder, and of the folders in it, into `items`.
fn read_files(folder: &Path, module: &str, items: &mut Vec<(String, Item)>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_stem().unwrap().to_string_lossy();
        let inner_module = format!("{module}::{name}");
        if path.is_dir() {
            read_files(&path, &inner_module, items);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let module = if name == "mod" { module } else { &inner_module };
            let file_items = parse(&path).into_iter();
            items.extend(file_items.map(|item| (module.to_owned(), item)));
        }
    }
}

/// Returns the items of module `name`, whose file is in `folder`.
fn read_module(folder: &Path, name: &str) -> Vec<Item> {
    let flat_path = folder.join(name).with_extension("rs");
    let nested_path = folder.join(name).join("mod.rs");
    parse(if flat_path.exists() {
        &flat_path
    } else {
        &nested_path
    })
}

fn parse(path: &Path) -> Vec<Item> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    syn::parse_file(&text).unwrap().items
}

/// Returns the name of a public type, trait, function, constant, or module whose items are in the same file, or `None`
/// for other items.
fn defined_name(item: &Item) -> Option<String> {
    let (visibility, name) = match item {
        Item::Struct(item) => (&item.vis, &item.ident),
        Item::Enum(item) => (&item.vis, &item.ident),
        Item::Trait(item) => (&item.vis, &item.ident),
        Item::Fn(item) => (&item.vis, &item.sig.ident),
        Item::Const(item) => (&item.vis, &item.ident),
        Item::Type(item) => (&item.vis, &item.ident),
        Item::Mod(item) if item.content.is_some() => (&item.vis, &item.ident),
        _ => return None,
    };
    is_public(visibility).then(|| name.to_string())
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn has_attribute(attrs: &[Attribute], text: &str) -> bool {
    attrs.iter().any(|attr| source_text(&attr.meta) == text)
}

/// Returns whether an item exists only for this repository's own tests.
fn is_for_tests(attrs: &[Attribute]) -> bool {
    attrs
        .iter()
        .any(|attr| source_text(&attr.meta).contains("test-seams"))
}

/// Returns the source text of tokens, with spaces where Rust code usually has them.
fn source_text(tokens: &impl ToTokens) -> String {
    tidy_spaces(&tokens.to_token_stream().to_string())
}

fn tidy_spaces(tokens: &str) -> String {
    let mut text = tokens.to_owned();
    for (from, to) in [
        (" ::", "::"),
        (":: ", "::"),
        (" :", ":"),
        (" ,", ","),
        (" ;", ";"),
        ("& ", "&"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        ("( ", "("),
        (" (", "("),
        (" )", ")"),
        ("[ ", "["),
        (" ]", "]"),
        ("# ", "#"),
        (",>", ">"),
        (", >", ">"),
        (",)", ")"),
        ("  ", " "),
    ] {
        text = text.replace(from, to);
    }
    text
}
