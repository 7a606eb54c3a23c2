//! Where a path or a URI points, spelled in one way.
//!
//! Only what every reader finds the same place in has a location: policy does no I/O, so that it
//! cannot ask a file system, and each server has its own way to read what it is given. What some
//! reader could take for something else (escapes in a path, a backslash, `~`, look-alikes of a
//! slash) has none, which counts as outside of everything.

mod custom_schemes;
mod patterns;

use unicode_normalization::UnicodeNormalization;
use url::{Host, Url};

use super::percent_escapes::{has_escape, settled, unescaped};
use crate::unseen::is_unseen;

/// A place among files, or below the authority of a URI.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Location {
    realm: Realm,
    /// Neither empty, nor `.` or `..`.
    parts: Vec<Name>,
}

/// A name with the form in which it is compared where case and normalisation do not count.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Name {
    text: String,
    /// `None` where it is the text itself. It is made once, since folding costs more than comparing.
    folded: Option<String>,
}

/// Bytes of a path, as file systems have them.
pub(super) const MAX_PATH_BYTES: usize = 4096;

/// Bytes of a name in a path, as file systems have them.
const MAX_NAME_BYTES: usize = 255;

/// Bytes of a URI. With every byte of a path escaped, a path still fits.
pub(super) const MAX_URI_BYTES: usize = 16 * 1024;

/// How surely one location lies below another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Containment {
    Yes,
    /// Where names are compared without regard to case or normalisation, as some file systems do, without
    /// invisible text, or read as patterns.
    Perhaps,
    No,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Realm {
    /// Of the server's machine; with the letter of a drive, in upper case, where there are drives.
    Files(Option<char>),
    /// Scheme, and host with port.
    Uri(String, String),
}

impl Realm {
    /// Whether some reader could take two names for one.
    fn takes_for_one(&self, one: &Name, other: &Name) -> bool {
        let (one, other) = (one.folded(), other.folded());
        if one == other {
            return true;
        }
        match self {
            Self::Files(_) => {
                // Windows drops them, also where the path is written as others write it.
                let [one_end, other_end] =
                    [one, other].map(|name| name.trim_end_matches(['.', ' ']));
                one_end == other_end
                    || patterns::could_be(one, other)
                    || patterns::could_be(other, one)
            }
            Self::Uri(..) => false,
        }
    }
}

impl Name {
    fn new(text: String) -> Self {
        let is_folded = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
        let folded = (!text.bytes().all(is_folded)).then(|| folded(&text));
        Self { text, folded }
    }

    fn folded(&self) -> &str {
        self.folded.as_deref().unwrap_or(&self.text)
    }

    fn as_folded(&self) -> Self {
        Self {
            text: self.folded().to_owned(),
            folded: None,
        }
    }

    fn selects(&self) -> bool {
        self.text.starts_with('?')
    }
}

impl Location {
    /// A path, absolute, or a URI.
    pub(super) fn of(text: &str) -> Option<Self> {
        if has_scheme(text) {
            Self::of_uri(text)
        } else {
            Self::of_path(text)
        }
    }

    /// A path, absolute, or the URI of a file.
    pub(super) fn of_file(text: &str) -> Option<Self> {
        let place = Self::of(text)?;
        matches!(place.realm, Realm::Files(_)).then_some(place)
    }

    /// A path of POSIX, or of Windows with a drive. Lexically: symbolic links are not followed, so
    /// that `..` undoes the name before it.
    pub(super) fn of_path(text: &str) -> Option<Self> {
        if text.len() > MAX_PATH_BYTES {
            return None;
        }
        // Shells, and servers that behave like them, read patterns and variables.
        let is_read = |c: char| c.is_control() || matches!(c, '*' | '?' | '$');
        if text.contains(is_read) || has_escape(text) {
            return None;
        }
        let (drive, rest) = drive_of(text);
        let separators: &[char] = if drive.is_some() {
            &['/', '\\']
        } else {
            &['/']
        };
        let rest = rest.strip_prefix(separators)?;
        // `//host/share` is a machine for some; for others the slashes are one.
        if rest.starts_with(separators) {
            return None;
        }
        let realm = Realm::Files(drive);
        let parts = resolve(rest.split(separators), &realm)?;
        Some(Self { realm, parts })
    }

