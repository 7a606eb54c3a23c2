//! Paths of roots that each principal or each session has one of its own of: `/srv/users/${principal}`.

use super::super::location::Location;
use super::super::suggest::{did_you_mean, list};
use super::holder::Holder;

/// The path of a root, with the places where names of principals and sessions go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    /// Without `.`, `..` and what is empty.
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Name(String),
    Variable(Variable),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variable {
    Principal,
    Session,
}

/// A directory of one principal or session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnDirectory {
    /// The directory that all of them lie in, which must be there.
    pub above: String,
    /// The directories below it, each in the one before it.
    pub names: Vec<String>,
}

/// The directories of all principals or sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllOwnDirectories {
    pub above: String,
    /// `None` where each holder has a name of its own.
    pub names: Vec<Option<String>>,
}

/// Why a path with variables is none that a root could have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateProblem {
    #[error("has the unknown variable `${{{name}}}`")]
    Unknown { name: String },
    #[error("has a variable that is not a whole name between slashes")]
    Affixed,
    #[error("has `${{{0}}}` twice")]
    Twice(&'static str),
    #[error("has `{0}`, which could lead out of the directory")]
    Dots(String),
    #[error("names no directory that all of the directories lie in")]
    Top,
    #[error("is not an absolute path of POSIX that all readers take for the same place")]
    NoPath,
}

const VARIABLES: [(&str, Variable); 2] = [
    ("principal", Variable::Principal),
    ("session", Variable::Session),
];

impl TemplateProblem {
    /// What to write instead.
    pub fn help(&self) -> String {
        let names = VARIABLES.map(|(name, _)| name);
        match self {
            Self::Unknown { name } => {
                let known = list(names.map(|name| format!("${{{name}}}")));
                let known = format!("the variables of roots are {known}");
                match did_you_mean(name, names) {
                    Some(question) => format!("{question} {known}"),
                    None => known,
                }
            }
            Self::Affixed => {
                "as in `/srv/users/${principal}/notes`: nothing before or after it".to_owned()
            }
            Self::Twice(_) => "each variable can stand in it once".to_owned(),
            Self::Dots(_) => "write the directory itself, without `.` and `..`".to_owned(),
            Self::Top => "as in `/srv/users/${principal}`: `/srv/users` must exist".to_owned(),
            Self::NoPath => "as in `/srv/users/${principal}`".to_owned(),
        }
    }
}

impl Template {
    /// `None` for a path without variables.
    pub(super) fn of(text: &str) -> Option<Result<Self, TemplateProblem>> {
        text.contains("${").then(|| Self::parse(text))
    }

    fn parse(text: &str) -> Result<Self, TemplateProblem> {
        let names = text.strip_prefix('/').ok_or(TemplateProblem::NoPath)?;
        let mut segments = Vec::new();
        for name in names.split('/').filter(|name| !name.is_empty()) {
            let segment = segment(name)?;
            if let Segment::Variable(variable) = segment
                && segments.contains(&segment)
            {
                return Err(TemplateProblem::Twice(variable.name()));
            }
            segments.push(segment);
        }
        let template = Self { segments };
        if template.fixed().is_empty() {
            return Err(TemplateProblem::Top);
        }
        let sample = template.path(&Holder::of("a", "b"));
        let place = Location::of_path(&sample).ok_or(TemplateProblem::NoPath)?;
        if place.path().as_deref() == Some(sample.as_str()) {
            Ok(template)
        } else {
            Err(TemplateProblem::NoPath)
        }
    }

    /// The directory that all of the directories lie in.
    pub(super) fn above(&self) -> String {
        format!("/{}", self.fixed().join("/"))
    }

    /// The directory of one holder.
    pub(super) fn of_holder(&self, holder: &Holder) -> OwnDirectory {
        let below = self.segments.iter().skip(self.fixed().len());
        OwnDirectory {
            above: self.above(),
            names: below
                .map(|part| part.of_holder(holder).to_owned())
                .collect(),
        }
    }

