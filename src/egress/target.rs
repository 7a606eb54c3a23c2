//! What a request to the proxy is for.

use hyper::header::HOST;
use hyper::{Method, Request, Version};

use super::destination::Destination;
use super::refusal::EgressRefusal;

/// The port of `http` URLs.
const HTTP: u16 = 80;

/// Characters of a target that are told.
const MAX_TOLD: usize = 300;

/// The host and port that a request is for, with which its field `Host` agrees (RFC 9112 §3.2).
pub(super) fn read<B>(request: &Request<B>) -> Result<Destination, EgressRefusal> {
    let uri = request.uri();
    let authority = uri.authority().ok_or(EgressRefusal::Form)?;
    let port = match (request.method() == Method::CONNECT, uri.scheme_str()) {
        (true, None) => None,
        (false, Some("http")) => Some(HTTP),
        (true, Some(_)) | (false, _) => return Err(EgressRefusal::Form),
    };
    let to = Destination::read_or(authority.as_str(), port).map_err(EgressRefusal::Target)?;
    let mut hosts = request.headers().get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => {
            // Some clients leave the port out of `Host` beside CONNECT.
            let port = port.unwrap_or(to.port());
            let named = Destination::read_or(host.to_str().unwrap_or_default(), Some(port));
            if named.as_ref() != Ok(&to) {
                return Err(EgressRefusal::Host);
            }
        }
        (None, _) if request.version() == Version::HTTP_10 => {}
        (None | Some(_), _) => return Err(EgressRefusal::Host),
    }
    Ok(to)
}

/// The same as far as it can be read, for the record.
pub(super) fn told<B>(request: &Request<B>) -> String {
    let uri = request.uri();
    let text = uri.authority().map_or(uri.path(), |it| it.as_str());
    // What stands before an `@` may be a password.
    let text = text.rsplit('@').next().unwrap_or_default();
    text.escape_debug().take(MAX_TOLD).collect()
}

#[cfg(test)]
mod tests {
    use super::super::destination::DestinationError;
    use super::*;

    #[test]
    fn a_request_is_for_the_host_that_its_line_and_its_field_name() {
        use EgressRefusal::{Form, Host, Target};
        let check = |request: &str, expected: Result<&str, EgressRefusal>| {
            let mut words = request.split(' ');
            let mut next = || words.next().unwrap();
            let mut built = Request::builder().method(next()).uri(next());
            for host in words {
                built = match host {
                    "1.0" => built.version(Version::HTTP_10),
                    host => built.header(HOST, host),
                };
            }
            let read = read(&built.body(()).unwrap()).map(|it| it.to_string());
            assert_eq!(read, expected.map(str::to_owned), "{request}");
        };
        let name = "api.example:443";
        check("CONNECT api.example:443 api.example:443", Ok(name));
        check("CONNECT API.example:443 api.EXAMPLE:443", Ok(name));
        check("CONNECT api.example:443 api.example", Ok(name));
        check("CONNECT api.example:443 1.0", Ok(name));
        check("GET http://a.example/x a.example", Ok("a.example:80"));
        check("GET http://a.example:80/x a.example", Ok("a.example:80"));
        check("POST http://[::1]:8080 [::1]:8080", Ok("[::1]:8080"));
        check("CONNECT api.example:443", Err(Host));
        check("CONNECT api.example:443 b.example:443", Err(Host));
        check("CONNECT api.example:443 api.example:80", Err(Host));
        check("GET http://a.example/ b.example", Err(Host));
        check("GET http://a.example:8080/ a.example", Err(Host));
        check("GET http://a.example/ a.example a.example", Err(Host));
        check("GET https://a.example/ a.example", Err(Form));
        check("GET /x a.example", Err(Form));
        check(
            "GET http://me@a.example/ a.example",
            Err(Target(DestinationError::Odd)),
        );
        check(
            "GET http://0x7f.1/ 0x7f.1",
            Err(Target(DestinationError::Spelling)),
        );
        check(
            "CONNECT a.example.:443 a.example.:443",
            Err(Target(DestinationError::Name)),
        );
    }
}