    /// A URI as the WHATWG URL standard reads it, if RFC 3986 reads the same.
    pub(super) fn of_uri(text: &str) -> Option<Self> {
        if text.len() > MAX_URI_BYTES {
            return None;
        }
        let ambiguous = |c: char| c == '\\' || c.is_whitespace() || c.is_control();
        if text.contains(ambiguous) {
            return None;
        }
        if climbs(text) || is_read_in_two_ways(text) {
            return None;
        }
        let url = Url::parse(text).ok()?;
        let plain =
            url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        if !plain {
            return None;
        }
        if url.scheme() == "file" {
            // `file:srv` is relative for RFC 8089, and below the top for WHATWG.
            let rest = text.get("file:".len()..)?.strip_prefix("//")?;
            // As for paths: `//host/share` is a machine for some.
            let names_a_machine = |(_, path): (&str, &str)| path.starts_with('/');
            if rest.split_once('/').is_some_and(names_a_machine) {
                return None;
            }
            return Self::of_file_url(&url);
        }
        let host = host_of(&url);
        // Schemes that the standard does not know keep both as they are; RFC 3986 does not.
        if host.contains('%') || host.ends_with('.') {
            return None;
        }
        let port = url.port_or_known_default();
        let host = port.map_or(host.clone(), |port| format!("{host}:{port}"));
        let realm = Realm::Uri(url.scheme().to_owned(), host);
        let path = url.path();
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.strip_suffix('/').unwrap_or(path);
        let mut parts = Vec::new();
        for part in path.split('/').filter(|_| !path.is_empty()) {
            // A name that begins with `?` would pass for what selects something.
            let is_name = |part: &String| !part.is_empty() && !part.starts_with('?');
            parts.push(Some(unescaped(part)?).filter(is_name)?);
        }
        let mut parts = resolve(parts.iter().map(String::as_str), &realm)?;
        // Whatever it selects is another resource.
        if let Some(query) = url.query() {
            parts.push(Name::new(format!("?{}", settled(query)?)));
        }
        Some(Self { realm, parts })
    }

    fn of_file_url(url: &Url) -> Option<Self> {
        if url.query().is_some() || !matches!(url.host_str(), None | Some("localhost")) {
            return None;
        }
        let parts: Option<Vec<String>> = url.path_segments()?.map(unescaped).collect();
        let parts = parts?;
        let bytes: usize = parts.iter().map(|part| part.len() + 1).sum();
        if bytes > MAX_PATH_BYTES {
            return None;
        }
        let drive = match parts.first().map(|first| drive_of(first)) {
            Some((Some(drive), "")) => Some(drive),
            Some(_) | None => None,
        };
        let realm = Realm::Files(drive);
        let names = parts.iter().map(String::as_str);
        let parts = resolve(names.skip(usize::from(drive.is_some())), &realm)?;
        Some(Self { realm, parts })
    }

    /// Whether this lies in `above`, or is it. Whole names are compared, never the text.
    pub(super) fn below(&self, above: &Self) -> Containment {
        if self.realm != above.realm || self.parts.len() < above.parts.len() {
            return Containment::No;
        }
        let pairs = || self.parts.iter().zip(&above.parts);
        if pairs().all(|(name, wanted)| name == wanted) {
            Containment::Yes
        } else if pairs().all(|(name, wanted)| self.realm.takes_for_one(name, wanted)) {
            Containment::Perhaps
        } else {
            Containment::No
        }
    }

