//! What an entry becomes in the gate's configuration. No value of `env` and no token stays in it: each
//! moves to an environment variable of the gate.

use secrecy::SecretString;

use super::entry::{Entry, Launch, Piece, Template};
use super::errors::{ClientErrors, ClientProblem, ProblemKind};
use super::variable_names::VariableNames;

/// One of `[servers]`. In its strings, `${NAME}` is an environment variable of the gate.
#[derive(Debug, Clone)]
pub struct GateServer {
    pub launch: GateLaunch,
    /// The variables in those strings.
    pub variables: Vec<ServerVariable>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateLaunch {
    Command {
        command: Vec<String>,
        env: Vec<(String, String)>,
        cwd: Option<String>,
    },
    Url {
        url: String,
        token: Option<String>,
    },
}

/// An environment variable that the gate needs.
#[derive(Debug, Clone)]
pub enum ServerVariable {
    /// The client's file has the value.
    Moved { name: String, value: SecretString },
    /// The client has it in its own environment.
    Inherited { name: String },
    /// The client asks the user for it: the user has to set it.
    Asked { name: String, id: String },
}

/// Fails with all values that only the client can resolve or send. `names` keeps servers apart.
pub fn gate_server(
    entry: &Entry,
    key: &str,
    names: &mut VariableNames,
) -> Result<GateServer, ClientErrors> {
    let mut translation = Translation {
        key,
        names,
        variables: Vec::new(),
        problems: Vec::new(),
    };
    let launch = match &entry.launch {
        Err(problem) => return Err(problem.clone().into()),
        Ok(Launch::Attached { .. }) => return Err(already_attached(entry).into()),
        Ok(Launch::Command { command, env, cwd }) => GateLaunch::Command {
            command: command.iter().map(|word| translation.plain(word)).collect(),
            env: env
                .iter()
                .map(|(name, value)| {
                    (
                        name.clone(),
                        translation.secret(name, &value.pieces, &value.place),
                    )
                })
                .collect(),
            cwd: cwd.as_ref().map(|cwd| translation.plain(cwd)),
        },
        Ok(Launch::Url { url, headers }) => GateLaunch::Url {
            url: translation.plain(url),
            token: translation.token(headers),
        },
    };
    let Translation {
        variables,
        problems,
        ..
    } = translation;
    ClientErrors::none_of(problems)?;
    Ok(GateServer { launch, variables })
}

struct Translation<'t> {
    key: &'t str,
    names: &'t mut VariableNames,
    variables: Vec<ServerVariable>,
    problems: Vec<ClientProblem>,
}

impl Translation<'_> {
    /// Text stays in the configuration.
    fn plain(&mut self, template: &Template) -> String {
        let mut translated = String::new();
        for piece in &template.pieces {
            match piece {
                Piece::Text(text) => translated.push_str(&escaped(text)),
                Piece::Variable(_) | Piece::Asked(_) | Piece::Unknown(_) => {
                    // `$${` would be text.
                    if translated.ends_with('$') {
                        self.refuse(&template.place, "a `$` before a reference", "remove it");
                    }
                    translated.push_str(&self.reference(piece, &template.place));
                }
            }
        }
        translated
    }

    /// Text moves to variables.
    fn secret(&mut self, field: &str, pieces: &[Piece], place: &str) -> String {
        let mut translated = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) if text.is_empty() => {}
                Piece::Text(text) => {
                    let name = self.names.name(self.key, field);
                    translated.push_str(&reference_to(&name));
                    let value = SecretString::from(text.as_str());
                    self.variables.push(ServerVariable::Moved { name, value });
                }
                Piece::Variable(_) | Piece::Asked(_) | Piece::Unknown(_) => {
                    translated.push_str(&self.reference(piece, place));
                }
            }
        }
        translated
    }

    fn reference(&mut self, piece: &Piece, place: &str) -> String {
        match piece {
            Piece::Text(text) => escaped(text),
            Piece::Variable(name) => {
                let inherited = ServerVariable::Inherited { name: name.clone() };
                self.variables.push(inherited);
                reference_to(name)
            }
            Piece::Asked(id) => {
                let name = self.names.name(self.key, id);
                let reference = reference_to(&name);
                let id = id.clone();
                self.variables.push(ServerVariable::Asked { name, id });
                reference
            }
            Piece::Unknown(help) => {
                self.refuse(place, "a reference that only the client can resolve", help);
                String::new()
            }
        }
    }

    /// A bearer token. A person decides about other headers.
    fn token(&mut self, headers: &[(String, Template)]) -> Option<String> {
        let mut token = None;
        for (name, value) in headers {
            let is_token = name.eq_ignore_ascii_case("authorization");
            match value.pieces.split_first() {
                Some((Piece::Text(first), rest)) if is_token => {
                    if let Some(first) = first.strip_prefix("Bearer ") {
                        let mut pieces = vec![Piece::Text(first.into())];
                        pieces.extend(rest.iter().cloned());
                        token = Some(self.secret("token", &pieces, &value.place));
                        continue;
                    }
                }
                Some(_) | None => {}
            }
            let what = format!("`init` cannot move the header `{}`", name.escape_debug());
            let help = "it moves a token, as in `Authorization: Bearer …`; write the server into \
                        `gate.toml`, with `headers`";
            self.refuse(&value.place, &what, help);
        }
        token
    }

    fn refuse(&mut self, place: &str, what: &str, help: &str) {
        let what = format!("{place}: {what}");
        let kind = ProblemKind::NotSupported;
        self.problems
            .push(ClientProblem::new(kind, what, help.to_owned()));
    }
}

fn already_attached(entry: &Entry) -> ClientProblem {
    let name = entry.name().escape_debug();
    let what = format!("{}: `{name}` leads to the gate already", entry.place);
    let help = "unwrap the file first, or take its backup";
    ClientProblem::new(ProblemKind::NotSupported, what, help.to_owned())
}

fn reference_to(name: &str) -> String {
    format!("${{{name}}}")
}

/// In the gate's configuration, `$${` writes `${`.
fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}
