//! The sources of codes: lines of standard input, a USB reader that acts as a keyboard, a reader on a serial line.
//!
//! A thread reads each source and waits for the next code without a limit.

use std::io::Read;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Instant;

use tokio::sync::mpsc;

#[cfg(target_os = "linux")]
use super::device;
use super::lines::{Lines, Reading};

/// The value of `--input`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Standard input, with one code per line.
    Stdin,
    /// A Linux keyboard device, which no other program then receives.
    Evdev(PathBuf),
    /// A serial line and its speed in baud.
    Serial(PathBuf, u32),
}

/// The speed of a serial line if none is given, in baud.
const BAUD: u32 = 9_600;

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted =
            || format!("{text:?} is no input. Use stdin, evdev:/dev/input/eventN or serial:/dev/ttyUSB0@9600.");
        match text.split_once(':') {
            None if text == "stdin" => Ok(Self::Stdin),
            Some(("evdev", path)) if !path.is_empty() => Ok(Self::Evdev(path.into())),
            Some(("serial", place)) if !place.is_empty() => match place.rsplit_once('@') {
                None => Ok(Self::Serial(place.into(), BAUD)),
                Some((path, baud)) => Ok(Self::Serial(path.into(), baud.parse().map_err(|_| wanted())?)),
            },
            _ => Err(wanted()),
        }
    }
}

/// The most codes that wait while one is decided. For standard input it is one: a file is read as fast as codes are
/// decided.
const WAITING: usize = 16;

/// Starts to read. Fails if a device cannot be opened now. If a device disappears later, its thread waits for it.
pub fn open(source: &Source) -> anyhow::Result<mpsc::Receiver<Reading>> {
    let (to, from) = mpsc::channel(if *source == Source::Stdin { 1 } else { WAITING });
    match source {
        Source::Stdin => {
            std::thread::spawn(move || read_all(std::io::stdin().lock(), &to));
        }
        #[cfg(target_os = "linux")]
        Source::Evdev(path) => device::evdev(path.clone(), to)?,
        #[cfg(target_os = "linux")]
        Source::Serial(path, baud) => device::serial(path.clone(), *baud, to)?,
        #[cfg(not(target_os = "linux"))]
        Source::Evdev(_) | Source::Serial(..) => {
            drop(to);
            anyhow::bail!("readers on a device of their own work on Linux alone: use --input stdin");
        }
    }
    Ok(from)
}

/// Reads codes until the end of the input, or until the receiver is gone.
fn read_all(mut from: impl Read, to: &mpsc::Sender<Reading>) {
    let (mut lines, mut bytes) = (Lines::default(), [0; 4_096]);
    loop {
        match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => {
                for code in lines.take(&bytes[..count]) {
                    if to.blocking_send(Reading::Code(code, Instant::now())).is_err() {
                        return;
                    }
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if let Some(code) = lines.end() {
        let _ = to.blocking_send(Reading::Code(code, Instant::now()));
    }
    let _ = to.blocking_send(Reading::End);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_named_by_its_kind() {
        assert_eq!("stdin".parse(), Ok(Source::Stdin));
        assert_eq!("evdev:/dev/input/event3".parse(), Ok(Source::Evdev("/dev/input/event3".into())));
        assert_eq!("serial:/dev/ttyUSB0".parse(), Ok(Source::Serial("/dev/ttyUSB0".into(), 9_600)));
        assert_eq!("serial:/dev/ttyACM0@115200".parse(), Ok(Source::Serial("/dev/ttyACM0".into(), 115_200)));
        for wrong in ["", "keyboard", "evdev:", "serial:", "serial:/dev/ttyUSB0@fast", "/dev/ttyUSB0"] {
            assert!(wrong.parse::<Source>().unwrap_err().contains("Use stdin, evdev:"), "{wrong}");
        }
    }
}
