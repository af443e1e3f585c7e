//! Writes the pages that describe the binary's commands and its HTTP interface, from the binary itself. Its settings
//! are a page of the repository, docs/settings.md; a test of the binary compares it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The pages, by the paths that they would have in the repository.
pub const PAGES: [&str; 3] = ["docs/reference/cli.md", "docs/reference/http.md", "docs/reference/http-types.md"];

/// An answer that at least this many routes give is described once for all of them.
const COMMON: usize = 20;
/// HTTP methods in the order in which the page lists them.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Writes all pages: their texts by path.
pub fn pages(binary: &str) -> Result<BTreeMap<String, String>> {
    let mut cli = String::from(CLI);
    command(binary, &[], &mut cli)?;
    let document: Value = serde_json::from_str(&said(binary, &["openapi"])?).context("reading `admit openapi`")?;
    let texts = [cli, routes(&document), types(&document)];
    Ok(PAGES.iter().map(|path| (*path).to_owned()).zip(texts).collect())
}

/// The output of the binary. Help prints the values of set variables, so this shell's environment is not passed on.
fn said(binary: &str, arguments: &[&str]) -> Result<String> {
    let run =
        Command::new(binary).args(arguments).env_clear().output().with_context(|| format!("starting {binary}"))?;
    if !run.status.success() {
        bail!("`admit {}` ended with {}", arguments.join(" "), run.status);
    }
    Ok(String::from_utf8_lossy(&run.stdout).into_owned())
}

// ---------------------------------------------------------------------------------------- --------- the command line

const CLI: &str = "# The command line\n\nThe binary wrote this page: it is what `admit help COMMAND` prints. `admit manual pages FOLDER` writes \
                   manual pages, and `admit manual completions SHELL` what completes commands in a shell.\n";

/// Writes a command's help, then that of its subcommands.
fn command(binary: &str, path: &[&str], page: &mut String) -> Result<()> {
    let help = said(binary, &[path, &["--help"]].concat())?;
    let name = path.join(" ");
    let _ = write!(page, "\n## admit {name}\n\n```text\n{}\n```\n", help.trim_end());
    for below in subcommands(&help) {
        command(binary, &[path, &[below]].concat(), page)?;
    }
    Ok(())
}

fn subcommands(help: &str) -> Vec<&str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let named = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").split_whitespace().collect::<Vec<_>>().join(" ")
}

// ----------------------------------------------------------------------------------------------------- the HTTP interface

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// Every route of the OpenAPI document: path, method, operation.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let mut all = Vec::new();
    for (path, methods) in paths {
        all.extend(METHODS.iter().filter_map(|method| Some((path.as_str(), *method, methods.get(*method)?))));
    }
    all
}

fn routes(document: &Value) -> String {
    let all = operations(document);
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (_, _, route) in &all {
        for (status, answer) in route["responses"].as_object().into_iter().flatten() {
            *counts.entry((status.as_str(), text(answer, "description"))).or_default() += 1;
        }
    }
    let about = text(&document["info"], "description");
    let mut page = format!(
        "# HTTP interface\n\nThe binary wrote this page from its OpenAPI document. A server gives the document at `/openapi.json`, and a \
         page for it at `/docs`; `admit openapi` prints it. [Types](http-types.md) has every body.\n\n{about}\n\nMost routes may also \
         answer:\n\n| Status | When |\n|---|---|\n"
    );
    for ((status, said), _) in counts.iter().filter(|(_, count)| **count > COMMON) {
        let _ = writeln!(page, "| {status} | {} |", cell(said));
    }
    for tag in list(document, "tags") {
        let name = text(tag, "name");
        let _ = write!(page, "\n## {name}\n\n{}\n", text(tag, "description"));
        for (path, method, route) in &all {
            if list(route, "tags").iter().any(|one| one == name) {
                route_section(&mut page, path, method, route, &counts);
            }
        }
    }
    page
}

