//! A part of a long text that says the most: what a model reads instead of all of it.

use std::ops::Range;

/// How a text is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preset {
    /// The beginning and, shorter, the end: where texts say what they are and what came of them.
    #[default]
    Default,
    /// The first rows, after the heading.
    SqlQuery,
    /// The end, where a log is newest, and its first line.
    LogSearch,
    /// All of it: what a program reads, which an excerpt would mislead.
    Whole,
}

impl Preset {
    /// How a text is shortened of which no more is known than what it calls itself. What is not for
    /// people to read, a program decodes, and a part of it is nothing.
    pub fn by_type(media_type: Option<&str>, uri: &str) -> Self {
        let said = media_type.unwrap_or_default().to_ascii_lowercase();
        let (essence, parameters) = said.split_once(';').unwrap_or((&said, ""));
        let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
        let is_page = parameters.contains("profile=") || scheme.eq_ignore_ascii_case("ui");
        match essence.trim() {
            _ if is_page => Self::Whole,
            "text/csv" | "text/tab-separated-values" => Self::SqlQuery,
            "text/x-log" => Self::LogSearch,
            "" | "text/plain" if is_log(uri) => Self::LogSearch,
            "" => Self::Default,
            other if other.starts_with("text/") => Self::Default,
            _ => Self::Whole,
        }
    }
}

fn is_log(uri: &str) -> bool {
    let ending = path_of(uri).rsplit_once('.');
    ending.is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("log"))
}

/// RFC 3986 §3: what stands before a query or a fragment.
fn path_of(uri: &str) -> &str {
    uri.split(['?', '#']).next().unwrap_or_default()
}

/// What is shown of a text: its beginning and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// Ends where a line does, if one ends near enough.
    pub head: Range<usize>,
    /// Begins where a line does, if one does near enough. May be empty.
    pub tail: Range<usize>,
}

impl Excerpt {
    /// What is left out.
    pub fn gap(&self) -> Range<usize> {
        self.head.end..self.tail.start
    }
}

/// What to show of a text in at most so many bytes; `None` where all of it fits.
///
/// Lines are kept whole where that costs at most half of what could be shown, characters always.
pub fn excerpt(text: &str, preset: Preset, most: usize) -> Option<Excerpt> {
    if text.len() <= most {
        return None;
    }
    let (head, tail) = match preset {
        Preset::Default => (most - most / 4, most / 4),
        Preset::SqlQuery => (most, 0),
        Preset::LogSearch => {
            let first = text.find('\n').map_or(0, |end| end + 1);
            // A first line that takes much of the room is no heading.
            let first = if first <= most / 4 { first } else { 0 };
            (first, most - first)
        }
        Preset::Whole => return None,
    };
    let head = head_of(text, head);
    let tail = tail_of(text, tail);
    Some(Excerpt {
        head: 0..head,
        tail: tail..text.len(),
    })
}

/// What is read of a text at once, from a place in it on: whole lines where that is no great loss.
pub fn piece(text: &str, from: usize, most: usize) -> Range<usize> {
    let from = text.floor_char_boundary(from);
    let rest = text.get(from..).unwrap_or_default();
    if rest.len() <= most {
        return from..text.len();
    }
    // One character at least, or reading would never end.
    let first = rest.ceil_char_boundary(1);
    from..from + head_of(rest, most).max(first)
}

/// Where the longest beginning ends that has at most so many bytes.
fn head_of(text: &str, most: usize) -> usize {
    let most = text.floor_char_boundary(most);
    let shown = text.get(..most).unwrap_or_default();
    let line = shown.rfind('\n').map(|end| end + 1);
    line.filter(|end| *end >= most / 2).unwrap_or(most)
}

