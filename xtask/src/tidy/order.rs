//! Law 12: within a crate a file names only modules declared above its own in the reading order. The `mod` lines of
//! `lib.rs`, and of any module with children, are that order. No two files name each other.
//!
//! A path counts as naming: `crate::…`, `super::…`, `self::…`, or a child by its bare name. Tests are exempt.

use super::complaint::{Complaint, File};
use super::source::{self, Keep, Language, is_word, line_of, mask};
use std::collections::{BTreeMap, BTreeSet};

type Path = Vec<String>;

struct Module<'a> {
    file: &'a File,
    code: String,
    /// The names of its children, in the order of their `mod` lines.
    children: Vec<String>,
}

/// Checks every crate, from each of its roots (`lib.rs`, `main.rs`).
pub fn check(files: &[File], found: &mut Vec<Complaint>) {
    for root in files {
        let Some(folder) = root.path.strip_suffix("lib.rs").or_else(|| root.path.strip_suffix("main.rs")) else {
            continue;
        };
        let package = folder.strip_suffix("src/").unwrap_or_default();
        let ours = package.starts_with("crates/") || package == "xtask/";
        if ours && package.matches('/').count() <= 2 {
            let mut modules = BTreeMap::new();
            read(files, root, folder.to_owned(), Vec::new(), &mut modules);
            of_a_crate(&modules, found);
        }
    }
}

/// Reads a module and all modules below it into `modules`. `folder` has the files of its children.
fn read<'a>(files: &'a [File], file: &'a File, folder: String, path: Path, modules: &mut BTreeMap<Path, Module<'a>>) {
    let code = source::product(&mask(&file.text, Language::Rust, Keep::Code));
    let children = declared(&code);
    for child in &children {
        let places = [format!("{folder}{child}.rs"), format!("{folder}{child}/mod.rs")];
        let path = [path.as_slice(), std::slice::from_ref(child)].concat();
        if let Some(below) = files.iter().find(|file| places.contains(&file.path)) {
            read(files, below, format!("{folder}{child}/"), path, modules);
        } else {
            // The module's file is elsewhere (`#[path]`) and is not read, but the module has a place in the order.
            modules.insert(path, Module { file, code: String::new(), children: Vec::new() });
        }
    }
    modules.insert(path, Module { file, code, children });
}

/// The names in `mod x;` lines.
fn declared(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for at in source::words(code, "mod") {
        let rest = code[at + 3..].trim_start();
        let name: String = rest.chars().take_while(|&c| c == '_' || c.is_alphanumeric()).collect();
        if !name.is_empty() && rest[name.len()..].trim_start().starts_with(';') {
            names.push(name);
        }
    }
    names
}

fn of_a_crate(modules: &BTreeMap<Path, Module>, found: &mut Vec<Complaint>) {
    let mut edges: BTreeMap<&Path, BTreeMap<Path, usize>> = BTreeMap::new();
    for (path, module) in modules {
        for (target, at) in named(modules, path, module) {
            if target != *path {
                edges.entry(path).or_default().entry(target).or_insert_with(|| line_of(&module.code, at));
            }
        }
    }
    for (&from, targets) in &edges {
        let module = &modules[from];
        for (to, &line) in targets {
            let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
            let (Some(mine), Some(foreign)) = (from.get(shared), to.get(shared)) else {
                // One module contains the other. If each names the other, they form a circle.
                if to.len() < from.len() && reaches(&edges, to, from) {
                    let message = format!(
                        "names {} and is named by it: a circle. Move what both need into a module above",
                        shown(to)
                    );
                    found.push(Complaint::new(module.file, line, message));
                }
                continue;
            };
            let parent = &modules[&from[..shared].to_vec()];
            let place = |name: &String| parent.children.iter().position(|child| child == name);
            if place(foreign) > place(mine) {
                let message = format!(
                    "names {}, but `{foreign}` comes after `{mine}` in the reading order of {}",
                    shown(to),
                    parent.file.path
                );
                found.push(Complaint::new(module.file, line, message));
            }
        }
    }
}

fn shown(path: &[String]) -> String {
    if path.is_empty() { "the crate's root".to_owned() } else { format!("`crate::{}`", path.join("::")) }
}

fn reaches(edges: &BTreeMap<&Path, BTreeMap<Path, usize>>, from: &Path, to: &Path) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(path) = open.pop() {
        if path == to {
            return true;
        }
        if seen.insert(path) {
            open.extend(edges.get(path).into_iter().flat_map(BTreeMap::keys));
        }
    }
    false
}

/// The modules that a module names, each with the offset in its code.
fn named(modules: &BTreeMap<Path, Module>, path: &Path, module: &Module) -> Vec<(Path, usize)> {
    let bytes = module.code.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let length = bytes[at..].iter().take_while(|&&b| is_word(b)).count();
        let word = &module.code[at..at + length];
        let begins = !module.code[..at].ends_with("::") && !module.code[..at].ends_with(['.', '\'']);
        let visibility = module.code[..at].ends_with("(in ");
        let base = match word {
            "crate" => Some((Path::new(), length)),
            "self" => Some((path.clone(), length)),
            "super" => path.split_last().map(|(_, parent)| (parent.to_vec(), length)),
            name if module.children.iter().any(|child| child == name) => Some((path.clone(), 0)),
            _ => None,
        };
        let is_path = module.code[at + length..].starts_with("::");
        if let Some((base, skip)) = base.filter(|_| begins && is_path && !visibility) {
            let start = if skip == 0 { at } else { at + skip + 2 };
            leaves(&module.code, start, base, &mut |leaf| found.push((deepest(modules, leaf), at)));
        }
        at += length;
    }
    found
}

