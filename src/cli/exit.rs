//! How each command ends; the numbers are public contracts.

use std::io;
use std::process::ExitCode;

/// The end of a command. Scripts and service managers read the number, so it never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done; for `proxy`: a clean stop.
    Success,
    /// The command line, the configuration or a policy is not valid; nothing was started.
    Invalid,
    /// `proxy` could not go on, or could not start what the valid configuration names.
    Unrecoverable,
    /// `test-policy`: at least one test failed.
    TestsFailed,
    /// `test-policy`: the tests could not be run (nothing found, unreadable, wrong usage).
    TestsNotRun,
    /// `test-policy`: the policies under test are not valid.
    PoliciesInvalid,
    /// `explain`: the message is denied.
    Denied,
    /// `explain`: there is no decision to explain.
    NotExplained,
    /// `test-policy`: coverage is under the threshold.
    CoverageTooLow,
    /// `tools`: the server's definitions are not those of the lock.
    Drift,
    /// `tools`: there was nothing to compare.
    NotCompared,
    /// `check`: something is wrong, or looks wrong.
    Findings,
    /// `check`: nothing could be checked (nothing found, unreadable, wrong usage).
    NotChecked,
    /// `approvals`: what was named waits no more, or the gate refuses.
    NotAnswered,
    /// `approvals`: the gate could not be asked.
    NotAsked,
    /// `audit verify`: a record is changed or missing.
    ChainBroken,
    /// `audit verify`: a file cannot be read; `audit`: wrong usage.
    NotVerified,
    /// `audit`: a file cannot be read, or has a line that is no record.
    LogNotRead,
    /// `servers`: nothing was changed, or `check` found something.
    ServersNotDone,
    /// `init`: a server is not protected, or nothing was changed.
    NotProtected,
    /// `demo`: a statement is false, or the demo could not run.
    DemoFailed,
}

impl Exit {
    /// The number the process ends with.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Invalid
            | Self::TestsFailed
            | Self::Denied
            | Self::Drift
            | Self::Findings
            | Self::NotAnswered
            | Self::ChainBroken
            | Self::ServersNotDone
            | Self::NotProtected
            | Self::DemoFailed => 1,
            Self::Unrecoverable
            | Self::TestsNotRun
            | Self::NotExplained
            | Self::NotCompared
            | Self::NotChecked
            | Self::NotAsked
            | Self::NotVerified
            | Self::LogNotRead => 2,
            Self::PoliciesInvalid => 3,
            Self::CoverageTooLow => 4,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The reader of standard output may have read enough, like `head`; that is no failure.
pub(super) fn heard(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Ok(()) | Err(_) => written,
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn the_numbers_are_the_published_ones() {
        let published = [
            (Exit::Success, 0),
            (Exit::Invalid, 1),
            (Exit::Unrecoverable, 2),
            (Exit::TestsFailed, 1),
            (Exit::TestsNotRun, 2),
            (Exit::PoliciesInvalid, 3),
            (Exit::CoverageTooLow, 4),
            (Exit::Denied, 1),
            (Exit::NotExplained, 2),
            (Exit::Drift, 1),
            (Exit::NotCompared, 2),
            (Exit::Findings, 1),
            (Exit::NotChecked, 2),
            (Exit::NotAnswered, 1),
            (Exit::NotAsked, 2),
            (Exit::ChainBroken, 1),
            (Exit::NotVerified, 2),
            (Exit::LogNotRead, 2),
            (Exit::ServersNotDone, 1),
            (Exit::NotProtected, 1),
            (Exit::DemoFailed, 1),
        ];
        for (exit, code) in published {
            assert_eq!(exit.code(), code, "{exit:?}");
        }
    }
}
