//! The flight recorder that the configuration names.

#[cfg(feature = "flight-recorder")]
pub(super) use with::{Flight, problem, start};
#[cfg(not(feature = "flight-recorder"))]
pub(super) use without::{Flight, problem, start};

#[cfg(feature = "flight-recorder")]
mod with {
    use std::path::Path;
    use std::time::Duration;

    use crate::audit::flight_recorder::{
        DatabaseError, EventKinds, FlightRecorder, FlightRecorderSettings, check, prepare,
    };
    use crate::config::{self, Config};

    /// A running flight recorder, if there is one.
    pub(in super::super) struct Flight(Option<FlightRecorder>);

    /// The reason why its database cannot be used, as far as that shows without changing anything.
    pub(in super::super) fn problem(config: &Config) -> Option<String> {
        let file = &config.flight_recorder.as_ref()?.file;
        told(file, check(file))
    }

    /// Others may have the database open: rows are added once they have not.
    fn told(file: &Path, checked: Result<(), DatabaseError>) -> Option<String> {
        match checked {
            Ok(()) => None,
            Err(DatabaseError::Locked(by)) => {
                tracing::warn!("the flight recorder waits for its database: {by}");
                None
            }
            Err(cause) => {
                let file = file.display();
                Some(format!("`flight_recorder.file`: `{file}`: {cause}"))
            }
        }
    }

    pub(in super::super) fn start(config: &Config) -> Result<Flight, String> {
        let (Some(settings), Some(log)) = (&config.flight_recorder, &config.audit.file) else {
            return Ok(Flight(None));
        };
        if let Some(problem) = told(&settings.file, prepare(&settings.file)) {
            return Err(problem);
        }
        let started = FlightRecorder::start(FlightRecorderSettings {
            database: settings.file.clone(),
            log: log.clone(),
            event_kinds: match settings.event_kinds {
                config::EventKinds::Tool => EventKinds::Tool,
                config::EventKinds::Mcp => EventKinds::Mcp,
            },
        });
        let started = started.map_err(|cause| format!("`flight_recorder`: {cause}"))?;
        Ok(Flight(Some(started)))
    }

    impl Flight {
        /// Once the log is whole.
        pub(in super::super) async fn stop(self, within: Duration) {
            if let Some(recorder) = self.0 {
                recorder.stop(within).await;
            }
        }
    }
}

#[cfg(not(feature = "flight-recorder"))]
mod without {
    use std::time::Duration;

    use crate::config::Config;

    /// There is none.
    pub(in super::super) struct Flight;

    pub(in super::super) fn problem(config: &Config) -> Option<String> {
        config.flight_recorder.as_ref().map(|_| {
            "`flight_recorder`: this program is built without the flight recorder; build one with the \
             feature `flight-recorder`, or remove the section"
                .to_owned()
        })
    }

    pub(in super::super) fn start(config: &Config) -> Result<Flight, String> {
        problem(config).map_or(Ok(Flight), Err)
    }

    impl Flight {
        #[expect(clippy::unused_async, reason = "as where there is one")]
        pub(in super::super) async fn stop(self, _: Duration) {}
    }
}
