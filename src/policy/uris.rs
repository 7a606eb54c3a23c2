//! URIs of resources in one spelling.
//!
//! [`Location`] says which of them are one place. A server may tell more of them apart (`notes:a` and
//! `notes:/a`, `notes://team/a` and `notes://team/a/`), so that the one spelling keeps what it could see
//! a difference in.

mod non_canonical;

pub use non_canonical::NonCanonicalUri;

use url::Url;

use super::location::{self, Location};
use super::percent_escapes::{escaped, settled};

/// What stands for an expression of a template while it is read, with its number before the end.
const STAND_IN: &str = "x-expression-";

/// What stands for an escaped slash while the name that holds it is read: a letter of no alphabet.
const SLASH: &str = "%EE%80%80";

/// A URI in the one spelling of it: scheme and host in lower case, no `.`, `..` and ports that go without
/// saying, and escapes only where they are needed.
///
/// `None` for what readers take for different resources, or for none. An escaped slash in a name is one
/// for RFC 3986, and stays; what some servers make of it is [`with_plain_slashes`].
pub fn canonical_uri(text: &str) -> Option<String> {
    let Some([as_letters, as_slashes]) = readings(text) else {
        return spelled(text);
    };
    spelled(&as_slashes)?;
    Some(spelled(&as_letters)?.replace(SLASH, "%2F"))
}

/// The one spelling of what is read where escaped slashes part names, if a URI has some.
pub fn with_plain_slashes(text: &str) -> Option<String> {
    let [_, as_slashes] = readings(text)?;
    spelled(&as_slashes)
}

/// A URI with escaped slashes in its path as both kinds of servers read it: those for which they are letters
/// of names, and those that unescape a path before they part it. `None` for any other URI, for files, whose
/// names have no slashes, and for what would not be names in the second reading.
pub(super) fn readings(text: &str) -> Option<[String; 2]> {
    let (scheme, _) = text.split_once(':')?;
    if scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let end = text.find('?').unwrap_or(text.len());
    let (path, query) = text.split_at_checked(end)?;
    let upper = path.to_ascii_uppercase();
    let has_stand_in = text.to_ascii_uppercase().contains(SLASH) || text.contains('\u{e000}');
    if !upper.contains("%2F") || has_stand_in {
        return None;
    }
    let is_name = |name: &str| !matches!(&*name.replace("%2E", "."), "" | "." | "..");
    let mut parted = upper.split('/').filter(|name| name.contains("%2F"));
    if !parted.all(|name| name.split("%2F").all(is_name)) {
        return None;
    }
    let with = |slash: &str| {
        let path = path.replace("%2f", "%2F").replace("%2F", slash);
        format!("{path}{query}")
    };
    Some([with(SLASH), with("/")])
}

fn spelled(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once(':')?;
    if scheme.eq_ignore_ascii_case("file") {
        return Location::of_uri(text)?.spelled_like(text);
    }
    // A name before the host belongs to it, where it can pass for nothing else.
    let (user, plain) = match rest.strip_prefix("//").and_then(user_of) {
        Some((user, rest)) => (Some(user), format!("{scheme}://{rest}")),
        None => (None, text.to_owned()),
    };
    let place = Location::of_uri(&plain)?;
    let url = Url::parse(&plain).ok()?;
    if user.is_some() && url.is_special() {
        return None;
    }
    let (names, query) = place.names();
    let path = url.path();
    // Whether dots mean anything in a path without a top is for each scheme to say.
    let written = path.strip_suffix('/').unwrap_or(path).split('/').count();
    if url.cannot_be_a_base() && written != names.len() {
        return None;
    }
    let mut spelled = format!("{}:", url.scheme());
    if rest.starts_with("//") {
        spelled.push_str("//");
        spelled.extend(user.map(|user| format!("{user}@")));
        spelled.push_str(&location::host_of(&url));
        spelled.extend(url.port().map(|port| format!(":{port}")));
    }
    if path.starts_with('/') {
        spelled.push('/');
    }
    let names: Vec<String> = names.iter().map(|name| escaped(name)).collect();
    spelled.push_str(&names.join("/"));
    if path.ends_with('/') && !names.is_empty() {
        spelled.push('/');
    }
    spelled.push_str(query.unwrap_or_default());
    let again = match user {
        Some(user) => spelled.replacen(&format!("//{user}@"), "//", 1),
        None => spelled.clone(),
    };
    // Where writers and readers differ there is no canonical spelling.
    (Location::of_uri(&again)? == place).then_some(spelled)
}