/// Calls `leaf` with every full path of the use tree or plain path at `at`. Gives the offset where it ends.
fn leaves(code: &str, mut at: usize, mut path: Path, leaf: &mut impl FnMut(&[String])) -> usize {
    let bytes = code.as_bytes();
    let skip_space = |at: usize| at + bytes[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    loop {
        at = skip_space(at);
        if bytes.get(at) == Some(&b'{') {
            at = skip_space(at + 1);
            while at < bytes.len() && bytes[at] != b'}' {
                let next = leaves(code, at, path.clone(), leaf);
                // Other words before the comma, such as `as name`, name no module.
                at = next + bytes[next..].iter().take_while(|&&b| b != b',' && b != b'}').count();
                if bytes.get(at) == Some(&b',') {
                    at += 1;
                }
                at = skip_space(at);
            }
            return (at + 1).min(bytes.len());
        }
        let length = bytes[at..].iter().take_while(|&&b| is_word(b)).count();
        match &code[at..at + length] {
            "" => break,
            "self" => {}
            "super" => drop(path.pop()),
            name => path.push(name.to_owned()),
        }
        at += length;
        if !code[at..].starts_with("::") {
            break;
        }
        at += 2;
    }
    leaf(&path);
    at
}

/// The innermost module of a path. The rest of the path is an item, not a file.
fn deepest(modules: &BTreeMap<Path, Module>, path: &[String]) -> Path {
    (0..=path.len()).rev().map(|end| path[..end].to_vec()).find(|path| modules.contains_key(path)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> = files
            .iter()
            .map(|(path, text)| File { path: format!("crates/core/src/{path}"), text: (*text).to_owned() })
            .collect();
        let mut found = Vec::new();
        check(&files, &mut found);
        found.into_iter().map(|c| format!("{}:{}", c.path.trim_start_matches("crates/core/src/"), c.line)).collect()
    }

    const LIB: (&str, &str) = ("lib.rs", "//! mod zero;\npub mod ids;\nmod scan;\npub(crate) mod reduce;\n");

    #[test]
    fn looking_up_is_fine() {
        let files = [
            LIB,
            ("ids.rs", ""),
            ("scan.rs", "use crate::ids::Id;"),
            ("reduce.rs", "use crate::{ids, scan::{self, Scan}};"),
        ];
        assert_eq!(complaints(&files), Vec::<String>::new());
    }

    #[test]
    fn looking_down_is_found_in_every_spelling() {
        for text in [
            "use crate::reduce::State;",
            "use crate::{ids::Id, reduce::State};",
            "use crate::{\n  ids,\n  reduce::{self as r, State},\n};",
            "fn f() -> crate::reduce::State {}",
            "use super::reduce::State;",
            "use super::{reduce};",
        ] {
            assert_eq!(
                complaints(&[LIB, ("ids.rs", ""), ("scan.rs", text), ("reduce.rs", "")]),
                ["scan.rs:1"],
                "{text}"
            );
        }
    }

    #[test]
    fn tests_comments_and_strings_may_look_anywhere() {
        let text = "// crate::reduce::State\nconst A: &str = \"crate::reduce::B\";\n\
                    #[cfg(test)]\nmod tests { use crate::reduce::State; }";
        assert_eq!(complaints(&[LIB, ("scan.rs", text), ("reduce.rs", "")]), Vec::<String>::new());
    }

    #[test]
    fn the_order_of_inner_modules_counts_too() {
        let parent = ("manifest.rs", "mod build;\nmod verify;\n");
        let lib = ("lib.rs", "mod manifest;");
        let up = [lib, parent, ("manifest/build.rs", ""), ("manifest/verify.rs", "use super::build::B;")];
        assert_eq!(complaints(&up), Vec::<String>::new());
        let down = [lib, parent, ("manifest/build.rs", "\nuse super::verify::V;"), ("manifest/verify.rs", "")];
        assert_eq!(complaints(&down), ["manifest/build.rs:2"]);
    }

    #[test]
    fn a_module_whose_file_lies_elsewhere_has_its_place_in_the_order() {
        let lib =
            ("lib.rs", "#[path = \"../x.rs\"]\nmod above;\nmod scan;\n#[path = \"../y.rs\"]\nmod below;\nuse scan::S;");
        assert_eq!(complaints(&[lib, ("scan.rs", "use crate::above::A;")]), Vec::<String>::new());
        assert_eq!(complaints(&[lib, ("scan.rs", "use crate::below::B;")]), ["scan.rs:1"]);
    }

    #[test]
    fn a_parent_and_its_child_may_not_name_each_other() {
        let lib = ("lib.rs", "mod manifest;");
        let child = ("manifest/build.rs", "use super::Manifest;");
        let one_way = [lib, ("manifest.rs", "mod build;\npub struct Manifest;"), child];
        assert_eq!(complaints(&one_way), Vec::<String>::new());
        for parent in
            ["mod build;\npub use build::B;", "mod build;\nfn f() { build::b() }", "mod build;\nuse self::build::B;"]
        {
            assert_eq!(complaints(&[lib, ("manifest.rs", parent), child]), ["manifest/build.rs:1"], "{parent}");
        }
    }

    #[test]
    fn the_root_that_names_all_may_not_be_named() {
        let lib = ("lib.rs", "mod ids;\npub use ids::Id;");
        assert_eq!(complaints(&[lib, ("ids.rs", "use crate::Id;")]), ["ids.rs:1"]);
        let lib = ("lib.rs", "pub struct Id;\nmod ids;");
        assert_eq!(complaints(&[lib, ("ids.rs", "pub(in crate::ids) use crate::Id;")]), Vec::<String>::new());
    }
}
