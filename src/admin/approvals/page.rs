//! The page on which people answer: plain HTML with a style and a script of its own, and nothing from
//! elsewhere. Without the script it works as well; then no new request is announced.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use crate::consent::{Found, Holds, Pending};

/// How the page looks.
const STYLE: &str = include_str!("page.css");

/// Counts down, and announces new questions. It moves nothing: what is under the pointer stays
/// there.
const SCRIPT: &str = include_str!("page.js");

/// What a browser may do with the page: nothing but its own style and script, and forms that come back
/// here (CSP level 3).
pub(super) static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        digest(STYLE),
        digest(SCRIPT)
    )
});

/// What the page says of what was done last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    Approved,
    Denied,
    /// By another person, or from another window.
    Answered,
    /// The question is withdrawn.
    Withdrawn,
    /// It waits no more.
    Gone,
    /// The form was not of this sign-in.
    Stale,
}

/// Who looks at the page, and what they show with each answer.
pub(super) struct PageViewer<'r> {
    pub(super) name: &'r str,
    pub(super) form_key: &'r str,
    /// Where their page is.
    pub(super) place: &'r str,
}

/// The page of those who have not shown their token.
pub(super) fn sign_in(problem: Option<&str>) -> String {
    let body = html! {
        main class="narrow" {
            h1 { "Approvals" }
            p { "Show your token to see what agents wait for." }
            @if let Some(problem) = problem {
                p role="alert" class="problem" { (problem) }
            }
            form method="post" action="/approvals/sign-in" {
                label for="token" { "Token" }
                input id="token" name="token" type="password" autocomplete="current-password" required autofocus;
                button type="submit" { "Sign in" }
            }
        }
    };
    page("Approvals", &body).into_string()
}

/// What waits for an answer, oldest first.
pub(super) fn waiting(
    reader: &PageViewer<'_>,
    pending: &[Pending],
    notice: Option<Notice>,
    now: Timestamp,
) -> String {
    let title = match pending.len() {
        0 => "Approvals".to_owned(),
        count => format!("({count}) Approvals"),
    };
    let body = html! {
        header {
            h1 { "Approvals" }
            p { "Signed in as " b { (reader.name) } }
            form method="post" action={ (reader.place) "/sign-out" } {
                input type="hidden" name="key" value=(reader.form_key);
                button type="submit" class="quiet" { "Sign out" }
            }
        }
        main data-now=(now.as_millisecond()) data-seen=(seen(pending)) {
            p id="news" role="status" {
                @if let Some(notice) = notice { (notice.text()) }
            }
            @if pending.is_empty() {
                p class="nothing" { "Nothing waits for an answer." }
            }
            @for question in pending {
                (one(reader, question, now))
            }
            p { a href=(reader.place) { "Look again" } }
        }
        script { (PreEscaped(SCRIPT)) }
    };
    page(&title, &body).into_string()
}

/// One question in full: a person sees all that they approve. Its texts hide nothing (see [`crate::consent::Question`]).
fn one(reader: &PageViewer<'_>, pending: &Pending, now: Timestamp) -> Markup {
    let question = &*pending.question;
    let left = pending
        .expires_at_ms
        .saturating_sub(now.as_millisecond())
        .max(0)
        / 1000;
    let until = Timestamp::from_millisecond(pending.expires_at_ms).unwrap_or(now);
    let heading = format!("question-{}", pending.id);
    html! {
        article aria-labelledby=(heading) {
            h2 id=(heading) {
                (question.method) " " code { (question.name) } " on " code { (question.server) }
            }
            dl {
                dt { "Agent" }
                dd {
                    code { (question.principal) }
                    @if !question.client.is_empty() { ", which calls itself " q { (question.client) } }
                }
                @if let Some(advice) = &question.advice {
                    dt { "Why" }
                    dd { (advice) }
                }
                (list("Asked for by", &question.policies))
                (found(&question.found))
                dt { "A yes holds for" }
                dd { (question.holds.told()) }
                dt { "Session" }
                dd { code { (question.session) } }
                dt { "Number" }
                dd { code { (pending.id) } }
                dt { "Time left" }
                dd {
                    time datetime=(until) data-until=(pending.expires_at_ms) { (left) " s" }
                    ", then it is denied"
                }
            }
            @if !question.arguments.is_empty() {
                h3 { (question.untrusted()) " (untrusted data)" }
                pre tabindex="0" { (question.arguments) }
            }
            form method="post" action={ (reader.place) "/answer/" (pending.id) } {
                input type="hidden" name="key" value=(reader.form_key);
                button type="submit" name="answer" value="deny" class="deny" { "Deny" }
                button type="submit" name="answer" value="approve" class="approve" {
                    @match question.holds {
                        Holds::Once => "Approve once",
                        Holds::Session => "Approve for the session",
                        Holds::Destinations => "Approve for these destinations",
                    }
                }
            }
        }
    }
}

/// What the arguments reach for.
fn found(found: &Found) -> Markup {
    html! {
        (list("Directories", &found.roots))
        @if found.outside {
            dt { "Paths" }
            dd class="problem" { "outside of every known directory" }
        }
        (list("Hosts", &found.hosts))
        @if !found.secrets.is_empty() {
            dt { "Credentials among the arguments" }
            dd class="problem" { (found.secrets.join(", ")) }
        }
        (list("Data sets that the session has read", &found.datasets))
        (list("The session has read from", &found.sources))
        (list("Untrusted content came from", &found.untrusted_from))
        (list("The arguments repeat results of", &found.copied_from))
        (list("Destinations", &found.destinations))
        (list("Roots that it was told last", &found.told_roots))
    }
}

fn list(what: &str, names: &[String]) -> Markup {
    html! {
        @if !names.is_empty() {
            dt { (what) }
            @for name in names { dd { code { (name) } } }
        }
    }
}

fn page(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · mcp-protector" }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    }
}

/// What tells one list of questions from another.
pub(super) fn seen(pending: &[Pending]) -> String {
    let mut hash = Sha256::new();
    for question in pending {
        hash.update(question.id.as_str().as_bytes());
        hash.update([0]);
    }
    STANDARD.encode(hash.finalize())
}

impl Notice {
    pub(super) const ALL: [Self; 6] = [
        Self::Approved,
        Self::Denied,
        Self::Answered,
        Self::Withdrawn,
        Self::Gone,
        Self::Stale,
    ];

    /// Its name in the address of the page.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Answered => "answered",
            Self::Withdrawn => "withdrawn",
            Self::Gone => "gone",
            Self::Stale => "stale",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Approved => "Approved.",
            Self::Denied => "Denied.",
            Self::Answered => "That was answered already.",
            Self::Withdrawn => {
                "That was withdrawn: its request ended, or the policies changed. The answer counts for nothing."
            }
            Self::Gone => "That waits no more: its time ran out, or the agent has gone.",
            Self::Stale => "Nothing was answered: the page was of an earlier sign-in. Look again.",
        }
    }
}
