//! Reads along with what a server sends before the client library sees it.
//!
//! Decides which requests for a password are answered at all (H23: only SCRAM under `verify-*`, never clear text) and how much a
//! server may send. It changes no byte and knows no SQL.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// The most that a server may send before it is ready for the first statement.
const STARTUP_BYTES: u64 = 256 * 1024;
/// The most that a server may send in answer to one statement, unasked messages included.
const ANSWER_BYTES: u64 = 16 * 1024 * 1024;
/// The longest single message: a row of our own queries is far below it.
const MESSAGE_BYTES: u64 = 1024 * 1024;

/// Why a conversation was broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// The server wants the password itself.
    #[error("the server asks for the password in clear text")]
    ClearText,
    /// The server wants the weak hash.
    #[error("the server asks for an MD5 password")]
    Md5,
    /// The server wants nothing, so a login proves nothing.
    #[error("the server asks for no password")]
    NoPassword,
    /// The server sends more than any honest answer holds, or no protocol at all.
    #[error("the server sends more than an answer can hold")]
    TooMuch,
}

impl Refusal {
    /// The refusal behind an error of the client library, if there is one.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(refusal) = error.downcast_ref::<Self>() {
                return Some(*refusal);
            }
            // An io::Error's source skips the error that it wraps.
            next = match error
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref)
            {
                Some(wrapped) => Some(wrapped),
                None => error.source(),
            };
        }
        None
    }
}

/// How a login may be proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// SCRAM alone.
    Scram,
    /// SCRAM, MD5 or none: for `disable` and `require`, where the server itself is not verified either.
    ScramOrWeaker,
}

/// The state of reading along.
#[derive(Debug)]
struct Watch {
    proof: Proof,
    proved: bool,
    /// Bytes of the present message's beginning: tag, length and, for a request for a password, its kind.
    head: [u8; 9],
    have: usize,
    /// Bytes of the present message still to come, once its head was judged.
    rest: u64,
    budget: u64,
}

impl Watch {
    fn new(proof: Proof) -> Self {
        Self {
            proof,
            proved: false,
            head: [0; 9],
            have: 0,
            rest: 0,
            budget: STARTUP_BYTES,
        }
    }

    fn read_along(&mut self, mut bytes: &[u8]) -> Result<(), Refusal> {
        while let Some((first, tail)) = bytes.split_first() {
            if self.rest > 0 {
                let skip = usize::try_from(self.rest)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                self.rest -= skip as u64;
                bytes = bytes.get(skip..).unwrap_or_default();
                continue;
            }
            if let Some(slot) = self.head.get_mut(self.have) {
                *slot = *first;
            }
            self.have += 1;
            bytes = tail;
            let [tag, l1, l2, l3, l4, kind @ ..] = self.head;
            let wanted = if tag == b'R' { 9 } else { 5 };
            if self.have == wanted {
                let length = u64::from(u32::from_be_bytes([l1, l2, l3, l4]));
                self.judge(tag, length, u32::from_be_bytes(kind))?;
                // The length counts itself and, for a request, the four bytes of its kind.
                self.rest = length
                    .checked_sub(wanted as u64 - 1)
                    .ok_or(Refusal::TooMuch)?;
                self.have = 0;
            }
        }
        Ok(())
    }

    fn judge(&mut self, tag: u8, length: u64, kind: u32) -> Result<(), Refusal> {
        self.budget = self.budget.checked_sub(length).ok_or(Refusal::TooMuch)?;
        if length > MESSAGE_BYTES {
            return Err(Refusal::TooMuch);
        }
        match (tag, kind) {
            (b'Z', _) => self.budget = ANSWER_BYTES,
            (b'R', 0) if self.proof == Proof::Scram && !self.proved => {
                return Err(Refusal::NoPassword);
            }
            (b'R', 3) => return Err(Refusal::ClearText),
            (b'R', 5) if self.proof == Proof::Scram => return Err(Refusal::Md5),
            (b'R', 10) => self.proved = true,
            _ => {}
        }
        Ok(())
    }
}

/// A stream that is read along.
pub(super) struct Guarded<S> {
    inner: S,
    watch: Watch,
    draining: bool,
}

