//! Law 12: within a crate a file names only modules declared above its own in the reading order. The `mod` lines of
//! `lib.rs` (and of any module with children) write this order down. No two files may name each other. This holds for
//! the web code too.
//!
//! A path counts as naming: `crate::…`, `super::…`, `self::…`, or a child by its bare name. Tests are exempt.
//!
//! A method is called without its file's name, so the order alone does not rule out circles of method calls. In the
//! folders of [`ROOMS`] every `impl` block stands in the file that declares its type, and no file declares a trait.
//! A file there gets its values from the files that it names, so all methods that it calls stand in files above. Calls of
//! closures and function pointers are not seen.

use crate::docs;
use crate::files::{Complaint, File};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

type Path = Vec<String>;
type Modules<'a> = BTreeMap<Path, (&'a File, &'a [String])>;

/// The folders in which no method call may lead back to its caller's file.
const ROOMS: [&str; 1] = ["crates/core/src/device/"];

/// Checks every crate, each from its root files, and the web code.
pub fn check(files: &[File], found: &mut Vec<Complaint>) {
    for root in files {
        let folder = root.path.strip_suffix("lib.rs").or_else(|| root.path.strip_suffix("main.rs"));
        let package = folder.and_then(|folder| folder.strip_suffix("src/")).unwrap_or_default();
        if package == "xtask/" || package.starts_with("crates/") && package.matches('/').count() == 2 {
            let mut modules = Modules::new();
            read(files, root, format!("{package}src/"), Vec::new(), &mut modules);
            of_a_crate(&modules, found);
        }
    }
    for file in files.iter().filter(|file| ROOMS.iter().any(|folder| file.path.starts_with(folder))) {
        rooms(file, found);
    }
    web(files, found);
}

/// Complains about methods of a type outside the file that declares the type, and about traits.
fn rooms(file: &File, found: &mut Vec<Complaint>) {
    for (name, line) in file.source.impls.iter().filter(|(name, _)| !file.source.types.contains(name)) {
        let advice = "Move the method there, or make it a function here: then no call can lead in a circle";
        file.complain(*line, format!("has methods of `{name}`, which another file declares. {advice}"), found);
    }
    for (name, line) in &file.source.traits {
        let advice = "Return a value and let the engine call: through a trait, a room could call one below it";
        file.complain(*line, format!("declares the trait `{name}`. {advice}"), found);
    }
}

/// Reads a module and all modules below it. The files of its children are in `folder`.
fn read<'a>(files: &'a [File], file: &'a File, folder: String, path: Path, modules: &mut Modules<'a>) {
    for child in &file.source.modules {
        let places = [format!("{folder}{child}.rs"), format!("{folder}{child}/mod.rs")];
        // A module whose file is elsewhere (`#[path]`) is not read, but it keeps its place in the order.
        if let Some(below) = files.iter().find(|file| places.contains(&file.path)) {
            read(files, below, format!("{folder}{child}/"), [&path[..], std::slice::from_ref(child)].concat(), modules);
        }
    }
    modules.insert(path, (file, &file.source.modules));
}

fn of_a_crate(modules: &Modules, found: &mut Vec<Complaint>) {
    let mut edges: BTreeMap<Path, BTreeMap<Path, usize>> = BTreeMap::new();
    for (path, (file, _)) in modules {
        for (target, line) in named(modules, path, file).into_iter().filter(|(target, _)| target != path) {
            edges.entry(path.clone()).or_default().entry(target).or_insert(line);
        }
    }
    for (from, to, line) in edges.iter().flat_map(|(from, all)| all.iter().map(move |(to, line)| (from, to, *line))) {
        let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        let shown = if to.is_empty() { "the crate's root".to_owned() } else { format!("`crate::{}`", to.join("::")) };
        let file = modules.get(from).map(|(file, _)| *file).expect("it is a module");
        let (Some(mine), Some(foreign)) = (from.get(shared), to.get(shared)) else {
            // One module is inside the other. They must not name each other in both directions.
            if to.len() < from.len() && way(&edges, to, from).is_some() {
                let advice = "and is named by it: a circle. Move what both need into a module above";
                file.complain(line, format!("names {shown} {advice}"), found);
            }
            continue;
        };
        let (parent, order) = modules[&from[..shared]];
        let place = |name: &String| order.iter().position(|child| child == name);
        if place(foreign) > place(mine) {
            let order = format!("`{foreign}` comes after `{mine}` in the reading order of {}", parent.path);
            file.complain(line, format!("names {shown}, but {order}"), found);
        }
    }
}

