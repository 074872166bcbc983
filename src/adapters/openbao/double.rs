//! A small HTTP server for tests: answers by a function, and keeps what it was asked.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Does what `main` does first; a second time changes nothing.
pub(super) fn install_provider() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
}

/// One request as it came in.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Method and path, such as `GET /v1/x`.
    pub(super) line: String,
    /// Headers in lower case, `name: value`.
    pub(super) headers: Vec<String>,
    /// The body.
    pub(super) body: String,
}

impl Asked {
    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find_map(|header| header.strip_prefix(&format!("{name}: ")))
    }
}

/// An answer: status, extra header lines, body.
pub(super) struct Reply(pub(super) u16, pub(super) String, pub(super) Vec<u8>);

/// A JSON answer.
pub(super) fn json(status: u16, body: &serde_json::Value) -> Reply {
    Reply(
        status,
        "Content-Type: application/json\r\n".to_owned(),
        body.to_string().into_bytes(),
    )
}

/// A server on a free loopback port, for as long as the test's process lives.
pub(super) struct Double {
    /// `http://127.0.0.1:port`.
    pub(super) address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Double {
    /// Serves each request by `reply`; `None` leaves it unanswered and the connection open.
    pub(super) fn start(reply: impl Fn(&Asked) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (kept, reply) = (Arc::clone(&asked), Arc::new(reply));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, reply) = (Arc::clone(&kept), Arc::clone(&reply));
                thread::spawn(move || serve(stream, &kept, reply.as_ref()));
            }
        });
        Self { address, asked }
    }

    /// Everything asked so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How often a line was asked.
    pub(super) fn count(&self, line: &str) -> usize {
        self.asked()
            .iter()
            .filter(|asked| asked.line == line)
            .count()
    }
}

fn serve(mut stream: TcpStream, kept: &Mutex<Vec<Asked>>, reply: &dyn Fn(&Asked) -> Option<Reply>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(asked) = read(&mut reader) {
        kept.lock().unwrap().push(asked.clone());
        match reply(&asked) {
            Some(Reply(status, headers, body)) => {
                let head = format!(
                    "HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n",
                    body.len()
                );
                // The client may hang up in the middle of a long answer; that is what the test is about.
                if stream
                    .write_all(head.as_bytes())
                    .and_then(|()| stream.write_all(&body))
                    .is_err()
                {
                    return;
                }
            }
            None => thread::park(),
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    // The library ends a path that could have a query with a bare question mark.
    let line = lines
        .remove(0)
        .trim_end_matches(" HTTP/1.1")
        .trim_end_matches('?')
        .to_owned();
    let headers: Vec<String> = lines
        .iter()
        .filter_map(|header| header.split_once(": "))
        .map(|(name, value)| format!("{}: {value}", name.to_lowercase()))
        .collect();
    let mut asked = Asked {
        line,
        headers,
        body: String::new(),
    };
    let length = asked
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8(body).unwrap();
    Some(asked)
}