/// The same for a URI template (RFC 6570), whatever is put in place of its expressions.
pub fn canonical_template(text: &str) -> Option<String> {
    if !text.contains('{') {
        return canonical_uri(text);
    }
    // What selects something comes last, and changes nothing of where it is selected.
    let selects = [text.find("{?"), text.find("{&")];
    let end = selects.into_iter().flatten().min().unwrap_or(text.len());
    let (body, selection) = text.split_at_checked(end)?;
    if readings(body).is_some() {
        return None;
    }
    // Neither as it stands nor as it reads without its escapes.
    let says = |text: &str| text.to_ascii_lowercase().contains(STAND_IN);
    if says(text) || says(&settled(body)?) || !is_selection(selection) {
        return None;
    }
    let mut stand_ins = Vec::new();
    let mut plain = String::with_capacity(body.len());
    let mut rest = body;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, after) = after.split_once('}')?;
        if inside.contains('{') || inside.starts_with('#') {
            return None;
        }
        plain.push_str(before);
        let brings_the_top = inside.starts_with('/') || plain.eq_ignore_ascii_case("file://");
        let top = if brings_the_top { "/" } else { "" };
        let stand_in = format!("{top}{STAND_IN}{}x", stand_ins.len());
        plain.push_str(&stand_in);
        stand_ins.push((stand_in, format!("{{{inside}}}")));
        rest = after;
    }
    plain.push_str(rest);
    let mut spelled = canonical_uri(&plain)?;
    for (stand_in, expression) in stand_ins {
        // A name that the next one undoes could be several, or none.
        if spelled.matches(&stand_in).count() != 1 {
            return None;
        }
        spelled = spelled.replace(&stand_in, &expression);
    }
    Some(spelled + selection)
}

