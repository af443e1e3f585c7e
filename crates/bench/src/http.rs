//! An HTTP/1.1 client that does as little as possible: one blocking connection, requests made beforehand. Client and
//! server share this machine's cores, so the client's own work lowers the figure.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The longest time that a read waits for the server.
const PATIENCE: Duration = Duration::from_secs(120);

/// A connection that stays open between requests.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// Bytes that were read and belong to no answer yet.
    read: Vec<u8>,
}

/// One answer of the server.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code, such as 200.
    pub status: u16,
    /// Headers as (name in lower case, value).
    pub headers: Vec<(String, String)>,
    /// The body as received, without decoding its content coding.
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header, if the answer has it. `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }
    /// Reads the body as JSON. A status outside 200–299 is an error.
    pub fn json(&self) -> Result<serde_json::Value> {
        if !(200..300).contains(&self.status) {
            bail!("the server answered {}: {}", self.status, String::from_utf8_lossy(&self.body));
        }
        serde_json::from_slice(&self.body).context("an answer that is not JSON")
    }
}

/// Writes the bytes of a request with these headers and this body.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    [text.as_bytes(), body].concat()
}

impl Connection {
    /// Connects to an address by plain HTTP.
    pub fn open(address: SocketAddr) -> Result<Connection> {
        let stream = TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Connection { stream, read: Vec::with_capacity(64 * 1024) })
    }

    /// Sends a request and reads its whole answer.
    pub fn send(&mut self, request: &[u8]) -> Result<Answer> {
        self.stream.write_all(request)?;
        let head_ends = loop {
            if let Some(at) = find(&self.read, b"\r\n\r\n") {
                break at + 4;
            }
            self.more()?;
        };
        let head = String::from_utf8_lossy(&self.read[..head_ends]).into_owned();
        self.read.drain(..head_ends);
        let (status, headers) = parse_head(&head)?;
        let answer = Answer { status, headers, body: Vec::new() };
        let body = match (answer.header("content-length"), answer.header("transfer-encoding")) {
            (Some(length), _) => self.take(length.trim().parse().context("content-length is no number")?)?,
            (None, Some("chunked")) => self.chunks()?,
            (None, _) if matches!(status, 204 | 304) => Vec::new(),
            (None, _) => bail!("an answer ({status}) that does not say how long it is"),
        };
        Ok(Answer { body, ..answer })
    }

    fn more(&mut self) -> Result<()> {
        let mut block = [0; 64 * 1024];
        match self.stream.read(&mut block).context("reading an answer")? {
            0 => bail!("the server closed the connection"),
            count => self.read.extend_from_slice(&block[..count]),
        }
        Ok(())
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        while self.read.len() < length {
            self.more()?;
        }
        let rest = self.read.split_off(length);
        Ok(std::mem::replace(&mut self.read, rest))
    }

    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line_ends = loop {
                if let Some(at) = find(&self.read, b"\r\n") {
                    break at;
                }
                self.more()?;
            };
            let line = String::from_utf8_lossy(&self.read[..line_ends]).into_owned();
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).with_context(|| format!("{line:?} is no chunk size"))?;
            self.read.drain(..line_ends + 2);
            // Each chunk ends with a line break. After the last chunk there is an empty line.
            let mut chunk = self.take(size + 2)?;
            chunk.truncate(size);
            if size == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&chunk);
        }
    }
}

fn parse_head(head: &str) -> Result<(u16, Vec<(String, String)>)> {
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
    Ok((status.context("an answer without a status")?, headers))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Starts a server that reads one request and answers with these pieces, one write per piece.
    fn answered(pieces: &'static [&'static str]) -> Result<Answer> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let server = std::thread::spawn(move || -> Result<()> {
            let (mut stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            let mut block = [0; 1024];
            let count = stream.read(&mut block)?;
            assert!(block[..count].starts_with(b"POST /x HTTP/1.1\r\n"));
            for piece in pieces {
                stream.write_all(piece.as_bytes())?;
            }
            Ok(())
        });
        let answer = Connection::open(address)?.send(&request("POST", "/x", &[("a", "b")], b"{}"));
        server.join().map_err(|_| anyhow::anyhow!("the server panicked"))??;
        answer
    }

    #[test]
    fn an_answer_is_read_whole_however_it_is_cut() {
        let answer = answered(&["HTTP/1.1 200 OK\r\nConte", "nt-Length: 5\r\n\r", "\n12", "345"]).unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b"12345"[..]));
        let answer = answered(&[
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n123",
            "\r\n2\r\n45\r\n0\r",
            "\n\r\n",
        ]);
        assert_eq!(answer.unwrap().body, b"12345");
        assert_eq!(answered(&["HTTP/1.1 204 No Content\r\n\r\n"]).unwrap().status, 204);
    }

    #[test]
    fn a_refusal_is_an_error_with_its_words() {
        let answer = answered(&["HTTP/1.1 422 No\r\ncontent-length: 6\r\n\r\nno way"]).unwrap();
        assert!(answer.json().unwrap_err().to_string().contains("422: no way"));
        assert!(answered(&["HTTP/1.1 200 OK\r\n\r\n"]).is_err());
    }
}
