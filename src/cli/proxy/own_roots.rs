//! A server that runs in a directory of its session.

use std::sync::Arc;

use crate::config::{self, Config, Listen, ListenAuth};
use crate::policy::{Holder, RootProblem, Roots};
use crate::upstream;

use super::settings::servers;
use super::{confinement, exposed};

/// The roots of which each principal or session has its own, as they were when the gate started.
#[derive(Debug, Clone)]
pub(super) struct OwnRoots {
    roots: Arc<Roots>,
    in_sandbox: InSandbox,
}

/// Whether the sandbox of the server grants roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InSandbox {
    Granted,
    Withheld,
}

/// What roots that each principal or session has for itself need of a gate.
#[derive(Debug)]
pub(super) struct OwnRootsNeed {
    /// Why there can be none.
    problems: Vec<&'static str>,
    /// The section of a server that would run, with all files, in a directory that its agents write.
    runs_in_reach: Option<String>,
    /// The keys that name roots in which results are saved, and these.
    saves_in: Vec<(String, String)>,
    /// Those that servers are started with, if it has started.
    started: Option<Vec<(String, bool)>>,
}

impl OwnRootsNeed {
    pub(super) fn by(config: &Config) -> Self {
        let is_shared = servers(config).any(|server| server.http.is_some());
        let is_anonymous = match &config.listen {
            Listen::Http(listen) => matches!(listen.auth, ListenAuth::None),
            Listen::Stdio | Listen::Local => false,
        };
        let shared = "its path has a variable, and all principals share a server over HTTP; have the gate \
                      start the server (`upstream.command`)";
        let anonymous = "its path has a variable, and agents over HTTP without tokens are one principal; set \
                         `listen.auth`";
        let problems = [
            is_shared.then_some(shared),
            is_anonymous.then_some(anonymous),
        ];
        let unconfined = exposed::unconfined(config);
        let mut in_reach = unconfined.filter(|(_, server)| server.cwd.is_none());
        Self {
            problems: problems.into_iter().flatten().collect(),
            runs_in_reach: in_reach.next().map(|(section, _)| section.to_owned()),
            saves_in: config.each().iter().filter_map(saves_in).collect(),
            started: None,
        }
    }

    /// The same for a gate that was started with these: its servers run in them.
    pub(super) fn since(mut self, roots: &Roots) -> Self {
        self.started = Some(of_some_holder(roots));
        self
    }

    /// The same gate with another configuration.
    pub(super) fn under(&self, config: &Config) -> Self {
        Self {
            started: self.started.clone(),
            ..Self::by(config)
        }
    }

    /// What these roots lack, told with the root.
    pub(super) fn lacking(&self, roots: &Roots) -> Vec<String> {
        let told = roots.of_each().flat_map(|root| {
            let problems = self.problems.iter();
            problems.map(|problem| format!("`roots.{}`: {problem}", root.name))
        });
        let mut told: Vec<_> = told.collect();
        if let Some((root, section)) = roots.of_each().next().zip(self.runs_in_reach.as_ref()) {
            told.push(format!(
                "`roots.{}`: agents can write into its directories, and without a sandbox the server would run \
                 there: interpreters look for code in the directory that they run in; confine the server \
                 (`{section}.sandbox`), or set `{section}.cwd`",
                root.name
            ));
        }
        let is_there = |name: &str| roots.of_each().any(|root| root.name == name);
        let lacking = self.saves_in.iter().filter(|(_, name)| !is_there(name));
        for (key, name) in lacking {
            let name = name.escape_debug();
            told.push(format!(
                "`{key}`: `roots.toml` has no root `{name}` with `${{principal}}` or \
                 `${{session}}` in its path; name such a root: others could read what is saved elsewhere"
            ));
        }
        let is_other = |started: &Vec<_>| *started != of_some_holder(roots);
        if self.started.as_ref().is_some_and(is_other) {
            told.push(
                "`roots`: servers run in the directories of the roots whose paths have variables; restart \
                 the gate to change these"
                    .to_owned(),
            );
        }
        told
    }
}

