//! Rules of authors.

use super::BUILTIN;
use crate::guard::secrets::{CustomRules, RuleError, RuleWarning, SecretRule, SecretRules};

fn rule(id: &str, keywords: &[&str], pattern: &str) -> SecretRule {
    SecretRule {
        id: id.to_owned(),
        keywords: keywords.iter().map(|&word| word.to_owned()).collect(),
        pattern: pattern.to_owned(),
        min_entropy: None,
    }
}

#[track_caller]
fn check(rules: &[SecretRule], text: &str, becomes: &str) {
    let rules = SecretRules::with(rules).unwrap();
    assert_eq!(rules.redact(text).text, becomes);
}

#[track_caller]
fn check_refused(rules: &[SecretRule], expected: &[&str]) {
    let problems = SecretRules::with(rules).unwrap_err();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(told, expected);
}

#[test]
fn a_rule_of_an_author_is_used() {
    let badge = rule("badge", &["badge"], "badge-[0-9]{4}");
    check(
        std::slice::from_ref(&badge),
        "my badge-1234 and BADGE-1234",
        "my [redacted:badge] and BADGE-1234",
    );
    let any_case = rule("badge", &["badge"], "(?i)badge-[0-9]{4}");
    check(&[any_case], "BADGE-1234", "[redacted:badge]");
    let part = rule("door", &["door code"], "door code: (?<secret>[0-9]+)");
    check(
        &[part, badge],
        "door code: 99, badge-0000",
        "door code: [redacted:door], [redacted:badge]",
    );
}

#[test]
fn a_pattern_may_use_all_of_unicode() {
    let word = rule("word", &["mot"], r"mot\s*:\s*(?<secret>\w+)");
    check(&[word], "é mot : été é", "é mot : [redacted:word] é");
    let any = rule("any", &["öl:"], "öl:.");
    check(&[any], "öl:é!", "[redacted:any]!");
}

#[test]
fn what_is_not_random_enough_is_no_secret() {
    let picky = SecretRule {
        min_entropy: Some(30),
        ..rule("pin", &["pin="], "pin=(?<secret>[a-z0-9]{16})")
    };
    check(
        std::slice::from_ref(&picky),
        "pin=aaaabbbbccccdddd",
        "pin=aaaabbbbccccdddd",
    );
    check(&[picky], "pin=a1b2c3d4e5f6g7h8", "pin=[redacted:pin]");
}

#[test]
fn an_authors_rule_names_a_secret_before_ours() {
    let body = "a1B2c3D4e5F6".repeat(3);
    let ours = format!("{}{}{body}", "gh", "p_");
    assert_eq!(BUILTIN.redact(&ours).text, "[redacted:github-token]");
    check(
        &[rule("acme", &["ghp_"], "ghp_[A-Za-z0-9]+")],
        &ours,
        "[redacted:acme]",
    );
}

#[test]
fn what_only_looks_like_a_match_may_hide_one() {
    let picky = SecretRule {
        min_entropy: Some(25),
        ..rule("pin", &["pin"], "pin[: ]+(?<secret>[a-z0-9: ]{8})")
    };
    check(
        &[picky],
        "pin: pin pin pin: a1b2c3d4",
        "pin: pin pin [redacted:pin]2c3d4",
    );
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    check_refused(
        &[
            rule("Not An Id", &[], "a+"),
            rule("jwt", &["abc"], "a+"),
            rule("twin", &["ab"], "(a"),
            rule("twin", &["abc"], "a*"),
            rule("huge", &["abc"], r"(?:\w{1,100}){1,100}x"),
        ],
        &[
            "the rule id `Not An Id` is not of 1 to 64 lower-case letters, digits and hyphens",
            "the rule `Not An Id` has no keyword",
            "the rule id `jwt` is there already",
            "the keyword `ab` of the rule `twin` is not of 3 to 64 bytes",
            "the pattern of the rule `twin` is not valid: regex parse error:\n    (a\n    ^\n\
             error: unclosed group",
            "the rule id `twin` is there already",
            "the pattern of the rule `twin` matches nothing at all as well",
            "the pattern of the rule `huge` is too large",
        ],
    );
}

#[test]
fn too_many_rules_or_keywords_are_refused() {
    let many: Vec<SecretRule> = (0..501)
        .map(|number| rule(&format!("r{number}"), &["abc"], "abc"))
        .collect();
    let problems = SecretRules::with(&many).unwrap_err();
    assert_eq!(
        problems,
        [RuleError::TooMany {
            count: 501,
            most: 500
        }]
    );
    let wordy = rule("wordy", &["abc"; 65], "abc");
    check_refused(
        &[wordy],
        &["the rule `wordy` has 65 keywords, more than 64"],
    );
}