    /// A path in the one spelling: absolute, without `.`, `..` and what is empty. `None` for what is no
    /// file, and for a file that a URI can name and no path.
    pub(super) fn path(&self) -> Option<String> {
        let Realm::Files(drive) = &self.realm else {
            return None;
        };
        let (top, separator) = match drive {
            Some(drive) => (format!("{drive}:\\"), "\\"),
            None => ("/".to_owned(), "/"),
        };
        let names: Vec<&str> = self.texts().collect();
        let path = top + &names.join(separator);
        (Self::of_path(&path).as_ref() == Some(self)).then_some(path)
    }

    /// A file in the one spelling, as a path or as a URI, whichever the text was.
    pub(super) fn spelled_like(&self, text: &str) -> Option<String> {
        if !has_scheme(text) {
            return self.path();
        }
        let Realm::Files(drive) = &self.realm else {
            return None;
        };
        let mut url = Url::parse("file:///").ok()?;
        let mut segments = url.path_segments_mut().ok()?;
        segments.clear();
        segments.extend(drive.map(|drive| format!("{drive}:")));
        segments.extend(self.texts());
        drop(segments);
        let spelled = url.to_string();
        // Where writers and readers differ there is no canonical spelling.
        (Self::of_file(&spelled).as_ref() == Some(self)).then_some(spelled)
    }

    /// What lies in `from` as it lies in `to`.
    pub(super) fn moved(&self, from: &Self, to: &Self) -> Option<Self> {
        let below = self.parts.get(from.parts.len()..)?;
        Some(Self {
            realm: to.realm.clone(),
            parts: to.parts.iter().chain(below).cloned().collect(),
        })
    }

    /// Without what selects something in it.
    pub(super) fn without_query(&self) -> Self {
        let mut whole = self.clone();
        if whole.parts.last().is_some_and(Name::selects) {
            whole.parts.pop();
        }
        whole
    }

    /// As one is found where names are compared without regard to case.
    pub(super) fn folded(&self) -> Self {
        Self {
            realm: self.realm.clone(),
            parts: self.parts.iter().map(Name::as_folded).collect(),
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|name| name.text.as_str())
    }

    /// The names that lead to it, and what selects something in it, with the `?` before it.
    pub(super) fn names(&self) -> (Vec<&str>, Option<&str>) {
        let mut names: Vec<&str> = self.texts().collect();
        let selects = self.parts.last().is_some_and(Name::selects);
        let query = if selects { names.pop() } else { None };
        (names, query)
    }

    /// A path of POSIX or the URI of a file as the path that a server could open, with `.` and `..` in it.
    pub(super) fn opened(text: &str) -> Option<String> {
        if !has_scheme(text) {
            return text.starts_with('/').then(|| text.to_owned());
        }
        let (_, rest) = text.split_once("://")?;
        let (_, path) = rest.split_once('/')?;
        Some(format!("/{}", unescaped(path)?))
    }

    /// How many names lead to it.
    pub(super) fn depth(&self) -> usize {
        self.parts.len()
    }
}

/// RFC 3986 §3.1, with two characters at least: one is the letter of a drive.
pub(super) fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else {
        return false;
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(allowed)
}

/// The letter of a drive, in upper case, and what follows its colon.
fn drive_of(text: &str) -> (Option<char>, &str) {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(letter), Some(':')) if letter.is_ascii_alphabetic() => {
            (Some(letter.to_ascii_uppercase()), chars.as_str())
        }
        _ => (None, text),
    }
}

/// Names without `.` and `..`; `None` where they lead above the top, or mean different things to
/// different readers.
fn resolve<'n>(names: impl Iterator<Item = &'n str>, realm: &Realm) -> Option<Vec<Name>> {
    let mut parts: Vec<Name> = Vec::new();
    for name in names {
        match name {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name if is_clear(name, realm) => parts.push(Name::new(name.to_owned())),
            _ => return None,
        }
    }
    Some(parts)
}

