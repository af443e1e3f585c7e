//! Generates the page of all settings, docs/settings.md, from the arguments that read them.

use std::collections::BTreeSet;

use clap::{Arg, Command};

use crate::settings_text::MORE;

/// The page of all settings. A setting that several commands have is listed under the first of these commands.
pub fn page(command: &Command) -> String {
    let mut page = String::from(HEAD);
    let mut told = BTreeSet::new();
    for inner in command.get_subcommands() {
        let mut rows = String::new();
        for argument in inner.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let Some(name) = argument.get_env().and_then(|name| name.to_str()) else { continue };
            if told.insert(name.to_owned()) {
                let long = argument.get_long().map(|long| format!("`--{long}`")).unwrap_or_default();
                rows.push_str(&row(name, &long, &default_of(argument), &what_it_is(argument)));
            }
        }
        if inner.get_name() == SERVER {
            MORE.iter().for_each(|(name, default, says)| rows.push_str(&row(name, "", default, says)));
        }
        if !rows.is_empty() {
            page.push_str(&format!("\n## `admit {}`\n\n{COLUMNS}{rows}", inner.get_name()));
        }
    }
    page
}

/// The command that runs the server.
const SERVER: &str = "serve";
const HEAD: &str = "# Settings

<!-- Written by `admit manual settings`; a test compares. The words are those of each command's help. -->

A setting is given as an argument, in the environment, or in a file of `NAME=value` lines that `--config` or `ADMIT_CONFIG` names.
An argument goes before the environment, and the environment before the file. The server refuses a name in the file that is no
setting, and says the nearest name that is one. `NAME_FILE` names a file that holds the value of `NAME`:
`ADMIT_SECRET_FILE=/run/secrets/admit` reads `ADMIT_SECRET` from there.

`--help` prints no address that has a password in it.
";
const COLUMNS: &str = "| Name | Argument | Without it | What it is |\n|---|---|---|---|\n";

fn row(name: &str, long: &str, default: &str, says: &str) -> String {
    format!("| `{name}` | {long} | {default} | {} |\n", says.replace('|', "\\|"))
}

fn default_of(argument: &Arg) -> String {
    let values = argument.get_default_values().iter().filter_map(|value| value.to_str());
    let text = values.collect::<Vec<_>>().join(",");
    if text.is_empty() { "–".to_owned() } else { format!("`{text}`") }
}

/// The help of an argument as one paragraph of sentences.
fn what_it_is(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let paragraphs = help.split("\n\n").map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let sentences = paragraphs.map(|text| if text.ends_with('.') { text } else { format!("{text}.") });
    sentences.collect::<Vec<_>>().join(" ")
}
