//! Parses the text of a settings file: lines `NAME=value`.

use std::collections::BTreeMap;

use anyhow::bail;
use clap::Command;

/// The suffix of settings that name a file with the value. Containers pass secrets in this way.
pub const FROM_FILE: &str = "_FILE";
/// The most typing errors at which a name is taken for another.
const NEAR: usize = 2;
/// Settings that `main` reads and that no argument has: name, default, description.
pub const MORE: [(&str, &str, &str); 2] = [
    ("ADMIT_LOG", "`text`", "`json` for a log of JSON lines, `text` otherwise."),
    (
        "RUST_LOG",
        "`warn,admit=info,admit_server=info`",
        "What is logged, such as `info` or `admit_server=debug`. In the environment alone.",
    ),
];
/// A setting that is read from the environment before there is a file.
const NOT_OF_A_FILE: &str = "RUST_LOG";

/// Parses a file's text. Fails, with the line's number, for a line that is no `NAME=value` or repeats a name.
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

/// The names of all settings, sorted.
pub fn known(command: &Command) -> Vec<String> {
    fn collect(command: &Command, into: &mut Vec<String>) {
        let of_arguments = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str());
        into.extend(of_arguments.map(str::to_owned));
        command.get_subcommands().for_each(|inner| collect(inner, into));
    }
    let of_files = MORE.iter().filter(|(name, ..)| *name != NOT_OF_A_FILE);
    let mut known: Vec<String> = of_files.map(|(name, ..)| (*name).to_owned()).collect();
    collect(command, &mut known);
    known.sort();
    known.dedup();
    known
}

/// The text `, perhaps NAME is meant`, if a known name is similar; else empty.
pub fn nearest(name: &str, known: &[String]) -> String {
    let distance = |one: &&String| strsim::damerau_levenshtein(name, one);
    let near = known.iter().min_by_key(distance).filter(|one| distance(one) <= NEAR);
    near.map(|one| format!(", perhaps {one} is meant")).unwrap_or_default()
}

/// Makes the file's values the defaults of their arguments. Fails for a name that no argument has, because a typing
/// error would otherwise silently leave a default.
pub fn apply(command: Command, settings: &BTreeMap<String, String>) -> anyhow::Result<Command> {
    let known = known(&command);
    for name in settings.keys() {
        let bare = name.strip_suffix(FROM_FILE).unwrap_or(name);
        if !known.contains(name) && !known.iter().any(|one| one == bare) {
            bail!("{name} is no setting{}; there are {}", nearest(bare, &known), known.join(", "));
        }
    }
    Ok(with_defaults(command, settings))
}

fn with_defaults(command: Command, settings: &BTreeMap<String, String>) -> Command {
    let command = command.mut_args(|argument| {
        let Some(name) = argument.get_env().and_then(|name| name.to_str()).map(str::to_owned) else { return argument };
        match settings.get(&name).cloned() {
            // If `--help` hides a setting's value from the environment, it must hide the file's value too.
            Some(value) => {
                let hidden = argument.is_hide_env_values_set();
                argument.required(false).default_value(value).hide_default_value(hidden)
            }
            None => argument,
        }
    });
    command.mut_subcommands(|inner| with_defaults(inner, settings))
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

    #[test]
    fn a_mistyped_name_is_told_with_the_one_that_is_near() {
        let command = || Command::new("admit").arg(clap::Arg::new("listen").long("listen").env("ADMIT_LISTEN"));
        let of = |name: &str| apply(command(), &BTreeMap::from([(name.to_owned(), "x".to_owned())]));
        assert!(of("ADMIT_LISTEN").is_ok() && of("ADMIT_LISTEN_FILE").is_ok());
        let told = of("ADMIT_LISTN").unwrap_err().to_string();
        assert!(told.contains("perhaps ADMIT_LISTEN is meant"), "{told}");
        assert!(!of("NOTHING_LIKE_IT").unwrap_err().to_string().contains("perhaps"));
    }
}