fn is_clear(name: &str, realm: &Realm) -> bool {
    if matches!(realm, Realm::Files(_)) && name.len() > MAX_NAME_BYTES {
        return false;
    }
    let seen: String = name.chars().filter(|c| !is_unseen(*c)).collect();
    let looks_like: String = seen.nfkc().collect();
    let hides = |text: &str| text.contains(['/', '\\']) || matches!(text, "" | "." | "..");
    // Servers take these away from the ends of what they are given.
    let falls_off = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '\u{feff}');
    if hides(name)
        || hides(&looks_like)
        || name.contains(char::is_control)
        || name.starts_with(falls_off)
        || name.ends_with(falls_off)
    {
        return false;
    }
    match realm {
        // Windows drops dots and spaces at the end, has streams behind a colon, and short names.
        Realm::Files(Some(_)) => {
            let short = name.split('~').skip(1);
            let short = short.map(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            !name.ends_with(['.', ' '])
                && !is_device(name)
                && !is_pattern_of_more(name)
                && !name.contains([':', '*', '?', '"', '<', '>', '|'])
                && !short.into_iter().any(|is_short| is_short)
        }
        Realm::Files(None) => !is_pattern_of_more(name),
        Realm::Uri(..) => true,
    }
}

/// A pattern that goes on beyond the name, could lead upwards, or could be no name.
fn is_pattern_of_more(name: &str) -> bool {
    let could_be = |other: &str| patterns::could_be(name, other);
    let leads_up = || name.contains('.') && (could_be(".") || could_be(".."));
    patterns::is_open(name) || could_be("") || leads_up()
}

/// What Windows opens in every directory, whatever ending the name has.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let stem = stem.trim_end().to_ascii_uppercase();
    let mut end = stem.chars();
    let number = end.next_back();
    let is_numbered = matches!(end.as_str(), "COM" | "LPT")
        && number.is_some_and(|c| c.is_ascii_digit() || matches!(c, '¹' | '²' | '³'));
    is_numbered || matches!(&*stem, "CON" | "PRN" | "AUX" | "NUL")
}

/// The host in lower case; an IPv4 address in IPv6 is the IPv4 address.
pub(super) fn host_of(url: &Url) -> String {
    match url.host() {
        Some(Host::Domain(name)) => name.to_ascii_lowercase(),
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Ipv6(address)) => match address.to_ipv4_mapped() {
            Some(address) => address.to_string(),
            None => format!("[{address}]"),
        },
        None => String::new(),
    }
}

/// Schemes whose hosts and ports the WHATWG standard knows.
const OF_THE_WEB: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];

/// What is a drive for some, and what the WHATWG standard finds a host in where RFC 3986 finds none.
fn is_read_in_two_ways(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once(':') else {
        return false;
    };
    let has_host = rest.starts_with("//") && !rest.starts_with("///");
    let is_drive = scheme.len() == 1 && rest.starts_with('/') && !has_host;
    let is_of_the_web = OF_THE_WEB.iter().any(|it| it.eq_ignore_ascii_case(scheme));
    is_drive || is_of_the_web && !has_host
}

