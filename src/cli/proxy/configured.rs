//! The file of the configuration, read again with the policies.

use std::path::PathBuf;

use crate::config::{Config, ConfigChanges, ConfigErrors, ConfigFile, ConfigText};
use crate::gate::Terms;
use crate::loading::{OnRemoval, Source, SourceSettings};

use super::command_settings::policy_settings;
use super::parts::Parts;
use super::settings;

/// The file, and what of it is in force.
#[derive(Debug)]
pub(super) struct Configured {
    /// What of the configuration is in force.
    config: Config,
    file: ConfigFile,
    in_force: ConfigText,
}

/// What another text of it says, besides where policies come from.
#[derive(Debug)]
pub(super) struct Fresh {
    /// As far as it can come into force.
    pub(super) config: Config,
    pub(super) changes: ConfigChanges,
}

impl Fresh {
    /// What it says of one of the servers that run.
    pub(super) fn terms_of(&self, parts: &Parts) -> Option<Terms> {
        let mut each = self.config.each().into_iter();
        let config = each.find(|config| config.key == parts.key())?;
        Some(settings::terms(&config))
    }
}

impl Configured {
    /// `None` where everything was said on the command line, or by a pipe.
    pub(super) fn by(config: &Config) -> Option<Self> {
        let file = config.file.clone().filter(ConfigFile::stays)?;
        Some(Self {
            config: config.clone(),
            in_force: file.text().clone(),
            file,
        })
    }
}

impl Source for Configured {
    type Text = ConfigText;
    type More = Fresh;
    type Error = ConfigErrors;

    fn paths(&self) -> Vec<PathBuf> {
        let file = std::iter::once(self.file.path().to_owned());
        file.chain(self.file.servers_dir_now()).collect()
    }

    fn read(&self) -> Result<ConfigText, ConfigErrors> {
        self.file.read()
    }

    fn in_force(&self) -> &ConfigText {
        &self.in_force
    }

    fn means(
        &self,
        text: &ConfigText,
        on_policy_removal: OnRemoval,
    ) -> Result<SourceSettings<Self>, ConfigErrors> {
        let config = self.file.parse(text)?;
        let changes = ConfigChanges::between(self.file.text(), &self.in_force, text);
        if on_policy_removal == OnRemoval::Reject
            && let Some(errors) = ConfigErrors::of(self.file.path(), changes.missed.clone())
        {
            return Err(errors);
        }
        let config = Config {
            file: Some(self.file.with_text(text)),
            ..config.in_place_of(&self.config)
        };
        Ok(SourceSettings {
            settings: policy_settings(&config),
            more: Fresh { config, changes },
        })
    }

    fn takes(&mut self, text: ConfigText) {
        if let Ok(config) = self.file.parse(&text) {
            self.config = config.in_place_of(&self.config);
        }
        self.in_force = text;
    }
}
