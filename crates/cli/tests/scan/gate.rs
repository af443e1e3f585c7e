//! A scanner that a test feeds with codes: one line in, one verdict out.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::office::PATIENCE;

pub struct Gate {
    child: Child,
    codes: Option<ChildStdin>,
    verdicts: Lines<BufReader<ChildStdout>>,
    said: mpsc::UnboundedReceiver<String>,
}

impl Gate {
    /// Starts a scanner that speaks JSON.
    pub fn start(mut command: Command) -> Self {
        let piped = command.arg("--json").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let (to, said) = mpsc::unbounded_channel();
        let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
        tokio::spawn(async move {
            while let Ok(Some(line)) = errors.next_line().await {
                let _ = to.send(line);
            }
        });
        let verdicts = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { codes: child.stdin.take(), child, verdicts, said }
    }

    /// Sends a code. Fails if the scanner is gone.
    pub async fn offer(&mut self, code: &str) -> std::io::Result<()> {
        self.codes.as_mut().unwrap().write_all(format!("{code}\n").as_bytes()).await
    }
    /// The next verdict; `None` if the scanner is gone.
    pub async fn verdict(&mut self) -> Option<Value> {
        let line = timeout(PATIENCE, self.verdicts.next_line()).await.expect("no verdict").ok()??;
        Some(serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}")))
    }
    pub async fn scan(&mut self, code: &str) -> Value {
        self.offer(code).await.unwrap();
        self.verdict().await.expect("the scanner ended")
    }
    /// Waits for a line of standard error with these words, and gives it.
    pub async fn says(&mut self, words: &str) -> String {
        loop {
            let line = timeout(PATIENCE, self.said.recv()).await;
            let line = line.unwrap_or_else(|_| panic!("it never said {words:?}"));
            let line = line.unwrap_or_else(|| panic!("it ended without saying {words:?}"));
            if line.contains(words) {
                return line;
            }
        }
    }
    /// Closes the input, and gives the exit code and the last lines of standard error.
    pub async fn end(mut self) -> (Option<i32>, String) {
        drop(self.codes.take());
        self.ended().await
    }
    pub async fn ended(mut self) -> (Option<i32>, String) {
        let status = timeout(PATIENCE, self.child.wait()).await.expect("it does not end").unwrap();
        let mut last = String::new();
        while let Some(line) = self.said.recv().await {
            last = line;
        }
        (status.code(), last)
    }
    pub fn id(&self) -> u32 {
        self.child.id().unwrap()
    }
    /// Kills the scanner with SIGKILL.
    pub async fn kill(&mut self) {
        let _ = self.child.kill().await;
    }
}