    /// The directories of all holders.
    pub(super) fn of_all(&self) -> AllOwnDirectories {
        let below = self.segments.iter().skip(self.fixed().len());
        AllOwnDirectories {
            above: self.above(),
            names: below.map(Segment::fixed).collect(),
        }
    }

    fn path(&self, holder: &Holder) -> String {
        self.of_holder(holder).path()
    }

    /// Names before the first variable.
    fn fixed(&self) -> Vec<&str> {
        let names = self.segments.iter().map_while(|part| match part {
            Segment::Name(name) => Some(name.as_str()),
            Segment::Variable(_) => None,
        });
        names.collect()
    }

    /// Whether a directory of one could lie in, above or at a directory of the other. The same template twice
    /// is one root that has two names.
    pub(super) fn could_meet(&self, other: &Self) -> bool {
        for (one, another) in self.segments.iter().zip(&other.segments) {
            match (one, another) {
                (one, another) if one == another => {}
                (Segment::Name(one), Segment::Name(another)) => {
                    if !could_be_one(one, another) {
                        return false;
                    }
                }
                (Segment::Variable(_), _) | (_, Segment::Variable(_)) => return true,
            }
        }
        self != other
    }

    /// The same with a path that has no variables.
    pub(super) fn could_meet_path(&self, path: &str) -> bool {
        let names = path.split('/').filter(|name| !name.is_empty());
        let segments = names.map(|name| Segment::Name(name.to_owned())).collect();
        self.could_meet(&Self { segments })
    }
}

impl Segment {
    fn fixed(&self) -> Option<String> {
        match self {
            Self::Name(name) => Some(name.clone()),
            Self::Variable(_) => None,
        }
    }

    fn of_holder<'a>(&'a self, holder: &'a Holder) -> &'a str {
        match self {
            Self::Name(name) => name,
            Self::Variable(Variable::Principal) => &holder.principal,
            Self::Variable(Variable::Session) => &holder.session,
        }
    }
}

impl Variable {
    fn name(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::Session => "session",
        }
    }
}

impl OwnDirectory {
    pub fn path(&self) -> String {
        format!("{}/{}", self.above, self.names.join("/"))
    }
}

fn segment(name: &str) -> Result<Segment, TemplateProblem> {
    if matches!(name, "." | "..") {
        return Err(TemplateProblem::Dots(name.to_owned()));
    }
    let Some((before, rest)) = name.split_once("${") else {
        return Ok(Segment::Name(name.to_owned()));
    };
    let Some((variable, after)) = rest.split_once('}') else {
        return Err(TemplateProblem::Affixed);
    };
    let mut known = VARIABLES.into_iter();
    let Some((_, found)) = known.find(|(name, _)| *name == variable) else {
        return Err(TemplateProblem::Unknown {
            name: variable.to_owned(),
        });
    };
    if before.is_empty() && after.is_empty() {
        Ok(Segment::Variable(found))
    } else {
        Err(TemplateProblem::Affixed)
    }
}

