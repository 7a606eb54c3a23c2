//! Credentials of no issuer in particular. All of this guesses, so it comes after all that knows.

use super::Row;

pub(super) const ROWS: &[Row] = &[
    Row::text("postgres-url", &["postgres"], r"(?i:postgres(?:ql)?(?:\+[a-z0-9]{2,12})?://)[A-Za-z0-9_.%\-]{0,64}:(?<secret>[A-Za-z0-9!$&'()*+,;=._~%^#?\-]{3,128})@[A-Za-z0-9\[]", 10),
    Row::text("mysql-url", &["mysql", "mariadb"], r"(?i:(?:mysql|mariadb)(?:\+[a-z0-9]{2,12})?://)[A-Za-z0-9_.%\-]{0,64}:(?<secret>[A-Za-z0-9!$&'()*+,;=._~%^#?\-]{3,128})@[A-Za-z0-9\[]", 10),
    Row::text("mongodb-url", &["mongodb"], r"(?i:mongodb(?:\+srv)?://)[A-Za-z0-9_.%\-]{0,64}:(?<secret>[A-Za-z0-9!$&'()*+,;=._~%^#?\-]{3,128})@[A-Za-z0-9\[]", 10),
    Row::text("redis-url", &["redis"], r"(?i:rediss?://)[A-Za-z0-9_.%\-]{0,64}:(?<secret>[A-Za-z0-9!$&'()*+,;=._~%^#?\-]{3,128})@[A-Za-z0-9\[]", 10),
    Row::text("amqp-url", &["amqp"], r"(?i:amqps?://)[A-Za-z0-9_.%\-]{0,64}:(?<secret>[A-Za-z0-9!$&'()*+,;=._~%^#?\-]{3,128})@[A-Za-z0-9\[]", 10),
    Row::text("url-password", &["://"], r"://[A-Za-z0-9_.%+\-]{0,64}:(?<secret>[A-Za-z0-9!$&'()*+,;=._~%^\-]{3,128})@[A-Za-z0-9\[]", 15),
    Row::text("connection-string-password", &[";password", "; password", ";pwd", "; pwd"], r";\s?(?i:password|pwd)\s?=\s?(?<secret>[!#-&(-:<-~]{6,128})", 20).guessed(),
    Row::text("basic-auth-header", &["basic"], r"(?i:basic)[ +](?<secret>[A-Za-z0-9+/_\-]{12,400}={0,2})", 28).guessed(),
    Row::text("bearer-token", &["bearer"], r"(?i:bearer)[ +](?<secret>[A-Za-z0-9_~+/.\-]{20,1000}={0,2})", 33).guessed(),
    Row::text("curl-password", &["curl"], r#"curl[\t -~]{1,200}?\s(?:-u|--user)[ =]?["']?[A-Za-z0-9_.@+\-]{1,64}:(?<secret>[A-Za-z0-9!#%^*_+=.,~\-]{6,128})"#, 22).guessed(),
    Row::text("netrc-password", &["machine"], r"machine\s{1,4}[A-Za-z0-9.\-]{3,100}\s{1,8}login\s{1,4}[!-~]{1,100}\s{1,8}password\s{1,4}(?<secret>[!-~]{6,128})", 22),
    Row::text("unix-password-hash", &["$6$", "$5$", "$y$", "$2a$", "$2b$", "$2y$", "$apr1$", "$argon2"], r"(?<secret>\$(?:6|5)\$(?:rounds=[0-9]{1,9}\$)?[A-Za-z0-9./]{4,16}\$[A-Za-z0-9./]{43,86}|\$y\$[A-Za-z0-9./]{1,12}\$[A-Za-z0-9./]{8,86}\$[A-Za-z0-9./]{43}|\$2[aby]\$[0-9]{2}\$[A-Za-z0-9./]{53}|\$apr1\$[A-Za-z0-9./]{1,8}\$[A-Za-z0-9./]{22}|\$argon2(?:id|i|d)\$v=[0-9]{1,3}\$[a-z0-9=,]{8,40}\$[A-Za-z0-9+/]{11,64}\$[A-Za-z0-9+/]{22,128})", 32),
    Row::named("totp-seed", &["otpauth", "totp", "otp_secret", "mfa_secret"], r"(?:otpauth://[!-~]{1,120}secret|totp|otp_secret|mfa_secret)", "[A-Z2-7]{16,64}", 28),
    Row::guess("generic-api-key", &["api_key", "apikey", "api-key", "api key", "access_key", "accesskey", "access-key", "secret_key", "secretkey", "secret-key", "signing_key", "signing-key", "encryption_key", "encryption-key", "private_key", "master_key", "account_key", "auth_key", "shared_key", "app_key", "appkey", "api.key", "client_key", "service_key", "webhook_key"], "(?:api|access|secret|signing|encryption|private|master|account|auth|shared|app|client|service|webhook)[_. -]?key", r"[A-Za-z0-9_+/=.~\-]{16,200}", 33),
    Row::guess("generic-secret", &["secret"], r"secret", r"[A-Za-z0-9_+/=.~\-]{16,200}", 34),
    Row::token_guess("generic-token", &["token"], r"[A-Za-z0-9_+/=.~\-]{20,200}", 34),
    Row::guess("generic-password", &["passw", "passwd", "_pwd", "passphrase", "_pass", "pwd="], r"(?:password|passwd|passwort|passphrase|[_.-]pwd|[_.-]pass|\bpwd)", r"[A-Za-z0-9!@#%^&*_+=?~.,:\-]{8,128}", 27),
    Row::guess("generic-credential", &["credential", "auth_code", "authkey", "csrf"], "(?:credentials?|auth_code|authkey|csrf[a-z_-]{0,16})", r"[A-Za-z0-9_+/=.~\-]{20,200}", 36),
    Row::option("generic-option", &["token", "password", "secret", "api-key", "access-key"], "(?:token|password|secret|api-key|access-key)", r"[A-Za-z0-9!@#%^&*_+=?~.,:/\-]{8,200}", 27),
];
