//! Runs a command, the hook, for each verdict. A hook opens a turnstile by an electrical relay, or lights a lamp.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use admit_core::decide::Screen;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::task::JoinSet;

use super::clean::clean;
use super::told::{Kind, Told};
use crate::say::say;

/// The time limit of a hook.
const LONGEST: Duration = Duration::from_secs(10);
/// The most hooks that run at once, so that hooks that hang do not use up the memory of a small computer.
const AT_ONCE: usize = 8;

/// The hooks of this scanner, and those that run now.
#[derive(Debug, Default)]
pub struct Hooks {
    on_admit: Option<Vec<String>>,
    on_refuse: Option<Vec<String>>,
    running: JoinSet<()>,
}

/// Splits a command line into program and arguments. No shell is involved, so a guest's name can never become a
/// command.
pub fn split(command: &str) -> Vec<String> {
    command.split_whitespace().map(str::to_owned).collect()
}

impl Hooks {
    /// Makes the hooks from their command lines.
    pub fn new(on_admit: Option<&str>, on_refuse: Option<&str>) -> Self {
        let words = |command: Option<&str>| command.map(split).filter(|words| !words.is_empty());
        Self { on_admit: words(on_admit), on_refuse: words(on_refuse), running: JoinSet::new() }
    }

    /// Starts the hook of a verdict, if there is one. Returns at once.
    pub fn start(&mut self, told: &Told) {
        while self.running.try_join_next().is_some() {}
        let words = match told.kind {
            Kind::Admit => &self.on_admit,
            Kind::Refuse => &self.on_refuse,
            Kind::Same | Kind::Sample => return,
        };
        let Some(words) = words.clone() else { return };
        if self.running.len() >= AT_ONCE {
            return say(format_args!("{AT_ONCE} hooks are still running: {} was not started", words[0]));
        }
        let (values, text) = (values(told), format!("{}\n", told.json()));
        self.running.spawn(async move {
            if let Err(why) = run(&words, values, &text, LONGEST).await {
                say(format_args!("the hook {} {why}", words[0]));
            }
        });
    }

    /// Waits until no hook runs. A hook that holds an electrical relay open needs time to close it.
    pub async fn finish(&mut self) {
        while self.running.join_next().await.is_some() {}
    }
}

/// The environment variables of a hook.
fn values(told: &Told) -> Vec<(&'static str, OsString)> {
    let verdict = &told.verdict;
    let text = |text: Option<&str>| OsString::from(text.map(clean).unwrap_or_default());
    vec![
        ("ADMIT_VERDICT", told.kind.as_str().into()),
        ("ADMIT_SCREEN", verdict.screen.as_str().into()),
        ("ADMIT_REASON", text(verdict.reason.as_deref())),
        ("ADMIT_QUESTION", told.question.map(Screen::as_str).unwrap_or_default().into()),
        ("ADMIT_COUNT", verdict.count.to_string().into()),
        ("ADMIT_KIND", verdict.kind.as_str().into()),
        ("ADMIT_SCAN_ID", text(verdict.scan_id.as_ref().map(|id| id.as_str()))),
        ("ADMIT_TICKET_ID", text(verdict.ticket_id.as_ref().map(|id| id.as_str()))),
        ("ADMIT_NAME", text(verdict.name.as_deref())),
        ("ADMIT_ZONE", text(told.zone.as_deref())),
        ("ADMIT_GATE", text(Some(&told.gate))),
        ("ADMIT_PRACTICE", if verdict.practice { "1" } else { "" }.into()),
        ("ADMIT_ONLINE", if told.online { "1" } else { "" }.into()),
    ]
}

async fn run(
    words: &[String],
    values: Vec<(&'static str, OsString)>,
    text: &str,
    longest: Duration,
) -> Result<(), String> {
    let mut command = Command::new(&words[0]);
    // Standard output is only for verdicts.
    command.args(&words[1..]).envs(values).stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
    // In its own process group, Ctrl-C at the terminal does not end the hook, and its child processes can be ended
    // with it.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| format!("could not be started: {error}"))?;
    let group = child.id();
    let mut input = child.stdin.take();
    let work = async {
        if let Some(input) = &mut input {
            let _ = input.write_all(text.as_bytes()).await; // A hook that does not read its input needs none.
        }
        drop(input);
        child.wait().await
    };
    match tokio::time::timeout(longest, work).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("failed: {status}")),
        Ok(Err(error)) => Err(format!("could not be waited for: {error}")),
        Err(_) => {
            end(group);
            Err(format!("took longer than {} s and was ended", longest.as_secs()))
        }
    }
}

/// Ends a hook and its child processes. On systems without process groups, dropping the child ends the hook alone.
fn end(group: Option<u32>) {
    #[cfg(target_os = "linux")]
    if let Some(group) = group.and_then(|id| rustix::process::Pid::from_raw(id as i32)) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = group;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_its_words() {
        assert_eq!(split("/usr/local/bin/relay  --pin 17 on"), ["/usr/local/bin/relay", "--pin", "17", "on"]);
        assert!(split("  ").is_empty());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_hook_gets_the_verdict_and_its_failure_is_told() {
        let words = |text: &str| vec!["sh".to_owned(), "-c".to_owned(), text.to_owned()];
        let values = || vec![("ADMIT_VERDICT", OsString::from("admit"))];
        let reads = words("read line; test \"$line\" = text -a \"$ADMIT_VERDICT\" = admit");
        assert_eq!(run(&reads, values(), "text\n", LONGEST).await, Ok(()));
        // A hook that reads no input has not failed, however long the input is.
        assert_eq!(run(&words("exit 0"), values(), &"x".repeat(1_000_000), LONGEST).await, Ok(()));
        assert!(run(&words("exit 3"), values(), "", LONGEST).await.unwrap_err().contains("failed"));
        let gone = run(&["/no/such/hook".to_owned()], values(), "", LONGEST).await.unwrap_err();
        assert!(gone.contains("could not be started"), "{gone}");
    }
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_hook_that_is_stuck_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let script = format!("sleep 600 & echo $$ $! > {}; wait", pids.display());
        let words = ["sh".to_owned(), "-c".to_owned(), script];
        let why = run(&words, Vec::new(), "", Duration::from_secs(1)).await.unwrap_err();
        assert!(why.contains("took longer than 1 s"), "{why}");
        let pids = std::fs::read_to_string(pids).unwrap();
        for pid in pids.split_whitespace() {
            // The process is gone, or dead and not collected yet.
            let stands = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let end = std::time::Instant::now() + Duration::from_secs(20);
            while !(stands().is_empty() || stands().contains(") Z")) {
                assert!(std::time::Instant::now() < end, "{pid} lives: {}", stands());
                tokio::time::sleep(Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
            }
        }
    }
}
