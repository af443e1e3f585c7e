//! Makes the reference pages from the binary: its commands and its HTTP interface. The page of its settings,
//! docs/settings.md, is in the repository, and a test compares it with the binary.

use crate::{exec, markdown};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The pages, by the paths that they would have in the repository.
pub const PAGES: [&str; 3] = ["docs/reference/cli.md", "docs/reference/http.md", "docs/reference/http-types.md"];
/// If more than this many routes give the same answer, such as 401, the page describes the answer once for all of them.
const COMMON: usize = 20;

const CLI: &str = "# The command line\n\nThe binary wrote this page: it is what `admit help COMMAND` prints. `admit manual pages FOLDER` writes \
                   manual pages, and `admit manual completions SHELL` what completes commands in a shell.\n";

/// Makes the pages. Returns the text of each by its path.
pub fn pages(binary: &str) -> Result<BTreeMap<String, String>> {
    let mut cli = String::from(CLI);
    command(binary, &[], &mut cli)?;
    let document: Value = serde_json::from_str(&said(binary, &["openapi"])?).context("reading `admit openapi`")?;
    let texts =
        [cli, page(include_str!("http.md.jinja"), &document)?, page(include_str!("types.md.jinja"), &document)?];
    Ok(PAGES.iter().map(|path| (*path).to_owned()).zip(texts).collect())
}

/// The output of the binary, run without environment variables. Its help shows the values of variables, and this
/// shell's values must not be published.
fn said(binary: &str, arguments: &[&str]) -> Result<String> {
    let text = exec::output(exec::command(binary).args(arguments).env_clear());
    text.with_context(|| format!("`{binary} {}` failed", arguments.join(" ")))
}

/// Adds the help of a command to the page, and then that of its subcommands.
fn command(binary: &str, path: &[&str], page: &mut String) -> Result<()> {
    let help = said(binary, &[path, &["--help"]].concat())?;
    *page += &format!("\n## admit {}\n\n```text\n{}\n```\n", path.join(" "), help.trim_end());
    subcommands(&help).into_iter().try_for_each(|below| command(binary, &[path, &[below]].concat(), page))
}

fn subcommands(help: &str) -> Vec<&str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let named = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

fn page(template: &str, document: &Value) -> Result<String> {
    let routes = document["paths"].as_object().into_iter().flatten().flat_map(|(_, methods)| methods.as_object());
    let answers = routes.flat_map(|methods| methods.values()).filter_map(|route| route["responses"].as_object());
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (status, answer) in answers.flatten() {
        *counts.entry((status, answer["description"].as_str().unwrap_or_default())).or_default() += 1;
    }
    let common: Vec<(&str, &str)> = counts.into_iter().filter(|(_, n)| *n > COMMON).map(|(answer, _)| answer).collect();
    markdown::rendered(template, &json!({ "document": document, "common": common }))
}
