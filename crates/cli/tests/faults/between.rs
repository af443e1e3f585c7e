//! A proxy between a server and its PostgreSQL. When told to, it closes every connection right after a commit, so that
//! the answer to the commit does not arrive.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, copy};
use tokio::net::{TcpListener, TcpStream, UnixStream};

/// The state that all connections of the proxy share.
#[derive(Default)]
struct Told {
    cuts: AtomicBool,
    /// The number of commits whose answer was kept back.
    kept_back: AtomicUsize,
}

pub struct Between {
    port: u16,
    told: Arc<Told>,
}

impl Between {
    /// Starts a proxy before a PostgreSQL whose socket is in this folder.
    pub async fn open(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, told) = (listener.local_addr().unwrap().port(), Arc::<Told>::default());
        let (socket, shared) = (folder.join(".s.PGSQL.5432"), Arc::clone(&told));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, socket.clone(), Arc::clone(&shared)));
            }
        });
        Self { port, told }
    }
    /// The address of the same database through this proxy.
    pub fn address(&self, direct: &str) -> String {
        let rest = direct.split_once(' ').unwrap().1;
        format!("host=127.0.0.1 port={} sslmode=disable {rest}", self.port)
    }
    pub fn cut(&self, cuts: bool) {
        self.told.cuts.store(cuts, Ordering::SeqCst);
    }
    pub fn kept_back(&self) -> usize {
        self.told.kept_back.load(Ordering::SeqCst)
    }
}

/// Carries one connection until either end closes, or an answer is kept back.
async fn carry(client: TcpStream, socket: PathBuf, told: Arc<Told>) {
    let Ok(server) = UnixStream::connect(socket).await else { return };
    client.set_nodelay(true).unwrap();
    let (mut asks, mut hears) = client.into_split();
    let (answers, mut asked) = server.into_split();
    let asking = tokio::spawn(async move { copy(&mut asks, &mut asked).await });
    let (mut answers, mut wrote) = (BufReader::new(answers), false);
    while let Ok(message) = message(&mut answers).await {
        // `CommandComplete` names the command: `INSERT 0 20`, `COMMIT`.
        let done = if message[0] == b'C' { String::from_utf8_lossy(&message[5..]) } else { Default::default() };
        wrote |= done.starts_with("INSERT") && !done.starts_with("INSERT 0 0");
        if done.starts_with("COMMIT") {
            if wrote && told.cuts.load(Ordering::SeqCst) {
                told.kept_back.fetch_add(1, Ordering::SeqCst);
                break;
            }
            wrote = false;
        }
        if hears.write_all(&message).await.is_err() {
            break;
        }
    }
    asking.abort();
}

/// Reads one message of the server: a letter, the length of the rest, the rest.
async fn message(answers: &mut (impl AsyncReadExt + Unpin)) -> std::io::Result<Vec<u8>> {
    let mut message = vec![0; 5];
    answers.read_exact(&mut message).await?;
    let length = u32::from_be_bytes([message[1], message[2], message[3], message[4]]) as usize;
    message.resize(length + 1, 0);
    answers.read_exact(&mut message[5..]).await?;
    Ok(message)
}
