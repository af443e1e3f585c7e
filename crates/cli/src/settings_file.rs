//! Settings from a file (spec §8): lines `NAME=value`, the names of the environment. What is given as an argument or in the
//! environment goes first.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, bail};
use clap::Command;

/// Names the file: as an argument, or in the environment.
const ARGUMENT: &str = "--config";
const VARIABLE: &str = "ADMIT_CONFIG";
/// Read by name in `main`, as no argument has it.
const MORE: [&str; 1] = ["ADMIT_LOG"];

/// The settings of the file that the arguments or the environment name; none where they name none.
pub fn read() -> anyhow::Result<BTreeMap<String, String>> {
    // Before clap has parsed, for it needs the file's values as defaults. Bytes that are no text are clap's to refuse.
    let mut arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let mut path = std::env::var(VARIABLE).ok().filter(|path| !path.is_empty());
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix(ARGUMENT) {
            Some("") => path = arguments.next(),
            Some(value) if value.starts_with('=') => path = Some(value[1..].to_owned()),
            _ => {}
        }
    }
    let Some(path) = path else { return Ok(BTreeMap::new()) };
    let text = fs::read_to_string(&path).with_context(|| format!("reading the settings in {path}"))?;
    parse(&text).with_context(|| format!("in the settings of {path}"))
}

/// Reads a file's text. Fails, naming the line, where one is no `NAME=value` or sets a name again.
pub fn parse(text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let mut settings = BTreeMap::new();
    for (at, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            bail!("line {at} must be NAME=value, or begin with # where it is a remark");
        };
        let (name, value) = (name.trim(), value.trim());
        let bare = ['"', '\''].iter().find_map(|mark| value.strip_prefix(*mark)?.strip_suffix(*mark));
        if settings.insert(name.to_owned(), bare.unwrap_or(value).to_owned()).is_some() {
            bail!("line {at} sets {name} a second time");
        }
    }
    Ok(settings)
}

/// Makes the file's values the defaults of the arguments they are for. Fails on a name that no argument has: a typing
/// mistake must not leave a setting at its default in silence.
pub fn apply(mut command: Command, settings: &BTreeMap<String, String>) -> anyhow::Result<Command> {
    let mut known: Vec<String> = MORE.iter().map(|name| (*name).to_owned()).collect();
    command = with_defaults(command, settings, &mut known);
    for name in settings.keys() {
        if !known.contains(name) {
            known.sort();
            known.dedup();
            bail!("{name} is no setting; there are {}", known.join(", "));
        }
    }
    Ok(command)
}

fn with_defaults(command: Command, settings: &BTreeMap<String, String>, known: &mut Vec<String>) -> Command {
    let command = command.mut_args(|argument| {
        let Some(name) = argument.get_env().and_then(|name| name.to_str()).map(str::to_owned) else { return argument };
        let value = settings.get(&name).cloned();
        known.push(name);
        match value {
            // What the environment's values are not shown of, the file's are not either: `--help` would print them.
            Some(value) => {
                let hidden = argument.is_hide_env_values_set();
                argument.required(false).default_value(value).hide_default_value(hidden)
            }
            None => argument,
        }
    });
    command.mut_subcommands(|inner| with_defaults(inner, settings, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_lines_of_names_and_values() {
        let read = parse("# doors\n\nADMIT_LISTEN = 0.0.0.0:80\nPUBLIC_URL=\"https://a.example/?x=1\"\n").unwrap();
        assert_eq!(read["ADMIT_LISTEN"], "0.0.0.0:80");
        assert_eq!(read["PUBLIC_URL"], "https://a.example/?x=1");
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        assert!(parse("A=1\nB").unwrap_err().to_string().contains("line 2"));
        assert!(parse("A=1\nA=2").unwrap_err().to_string().contains("line 2 sets A a second time"));
    }
}