/// Whether the path of a URI leads above its top, where readers stop or refuse.
fn climbs(uri: &str) -> bool {
    let rest = uri.split_once(':').map_or("", |(_, rest)| rest);
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest,
        None if rest.starts_with('/') => rest,
        None => "",
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut depth = 0_usize;
    for part in path.split('/').skip(1) {
        match part.to_ascii_lowercase().replace("%2e", ".").as_str() {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

fn folded(name: &str) -> String {
    let seen: String = name.chars().filter(|c| !is_unseen(*c)).collect();
    caseless::default_case_fold_str(&seen).nfkc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_has_one_location() {
        let check = |one: &str, other: &str| {
            let location = Location::of(one);
            assert!(location.is_some(), "{one}");
            assert_eq!(location, Location::of(other), "{one} {other}");
        };
        check("/srv/data", "/srv/data/");
        check("/srv/data", "/srv//data");
        check("/srv/data", "/srv/./data");
        check("/srv/data", "/srv/other/../data");
        check("/srv/data", "file:///srv/data");
        check("/srv/data", "FILE://localhost/srv/data");
        check("/srv/a b", "file:///srv/a%20b");
        check("/", "/srv/..");
        check("C:\\srv\\data", "c:/srv/data");
        check("C:\\srv\\data", "file:///c:/srv/data");
        check("notes://team/a", "notes://TEAM/a");
        check("notes://team/a", "notes://team/b/../a");
        check("notes://team/a", "notes://team/b/%2e%2e/a");
        check("notes://team/a", "notes://team/a/");
        check("https://x.org/a", "HTTPS://X.org:443/a");
        check("https://x.org/a?b=c", "https://x.org/a?b=%63");
        check("https://1.2.3.4/a", "https://[::ffff:1.2.3.4]/a");
        check("https://1.2.3.4/a", "https://0x01020304/a");
        check("notes://1.2.3.4/a", "notes://[::FFFF:102:304]/a");
    }

    #[test]
    fn what_readers_disagree_on_has_no_location() {
        let check = |text: &str| assert_eq!(Location::of(text), None, "{text:?}");
        check("");
        check("data");
        check("./data");
        check("~/data");
        check("//host/share");
        check("/..");
        check("/srv/../..");
        check("/srv/%2e%2e/etc");
        check("/srv/a%2fb");
        check("/srv\\..\\etc");
        check("/srv/\u{ff0e}\u{ff0e}/etc");
        check("/srv/a\u{ff0f}b");
        check("/srv/*");
        check("/srv/$HOME");
        check("/srv/a\0b");
        check("/srv/a\nb");
        check("C:data");
        check("C:\\srv\\secret.txt::$DATA");
        check("C:\\srv\\secret. \\a");
        check("C:\\PROGRA~1\\a");
        check("\\\\host\\share");
        check("file://host/srv/data");
        check("file:////host/srv/data");
        check("file:///srv/a%2fb");
        check("file:///srv/%252e%252e/etc");
        check("file:///srv/data#x");
        check("file:///srv/data?x");
        check("file:srv/data");
        check("file:///../../srv/data");
        check("notes://team/a/%2E%2e/..");
        check("notes://te%61m/a");
        check("notes://team./a");
        check("notes://me@team/a");
        check("notes://team/a//b");
        check("notes://team/a/%3Fb");
        check("notes://team/a?b%zz");
        check("notes:/../a");
        check("https:x.org/a");
        check("https:/x.org/a");
        check("https:///x.org/a");
        check("notes://team/a b");
        // Invisible characters.
        check("/srv/..\u{200b}/etc");
        check("/srv/\u{2060}");
        check("file:///srv/.%E2%80%8B./etc");
        // Patterns that go on beyond the name, or lead upwards.
        check("/srv/{a,customers/b}");
        check("/srv[/x]customers");
        check("/srv/{.,..}/etc");
        check("/srv/{,x}/customers");
        check("/srv/@(a|customers/b)/c");
        check("/srv/[.][.]/etc");
        check("C:\\srv\\NUL");
        check("c:/srv/con.txt");
        check("c:/srv/COM1");
        check("c:/srv/lpt\u{b9}.x");
        // Some readers take these away from the ends.
        check("/srv/secret ");
        check("/srv/secret\t");
        check("/srv/secret\u{a0}");
        check("/srv/secret\u{feff}");
        check("/srv/secret\"");
        check("/srv/secret'");
        check("/srv/secret`");
        check("/srv/secret\"/");
        check("/srv/ secret");
        check("/srv/\"secret\"");
        check("file:///srv/secret%20");
        check("file:///srv/secret%22");
        check("notes://team/secret%20");
        check("notes://team/secret'");
    }

    #[test]
    fn what_is_longer_than_file_systems_have_it_has_no_location() {
        let check = |text: &str, expected: bool| {
            let bytes = text.len();
            assert_eq!(Location::of(text).is_some(), expected, "{bytes} bytes");
        };
        let name = |bytes: usize| format!("/{}", "a".repeat(bytes));
        check(&name(MAX_NAME_BYTES), true);
        check(&name(MAX_NAME_BYTES + 1), false);
        check(&format!("file://{}", name(MAX_NAME_BYTES + 1)), false);
        check(&format!("/{}", "\u{fdfa}".repeat(MAX_NAME_BYTES / 3)), true);
        check(&format!("/{}", "\u{fdfa}".repeat(1_300_000)), false);
        let path = |bytes: usize| "/a".repeat(bytes / 2);
        check(&path(MAX_PATH_BYTES), true);
        check(&path(MAX_PATH_BYTES + 2), false);
        check(&"/a".repeat(1_900_000), false);
        check(&format!("file://{}", path(MAX_PATH_BYTES)), true);
        check(&format!("file://{}", path(MAX_PATH_BYTES + 2)), false);
        // Names of what is no file have no bound of their own.
        check(&format!("notes://team{}", name(1000)), true);
        check(&format!("notes://team{}", name(MAX_URI_BYTES)), false);
    }

    #[test]
    fn a_name_is_folded_once_and_one_in_lower_case_ascii_never() {
        let folded = |text: &str| Name::new(text.to_owned()).folded;
        assert_eq!(folded("readme.txt"), None);
        assert_eq!(folded("README"), Some("readme".to_owned()));
        assert_eq!(folded("stra\u{df}e"), Some("strasse".to_owned()));
    }

    #[test]
    fn blanks_and_quotes_inside_of_names_are_parts_of_them() {
        let check = |text: &str| assert!(Location::of(text).is_some(), "{text:?}");
        check("/srv/my notes/it's \"here\" now");
        check("/srv/app/[id]/[...slug].tsx");
        check("/srv/app/[a][b]/{id}");
        check("/srv/\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}");
        check("/srv/NUL");
        check("/srv/customers.");
        check("c:/srv/console");
        check("file:///srv/my%20notes");
        check("C:\\Program Files\\a");
    }

    #[test]
    fn a_location_is_below_another_by_whole_names() {
        let check = |one: &str, above: &str, expected: Containment| {
            let [one, above] = [one, above].map(|text| Location::of(text).unwrap());
            assert_eq!(one.below(&above), expected, "{one:?} {above:?}");
        };
        check("/srv/data", "/srv/data", Containment::Yes);
        check("/srv/data/a", "/srv/data", Containment::Yes);
        check("/srv/data", "/", Containment::Yes);
        check("/srv/database", "/srv/data", Containment::No);
        check("/srv", "/srv/data", Containment::No);
        check("/srv/DATA/a", "/srv/data", Containment::Perhaps);
        check("/srv/da\u{200b}ta/a", "/srv/data", Containment::Perhaps);
        check("/srv/d\u{ad}ata", "/srv/data", Containment::Perhaps);
        check("/srv/d\u{fff9}ata", "/srv/data", Containment::Perhaps);
        check("/srv/data.", "/srv/data", Containment::Perhaps);
        check("/srv/[d]ata/a", "/srv/data", Containment::Perhaps);
        check("/srv/{x,data}/a", "/srv/data", Containment::Perhaps);
        check("/srv/[id]/a", "/srv/data", Containment::No);
        check("/srv/{id}/a", "/srv/data", Containment::No);
        check("notes://team/[a]", "notes://team/a", Containment::No);
        check("/srv/caf\u{e9}/a", "/srv/cafe\u{301}", Containment::Perhaps);
        check("C:/srv", "/srv", Containment::No);
        check("file:///srv/data/a", "/srv/data", Containment::Yes);
        check("notes://team/a", "notes://team", Containment::Yes);
        check("notes://team/a?b", "notes://team/a", Containment::Yes);
        check("notes://team/a", "notes://team/a?b", Containment::No);
        check("notes://others/a", "notes://team", Containment::No);
        check("mail://team/a", "notes://team", Containment::No);
        check("https://x.org:8443/a", "https://x.org/a", Containment::No);
    }
}
