//! How the main mistakes look.

use super::{parse, render};

macro_rules! snapshot {
    ($name:ident, $text:expr) => {
        #[test]
        fn $name() {
            let report = render(&parse($text).expect_err("a mistake"));
            insta::with_settings!({ omit_expression => true, description => $text }, {
                insta::assert_snapshot!(stringify!($name), report);
            });
        }
    };
}

snapshot!(an_empty_file, "# nothing yet\n");

snapshot!(
    several_mistakes_at_once,
    r#"version = 2

[upstream]
comand = ["npx", "-y", "server"]

[listen]
transport = "http"
port = 70000

[policy]
allow = "read_file"
deny_response = "tool-result"

[limits]
request_timeout = 60
max_depth = 100
"#
);

snapshot!(
    a_key_that_is_there_twice,
    "[upstream]\ncommand = [\"server\"]\n\n[policy]\nallow = [\"read_file\"]\ndir = \"policies\"\nallow = [\"write_file\"]\n"
);

snapshot!(
    a_section_that_is_there_twice,
    "[policy]\nallow = [\"read_file\"]\n\n[upstream]\ncommand = [\"server\"]\n\n[policy]\ndeny_response = \"error\"\n"
);

snapshot!(
    a_variable_that_is_not_set,
    "[upstream]\ncommand = [\"server\"]\n\n[upstream.env]\nAPI_TOKEN = \"${NO_SUCH_TOKEN}\"\n"
);

snapshot!(
    an_array_that_is_never_closed,
    "[upstream]\ncommand = [\"npx\", \"-y\", \"server\"\n\n[policy]\nallow = [\"read_file\"]\n"
);

snapshot!(
    names_and_hosts_are_shown_where_they_are_wrong,
    "[upstream]\ncommand = [\"server\"]\n\n[policy]\nallow = \"read_file, write_file\"\n\n[ratchet.network]\nhosts = [\"a b\"]\n"
);

snapshot!(text_without_quotes, "[upstream]\ncommand = npx\n");

snapshot!(
    an_upstream_over_http,
    "[upstream]\nurl = \"https://mcp.example.com/mcp\"\nauth = { type = \"basic\", token = \"hidden\" }\n"
);

snapshot!(
    a_server_that_is_started_and_reached,
    "[upstream]\nurl = \"http://mcp.example.com/mcp\"\ncommand = [\"npx\", \"server\"]\nca_file = \"corp.pem\"\n"
);

snapshot!(
    a_listener_beyond_loopback,
    "[upstream]\ncommand = [\"server\"]\n\n[listen]\ntransport = \"http\"\nhost = \"0.0.0.0\"\nallowed_origins = [\"null\", \"https://*.example.com\"]\n"
);

snapshot!(
    tokens_of_agents,
    "[upstream]\ncommand = [\"server\"]\n\n[listen]\ntransport = \"http\"\nport = 3000\n\n[listen.auth]\ntype = \"bearer\"\ntokens = { alice = \"hidden-0123456789\", bob = \"hidden-0123456789\", eve = \"pin\" }\nissuer = \"https://login.example.com\"\n"
);

snapshot!(
    an_authorization_server_without_keys,
    "[upstream]\ncommand = [\"server\"]\n\n[listen]\ntransport = \"http\"\nport = 3000\n\n[listen.auth]\ntype = \"jwt\"\nissuer = \"https://login.example.com\"\naudience = \"https://gate.example.com/mcp\"\nalgorithms = [\"HS256\"]\n"
);

snapshot!(
    a_command_in_one_string,
    "[upstream]\ncommand = \"npx -y server --token hidden\"\n"
);

snapshot!(
    strict_durability_without_a_file,
    "[upstream]\ncommand = [\"server\"]\n\n[audit]\ndurability = \"strict\"\n"
);
