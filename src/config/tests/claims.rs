//! What policies learn from agents' tokens.

use super::*;
use crate::config::{Listen, ListenAuth};
use crate::identity::{ClaimPath, NamedClaim};
use crate::policy::{ClaimType, TokenGrants};

/// A gate whose agents have tokens of an authorization server, with these lines of `[listen.auth]`
/// from line 8 on.
fn gate(lines: &str) -> String {
    format!(
        "upstream.command = ['a']\nlisten.transport = 'http'\nlisten.port = 1\n[listen.auth]\n\
         type = 'jwt'\nissuer = 'i'\naudience = 'a'\n{lines}\njwks_file = 'k'\n"
    )
}

#[test]
fn claims_arrive_by_their_names_with_where_they_are_and_their_types() {
    let config = valid(&gate(
        "capabilities_claim = '/mcp/capabilities'\n\
         claims = { tier = 'string', 'quota-2' = 'long', admin = { type = 'bool' }, \
         tools = { claim = 'https://i/tools', type = 'strings' } }",
    ));
    let Listen::Http(listen) = &config.listen else {
        panic!("{config:?}")
    };
    let ListenAuth::Jwt(jwt) = &listen.auth else {
        panic!("{config:?}")
    };
    assert_eq!(jwt.capabilities_claim, ClaimPath::read("/mcp/capabilities"));
    let expected = [
        ("tier", "tier", ClaimType::String),
        ("quota-2", "quota-2", ClaimType::Long),
        ("admin", "admin", ClaimType::Bool),
        ("tools", "https://i/tools", ClaimType::Strings),
    ];
    let expected = expected.map(|(name, path, claim_type)| NamedClaim {
        name: name.to_owned(),
        path: ClaimPath::read(path).expect("a path"),
        claim_type,
    });
    assert_eq!(jwt.claims, expected);
}

#[test]
fn policies_know_the_claims_of_the_configuration() {
    let known = |text: &str| {
        let settings = crate::cli::proxy::policy_settings(&valid(text));
        let claims = settings.claims.expect("a configuration says which");
        let types = claims.types.iter();
        let types: Vec<_> = types.map(|(name, of)| (name.clone(), of.word())).collect();
        (types, claims.grants)
    };
    let (types, grants) = known(&gate("claims.tier = 'string'\ncapabilities_claim = 'c'"));
    assert_eq!(types, [("tier".to_owned(), "string")]);
    assert_eq!(grants, TokenGrants::Capabilities);
    for text in [gate(""), "upstream.command = ['a']".to_owned()] {
        assert_eq!(known(&text), (Vec::new(), TokenGrants::Nothing));
    }
}

#[test]
fn each_mistake_in_a_claim_has_its_reason() {
    let one = |claim: &str, expected: &[&str]| {
        check(&gate(&format!("claims = {{ {claim} }}")), expected);
    };
    let name = "expected a name in front of the type";
    let path = "expected the name of a claim, or a JSON pointer to it";
    let of_one = "is different in each token of an agent";
    one(
        "a = 'int'",
        &["8 listen.auth.claims.a: unknown value 'int'"],
    );
    one(
        "a = 1",
        &["8 listen.auth.claims.a: expected a type, or a table with it, found an integer"],
    );
    one(
        "a = []",
        &["8 listen.auth.claims.a: expected a type, or a table with it, found an array"],
    );
    one(
        "a = { claim = '/a' }",
        &["8 listen.auth.claims.a.type: required"],
    );
    one(
        "a = { type = 'sting' }",
        &["8 listen.auth.claims.a.type: unknown value 'sting'"],
    );
    for pointer in ["/a//b", "", "/", "/~2"] {
        one(
            &format!("a = {{ type = 'bool', claim = '{pointer}' }}"),
            &[&format!("8 listen.auth.claims.a.claim: {path}")],
        );
    }
    one(
        "a = { type = 'bool', clam = 'x' }",
        &["8 listen.auth.claims.a.clam: unknown key"],
    );
    one(
        "'a b' = 'bool'",
        &[&format!("8 listen.auth.claims.\"a b\": {name}")],
    );
    one(
        "'' = 'bool'",
        &[&format!("8 listen.auth.claims.\"\": {name}")],
    );
    let long = "n".repeat(65);
    one(
        &format!("{long} = 'bool'"),
        &[&format!("8 listen.auth.claims.{long}: {name}")],
    );
    one(
        "exp = 'long'",
        &[&format!("8 listen.auth.claims.exp: {of_one}")],
    );
    one(
        "issued = { claim = '/iat', type = 'long' }",
        &[&format!("8 listen.auth.claims.issued: {of_one}")],
    );
    let many: Vec<String> = (0..33).map(|n| format!("c{n} = 'bool'")).collect();
    one(&many.join(", "), &["8 listen.auth.claims: exceeds maximum"]);
    one(&many[..32].join(", "), &[]);
    check(
        &gate("claims = 'tools'"),
        &["8 listen.auth.claims: expected a table, found a string"],
    );
    check(
        &gate("capabilities_claim = '/'"),
        &[&format!("8 listen.auth.capabilities_claim: {path}")],
    );
    check(
        &gate("capabilities_claim = 1"),
        &["8 listen.auth.capabilities_claim: expected a string, found an integer"],
    );
}

#[test]
fn claims_belong_to_tokens_of_an_authorization_server() {
    check(
        "upstream.command = ['a']\nlisten.transport = 'http'\nlisten.port = 1\n[listen.auth]\n\
         type = 'bearer'\ntokens = { a = '0123456789abcdef' }\nclaims = {}\ncapabilities_claim = 'c'",
        &[
            "7 listen.auth.claims: only applies when type is 'jwt'",
            "8 listen.auth.capabilities_claim: only applies when type is 'jwt'",
        ],
    );
}
