//! The clients, as data: where each keeps its servers, and in which form.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// One kind of file of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    pub name: &'static str,
    pub format: Format,
    /// Keys from the root to a table of servers; `*` stands for any key.
    pub tables: &'static [&'static [&'static str]],
    pub references: References,
    places: &'static [FileLocation],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, in which comments and trailing commas are read too: a client that accepts none of them
    /// rejects such a file itself.
    Json,
    Toml,
    /// Is read and never written.
    Yaml,
}

/// How values of a client's file refer to variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum References {
    /// Not at all: `${` is text.
    None,
    /// `${NAME}`
    Plain,
    /// `${env:NAME}`, and other prefixes.
    Prefixed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    Linux,
    MacOs,
    Windows,
}

/// A file below a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileLocation {
    on: &'static [Os],
    base: Base,
    file: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Project,
    Home,
    /// The directory in this variable, or else this one in the home directory.
    Variable(&'static str, &'static str),
}

const ALL: &[Os] = &[Os::Linux, Os::MacOs, Os::Windows];
const LINUX: &[Os] = &[Os::Linux];
const MACOS: &[Os] = &[Os::MacOs];
const WINDOWS: &[Os] = &[Os::Windows];

const CONFIG: Base = Base::Variable("XDG_CONFIG_HOME", ".config");
const APP_DATA: Base = Base::Variable("APPDATA", "AppData/Roaming");

const fn at(on: &'static [Os], base: Base, file: &'static str) -> FileLocation {
    FileLocation { on, base, file }
}

/// The sources are beside the files of the tests (`src/clients/tests/files/README.md`).
pub const CLIENTS: &[Client] = &[
    Client {
        name: "Claude Desktop",
        format: Format::Json,
        tables: &[&["mcpServers"]],
        references: References::None,
        places: &[
            at(
                MACOS,
                Base::Home,
                "Library/Application Support/Claude/claude_desktop_config.json",
            ),
            at(WINDOWS, APP_DATA, "Claude/claude_desktop_config.json"),
        ],
    },
    Client {
        name: "Claude Code",
        format: Format::Json,
        tables: &[&["mcpServers"], &["projects", "*", "mcpServers"]],
        references: References::Plain,
        places: &[
            at(ALL, Base::Project, ".mcp.json"),
            at(ALL, Base::Variable("CLAUDE_CONFIG_DIR", ""), ".claude.json"),
        ],
    },
    Client {
        name: "Cursor",
        format: Format::Json,
        tables: &[&["mcpServers"]],
        references: References::Prefixed,
        places: &[
            at(ALL, Base::Project, ".cursor/mcp.json"),
            at(ALL, Base::Home, ".cursor/mcp.json"),
        ],
    },
    Client {
        name: "VS Code",
        format: Format::Json,
        tables: &[&["servers"]],
        references: References::Prefixed,
        places: &[
            at(ALL, Base::Project, ".vscode/mcp.json"),
            at(LINUX, CONFIG, "Code/User/mcp.json"),
            at(
                MACOS,
                Base::Home,
                "Library/Application Support/Code/User/mcp.json",
            ),
            at(WINDOWS, APP_DATA, "Code/User/mcp.json"),
        ],
    },
    Client {
        name: "Windsurf",
        format: Format::Json,
        tables: &[&["mcpServers"]],
        references: References::Prefixed,
        places: &[
            at(ALL, Base::Home, ".codeium/windsurf/mcp_config.json"),
            at(ALL, Base::Home, ".codeium/mcp_config.json"),
        ],
    },
    Client {
        name: "Zed",
        format: Format::Json,
        tables: &[&["context_servers"]],
        references: References::None,
        places: &[
            at(ALL, Base::Project, ".zed/settings.json"),
            at(LINUX, CONFIG, "zed/settings.json"),
            at(MACOS, Base::Home, ".config/zed/settings.json"),
            at(WINDOWS, APP_DATA, "Zed/settings.json"),
        ],
    },
    Client {
        name: "Codex",
        format: Format::Toml,
        tables: &[&["mcp_servers"]],
        references: References::None,
        places: &[
            at(ALL, Base::Project, ".codex/config.toml"),
            at(ALL, Base::Variable("CODEX_HOME", ".codex"), "config.toml"),
        ],
    },
    Client {
        name: "Hermes",
        format: Format::Yaml,
        tables: &[&["mcp_servers"]],
        references: References::Plain,
        places: &[at(
            ALL,
            Base::Variable("HERMES_HOME", ".hermes"),
            "config.yaml",
        )],
    },
];

impl Os {
    pub const fn this() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }

    const fn home(self) -> &'static str {
        match self {
            Self::Linux | Self::MacOs => "HOME",
            Self::Windows => "USERPROFILE",
        }
    }
}

impl Client {
    /// Where its files are on a system, whether they exist or not, the project's first.
    pub fn paths(
        &self,
        os: Os,
        project: &Path,
        variables: &dyn Fn(&str) -> Option<OsString>,
    ) -> Vec<PathBuf> {
        // An empty or relative directory is none, as the XDG specification wants it.
        let directory = |name: &str| {
            let path = PathBuf::from(variables(name)?);
            path.has_root().then_some(path)
        };
        let home = directory(os.home());
        let here = self.places.iter().filter(|place| place.on.contains(&os));
        let mut paths = Vec::new();
        let path = |place: &FileLocation| {
            let base = match place.base {
                Base::Project => Some(project.to_owned()),
                Base::Home => home.clone(),
                Base::Variable(name, otherwise) => {
                    directory(name).or_else(|| home.as_ref().map(|home| home.join(otherwise)))
                }
            };
            base.map(|base| base.join(place.file))
        };
        for path in here.filter_map(path) {
            // The project may be the home directory.
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// Those that may have written a file, by its name and those of its directories; the likeliest first.
    pub fn that_may_own(path: &Path) -> Vec<&'static Self> {
        let extension = path.extension().and_then(|it| it.to_str());
        let format = match extension {
            Some("toml") => Format::Toml,
            Some("yaml" | "yml") => Format::Yaml,
            Some(_) | None => Format::Json,
        };
        let alike = |client: &Self| {
            let places = client.places.iter();
            let names = places.map(|place| {
                let expected = Path::new(place.file).components().rev();
                let found = path.components().rev();
                expected
                    .zip(found)
                    .take_while(|(one, two)| one == two)
                    .count()
            });
            names.max().unwrap_or_default()
        };
        let mut clients: Vec<&Self> = CLIENTS.iter().filter(|it| it.format == format).collect();
        // Where nothing tells them apart, one that has references: another would take these for text.
        clients.sort_by_key(|client| {
            let is_plain = client.references == References::None;
            (std::cmp::Reverse(alike(client)), is_plain)
        });
        clients
    }

    /// The files that exist, of all clients.
    pub fn find(
        os: Os,
        project: &Path,
        variables: &dyn Fn(&str) -> Option<OsString>,
    ) -> Vec<(&'static Self, PathBuf)> {
        let all = CLIENTS.iter().flat_map(|client| {
            let paths = client.paths(os, project, variables).into_iter();
            paths.map(move |path| (client, path))
        });
        // A link whose target is missing is something to tell its owner, too.
        all.filter(|(_, path)| path.symlink_metadata().is_ok())
            .collect()
    }
}
