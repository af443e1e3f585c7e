//! Checks that the files of the web code do not import each other in a circle.

use super::complaint::{Complaint, File};
use super::source::{Keep, Language, line_of, mask, words};
use std::collections::{BTreeMap, BTreeSet};

/// Follows relative imports, and complains about the import that closes a circle.
pub fn check(files: &[File], found: &mut Vec<Complaint>) {
    let ours: Vec<&File> = files
        .iter()
        .filter(|file| file.path.starts_with("web/") && (file.path.ends_with(".ts") || file.path.ends_with(".svelte")))
        .collect();
    let names: BTreeSet<&str> = ours.iter().map(|file| file.path.as_str()).collect();
    let graph: BTreeMap<&str, Vec<(String, usize)>> =
        ours.iter().map(|file| (file.path.as_str(), imports(file, &names))).collect();
    for file in &ours {
        for (target, line) in &graph[file.path.as_str()] {
            // Each circle is reported once, at its first file by name.
            if let Some(way) = way(&graph, target, &file.path).filter(|way| way.iter().all(|step| *step >= file.path)) {
                let circle = way.iter().map(|step| step.as_str()).collect::<Vec<_>>().join(" → ");
                found.push(Complaint::new(file, *line, format!("imports in a circle: {} → {circle}", file.path)));
            }
        }
    }
}

fn imports(file: &File, names: &BTreeSet<&str>) -> Vec<(String, usize)> {
    let code = mask(&file.text, Language::TypeScript, Keep::Code);
    let mut found = Vec::new();
    for keyword in ["from", "import"] {
        for at in words(&code, keyword) {
            let rest = code[at + keyword.len()..].trim_start_matches([' ', '(']);
            let start = code.len() - rest.len();
            let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else { continue };
            let Some(end) = rest[1..].find(quote) else { continue };
            let path = &file.text[start + 1..start + 1 + end];
            if let Some(target) = resolve(&file.path, path, names) {
                found.push((target, line_of(&code, at)));
            }
        }
    }
    found
}

fn resolve(from: &str, import: &str, names: &BTreeSet<&str>) -> Option<String> {
    if !import.starts_with('.') {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in import.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    let path = parts.join("/");
    let stem = path.strip_suffix(".js").unwrap_or(&path);
    let places = [path.clone(), format!("{stem}.ts"), format!("{stem}.svelte.ts"), format!("{stem}/index.ts")];
    places.into_iter().find(|place| names.contains(place.as_str()))
}

/// The shortest path from one file to another along imports; `None` if there is none.
fn way(graph: &BTreeMap<&str, Vec<(String, usize)>>, from: &str, to: &str) -> Option<Vec<String>> {
    let mut open = std::collections::VecDeque::from([vec![from.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(path) = open.pop_front() {
        let last = path.last()?.clone();
        if last == to {
            return Some(path);
        }
        if seen.insert(last.clone()) {
            for (next, _) in graph.get(last.as_str()).into_iter().flatten() {
                open.push_back([path.as_slice(), std::slice::from_ref(next)].concat());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> =
            files.iter().map(|(path, text)| File { path: format!("web/{path}"), text: (*text).to_owned() }).collect();
        let mut found = Vec::new();
        check(&files, &mut found);
        found.into_iter().map(|complaint| format!("{}:{}", complaint.path, complaint.line)).collect()
    }

    #[test]
    fn a_circle_is_told_once() {
        let files = [
            ("a/one.ts", "// first\nimport { two } from \"./two\";"),
            ("a/two.ts", "import type { X } from './Three.svelte';"),
            ("a/Three.svelte", "<script lang=\"ts\">\n  import { one } from \"../a/one.js\";\n</script>"),
        ];
        assert_eq!(complaints(&files), ["web/a/Three.svelte:2"]);
        assert_eq!(complaints(&[("a.ts", "export * from \"./a\";")]), ["web/a.ts:1"]);
    }

    #[test]
    fn a_tree_is_fine() {
        let files = [
            ("a/one.ts", "import x from \"svelte\";\nimport \"./two.ts\";\nconst late = () => import(\"./three\");"),
            ("a/two.ts", "import { three } from \"./three\"; // from \"./one\""),
            ("a/three.ts", "const text = 'import \"./one\"';"),
        ];
        assert_eq!(complaints(&files), Vec::<String>::new());
    }
}