impl<S> Guarded<S> {
    pub(super) fn new(inner: S, proof: Proof) -> Self {
        Self {
            inner,
            watch: Watch::new(proof),
            draining: false,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let new = buf.filled().get(before..).unwrap_or_default();
        let verdict = self.watch.read_along(new);
        Poll::Ready(verdict.map_err(|refusal| {
            buf.set_filled(before);
            io::Error::new(io::ErrorKind::InvalidData, refusal)
        }))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    /// Shuts down, then waits for the server to hang up: until then it still counts the session, which would hold a database
    /// and a place under `max_connections`. The caller bounds the wait.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.draining {
            ready!(Pin::new(&mut self.inner).poll_shutdown(cx))?;
            self.draining = true;
        }
        let mut sink = [0; 512];
        loop {
            let mut buf = ReadBuf::new(&mut sink);
            match ready!(Pin::new(&mut self.inner).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {}
                Ok(()) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl<S: TlsStream + Unpin> TlsStream for Guarded<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.inner.channel_binding()
    }
}

/// A TLS connector whose stream is read along inside the encryption.
pub(super) struct GuardedConnect<T> {
    pub(super) connector: T,
    pub(super) proof: Proof,
}

impl<S, T> TlsConnect<S> for GuardedConnect<T>
where
    T: TlsConnect<S>,
    T::Future: Send + 'static,
{
    type Stream = Guarded<T::Stream>;
    type Error = T::Error;
    type Future = BoxFuture<'static, Result<Self::Stream, Self::Error>>;

    fn connect(self, stream: S) -> Self::Future {
        let proof = self.proof;
        let handshake = self.connector.connect(stream);
        handshake
            .map(move |stream| stream.map(|inner| Guarded::new(inner, proof)))
            .boxed()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[tag], length.to_be_bytes().as_slice(), body].concat()
    }

    fn request(kind: u32) -> Vec<u8> {
        message(b'R', &kind.to_be_bytes())
    }

    fn told(proof: Proof, bytes: &[u8]) -> Result<(), Refusal> {
        let mut whole = Watch::new(proof);
        let mut bytewise = Watch::new(proof);
        let verdict = whole.read_along(bytes);
        assert_eq!(
            bytes
                .chunks(1)
                .try_for_each(|byte| bytewise.read_along(byte)),
            verdict
        );
        verdict
    }

    #[test]
    fn h23_only_scram_is_answered_under_the_verifying_modes() {
        assert_eq!(told(Proof::Scram, &request(3)), Err(Refusal::ClearText));
        assert_eq!(told(Proof::Scram, &request(5)), Err(Refusal::Md5));
        assert_eq!(told(Proof::Scram, &request(0)), Err(Refusal::NoPassword));
        assert_eq!(
            told(
                Proof::Scram,
                &[request(10), request(12), request(0)].concat()
            ),
            Ok(())
        );
    }

    #[test]
    fn h23_clear_text_is_never_answered() {
        assert_eq!(
            told(Proof::ScramOrWeaker, &request(3)),
            Err(Refusal::ClearText)
        );
        assert_eq!(told(Proof::ScramOrWeaker, &request(5)), Ok(()));
        assert_eq!(told(Proof::ScramOrWeaker, &request(0)), Ok(()));
    }

    #[test]
    fn h23_a_message_of_a_gigabyte_is_refused_by_its_head() {
        let head = [b'E', 0x40, 0, 0, 0];
        assert_eq!(told(Proof::ScramOrWeaker, &head), Err(Refusal::TooMuch));
    }

    #[test]
    fn h23_endless_parameters_end_the_conversation() {
        let parameter = message(b'S', &[b'x'; 1000]);
        let mut watch = Watch::new(Proof::ScramOrWeaker);
        let refused = (0..1000).find_map(|_| watch.read_along(&parameter).err());
        assert_eq!(refused, Some(Refusal::TooMuch));
    }

    #[test]
    fn each_answer_has_a_budget_of_its_own() {
        let mut watch = Watch::new(Proof::ScramOrWeaker);
        let row = message(b'D', &vec![0; 900_000]);
        watch.read_along(&message(b'Z', b"I")).unwrap();
        for _ in 0..100 {
            watch.read_along(&row).unwrap();
            watch.read_along(&message(b'Z', b"I")).unwrap();
        }
        let refused = (0..100).find_map(|_| watch.read_along(&row).err());
        assert_eq!(refused, Some(Refusal::TooMuch));
    }

    #[test]
    fn a_length_below_its_own_size_is_no_protocol() {
        assert_eq!(
            told(Proof::ScramOrWeaker, &[b'E', 0, 0, 0, 3]),
            Err(Refusal::TooMuch)
        );
    }

    #[test]
    fn a_refusal_is_found_below_the_library_s_errors() {
        let wrapped = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, Refusal::Md5));
        assert_eq!(Refusal::of(&wrapped), Some(Refusal::Md5));
        assert_eq!(
            Refusal::of(&io::Error::from(io::ErrorKind::UnexpectedEof)),
            None
        );
    }
}