/// Whether a text is nothing but expressions of a template that select something.
fn is_selection(text: &str) -> bool {
    let mut rest = text;
    while let Some(after) = rest.strip_prefix("{?").or_else(|| rest.strip_prefix("{&")) {
        let Some((inside, after)) = after.split_once('}') else {
            return false;
        };
        if inside.contains('{') {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

/// The name before a host, if it is a plain one without a password, and what follows it.
fn user_of(rest: &str) -> Option<(&str, &str)> {
    let (user, host) = rest.split_once('@')?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (!user.is_empty() && user.chars().all(is_plain)).then_some((user, host))
}

#[cfg(test)]
mod oracle;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_uri_has_one_spelling_that_keeps_what_a_server_could_tell_apart() {
        let check = |text: &str, expected: &str| {
            assert_eq!(canonical_uri(text).as_deref(), Some(expected), "{text}");
            assert_eq!(canonical_uri(expected).as_deref(), Some(expected), "{text}");
        };
        check("file:///srv/a", "file:///srv/a");
        check("FILE://localhost/srv/./x/../a/", "file:///srv/a");
        check("file:///srv/%61%20b", "file:///srv/a%20b");
        check("file:///srv/%2e%2e/a", "file:///a");
        check("file:///c:/srv/a", "file:///C:/srv/a");
        check("notes://Team/x/../a", "notes://team/a");
        check("NOTES://team/%7Ea%2c", "notes://team/~a,");
        check("notes://team", "notes://team");
        check("notes://team/", "notes://team/");
        check("notes://team/a/", "notes://team/a/");
        check("notes:/a/./b", "notes:/a/b");
        check("notes:///a", "notes:///a");
        check("urn:isbn:0451450523", "urn:isbn:0451450523");
        check("data:text/plain,a", "data:text/plain,a");
        check("notes://team/a?b=%63%2f&d", "notes://team/a?b=c%2F&d");
        check("https://X.org:443/a", "https://x.org/a");
        check("https://x.org", "https://x.org/");
        check("https://[::ffff:7f00:1]:8443/a", "https://127.0.0.1:8443/a");
        check("https://[2001:DB8::1]/a", "https://[2001:db8::1]/a");
        check("https://0x7f.1/a", "https://127.0.0.1/a");
        check(
            "postgres://app@DB:5432/t/schema",
            "postgres://app@db:5432/t/schema",
        );
        check("notes://team/é", "notes://team/%C3%A9");
        check("Notes://team/x/../a%2fb/./c", "notes://team/a%2Fb/c");
        check("https://x.org/p/a%2Fb?c=%2f", "https://x.org/p/a%2Fb?c=%2F");
        check("urn:a%2fb", "urn:a%2Fb");
    }

    #[test]
    fn an_escaped_slash_reads_as_one_too() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(with_plain_slashes(text).as_deref(), expected, "{text}");
        };
        check("notes://Team/a%2fb%2Fc", Some("notes://team/a/b/c"));
        check("notes://team/a%2Fb/../c", Some("notes://team/a/c"));
        check("notes://team/a%2Fb?c=%2F", Some("notes://team/a/b?c=%2F"));
        check("notes://team/a?b=%2F", None);
        check("notes://team/a/b", None);
    }

    #[test]
    fn what_is_no_one_resource_for_all_readers_has_no_spelling() {
        let check = |text: &str| {
            assert_eq!(canonical_uri(text), None, "{text:?}");
            assert_eq!(canonical_template(text), None, "{text:?}");
        };
        check("");
        check("a");
        check("/srv/a");
        check("\\\\host\\share");
        check("file:///../etc/passwd");
        check("file:///srv/%2e%2e%2fetc");
        check("file:///srv/%252e%252e/etc");
        check("file:///srv\\..\\etc");
        check("file:srv/a");
        check("file:/srv/a");
        check("file:////srv/a");
        check("file://host/share");
        check("file://me@localhost/srv/a");
        check("file:///srv/a?b");
        check("file:///srv/a#b");
        check("c:/srv/a");
        check("https://x.org@evil.com/");
        check("https://a:b@x.org/");
        check("https:/x.org/a");
        check("https:\\\\x.org\\a");
        check("notes://me:pw@team/a");
        check("notes://me%40x@team/a");
        check("notes://me@you@team/a");
        check("notes://team/a#b");
        check("notes://team/a//b");
        check("notes://team/..");
        check("notes://team/a%2f..%2fb");
        check("notes://team/a%2f%2e%2E");
        check("notes://team/%2fa");
        check("notes://team/a%2f");
        check("notes://team/a%2f/b");
        check("notes://team/a%2f%2fb");
        check("notes://team/a%2f%5cb");
        check("notes://team/a%2f%252e");
        check("notes://team/a%2fb%ee%80%80");
        check("notes://team/a%2fb\u{e000}");
        check("notes://team/a%2fb?c=%ee%80%80");
        check("notes://te%2fam/a");
        check("file:///srv/a%2fb");
        check("notes://team/a b");
        check(" notes://team/a");
        check("notes:a/../b");
        check("notes:a/%2e/b");
        check("notes://team/a?b=%6");
    }

    #[test]
    fn a_template_has_one_spelling_whatever_is_put_into_it() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(canonical_template(text).as_deref(), expected, "{text}");
        };
        let same = |text: &str| check(text, Some(text));
        same("file:///srv/{path}");
        same("file:///{+path}");
        same("file://{path}");
        same("notes://{team}/a{/more}{?year,month}{&x}");
        same("test://resource/{id}.txt");
        same("{scheme}://team/a");
        same("notes://team/a");
        check("NOTES://Team/./{id}", Some("notes://team/{id}"));
        check("file:///srv/../{path}", Some("file:///{path}"));
        check("file:///../{path}", None);
        check("file:///srv/{path}/../a", None);
        check("notes://team/{id", None);
        check("notes://team/{{id}}", None);
        check("notes://team/a%2Fb/{id}", None);
        check("notes://team/a%2Fb", Some("notes://team/a%2Fb"));
        check("notes://team/{id}{#part}", None);
        check("notes://team/{?id}/a", None);
        check("notes://team/x-expression-0x{id}", None);
        check("notes://team/{id}/../%78-expression-0x", None);
        check("notes://team/{id}/../X-Expression-0x", None);
    }

    #[test]
    fn the_laws_hold_for_every_seed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/uris");
        let mut seeds = 0;
        for entry in fs::read_dir(&folder).unwrap() {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            oracle::laws(&String::from_utf8_lossy(&bytes));
            seeds += 1;
        }
        assert!(seeds >= 10, "seeds in {}", folder.display());
    }

    proptest! {
        #[test]
        fn the_one_spelling_is_the_same_place_and_its_own_spelling(
            start in prop::sample::select(vec![
                "file:///", "FILE://localhost/", "notes://Team/", "notes:/", "notes:///", "notes:", "https://X.org:443/",
                "https://[::FFFF:1.2.3.4]/", "notes://me@team/",
            ]),
            parts in prop::collection::vec("[a-c%é .;~]{0,3}|%2[eEfF5]|a%2[fF]b|%C3%A9|\\.\\.|\\.", 0..6),
            query in "(\\?[a-b%=?/.é]{0,4}|\\?%6[13])?",
        ) {
            let text = format!("{start}{}{query}", parts.join("/"));
            if let Some(canonical) = canonical_uri(&text) {
                let again = canonical_uri(&canonical);
                prop_assert_eq!(again.as_deref(), Some(canonical.as_str()));
                prop_assert_eq!(Location::of_uri(&canonical), Location::of_uri(&text));
            }
        }

        #[test]
        fn any_text_can_be_asked_about(text in "\\PC{0,20}|[a-z:/%.{}?#@\\[\\]]{0,20}") {
            oracle::laws(&text);
        }
    }
}
