//! What comes to a listener of ours, before any of it is a request: who holds the connections, and
//! heads that are read strictly before hyper sees them.
//!
//! Where to start reading: [`Checked`], through which every byte of a peer's comes.

mod answer;
mod certificates;
mod checked;
mod chunks;
mod head;
mod host;
mod misframed;
#[cfg(test)]
mod oracle;
mod patient;
mod places;
mod progress;
mod protocol;
mod socket;
mod tls;
mod validity;

#[cfg(test)]
mod tests;

pub use answer::Answer;
pub use certificates::{Certificates, TlsFault, TlsFile, TlsFiles, TlsTexts};
pub use checked::Checked;
pub use head::{Limits, Targets};
pub use host::named_host;
pub use misframed::Misframed;
pub use places::{Place, Places, neighbourhood};
pub use progress::{Answering, Progress};
pub use protocol::{Protocol, last};
pub use tls::{HandshakeFault, Tls, TlsSocket};