/// Where the results of one server are saved, told by the key that holds for it.
fn saves_in(config: &Config) -> Option<(String, String)> {
    let root = config.truncation.as_ref()?.save.clone()?;
    let key = match &config.key {
        Some(key) => format!("servers.{key}.truncation.save"),
        None => "truncation.save".to_owned(),
    };
    Some((key, root))
}

/// The directories of each holder, and whether its server may write there.
fn of_some_holder(roots: &Roots) -> Vec<(String, bool)> {
    let own = roots.of_holder(&Holder::of("some", "some"));
    let own = own.unwrap_or_default();
    let own = own
        .own()
        .map(|(root, directory)| (directory.path(), root.writable));
    own.collect()
}

impl OwnRoots {
    pub(super) fn of(server: &config::Upstream, roots: &Roots) -> Self {
        let in_sandbox = if confinement::takes_roots(server.sandbox.as_ref()) {
            InSandbox::Granted
        } else {
            InSandbox::Withheld
        };
        Self {
            roots: Arc::new(roots.clone()),
            in_sandbox,
        }
    }

    pub(super) fn are_any(&self) -> bool {
        self.roots.of_each().next().is_some()
    }

    /// How the server of one holder is started.
    ///
    /// # Errors
    /// [`RootProblem`] where a root of its own would have no place.
    pub(super) fn settings(
        &self,
        common: &Arc<upstream::Settings>,
        holder: &Holder,
    ) -> Result<Arc<upstream::Settings>, RootProblem> {
        if !self.are_any() {
            return Ok(Arc::clone(common));
        }
        let roots = self.roots.of_holder(holder)?;
        let mut settings = (**common).clone();
        if settings.cwd.is_none() {
            settings.own_directory = roots.started_in().map(Into::into);
        }
        if let (Some(sandbox), InSandbox::Granted) = (&mut settings.sandbox, self.in_sandbox) {
            sandbox.places.extend(confinement::own_places(&roots));
        }
        Ok(Arc::new(settings))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::policy::Root;

    use super::*;

    #[test]
    fn a_server_without_a_sandbox_does_not_run_where_its_agents_write() {
        let check = |upstream: &str, is_writable: bool, expected: Option<&str>| {
            let text = format!("upstream.command = ['server']\n{upstream}");
            let path = Path::new("/gate.toml");
            let config = Config::parse(&text, path, path, &|_| None).unwrap();
            let mut root = Root::at("own", "/srv/users/${principal}").unwrap();
            root.writable = is_writable;
            let lacking = OwnRootsNeed::by(&config).lacking(&Roots::new(vec![root]));
            let named = lacking.iter().filter_map(|it| it.split("or set `").nth(1));
            let named: Vec<_> = named.filter_map(|it| it.split('`').next()).collect();
            let expected: Vec<_> = expected.iter().copied().collect();
            assert_eq!(named, expected, "{upstream} {is_writable}: {lacking:?}");
        };
        let open = Some("upstream.cwd");
        check("", true, open);
        check("", false, open);
        check("upstream.cwd = '/srv'", true, None);
        check("upstream.sandbox = {}", true, None);
        let isolated = "upstream.sandbox = {}\nupstream.isolated = { command = ['other']";
        check(
            &format!("{isolated} }}"),
            true,
            Some("upstream.isolated.cwd"),
        );
        check(&format!("{isolated}, sandbox = {{}} }}"), true, None);
        check(&format!("{isolated}, cwd = '/srv' }}"), true, None);
        let listed = "upstream.sandbox = {}\nupstream.isolated = [{ command = ['a'], sandbox = {} }, \
                      { min_sensitivity = 'secret', command = ['b'] }]";
        check(listed, true, Some("upstream.isolated[1].cwd"));
    }
}
