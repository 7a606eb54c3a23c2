use proptest::prelude::*;

use super::*;

#[test]
fn secrets_are_known_by_the_words_of_their_names() {
    for text in [
        "password",
        "Password",
        "PASSWORD",
        "userPassword",
        "user_password2",
        "new-password",
        "Enter your password:",
        "passwords",
        "userpassword",
        "NEWPASSWORD",
        "accesstoken2",
        "myapikeys",
        "pass word",
        "passWord",
        "passphrase",
        "apiKey",
        "API key",
        "APIKEY",
        "api_keys",
        "GitHub token",
        "accessToken",
        "pin",
        "PIN code",
        "cvv",
        "creditCard",
        "Credit card number",
        "cardNumber",
        "social_security_number",
        "ssn",
        "client_secret",
        "seed phrase",
        "userpwd",
        "dbpass",
        "encryption key",
        "wallet key",
        "unlockCode",
        "session cookie",
        "security answer",
        "mother's maiden name",
        "p\u{430}ssword",
        "\u{ff50}\u{ff41}\u{ff53}\u{ff53}\u{ff57}\u{ff4f}\u{ff52}\u{ff44}",
        "pass\u{200b}word",
        "pass\u{ad}word",
        "pass",
        "db_pass",
        "passw0rd",
        "P4$$w0rd",
        "s3cret",
        "bearer",
        "userJWT",
        "JWTToken",
        "clientSecret",
        "Client secret",
        "PIN code",
        "ccNumber",
        "cc_num",
        "2fa",
        "2FA code",
        "code2fa",
        "your2FACode",
        "mfa",
        "mfaCode",
        "otp",
        "OTPCode",
        "verification code",
        "verificationCode",
        "one-time code",
        "oneTimeCode",
        "one_time_password",
        "SSH key",
        "sshKey",
        "pat",
        "GitHub PAT",
        "Kennwort",
        "contrase\u{f1}a",
        "contrasen\u{303}a",
        "CONTRASE\u{d1}A",
        "mot de passe",
        "motDePasse",
    ] {
        assert!(asks_for_secret(text), "{text}");
    }
}

#[test]
fn other_names_ask_for_none() {
    for text in [
        "",
        "name",
        "email",
        "pinned",
        "spinning",
        "opinion",
        "secretary",
        "tokenizer",
        "keyboard",
        "key",
        "card",
        "cardColour",
        "business card",
        "passenger",
        "passport country",
        "bypass",
        "number",
        "account",
        "security level",
        "compass",
        "boarding pass",
        "passRate",
        "pass_through",
        "trespass",
        "spin",
        "pinboard",
        "pattern",
        "patient",
        "Pat Smith",
        "path",
        "forbearer",
        "code",
        "postal code",
        "country code",
        "time code",
        "2fast",
        "12fabrics",
        "maxTokens",
        "max_tokens",
        "options",
        "shipping",
        "verification",
        "client",
        "ccEmail",
        "model4",
        "address1",
        "\u{65e5}\u{672c}",
    ] {
        assert!(!asks_for_secret(text), "{text}");
    }
}

#[test]
fn a_description_asks_for_a_secret_where_it_says_to_write_one() {
    for text in [
        "Your password",
        "Enter your API key.",
        "The 6-digit verification code from your phone",
        "Paste the JWT here",
        "Do not worry: your password is safe",
        "Your credit card number, without spaces",
        "One-time code",
        "your SSH private key",
    ] {
        assert!(describes_secret(text), "{text}");
    }
    for text in [
        "",
        "never your password",
        "Do not enter your password here.",
        "A nickname, not a password",
        "Name of the API key to create",
        "Email for the password reset",
        "Whether to pin the message",
        "How many tokens the answer may have",
        "The test should pass",
        "Pat's address",
        "The bearer of the ticket",
        "Which secret santa to draw",
    ] {
        assert!(!describes_secret(text), "{text}");
    }
}

proptest! {
    #[test]
    fn a_secret_is_found_wherever_it_stands_as_a_word(
        before in "[ a-z0-9_-]{0,8}[ _0-9-]|",
        known in proptest::sample::select(WORDS),
        after in "[ _0-9-][ a-z0-9_-]{0,8}|",
    ) {
        let text = format!("{before}{known}{after}");
        prop_assert!(asks_for_secret(&text));
        prop_assert!(asks_for_secret(&text.to_uppercase()));
    }

    #[test]
    fn any_text_has_an_answer(text in any::<String>()) {
        asks_for_secret(&text);
        describes_secret(&text);
    }
}
