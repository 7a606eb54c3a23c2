//! The file that says where policies come from, and more that the loader knows nothing of.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;

use crate::loading::load::LoadedPolicies;
use crate::loading::settings::{OnRemoval, Settings};
use crate::policy::PolicyErrors;

/// Is read again with the policies, and comes into force with them or not at all.
pub trait Source: fmt::Debug + Send + Sync + Sized + 'static {
    type Text: Clone + PartialEq + fmt::Debug + Send + Sync;
    /// What it says besides.
    type More: fmt::Debug + Send + Sync;
    /// What is wrong with it.
    type Error: fmt::Debug + Send + Sync;

    /// The files and directories that it is read from now.
    fn paths(&self) -> Vec<PathBuf>;

    fn read(&self) -> Result<Self::Text, Self::Error>;

    /// The text that is in force.
    fn in_force(&self) -> &Self::Text;

    /// What another text means in its place, with this done about what it lacks.
    fn means(
        &self,
        text: &Self::Text,
        on_policy_removal: OnRemoval,
    ) -> Result<SourceSettings<Self>, Self::Error>;

    /// That text is in force from now on.
    fn takes(&mut self, text: Self::Text);
}

/// What a text means.
#[derive(Debug)]
pub struct SourceSettings<S: Source> {
    pub settings: Settings,
    pub more: S::More,
}

/// What is fit to be published.
#[derive(Debug)]
pub struct LoadedSource<S: Source> {
    pub loaded: LoadedPolicies,
    /// What the source says besides, if it says anything else than what is in force.
    pub more: Option<S::More>,
}

/// Why nothing is.
#[derive(Debug)]
pub enum ReloadError<E> {
    Policies(PolicyErrors),
    Source(E),
}

/// Where policies come from was said once and for all.
#[derive(Debug)]
pub enum NoSource {}

impl Source for NoSource {
    type Text = ();
    type More = ();
    type Error = Infallible;

    fn paths(&self) -> Vec<PathBuf> {
        match *self {}
    }

    fn read(&self) -> Result<(), Infallible> {
        match *self {}
    }

    fn in_force(&self) -> &() {
        match *self {}
    }

    fn means(&self, (): &(), _: OnRemoval) -> Result<SourceSettings<Self>, Infallible> {
        match *self {}
    }

    fn takes(&mut self, (): ()) {
        match *self {}
    }
}