/// On some file system.
fn could_be_one(one: &str, other: &str) -> bool {
    let place = |name: &str| Location::of_path(&format!("/{name}")).map(|place| place.folded());
    match (place(one), place(other)) {
        (Some(one), Some(other)) => one == other,
        (None, _) | (_, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        Template::of(text).unwrap().unwrap()
    }

    #[test]
    fn a_variable_is_a_whole_name_below_a_directory() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let found = Template::of(text).unwrap();
            let found = found.map(|template| template.path(&Holder::of("Al/ice", "0f")));
            let found = found.map_err(|problem| problem.to_string());
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(found, expected, "{text}");
        };
        check("/srv/users/${principal}", Ok("/srv/users/=41l=2fice"));
        check("/srv/users/${principal}/", Ok("/srv/users/=41l=2fice"));
        check("/srv/${session}/work", Ok("/srv/0f/work"));
        check("//srv//${principal}/${session}", Ok("/srv/=41l=2fice/0f"));
        let part = Err("has a variable that is not a whole name between slashes");
        check("/srv/u-${principal}", part);
        check("/srv/${principal}.d", part);
        check("/srv/${principal}${session}", part);
        check("/srv/${principal", part);
        check("/srv/${user}", Err("has the unknown variable `${user}`"));
        check("/srv/${HOME}x", Err("has the unknown variable `${HOME}`"));
        check("/srv/${}", Err("has the unknown variable `${}`"));
        check(
            "/srv/${principal}/${principal}",
            Err("has `${principal}` twice"),
        );
        let dots = Err("has `..`, which could lead out of the directory");
        check("/srv/${principal}/..", dots);
        check("/srv/../${principal}", dots);
        check(
            "/srv/./${principal}",
            Err("has `.`, which could lead out of the directory"),
        );
        let top = Err("names no directory that all of the directories lie in");
        check("/${principal}", top);
        check("/${principal}/srv", top);
        let no_path =
            Err("is not an absolute path of POSIX that all readers take for the same place");
        check("srv/${principal}", no_path);
        check("C:\\srv\\${principal}", no_path);
        check("file:///srv/${principal}", no_path);
        check("/srv/a*/${principal}", no_path);
        check("/srv/ a/${principal}", no_path);
        assert!(Template::of("/srv/$principal/{session}").is_none());
    }

    #[test]
    fn an_unknown_variable_is_told_with_the_nearest() {
        let help = |name: &str| {
            TemplateProblem::Unknown {
                name: name.to_owned(),
            }
            .help()
        };
        let known = "the variables of roots are `${principal}`, `${session}`";
        assert_eq!(
            help("principle"),
            format!("did you mean `principal`? {known}")
        );
        assert_eq!(help("SESSION"), format!("did you mean `session`? {known}"));
        assert_eq!(help("HOME"), known);
    }

    #[test]
    fn no_directory_of_a_holder_could_lie_in_that_of_another_root() {
        let check = |one: &str, other: &str, expected: bool| {
            let found = match (Template::of(one), Template::of(other)) {
                (Some(one), Some(other)) => {
                    let (one, other) = (one.unwrap(), other.unwrap());
                    assert_eq!(one.could_meet(&other), other.could_meet(&one));
                    one.could_meet(&other)
                }
                (Some(one), None) => one.unwrap().could_meet_path(other),
                (None, _) => panic!("{one}"),
            };
            assert_eq!(found, expected, "{one} {other}");
        };
        let users = "/srv/users/${principal}";
        check(users, "/srv/docs", false);
        check(users, "/srv/users2", false);
        check(users, "/srv/docs/${session}", false);
        // A server could make a link of the inner one, which leads to another holder.
        check(users, "/srv/users/${principal}/secret", true);
        check(users, "/srv/Users/${principal}", true);
        check("/srv/${principal}/a", "/srv/${principal}/b", false);
        check(users, "/", true);
        check(users, "/srv", true);
        check(users, "/srv/users", true);
        check(users, "/SRV/Users", true);
        check(users, "/srv/users/alice", true);
        check(users, "/srv/users/alice/notes", true);
        check(users, "/srv/users/${session}", true);
        check(users, "/srv/${session}", true);
        check(users, "/srv/users/${principal}/${session}", true);
        check(users, "/srv/users/a/${session}", true);
    }

    #[test]
    fn a_directory_is_made_below_the_one_that_is_there() {
        let own = template("/srv/users/${principal}/work").of_holder(&Holder::of("a", "b"));
        assert_eq!(own.above, "/srv/users");
        assert_eq!(own.names, ["a", "work"]);
        assert_eq!(own.path(), "/srv/users/a/work");
    }
}
