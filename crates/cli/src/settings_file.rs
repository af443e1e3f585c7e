//! Settings from a file (spec §8): lines `NAME=value` with the names of the environment. A value from an argument or
//! the environment has precedence.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, bail};
use clap::Command;

use crate::say::say;
use crate::settings_text::{FROM_FILE, known, nearest, parse};

/// The argument that names the file.
const ARGUMENT: &str = "--config";
const VARIABLE: &str = "ADMIT_CONFIG";

/// The settings in the file that the arguments or the environment name; empty if neither names one.
pub fn read() -> anyhow::Result<BTreeMap<String, String>> {
    // This runs before clap, which needs the file's values as defaults. clap refuses bytes that are no text later.
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

/// Adds the values of settings in files of their own (`NAME_FILE`, in the environment or the settings file). Fails if
/// such a file cannot be read, or if the value is given as well.
pub fn add_files(command: &Command, settings: &mut BTreeMap<String, String>) -> anyhow::Result<()> {
    let known = known(command);
    for name in &known {
        let from_file = format!("{name}{FROM_FILE}");
        let in_environment = std::env::var(&from_file).ok().filter(|path| !path.is_empty());
        let Some(path) = in_environment.or_else(|| settings.get(&from_file).cloned()) else { continue };
        if settings.contains_key(name) || std::env::var_os(name).is_some() {
            bail!("{name} and {from_file} are both set: keep one of them");
        }
        let text = fs::read_to_string(&path).with_context(|| format!("reading {path}, which {from_file} names"))?;
        settings.insert(name.clone(), text.trim_end_matches(['\r', '\n']).to_owned());
    }
    warn_of_environment(&known);
    Ok(())
}

/// Warns about environment variables that are nearly the name of a setting, because a mistyped one would silently
/// leave a default. Other programs have variables too, so other names are ignored.
fn warn_of_environment(known: &[String]) {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ADMIT_")) {
        let bare = name.strip_suffix(FROM_FILE).unwrap_or(&name);
        let meant = nearest(bare, known);
        if bare != VARIABLE && !known.iter().any(|one| one == bare) && !meant.is_empty() {
            say(format_args!("{name} in the environment is no setting{meant}"));
        }
    }
}
