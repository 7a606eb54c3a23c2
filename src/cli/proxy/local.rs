//! A gate that agents of its own user reach through `attach`: each conversation is a task of its own, with
//! a session and a server of its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{error, info, warn};

use crate::agent::local::{Answer, Hello, Listener, answer};
use crate::agent::stdio;
use crate::audit::{self, Audit};
use crate::config;
use crate::policy::Agent;
use crate::shutdown::{Shutdown, ShutdownCause};
use crate::wire::{LineReader, Side};

use super::agents::{ConversationAgent, Inbox, Outbox};
use super::end::End;
use super::held::Held;
use super::parts::{Parts, session};
use super::reading;
use super::server_set::{LAST_RECORDS, ServerSet, broken};
use super::service::{Inside, blocked};
use super::single::AGENT_QUEUE_BYTES;

/// How long the gate waits for somebody to attach. Its sessions end with it: shorter, and a client that
/// starts its servers again would begin with nothing read.
const LINGER: Duration = Duration::from_secs(15);

/// Agents that may be attached at once; others wait.
const MOST: usize = 64;

/// How long an agent may take to say which server it is for.
const GREETING: Duration = Duration::from_secs(5);

/// How long the gate waits when the system gives no connection, as where no file can be opened.
const PAUSE: Duration = Duration::from_millis(200);

/// How agents are connected, and the id of all of them.
const TRANSPORT: &str = "stdio";

/// The step that records of refused agents name.
const STAGE: &str = "attach";

/// What all conversations share.
struct Local {
    servers: Arc<ServerSet>,
    ratchet: config::Ratchet,
    audit: Audit,
}

/// Serves agents until the gate is to stop, or no agent has been attached for a while.
pub(super) async fn serve(inside: Inside, listener: Listener, ratchet: config::Ratchet) -> End {
    let Inside {
        servers,
        changes,
        audit,
        shutdown,
        renewal,
        ..
    } = inside;
    info!("listening on {}", listener.path().display());
    for parts in &servers.current().servers {
        if let Err(cause) = parts.open.upstreams.check() {
            error!("{cause}");
        }
    }
    let local = Arc::new(Local {
        servers,
        ratchet,
        audit,
    });
    // Each conversation ends by itself then: what it leaves open is recorded, and its server killed.
    let overdue = async {
        shutdown.forced().await;
        sleep(LAST_RECORDS).await;
    };
    tokio::select! {
        () = visits(&local, listener, &shutdown) => {}
        () = overdue => {
            error!("conversations that have not ended are broken off, and have no last record");
            return End::AuditFault;
        }
        never = renewal.run(changes) => match never {},
    }
    End::Stopped(shutdown.requested().await)
}

async fn visits(local: &Arc<Local>, listener: Listener, shutdown: &Shutdown) {
    let mut visits = JoinSet::new();
    loop {
        let is_empty = visits.is_empty();
        tokio::select! {
            biased;
            _ = shutdown.requested() => break,
            Some(ended) = visits.join_next() => broken(&ended),
            came = listener.accept(), if visits.len() < MOST => match came {
                Ok(Ok(stream)) => {
                    visits.spawn(visit(Arc::clone(local), stream));
                }
                Ok(Err(stranger)) => refused(local, &stranger.to_string()).await,
                Err(cause) => {
                    warn!("an agent could not attach: {cause}");
                    sleep(PAUSE).await;
                }
            },
            () = sleep(LINGER), if is_empty => {
                shutdown.request(ShutdownCause::AgentGone);
            }
        }
    }
    // The next agent starts another gate.
    drop(listener);
    while let Some(ended) = visits.join_next().await {
        broken(&ended);
    }
}

/// One agent from its greeting to its end.
async fn visit(local: Arc<Local>, mut stream: UnixStream) {
    let greeted = timeout(GREETING, greeting(&local, &mut stream)).await;
    let parts = match greeted {
        Ok(Ok(parts)) => parts,
        Ok(Err(why)) => {
            let told = answer(&Answer::Refused(why.clone()));
            // An agent that does not read the answer is refused all the same.
            let _ = timeout(GREETING, stream.write_all(told.as_bytes())).await;
            return refused(&local, &why).await;
        }
        Err(_late) => return refused(&local, "it said too late which server it is for").await,
    };
    if let Err(cause) = Box::pin(converse(&local, &parts, stream)).await {
        error!("an agent could not attach: {cause}");
    }
}

/// The server that an agent asks for, or what to tell it.
async fn greeting(local: &Local, stream: &mut UnixStream) -> Result<Arc<Parts>, String> {
    let line = Answer::line(stream).await.ok().flatten();
    let line = line.ok_or("it did not say which server it is for")?;
    let Hello { server } = Hello::of(&line)?;
    let agent = Agent {
        id: TRANSPORT.to_owned(),
        ..Agent::default()
    };
    let current = local.servers.current();
    let left = || current.servers.iter().filter(|it| it.is_left_to(&agent));
    let known = left().find(|it| it.server.name == server);
    known.cloned().ok_or_else(|| {
        let keys: Vec<&str> = left().map(|it| &*it.server.name).collect();
        let others = keys.join(", ");
        let of_another_agent = current.servers.iter().any(|it| it.server.name == server);
        let server = server.escape_debug();
        if of_another_agent {
            return format!(
                "`agents.toml` does not leave the agent `{TRANSPORT}` the server `{server}` (`servers`, \
                 `not_servers`); the servers are: {others}"
            );
        }
        if current.disabled.iter().any(|it| it.as_str() == server.to_string()) {
            return format!(
                "the server `{server}` is disabled (`servers.{server}.enabled`); the servers are: {others}"
            );
        }
        format!("there is no server `{server}`; the servers are: {others}")
    })
}

async fn converse(local: &Local, parts: &Parts, mut stream: UnixStream) -> std::io::Result<()> {
    let gate = &*parts.gate;
    let Some(session) = session(&parts.server, TRANSPORT, gate) else {
        return Ok(());
    };
    let accepted = answer(&Answer::Accepted);
    stream.write_all(accepted.as_bytes()).await?;
    let session = reading::of_user(session, &local.ratchet);
    let session = session.numbered(parts.conversations.next_number());
    let (input, writer) = stdio::over(stream, AGENT_QUEUE_BYTES)?;
    let lines = LineReader::new(input, gate.limits(Side::Agent).max_bytes);
    let held = Held {
        session,
        agent: ConversationAgent::Direct(Outbox::Stdio(writer)),
        inbox: Inbox::Stdio(lines.within(parts.memory.clone())),
        bridge: parts.bridge(),
    };
    if let Some(mut begun) = held.begin(parts) {
        let ServerSet { news, drain, .. } = &*local.servers;
        begun.until_its_end(parts, news, *drain).await;
    }
    Ok(())
}

/// Who was refused has a record too.
async fn refused(local: &Local, why: &str) {
    warn!("an agent was refused: {why}");
    let reason = audit::Reason::code("attach_refused").with_text(why.to_owned());
    let record = blocked(&local.servers.current(), None, STAGE, reason);
    if let Err(fault) = local.audit.record(record).await {
        error!("a refused agent could not be recorded: {fault}");
    }
}
