//! A gate with a second server, for sessions that have become confidential.

use std::fs;

use crate::support::setup::{MARK, Setup};

impl Setup {
    /// What the policies know of tools.
    pub(crate) fn labels(self, tools: &str) -> Self {
        fs::write(self.path("policies").join("tools.toml"), tools).unwrap();
        self
    }

    /// Sessions that have become confidential go on with this server. What it receives stands in
    /// `isolated`, in the words of the fixtures.
    pub(crate) fn isolated<A: AsRef<str>>(
        mut self,
        command: impl IntoIterator<Item = A>,
        sandbox: &str,
    ) -> Self {
        let command: Vec<String> = command.into_iter().map(|it| it.as_ref().into()).collect();
        let log = self.path("isolated");
        self.isolated = format!(
            "[upstream.isolated]\ncommand = {command:?}\n{sandbox}\n\
             [upstream.isolated.env]\n{MARK} = {:?}\nFIXTURE_LOG = {log:?}\n",
            self.mark()
        );
        self
    }
}
