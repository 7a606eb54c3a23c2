use crate::clients::ServerNames;

#[test]
fn a_name_becomes_a_key_of_the_gate() {
    let check = |name: &str, key: &str| {
        assert_eq!(ServerNames::default().key(name), key, "{name:?}");
    };
    check("github", "github");
    check("GitHub Enterprise", "github-enterprise");
    check("@scope/Server_1.2", "scope-server-1-2");
    check("  --x--  ", "x");
    check("2mail", "server-2mail");
    check("日本", "server");
    check("", "server");
    check(&"a".repeat(40), &"a".repeat(32));
    check(&format!("{} b", "a".repeat(31)), &"a".repeat(31));
}

#[test]
fn no_key_is_given_twice() {
    let mut names = ServerNames::default();
    names.take("mail");
    let keys: Vec<String> = [
        "mail",
        "Mail",
        "mail-2",
        "MAIL",
        &"a".repeat(32),
        &"a".repeat(33),
    ]
    .iter()
    .map(|name| names.key(name))
    .collect();
    let long = format!("{}-2", "a".repeat(30));
    let expected = [
        "mail-2",
        "mail-3",
        "mail-2-2",
        "mail-4",
        &"a".repeat(32),
        &long,
    ];
    assert_eq!(keys, expected);
}
