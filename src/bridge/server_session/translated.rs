//! What the text of a message does not say any more once it is translated.

use crate::gate::Source;
use crate::wire::{Fragment, Message, Stream};

use super::super::settings::Settings;
use super::words;

/// Where a request came from, as the gate knows it once its text does not say it any more.
pub(super) struct Translated {
    pub(super) source: Source,
    pub(super) message: Option<Message>,
}

impl Translated {
    pub(super) fn of(source: &Source, frame: &[u8], settings: &Settings) -> Self {
        let message = Message::decode(frame, &settings.from_agent).ok();
        let mut source = source.clone();
        source.carrier.client = message.as_ref().and_then(words::client_name);
        Self { source, message }
    }

    pub(super) fn client_info(&self) -> Option<Fragment> {
        words::client_info(self.message.as_ref()?)
    }

    /// The source of what the bridge sends for the session, which is no answer to one request.
    pub(super) fn of_session(self) -> Source {
        let mut source = self.source;
        source.stream = Stream::MAIN;
        source.carrier.repeated = None;
        source
    }
}
