//! A text to a lock, or everything that is wrong with it.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::policy::{PolicyProblem, PolicySource, ServerKey};
use crate::wire::{Document, Fragment, JsonKind, Value, input_offsets};

use super::super::several;
use super::write::{digest, quoted};
use super::{CODE, LIMITS, LockEntry, LockFile, ServerTexts, TOOLS_ALONE, WITH_WORDS};

/// What `tools lock` and its like are for.
const HELP: &str = "locks are not written by hand: take the last good one from version control, and look at what \
     `mcp-protector tools diff` tells of it; `mcp-protector tools lock --force` takes over whatever the \
     server says now, unseen";

const SEVERAL: &str =
    "name the configuration that has `[servers]`, as in `mcp-protector check --config gate.toml`";

/// One finding, at a place in the compact text.
struct LockFinding {
    code: &'static str,
    place: Range<usize>,
    message: String,
    help: Option<String>,
}

/// What an array of a lock defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defines {
    Tools,
    Prompts,
}

impl Defines {
    fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
        }
    }
}

struct LockReader<'s> {
    findings: Vec<LockFinding>,
    /// The keys of several servers.
    servers: &'s [ServerKey],
}

impl LockFile {
    /// Reads the lock of these servers, or of a single one without a key.
    ///
    /// # Errors
    /// Everything that is wrong: then nothing of it counts.
    pub fn read(source: &PolicySource, servers: &[ServerKey]) -> Result<Self, Vec<PolicyProblem>> {
        let input = source.text.as_bytes();
        let document = Document::decode(input, &LIMITS).map_err(|error| {
            let problem = PolicyProblem::error(CODE, error.kind.to_string()).in_source(source);
            let at = error.offset.min(input.len().saturating_sub(1));
            vec![problem.at(at..at, "here").with_help(HELP)]
        })?;
        let mut reading = LockReader {
            findings: Vec::new(),
            servers,
        };
        let (mut file, mut places) = reading.file(document.root());
        if reading.findings.is_empty() {
            places.sort_unstable();
            let starts: Vec<usize> = places.iter().map(|(place, _)| *place).collect();
            let lines = lines(input, &input_offsets(input, &starts));
            for ((_, name), line) in places.iter().zip(lines) {
                if let Some(entry) = file.tools.get_mut(name) {
                    entry.line = line;
                }
            }
            return Ok(file);
        }
        Err(reading.problems(source))
    }
}