/// Where the longest end begins that has at most so many bytes.
fn tail_of(text: &str, most: usize) -> usize {
    let from = text.ceil_char_boundary(text.len() - most.min(text.len()));
    let shown = text.get(from..).unwrap_or_default();
    // A line that begins exactly here is whole.
    let is_whole = text
        .get(..from)
        .is_some_and(|before| before.ends_with('\n'));
    if is_whole {
        return from;
    }
    let line = shown.find('\n').map(|end| end + 1);
    line.filter(|skipped| *skipped <= shown.len() / 2)
        .map_or(from, |skipped| from + skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
        text.get(range.clone()).expect("whole characters")
    }

    #[track_caller]
    fn check(text: &str, preset: Preset, most: usize, expected: Option<(&str, &str)>) {
        let found = excerpt(text, preset, most);
        let shown = found
            .as_ref()
            .map(|it| (at(text, &it.head), at(text, &it.tail)));
        assert_eq!(shown, expected, "{text:?} {preset:?} {most}");
    }

    #[test]
    fn what_fits_is_shown_whole() {
        for preset in [Preset::Default, Preset::SqlQuery, Preset::LogSearch] {
            check("", preset, 0, None);
            check("abc", preset, 3, None);
        }
    }

    #[test]
    fn each_kind_of_text_shows_what_matters_in_it() {
        let rows = "id,name\n1,a\n2,b\n3,c\n4,d\n";
        check(
            rows,
            Preset::SqlQuery,
            17,
            Some(("id,name\n1,a\n2,b\n", "")),
        );
        check(rows, Preset::Default, 20, Some(("id,name\n1,a\n", "4,d\n")));
        check(
            rows,
            Preset::LogSearch,
            17,
            Some(("", "1,a\n2,b\n3,c\n4,d\n")),
        );
        check(rows, Preset::LogSearch, 40, None);
        let log = "# log\n10:00 started\n10:01 worked\n10:02 failed\n";
        check(
            log,
            Preset::LogSearch,
            30,
            Some(("# log\n", "10:02 failed\n")),
        );
    }

    #[test]
    fn what_a_program_reads_is_not_shortened() {
        check("abc", Preset::Whole, 1, None);
        for (media_type, uri, expected) in [
            (None, "notes://a", Preset::Default),
            (None, "", Preset::Default),
            (
                Some("text/plain; charset=utf-8"),
                "notes://a",
                Preset::Default,
            ),
            (Some("text/markdown"), "notes://a", Preset::Default),
            (Some("text/html"), "https://a.example/", Preset::Default),
            (Some("TEXT/CSV"), "db://rows", Preset::SqlQuery),
            (
                Some("text/tab-separated-values"),
                "db://rows",
                Preset::SqlQuery,
            ),
            (Some("text/x-log"), "a:b", Preset::LogSearch),
            (None, "file:///var/log/a.log", Preset::LogSearch),
            (
                Some("text/plain"),
                "file:///a.log?lines=all#end",
                Preset::LogSearch,
            ),
            (Some("text/markdown"), "file:///a.log", Preset::Default),
            (None, "file:///a.log/readme", Preset::Default),
            (None, "file:///readme?name=a.log", Preset::Default),
            (Some("application/json"), "db://rows", Preset::Whole),
            (Some("image/svg+xml"), "a:b", Preset::Whole),
            (Some("textile"), "a:b", Preset::Whole),
            (Some("text/html;profile=mcp-app"), "a:b", Preset::Whole),
            (Some("text/html"), "ui://widget", Preset::Whole),
            (Some("text/plain"), "UI://widget", Preset::Whole),
        ] {
            let found = Preset::by_type(media_type, uri);
            assert_eq!(found, expected, "{media_type:?} {uri}");
        }
    }

    #[test]
    fn without_lines_characters_are_kept_whole() {
        check("ääää", Preset::Default, 5, Some(("ää", "")));
        check("ääääää", Preset::SqlQuery, 5, Some(("ää", "")));
        check("ääääää", Preset::LogSearch, 5, Some(("", "ää")));
    }

    #[test]
    fn pieces_in_a_row_are_the_text() {
        for text in ["", "a", "ab\ncd\nefghij\n", "ää\n😀😀", "\n\n\n"] {
            for most in 0..text.len() + 2 {
                let (mut from, mut read) = (0, String::new());
                while from < text.len() {
                    let it = piece(text, from, most);
                    assert!(it.start == from && !it.is_empty(), "{text:?} {most} {it:?}");
                    read.push_str(at(text, &it));
                    from = it.end;
                }
                assert_eq!(read, text);
            }
        }
        assert_eq!(piece("abc", 7, 2), 3..3);
        assert_eq!(piece("ä", 1, 9), 0..2);
    }

    #[test]
    fn an_excerpt_is_never_longer_than_it_may_be_and_never_overlaps() {
        let texts = ["ab\ncd\n", "ä\n", "😀x", "\n", "abcdefgh", "a\r\nb"];
        for text in texts {
            for times in 1..9 {
                let text = text.repeat(times);
                for most in 0..text.len() {
                    for preset in [Preset::Default, Preset::SqlQuery, Preset::LogSearch] {
                        let it = excerpt(&text, preset, most).unwrap();
                        assert!(
                            it.head.len() + it.tail.len() <= most,
                            "{text:?} {most} {it:?}"
                        );
                        assert!(it.head.end <= it.tail.start, "{text:?} {most} {it:?}");
                        at(&text, &it.head);
                        at(&text, &it.gap());
                        at(&text, &it.tail);
                    }
                }
            }
        }
    }
}