fn route_section(page: &mut String, path: &str, method: &str, route: &Value, counts: &BTreeMap<(&str, &str), usize>) {
    let _ = write!(page, "\n### `{} {path}`\n\n{}\n\n", method.to_uppercase(), text(route, "summary"));
    if !text(route, "description").is_empty() {
        let _ = write!(page, "{}\n\n", text(route, "description"));
    }
    let _ = writeln!(page, "Who: {}.\n", who(route));
    let parameters = list(route, "parameters");
    if !parameters.is_empty() {
        page.push_str("| Parameter | In | Type | What it is |\n|---|---|---|---|\n");
    }
    for one in parameters {
        let must = if one["required"] == true { "" } else { "optional " };
        let (name, place, kind) = (text(one, "name"), text(one, "in"), kind(&one["schema"]));
        let _ = writeln!(page, "| `{name}` | {place} | {must}{kind} | {} |", cell(text(one, "description")));
    }
    if !parameters.is_empty() {
        page.push('\n');
    }
    for (media, body) in route["requestBody"]["content"].as_object().into_iter().flatten() {
        let _ = writeln!(page, "- Body: {} (`{media}`)", kind(&body["schema"]));
    }
    for (status, answer) in route["responses"].as_object().into_iter().flatten() {
        let said = text(answer, "description");
        if counts.get(&(status.as_str(), said)).is_some_and(|count| *count > COMMON) {
            continue;
        }
        let bodies =
            answer["content"].as_object().into_iter().flatten().filter(|(media, _)| !media.contains("problem"));
        let bodies = bodies.map(|(media, body)| format!(": {} (`{media}`)", kind(&body["schema"]))).collect::<String>();
        let _ = writeln!(page, "- {status}: {}{bodies}", said.replace('<', "&lt;"));
    }
}

/// Who may call a route: roles of members, a device, anybody.
fn who(route: &Value) -> String {
    let roles: Vec<&str> = list(route, "x-roles").iter().filter_map(Value::as_str).collect();
    let rights: Vec<&str> = list(route, "x-actions").iter().filter_map(Value::as_str).collect();
    let is_device = list(route, "security").iter().any(|one| one.get("device_key").is_some());
    let mut said = Vec::new();
    if !rights.is_empty() {
        said.push(format!("{} (right `{}`)", roles.join(", "), rights.join("` or `")));
    } else if list(route, "security").iter().any(|one| one.get("session").is_some()) {
        said.push("any member".to_owned());
    }
    if is_device {
        said.push("a device by its key".to_owned());
    }
    if said.is_empty() { "nobody needs to sign in".to_owned() } else { said.join("; ") }
}

fn types(document: &Value) -> String {
    let mut page = String::from(
        "# Types of the HTTP interface\n\nThe binary wrote this page. It has the members of every body that [the routes](http.md) name.\n",
    );
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        let _ = write!(page, "\n## {name}\n\n");
        if !text(schema, "description").is_empty() {
            let _ = write!(page, "{}\n\n", text(schema, "description").replace('<', "&lt;"));
        }
        let required = list(schema, "required");
        let members = schema["properties"].as_object();
        if members.is_none_or(serde_json::Map::is_empty) {
            let _ = writeln!(page, "{}", kind(schema));
            continue;
        }
        page.push_str("| Member | Type | What it is |\n|---|---|---|\n");
        for (member, of) in members.into_iter().flatten() {
            let must = if required.iter().any(|one| one == member) { "" } else { "optional " };
            let _ = writeln!(page, "| `{member}` | {must}{} | {} |", kind(of), cell(text(of, "description")));
        }
    }
    page
}

/// A type in a few words, with a link to its section.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](http-types.md#{})", name.to_lowercase());
    }
    let one_of = ["oneOf", "anyOf", "allOf"].iter().find_map(|word| schema[word].as_array());
    if let Some(choices) = one_of {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .map(|value| format!("`{}`", value.as_str().unwrap_or("null")))
            .collect::<Vec<_>>()
            .join(", ");
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        Value::String(kind) => vec![kind.as_str()],
        _ => vec!["anything"],
    };
    let named = |kind: &str| match (kind, schema["format"].as_str()) {
        ("array", _) => format!("list of {}", self::kind(&schema["items"])),
        ("string", Some("date-time")) => "time".to_owned(),
        ("integer", _) => "whole number".to_owned(),
        (kind, _) => kind.to_owned(),
    };
    kinds.into_iter().map(named).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Run it\n\nUsage: admit [OPTIONS]\n\nCommands:\n  serve          Run the server\n                 and more\n  help           Print\n\n\
                        Options:\n      --data-dir <DATA_DIR>  Folder of the data [env: ADMIT_DATA_DIR=] [default: ./data]\n      \
                        --redis-url <REDIS_URL>\n          Redis, such as\n          redis://x [env: REDIS_URL]\n  -h, --help  Print help\n\n\
                        Examples:\n  admit --no [env: NO]\n";

    #[test]
    fn help_tells_commands() {
        assert_eq!(subcommands(HELP), ["serve"]);
    }

    #[test]
    fn a_route_tells_who_may_and_what_it_takes() {
        let document = serde_json::json!({ "info": {}, "tags": [{ "name": "devices", "description": "D" }], "paths": { "/x": { "post": {
            "tags": ["devices"], "summary": "Does it.", "security": [{ "device_key": [] }],
            "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Thing" } } } },
            "responses": { "200": { "description": "Done" } } } } } });
        let page = routes(&document);
        for part in
            ["### `POST /x`", "Who: a device by its key.", "- Body: [Thing](http-types.md#thing)", "- 200: Done"]
        {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
