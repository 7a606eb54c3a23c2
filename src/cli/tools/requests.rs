//! What is said to a server that is asked for its list, in either era.

use crate::mcp::{
    TASKS, meta,
    revisions::{FIRST_STATELESS, LAST_WITH_SESSIONS},
};
use crate::wire::{Fragment, KnownMethod, Message};

const NOT_FOUND: i64 = -32_601;

/// Servers leave out tools that an agent could not serve, so this one says that it can do anything.
pub(super) fn initialize() -> Fragment {
    let nothing = || Fragment::object([]);
    let in_tasks = [
        ("sampling", Fragment::object([("createMessage", nothing())])),
        ("elicitation", Fragment::object([("create", nothing())])),
    ];
    let tasks = Fragment::object([("requests", Fragment::object(in_tasks))]);
    let capabilities = any().into_iter().chain([("tasks", tasks)]);
    Fragment::object([
        ("protocolVersion", Fragment::string(LAST_WITH_SESSIONS)),
        ("capabilities", Fragment::object(capabilities)),
        ("clientInfo", client()),
    ])
}

/// What an agent of either era can do.
fn any() -> [(&'static str, Fragment); 3] {
    let nothing = || Fragment::object([]);
    let inside = |names: [&'static str; 2]| Fragment::object(names.map(|name| (name, nothing())));
    [
        ("roots", nothing()),
        ("sampling", inside(["tools", "context"])),
        ("elicitation", inside(["form", "url"])),
    ]
}

fn client() -> Fragment {
    Fragment::object([
        ("name", Fragment::string("mcp-protector")),
        ("version", Fragment::string(env!("CARGO_PKG_VERSION"))),
    ])
}

/// The answer, and its code if it is an error.
pub(super) fn answer(id: Fragment, asked: &Message) -> (Fragment, Option<i64>) {
    let known = asked.method().and_then(crate::wire::Method::known);
    let (key, value, code) = match known {
        Some(KnownMethod::Ping) => ("result", Fragment::object([]), None),
        Some(KnownMethod::RootsList) => {
            let roots = Fragment::object([("roots", Fragment::array([]))]);
            ("result", roots, None)
        }
        _ => {
            let error = Fragment::object([
                ("code", Fragment::integer(NOT_FOUND)),
                ("message", Fragment::string("Method not found")),
            ]);
            ("error", error, Some(NOT_FOUND))
        }
    };
    let answer = Fragment::object([
        ("jsonrpc", Fragment::string("2.0")),
        ("id", id),
        (key, value),
    ]);
    (answer, code)
}

/// What each request says of its sender where there is no session.
pub(super) fn meta() -> Fragment {
    let extensions = Fragment::object([(TASKS, Fragment::object([]))]);
    let capabilities = any().into_iter().chain([("extensions", extensions)]);
    Fragment::object([
        (meta::VERSION, Fragment::string(FIRST_STATELESS)),
        (meta::CLIENT, client()),
        (meta::CAPABILITIES, Fragment::object(capabilities)),
    ])
}
