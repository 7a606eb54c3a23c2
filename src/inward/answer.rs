//! The body of an answer, by which it is known when the answer is through.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Frame, SizeHint};

use super::progress::Answering;

/// A body, and what is dropped with it when all of it has been taken to be written, or nobody reads it.
#[derive(Debug)]
pub struct Answer<B> {
    body: B,
    _answering: Answering,
}

impl Answering {
    /// Lasts as long as this body.
    pub fn lasts<B>(self, body: B) -> Answer<B> {
        Answer {
            body,
            _answering: self,
        }
    }
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
