//! A person at a terminal. The verdict fills the screen, the scanner asks about parties, and no guest's name controls
//! the terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::office::{Office, PATIENCE, scan};

/// The text that was written to the terminal so far.
struct Screen {
    keys: File,
    heard: mpsc::Receiver<Vec<u8>>,
    text: String,
}

impl Screen {
    /// Opens a terminal, and gives the side that a program uses.
    fn open() -> (Self, File) {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let path = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let foreign = File::options().read(true).write(true).open(path).unwrap();
        let keys = File::from(ours);
        let (mut from, (to, heard)) = (keys.try_clone().unwrap(), mpsc::channel());
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                if to.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        (Self { keys, heard, text: String::new() }, foreign)
    }
    /// Types a line, waits until the terminal shows this text, and gives the new output.
    fn shows(&mut self, line: &str, wanted: &str) -> String {
        self.text.clear();
        self.keys.write_all(format!("{line}\r").as_bytes()).unwrap();
        let end = Instant::now() + PATIENCE;
        while !self.text.contains(wanted) {
            assert!(Instant::now() < end, "the terminal never showed {wanted:?} but {:?}", self.text);
            if let Ok(bytes) = self.heard.recv_timeout(Duration::from_secs(1)) {
                self.text.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
        self.text.clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_fills_the_terminal_and_a_hostile_name_cannot_drive_it() {
    // The server accepts these: line breaks in a note, a change of direction in a gate's name.
    let sheet = "barcode,name,zone,party_size,note\nTICKET-ANA,Ana,general,1,\nTICKET-BO,Bo,general,4,\n\
                 TICKET-EVE,Eve\u{202e}timdA,general,1,\"VIP\n\nAdmit 9\"\n";
    let office = Office::start("terminal", sheet).await;
    office.name_gate("North\u{202e}timdA").await;
    let (mut screen, foreign) = Screen::open();
    let link = office.link().await;
    let mut command = scan(&office.journal(), &["--pair", &link]);
    command.stdin(Stdio::from(foreign.try_clone().unwrap())).stdout(Stdio::from(foreign)).stderr(Stdio::piped());
    command.env_remove("NO_COLOR").env("TERM", "xterm");
    let mut child = command.spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    while !said.next_line().await.unwrap().expect("it ended").contains("names of 3 guests") {}
    tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
    let shown = screen.shows("TICKET-ANA", "to send");
    assert!(shown.contains("\x1b[2J\x1b[H") && shown.contains("\x1b[1;30;42m  ✔  Admit\x1b[K"), "{shown:?}");
    assert!(shown.contains("  Ana\x1b[K") && shown.contains("North\u{fffd}timdA · "), "{shown:?}");
    let shown = screen.shows("TICKET-NOBODY", "to send");
    assert!(shown.contains("\x1b[1;37;45m  ✘  Unknown ticket"), "{shown:?}");
    // The scanner asks about a party. A number that is too high is not accepted.
    let shown = screen.shows("TICKET-BO", "to send");
    assert!(shown.contains("How many?") && shown.contains("4 left"), "{shown:?}");
    screen.shows("5", "5");
    let shown = screen.shows("3", "to send");
    assert!(shown.contains("Admit 3") && shown.contains("3 of 4"), "{shown:?}");
    let shown = screen.shows("TICKET-EVE", "to send");
    assert!(shown.contains("  EvetimdA\x1b[K") && !shown.contains('\u{202e}'), "{shown:?}");
    assert!(shown.contains("  VIP  Admit 9\x1b[K"), "{shown:?}");
    // Ctrl-D.
    screen.keys.write_all(&[4]).unwrap();
    assert_eq!(tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap().code(), Some(0));
    assert_eq!(office.let_in().await, (5, 0));
}
