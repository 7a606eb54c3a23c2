//! The calls, and what an operator says of servers, tools and destinations.

use std::collections::BTreeMap;

use serde_json::Value;

const TRACES: &str = include_str!("traces.json");
const SERVERS: &str = include_str!("servers.json");
const LABELS: &str = include_str!("labels.toml");
const DESTINATIONS: &str = include_str!("destinations.toml");

/// One of the benchmark's environments.
pub(super) struct Suite {
    pub(super) tasks: Vec<Vec<Call>>,
    pub(super) pairs: Vec<Pair>,
    /// The clearance of each server, as a word.
    pub(super) clearances: BTreeMap<String, String>,
    /// The labels of its tools, without destinations.
    pub(super) labels: toml::Table,
    /// Approved destinations by tool and JSON pointer.
    pub(super) destinations: toml::Table,
}

#[derive(Clone)]
pub(super) struct Call {
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) arguments: Value,
}

/// A task of a user, and the injection that its agent follows once it has read it.
pub(super) struct Pair {
    /// The user's calls until the one that shows the injection, which is the last.
    pub(super) before: Vec<Call>,
    pub(super) injected: Vec<Call>,
}

impl Suite {
    pub(super) fn all() -> Vec<Self> {
        let traces: Value = TRACES.parse().unwrap();
        let servers: Value = SERVERS.parse().unwrap();
        let suites = traces["suites"].as_object().unwrap();
        suites
            .iter()
            .map(|(name, suite)| Self::of(name, suite, &servers[name]))
            .collect()
    }

    fn of(name: &str, suite: &Value, servers: &Value) -> Self {
        let labels: toml::Table = LABELS.parse().unwrap();
        let destinations: toml::Table = DESTINATIONS.parse().unwrap();
        let servers = servers.as_object().unwrap();
        let server_of = |function: &str| {
            let has = |tools: &Value| tools.as_array().unwrap().iter().any(|it| it == function);
            let found = servers.iter().find(|(_, tools)| has(tools));
            found
                .unwrap_or_else(|| panic!("{function} is at no server"))
                .0
                .clone()
        };
        let calls = |task: &Value| -> Vec<Call> {
            let calls = task["calls"].as_array().unwrap().iter();
            calls
                .map(|call| {
                    let tool = call["function"].as_str().unwrap().to_owned();
                    Call {
                        server: server_of(&tool),
                        tool,
                        arguments: call["args"].clone(),
                    }
                })
                .collect()
        };
        let tasks = suite["user_tasks"].as_object().unwrap();
        let pairs = suite["pairs"].as_array().unwrap().iter().map(|pair| {
            let user = calls(&suite["user_tasks"][pair["user"].as_str().unwrap()]);
            let after = usize::try_from(pair["after"].as_u64().unwrap()).unwrap();
            Pair {
                before: user[..=after].to_vec(),
                injected: calls(&suite["injection_tasks"][pair["injection"].as_str().unwrap()]),
            }
        });
        let own = |id: &str| servers.keys().any(|key| id.starts_with(&format!("{key}/")));
        let tools = labels["tools"].as_table().unwrap().iter();
        let clearance = |key: &String| {
            let clearance = labels["servers"][key]["clearance"].as_str().unwrap();
            (key.clone(), clearance.to_owned())
        };
        Self {
            tasks: tasks.values().map(calls).collect(),
            pairs: pairs.collect(),
            clearances: servers.keys().map(clearance).collect(),
            labels: tools
                .filter(|(id, _)| own(id))
                .map(|(id, labels)| (id.clone(), labels.clone()))
                .collect(),
            destinations: destinations
                .get(name)
                .map(|it| it.as_table().unwrap().clone())
                .unwrap_or_default(),
        }
    }
}

impl Call {
    /// How policies name its tool.
    pub(super) fn id(&self) -> String {
        format!("{}/{}", self.server, self.tool)
    }
}