/// The modules that a module names, each with the line.
fn named(modules: &Modules, path: &Path, file: &File) -> Vec<(Path, usize)> {
    let mut found = Vec::new();
    for one in file.source.paths.iter().filter(|one| !one.is_test && one.segments.len() > 1) {
        let (first, rest) = one.segments.split_first().expect("it has two");
        let mut full = match first.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => path.clone(),
            child if file.source.modules.iter().any(|name| name == child) => [&path[..], &[child.to_owned()]].concat(),
            _ => continue,
        };
        let ups = usize::from(first == "super") + rest.iter().take_while(|word| *word == "super").count();
        full.truncate(full.len().saturating_sub(ups));
        full.extend(rest.iter().filter(|word| *word != "super" && *word != "self").cloned());
        // The longest beginning of the path that is a module. What follows it is an item, not a file. A module without
        // a file here counts if a `mod` line declares it.
        let known = |path: &[String]| {
            let declared = || path.split_last().and_then(|(name, above)| Some(modules.get(above)?.1.contains(name)));
            modules.contains_key(path) || declared() == Some(true)
        };
        let end = (0..=full.len()).rev().find(|end| known(&full[..*end])).unwrap_or_default();
        full.truncate(end);
        found.push((full, one.line));
    }
    found
}

/// Complains about circles of imports among the files of the web code.
fn web(files: &[File], found: &mut Vec<Complaint>) {
    let ours = files.iter().filter(|file| file.path.starts_with("web/"));
    let ours: Vec<&File> = ours.filter(|file| file.path.ends_with(".ts") || file.path.ends_with(".svelte")).collect();
    let import = Regex::new(r#"^[^/"'`]*\b(?:from|import)\s*\(?\s*["'](\.[^"']+)["']"#).expect("a constant");
    let mut graph: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for file in &ours {
        let imports = file.text.lines().enumerate().filter_map(|(at, line)| Some((at, import.captures(line)?)));
        for (at, import) in imports {
            let Some(path) = docs::beside(&file.path, &import[1]) else { continue };
            let stem = path.strip_suffix(".js").unwrap_or(&path);
            let places = [path.clone(), format!("{stem}.ts"), format!("{stem}.svelte.ts"), format!("{stem}/index.ts")];
            let target = places.into_iter().find(|place| ours.iter().any(|file| file.path == *place));
            graph.entry(file.path.clone()).or_default().extend(target.map(|target| (target, at + 1)));
        }
    }
    for file in &ours {
        for (target, line) in graph.get(&file.path).into_iter().flatten() {
            // Each circle is reported once, at its first file by name.
            let way = way(&graph, target, &file.path).filter(|way| way.iter().all(|step| *step >= file.path));
            if let Some(way) = way {
                file.complain(*line, format!("imports in a circle: {} → {}", file.path, way.join(" → ")), found);
            }
        }
    }
}

/// The shortest path from one node to another in a graph. The graph says for each node which nodes it names.
fn way<K: Ord + Clone, V>(graph: &BTreeMap<K, BTreeMap<K, V>>, from: &K, to: &K) -> Option<Vec<K>> {
    let (mut open, mut seen) = (VecDeque::from([vec![from.clone()]]), BTreeSet::new());
    while let Some(path) = open.pop_front() {
        let last = path.last()?.clone();
        if last == *to {
            return Some(path);
        }
        let next = graph.get(&last).into_iter().flat_map(BTreeMap::keys);
        open.extend(
            next.filter(|next| !seen.contains(*next)).map(|next| [&path[..], std::slice::from_ref(next)].concat()),
        );
        seen.insert(last);
    }
    None
}