#[test]
fn names_that_try_to_break_out_are_refused() {
    for id in ["", "a]b", "a\nb", "é", &"x".repeat(65), "\u{202e}a", "A"] {
        let problems = SecretRules::with(&[rule(id, &["abc"], "abc")]).unwrap_err();
        assert_eq!(
            problems,
            [RuleError::Id {
                rule: id.to_owned()
            }]
        );
    }
}

#[test]
fn nothing_of_a_pattern_is_in_what_developers_see() {
    let rules = [rule("acme", &["hunter"], "hunter2")];
    assert!(!format!("{rules:?}").contains("hunter"));
    assert!(!format!("{:?}", SecretRules::with(&rules).unwrap()).contains("hunter"));
}

#[test]
fn a_rule_that_cannot_find_what_it_is_for_is_told_and_no_other() {
    let check = |keywords: &[&str], pattern: &str, min_entropy: Option<u8>, expected| {
        let one = SecretRule {
            min_entropy,
            ..rule("own", keywords, pattern)
        };
        let own = CustomRules::new(vec![one]).unwrap();
        let doubts: Vec<RuleWarning> = own.doubts().collect();
        assert_eq!(doubts.first(), expected, "{keywords:?} {pattern}");
    };
    let apart = Some(&RuleWarning::Apart {
        rule: "own".to_owned(),
    });
    let entropy = Some(&RuleWarning::Entropy {
        rule: "own".to_owned(),
    });
    let nothing = Some(&RuleWarning::Nothing {
        rule: "own".to_owned(),
    });
    let token = "acme_(?:live|test)_[A-Za-z0-9]{24}";
    check(&["acme_"], token, None, None);
    check(&["ACME_LIVE", "nothing"], token, None, None);
    check(&["acne_"], token, None, apart);
    check(&["acme-", "acne_"], token, None, apart);
    check(&["badge"], "[0-9]{8}", None, apart);
    check(
        &["badge"],
        "(?s)badge.{0,80}?(?<secret>[0-9]{8})",
        None,
        None,
    );
    check(
        &["door code"],
        r"(?i)door\s+code\s*[:=]\s*(?<secret>[0-9]{6,8})",
        Some(15),
        None,
    );
    check(&["geheim: "], r"\w+: (?<secret>\S+)", None, None);

    // At most as much as so many different bytes have.
    check(&["123"], "[0-9]{8}", Some(30), None);
    check(&["123"], "[0-9]{8}", Some(31), entropy);
    check(&["123"], "[0-9]{6,7}", Some(30), entropy);
    check(&["123"], "[0-9]{16}", Some(33), None);
    check(&["123"], "[0-9]{16}", Some(34), entropy);
    check(&["abc"], "[0-9a-f]+", Some(41), entropy);
    check(&["key"], "key=(?<secret>[0-9]{8})", Some(31), entropy);
    check(&["key"], "key=(?<secret>[0-9]{8})?[a-z]+", Some(36), None);
    check(
        &["key"],
        "key=(?:(?<secret>[0-9]{8})|[a-z]{40})",
        Some(36),
        None,
    );
    check(&["key"], r"key=(?<secret>\w+)", Some(75), None);

    check(&["key"], r"key[^\s\S]", None, nothing);
    check(&["key"], r"key(?:[^\s\S]|[0-9]{4})", None, None);
}

#[test]
fn what_a_rule_that_is_told_of_would_find_is_not_found() {
    let finds = |one: SecretRule, text: &str| {
        let is_told = CustomRules::new(vec![one.clone()])
            .unwrap()
            .doubts()
            .count();
        let found = SecretRules::with(&[one]).unwrap().find(text).len();
        (is_told, found)
    };
    let text = "acme_live_Zx8Qw3Rt6Yu1Io5Pa7Sd9Fg2 and 48151623";
    let token = "acme_(?:live|test)_[A-Za-z0-9]{24}";
    assert_eq!(finds(rule("own", &["acme_"], token), text), (0, 1));
    assert_eq!(finds(rule("own", &["acne_"], token), text), (1, 0));
    let code = |min_entropy| SecretRule {
        min_entropy: Some(min_entropy),
        ..rule("own", &["481"], "[0-9]{8}")
    };
    assert_eq!(finds(code(20), text), (0, 1));
    assert_eq!(finds(code(31), text), (1, 0));
}
