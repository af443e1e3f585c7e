//! The text of a file of settings: lines `NAME=value`.

use std::collections::BTreeMap;

use anyhow::bail;
use clap::Command;

/// `NAME_FILE` names a file that holds the value of `NAME`: how containers hand over secrets.
pub const FROM_FILE: &str = "_FILE";
/// Most slips of a name that is taken for another.
const NEAR: usize = 2;
/// Read by name in `main`, as no argument has it: name, default, what it is.
pub const MORE: [(&str, &str, &str); 2] = [
    ("ADMIT_LOG", "`text`", "`json` for a log of JSON lines, `text` otherwise."),
    (
        "RUST_LOG",
        "`warn,admit=info,admit_server=info`",
        "What is logged, such as `info` or `admit_server=debug`. In the environment alone.",
    ),
];
/// Read from the environment before there is a file.
const NOT_OF_A_FILE: &str = "RUST_LOG";

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

/// Every setting there is, in order of name.
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

/// `, perhaps NAME is meant`, where one is near.
pub fn nearest(name: &str, known: &[String]) -> String {
    let distance = |one: &&String| strsim::damerau_levenshtein(name, one);
    let near = known.iter().min_by_key(distance).filter(|one| distance(one) <= NEAR);
    near.map(|one| format!(", perhaps {one} is meant")).unwrap_or_default()
}

/// Makes the file's values the defaults of the arguments they are for. Fails on a name that no argument has: a typing
/// mistake must not leave a setting at its default in silence.
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
            // What the environment's values are not shown of, the file's are not either: `--help` would print them.
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