impl LockReader<'_> {
    /// The lock, and where each tool stands in the compact text.
    fn file(&mut self, root: Value<'_>) -> (LockFile, Vec<(usize, String)>) {
        let mut file = LockFile::default();
        let mut places = Vec::new();
        let version = root.get("version");
        if let Some(version) = version
            && ![Some(TOOLS_ALONE), Some(WITH_WORDS)].contains(&version.as_i64())
        {
            let message = format!(
                "this version of the gate reads locks of version {TOOLS_ALONE} and {WITH_WORDS}"
            );
            self.find(version, message, Some(HELP.to_owned()));
            return (file, places);
        }
        if version.and_then(Value::as_i64) != Some(WITH_WORDS) {
            let [_, tools] = self.members(root, ["version", "tools"]);
            file.tools = self.entries(tools, Defines::Tools, &mut places);
            return (file, places);
        }
        let keys = ["version", "instructions", "tools", "prompts"];
        let [_, instructions, tools, prompts] = self.members(root, keys);
        file.tools = self.entries(tools, Defines::Tools, &mut places);
        let mut elsewhere = Vec::new();
        file.words = Some(ServerTexts {
            instructions: instructions
                .map(|given| self.instructions(given))
                .unwrap_or_default(),
            prompts: self.entries(prompts, Defines::Prompts, &mut elsewhere),
        });
        (file, places)
    }

    /// What is approved, or that there are none: `null`.
    fn instructions(&mut self, given: Value<'_>) -> BTreeMap<Option<ServerKey>, String> {
        if given.is_null() {
            return BTreeMap::new();
        }
        if self.servers.is_empty() && given.is_array() {
            self.of_several(given, "instructions");
            return BTreeMap::new();
        }
        if self.servers.is_empty() {
            let [sha256, text] = self.members(given, ["sha256", "text"]);
            let text = self.approved_text(sha256, text);
            return text.into_iter().map(|text| (None, text)).collect();
        }
        if !given.is_array() {
            self.wrong(
                given,
                "`instructions` of several servers have to be an array, with one object for each",
            );
        }
        let mut all = BTreeMap::new();
        let mut last: Option<ServerKey> = None;
        for one in given.items() {
            let [server, sha256, text] = self.members(one, ["server", "sha256", "text"]);
            let text = self.approved_text(sha256, text);
            let (Some(server), Some(text)) = (server, text) else {
                continue;
            };
            let name = server.as_str().unwrap_or_default();
            let Some(key) = self.servers.iter().find(|key| key.as_str() == name) else {
                let message = format!("`{}` is no server of the configuration", shown(&name));
                self.wrong(server, &message);
                continue;
            };
            if last.as_ref().is_some_and(|last| last >= key) {
                let message =
                    format!("`{key}` does not stand where its key belongs, or is there twice");
                self.wrong(server, &message);
            }
            last = Some(key.clone());
            all.insert(Some(key.clone()), text);
        }
        all
    }

    fn approved_text(
        &mut self,
        sha256: Option<Value<'_>>,
        text: Option<Value<'_>>,
    ) -> Option<String> {
        let (sha256, text) = (sha256?, text?);
        let text = self.lines("text", text)?;
        if sha256.as_str().as_deref() != Some(&*digest(&text)) {
            self.wrong(sha256, "the digest is not that of the instructions");
        }
        Some(text)
    }

    /// An array of definitions by name, and where each stands in the compact text.
    fn entries(
        &mut self,
        given: Option<Value<'_>>,
        what: Defines,
        places: &mut Vec<(usize, String)>,
    ) -> BTreeMap<String, LockEntry> {
        let mut entries = BTreeMap::new();
        if let Some(tools) = given {
            if !tools.is_array() {
                self.wrong(tools, &format!("`{}` has to be an array", what.key()));
            }
            let mut last: Option<String> = None;
            for tool in tools.items() {
                let Some((name, entry)) = self.entry(tool, what) else {
                    continue;
                };
                match last.as_deref().map(|last| last.cmp(&name)) {
                    Some(std::cmp::Ordering::Equal) => {
                        self.wrong(tool, &format!("`{}` is there twice", shown(&name)));
                    }
                    Some(std::cmp::Ordering::Greater) => {
                        let message =
                            format!("`{}` does not stand where its name belongs", shown(&name));
                        self.wrong(tool, &message);
                    }
                    Some(std::cmp::Ordering::Less) | None => {}
                }
                places.push((tool.range().start, name.clone()));
                entries.insert(name.clone(), entry);
                last = Some(name);
            }
        }
        entries
    }

    fn entry(&mut self, tool: Value<'_>, what: Defines) -> Option<(String, LockEntry)> {
        let before = self.findings.len();
        let [name, sha256, definition] = self.members(tool, ["name", "sha256", "definition"]);
        let (name, sha256, definition) = (name?, sha256?, definition?);
        let text = name.as_str().unwrap_or_default();
        if text.is_empty() || text.chars().any(char::is_control) {
            self.wrong(
                name,
                "`name` has to be a string with something in it, and no controls",
            );
        }
        if !definition.is_object() {
            self.wrong(definition, "`definition` has to be an object");
        }
        if let Some(second) = definition.get("name") {
            self.wrong(second, "the name stands before the definition, not in it");
        }
        let schema = definition.get("inputSchema");
        let is_tool = what == Defines::Tools;
        if is_tool && definition.is_object() && !schema.is_some_and(Value::is_object) {
            self.wrong(definition, "`inputSchema` has to be an object");
        }
        let text = text.into_owned();
        let own = self.own_name(name, &text);
        let whole = self.whole(own, definition)?;
        if self.findings.len() > before {
            return None;
        }
        if sha256.as_str().as_deref() != Some(&*digest(&whole)) {
            if let Some(own) = self.name_at_one_of_several(&text)
                && sha256.as_str().as_deref() == Some(&*digest(&self.whole(own, definition)?))
            {
                self.of_several(name, &text);
                return None;
            }
            let message = format!(
                "`{}`: the digest is not that of the definition",
                shown(&text)
            );
            self.wrong(sha256, &message);
            return None;
        }
        let entry = LockEntry {
            definition: whole,
            line: 0,
        };
        Some((text, entry))
    }

    /// What an id names, if it is of one of several servers that are not known here.
    fn name_at_one_of_several<'i>(&self, id: &'i str) -> Option<&'i str> {
        let (key, name) = id.split_once('/').filter(|_| self.servers.is_empty())?;
        ServerKey::of(key).map(|_| name)
    }

    /// The digests cannot be compared, for they are of names without keys. One finding says it of all.
    fn of_several(&mut self, at: Value<'_>, what: &str) {
        let is_of_several = |finding: &LockFinding| finding.help.as_deref() == Some(SEVERAL);
        if self.findings.iter().any(is_of_several) {
            return;
        }
        self.findings.push(LockFinding {
            code: CODE,
            place: at.range(),
            message: format!(
                "`{}`: the lock is one of several servers, whose keys only their configuration has",
                shown(what)
            ),
            help: Some(SEVERAL.to_owned()),
        });
    }

    /// What its server calls what an id names.
    fn own_name<'i>(&mut self, at: Value<'_>, id: &'i str) -> &'i str {
        let own = self.servers.iter().find_map(|key| key.name_in(id));
        if self.servers.is_empty() || own.is_some_and(|own| !own.is_empty()) {
            return own.unwrap_or(id);
        }
        let help = ServerKey::help_for(self.servers, id);
        self.findings.push(LockFinding {
            code: several::CODE,
            place: at.range(),
            message: format!("`{}` {}", shown(id), several::NO_SERVER),
            help: Some(help.unwrap_or_else(|| HELP.to_owned())),
        });
        id
    }

    /// The definition as a server gives it: with its name, and the lines of its description joined.
    fn whole(&mut self, name: &str, definition: Value<'_>) -> Option<String> {
        let mut members = vec![("name".to_owned(), Fragment::string(name))];
        for (key, member) in definition.entries() {
            let fragment = if key == "description" {
                Fragment::string(&self.lines("description", member)?)
            } else {
                Fragment::copy_of(member)
            };
            members.push((key.into_owned(), fragment));
        }
        let members = members.iter().map(|(key, member)| (&**key, member.clone()));
        let text = Fragment::object(members).into_string();
        match Document::decode(text.as_bytes(), &LIMITS) {
            Ok(document) => Some(document.root().canonical()),
            Err(error) => {
                self.find(definition, error.kind.to_string(), Some(HELP.to_owned()));
                None
            }
        }
    }

    /// A text, or its lines.
    fn lines(&mut self, key: &str, given: Value<'_>) -> Option<String> {
        if let Some(text) = given.as_str() {
            return Some(text.into_owned());
        }
        let lines: Option<Vec<_>> = given.items().map(Value::as_str).collect();
        match lines {
            Some(lines) if given.kind() == JsonKind::Array && !lines.is_empty() => {
                Some(lines.join("\n"))
            }
            _ => {
                let message = format!("`{key}` has to be a string, or an array of its lines");
                self.wrong(given, &message);
                None
            }
        }
    }

    /// The members of an object that has these and no others.
    fn members<'v, const N: usize>(
        &mut self,
        of: Value<'v>,
        keys: [&'static str; N],
    ) -> [Option<Value<'v>>; N] {
        if !of.is_object() {
            self.wrong(of, &format!("an object with {} is meant", list(&keys)));
            return [None; N];
        }
        for (key, member) in of.entries() {
            if !keys.contains(&&*key) {
                let message = format!("`{}` is no known key", shown(&key));
                self.find(
                    member,
                    message,
                    Some(format!("the keys here are {}", list(&keys))),
                );
            }
        }
        keys.map(|key| {
            let member = of.get(key);
            if member.is_none() {
                self.wrong(of, &format!("`{key}` is missing"));
            }
            member
        })
    }

    fn wrong(&mut self, at: Value<'_>, message: &str) {
        self.find(at, message.to_owned(), Some(HELP.to_owned()));
    }

    fn find(&mut self, at: Value<'_>, message: String, help: Option<String>) {
        self.findings.push(LockFinding {
            code: CODE,
            place: at.range(),
            message,
            help,
        });
    }

    fn problems(mut self, source: &PolicySource) -> Vec<PolicyProblem> {
        self.findings.sort_by_key(|finding| finding.place.start);
        let starts: Vec<usize> = self.findings.iter().map(|it| it.place.start).collect();
        let starts = input_offsets(source.text.as_bytes(), &starts);
        let findings = self.findings.into_iter().zip(starts);
        findings
            .map(|(finding, start)| {
                let end = start + finding.place.len().min(LABEL);
                let line = source.text.get(start..).and_then(|rest| rest.find('\n'));
                let end = line.map_or(end, |line| end.min(start + line));
                let problem = PolicyProblem::error(finding.code, finding.message)
                    .in_source(source)
                    .at(start..end.min(source.text.len()), "here");
                match finding.help {
                    Some(help) => problem.with_help(help),
                    None => problem,
                }
            })
            .collect()
    }
}

/// Bytes that a place shows at most.
const LABEL: usize = 40;

/// Lines, from 1, of offsets in order.
fn lines(input: &[u8], offsets: &[usize]) -> Vec<u32> {
    let mut line = 1;
    let mut before = 0;
    let mut lines = Vec::with_capacity(offsets.len());
    for offset in offsets {
        let passed = input.get(before..*offset).unwrap_or_default();
        line += u32::try_from(memchr::memchr_iter(b'\n', passed).count()).unwrap_or_default();
        before = *offset;
        lines.push(line);
    }
    lines
}

fn list(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    keys.join(", ")
}

fn shown(name: &str) -> String {
    quoted(name).trim_matches('"').to_owned()
}
