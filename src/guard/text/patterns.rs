//! Words that instruct a model, as far as a small table knows them.
//!
//! Each row stands for what a tool has no reason to say, in the words of attacks that were published.
//! Rows are narrow on purpose: who quarantines what is flagged must not lose tools that only describe what
//! they do. So they ask for the imperative, and for the thing besides the verb.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;

use super::flag::{Flag, Flags};

pub(super) static PATTERNS: LazyLock<Patterns> = LazyLock::new(Patterns::compiled);

/// Compiled rows, behind one automaton of their words.
pub(super) struct Patterns {
    /// Without it every row is due.
    words: Option<AhoCorasick>,
    /// For each word of the automaton, its row.
    row_of: Vec<usize>,
    rows: Vec<(Flag, Vec<Regex>, Negated)>,
}

/// Whether a row counts where it stands behind a negation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Negated {
    Counts,
    Excuses,
}

struct Row {
    flag: Flag,
    /// One of them stands wherever the pattern matches.
    words: &'static [&'static str],
    /// In texts as `fold.rs` makes them. `_` stands for any forty characters or fewer, `§` for a hundred.
    patterns: &'static [&'static str],
    negated: Negated,
}

const ROWS: &[Row] = &[
    Row {
        flag: Flag::Override,
        words: &[
            "ignore",
            "disregard",
            "forget",
            "override",
            "overrule",
            "bypass",
            "supersede",
            "do not follow",
            "don't follow",
            "stop following",
        ],
        patterns: &[
            r"\b(ignore|disregard|forget|overrule|do not follow|don't follow|stop following)( all| any| every| each| of| the| your| my| our| these| those| both){0,4}( previous| prior| above| earlier| preceding| former| existing| original| current| initial| other| foregoing| system| developer| safety| security){1,3}( user| system| safety| security)?( instructions?| prompts?| directions?| directives?| guidelines?| guardrails?)\b",
            r"\b(ignore|disregard|forget|overrule|do not follow|don't follow|stop following)( all| any| every| each| of| the| your| my| our| these| those| both){0,4}( previous| prior| above| earlier| preceding| foregoing| safety){1,2}( rules?| messages?| context| commands?| polic(y|ies)| restrictions?| conversation)\b",
            r"\b(overrides?|bypass|supersedes?)( all| any| every| of| the| your| my){0,4}( previous| prior| above| earlier| preceding| other| system| developer| safety){1,3}( system| safety)?( instructions?| prompts?| directives?| guidelines?| guardrails?)\b",
            r"\b(ignore|disregard|forget)( about)?( everything| anything| all)( that| what)?( you| i| was| has| they| the user)( have| were| been| had)? (told|said|instructed|learned|written)\b",
            r"\b(ignore|disregard|forget|override) (your|all your|the system) (instructions|prompt|guidelines|programming|training|rules)\b",
        ],
        negated: Negated::Excuses,
    },
    Row {
        flag: Flag::Secrecy,
        words: &[
            "tell",
            "mention",
            "inform",
            "notify",
            "alert",
            "reveal",
            "disclose",
            "let the",
            "secret from",
            "hidden from",
            "knowing",
            "knowledge",
            "noticing",
            "aware",
        ],
        patterns: &[
            r"\b(do not|don't|never|must not|mustn't|should not|shouldn't|avoid|refrain from)( ever| explicitly| under any circumstances)? (tell(ing)?|inform(ing)?|notify(ing)?|alert(ing)?)( about| of)? ((to )?the (user|human|customer|operator|developer)|them|anyone|anybody)\b( about| of| that| this| it| what| why|[.,;!]|$)",
            r"\b(do not|don't|never|must not|mustn't|should not|shouldn't|avoid|refrain from)( ever| explicitly)? (mention(ing)?|reveal(ing)?|disclos(e|ing)) (this|that|it|these|any of this|the existence|anything|what|you|your)_( to)? (the (user|human|customer|operator|developer)|them|anyone|anybody)\b",
            r"\b(do not|don't|never|must not) mention (this|that you|these (instructions|steps)|the (side ?note|instructions|existence of))",
            r"\b(do not|don't|never) let the (user|human|operator) (know|see|notice|find out)\b",
            r"\b(keep|kept|keeping) (this|it|that|these|the following|everything)( part| step| steps| instructions?)? ?(a )?(secret|hidden|confidential|concealed) from the (user|human|operator)\b",
            r"\bwithout (the |a )?(user|human|operator|customer)('s)? (knowing|knowledge|noticing|being aware|awareness)\b",
            r"\bwithout (telling|informing|notifying|alerting|mentioning (it|this) to) the (user|human|operator|customer)\b",
        ],
        negated: Negated::Counts,
    },
    Row {
        flag: Flag::Unasked,
        words: &["confirm", "permission", "approval", "consent"],
        patterns: &[
            r"\b(do not|don't|never|no need to)( stop to| pause to| wait to)? (ask|wait|request|seek)( the user| the human| anyone)?( for)?( any| the| their| user| explicit| further| a)*('s)? (confirmation|permission|approval|consent)\b",
            r"\b(call|use|run|execute|invoke|proceed|send|delete|transfer|approve|perform|do)\b_ without (asking|requesting|seeking|waiting)( the user| the human| anyone)?( for)?( any| the| their| user)* (confirmation|permission|approval|consent)\b",
        ],
        negated: Negated::Excuses,
    },
    Row {
        flag: Flag::SensitiveFile,
        words: &[
            ".ssh",
            "id rsa",
            "id ed25519",
            ".aws",
            ".env",
            "mcp.json",
            "/etc/passwd",
            "/etc/shadow",
            ".npmrc",
            ".netrc",
            ".git-credentials",
            "private key",
            ".kube",
            "desktop config.json",
            "ssh key",
            "wallet.dat",
            "keychain",
        ],
        patterns: &[
            r"\b(read|open|cat|access|load|retrieve|get|fetch|upload|send|include|pass|attach|print|copy|reading|from reading|contents? (of|from))\b_(~?/?\.ssh\b|id rsa|id ed25519|\.aws/|\.env\b|mcp\.json|/etc/(passwd|shadow)|\.npmrc|\.netrc|\.git-credentials|private keys?\b|\.kube/|claude desktop config\.json|ssh keys?\b|wallet\.dat|keychain)",
        ],
        negated: Negated::Excuses,
    },
    Row {
        flag: Flag::Conversation,
        words: &[
            "conversation",
            "chat history",
            "system prompt",
            "previous message",
            "message history",
            "prior message",
            "chain of thought",
            "tools available",
            "available tools",
            "system message",
        ],
        patterns: &[
            r"\b(pass|put|include|add|provide|insert|paste|write|copy|place|encode|send|summari[sz]e|append|give|submit)\b_(the (entire|full|whole|complete)?_?(conversation|chat history|message history)|conversation history|(your|the) system (prompt|message)|(all |the )?(previous|prior|earlier) messages|(your|the) chain of thought|(a |the )?(names?|list) of (all )?(the )?(available tools|tools available))_\b(parameters?|arguments?|fields?|params?|inputs?|side ?note|call|value|request|url|query)\b",
            r"\b(reveal|repeat|print|output|show|leak|expose|send|email|post) (me )?(all of )?(your|the) (entire |full |complete |hidden |initial |original )*(system (prompt|message)|initial instructions|hidden instructions)\b",
        ],
        negated: Negated::Excuses,
    },
    Row {
        flag: Flag::Exfiltration,
        words: &["http://", "https://", "webhook", "attacker", "@"],
        patterns: &[
            r"\b(send|post|upload|forward|transmit|leak|exfiltrate|e-?mail|copy|submit|report|deliver|bcc)\b§\b(conversation|chat (history|log)|message history|credentials?|passwords?|secrets?|api keys?|access tokens?|private keys?|ssh keys?|environment variables|system prompt|cookies?|personal (data|information|details)|\.env|session tokens?|everything|all (the )?(files|data|messages|results|output))\b§\b(to|at|via)\b_(https?://|[a-z0-9._+-]{1,40}@[a-z0-9-]{1,40}\.|webhook|the attacker)",
            r"\b(send|post|forward|copy|e-?mail|bcc)\b_(every|each|all)( of the| the| your| of)?( user's| outgoing| incoming| sent)? (messages?|e-?mails?|results?|files?|requests?|transactions?|outputs?|responses?)\b_(to|at)\b_(https?://|[a-z0-9._+-]{1,40}@[a-z0-9-]{1,40}\.)",
        ],
        negated: Negated::Excuses,
    },
    Row {
        flag: Flag::Image,
        words: &["!["],
        patterns: &[
            r"!\[[^\]]{0,200}\]\(\s*https?://[^)\s]{1,200}[?&=/](\{|<|\[|\$|%7b|%5b|data here|base64)",
            r"\b(render|include|append|add|display|insert|show|output|end)\b§!\[[^\]]{0,200}\]\(\s*https?://[^)\s]{1,200}\?",
        ],
        negated: Negated::Counts,
    },
    Row {
        flag: Flag::Redirection,
        words: &[
            "recipient",
            "address",
            "bcc",
            "account",
            "wallet",
            "proxy",
            "iban",
            "destination",
            "mails",
            "messages",
            "payments",
            "transfers",
            "transactions",
            "every message",
            "every email",
            "every payment",
        ],
        patterns: &[
            r"\b(when(ever)?|if|every time|any time|each time|once)\b_\b(send|e-?mail|messag|transfer|pay|buy|order|request|quot|tool|deploy|commit)§\b(change|replace|set|use|add|modify|switch|redirect|substitute|include|must be sent|should be sent|goes)\b_\b(recipients?|(e-?mail |wallet |destination |the )address|bcc|account number|iban|wallet|proxy( number| address)?|destination)\b_\b(to|with|as|by|at|is|instead)\b",
            r"\b(send|forward|route|redirect) (all|every|any|each)( of the| the)? (e-?mails?|messages?|payments?|transfers?|transactions?)\b_\b(to|through)\b_([a-z0-9._+-]{1,40}@[a-z0-9-]{1,40}\.|instead|\+?[0-9]{7,}|0x[0-9a-f]{6})",
        ],
        negated: Negated::Excuses,
    },
    Row {
        flag: Flag::Role,
        words: &[
            "you are now",
            "you're now",
            "from now on",
            "pretend",
            "act as",
            "developer mode",
            "jailbr",
            "your new",
            "your real",
            "your actual",
            "your true",
            "god mode",
            "debug mode",
            "dan mode",
        ],
        patterns: &[
            r"\b(you are|you're) now (in |acting as |an? |the |operating )?(dan\b|developer mode|unrestricted|jailbroken|free (of|from)|root|admin(istrator)?\b|different|evil|no longer)",
            r"\bfrom now on,? (you (will|must|are|should|shall|only)|always|never|ignore|act|all (your|of your))\b",
            r"\b(act as|pretend (to be|you are|that you are)) (an? |the )?(unrestricted|uncensored|jailbroken|root|system administrator|different (ai|assistant|model)|admin)\b",
            r"\byour (new|real|actual|true) (instructions?|task|objective|goal|mission) (is|are|will be)\b",
            r"\b(enable|enter|activate|switch to) (developer|dan|god|debug|jailbreak) mode\b",
        ],
        negated: Negated::Excuses,
    },
    Row {
        flag: Flag::Turn,
        words: &[
            "<|",
            "[inst]",
            "[/inst]",
            "<<sys>>",
            "system:",
            "human:",
            "assistant:",
            "system message",
            "system prompt",
            "system notice",
            "system override",
            "end of",
            "begin new",
            "user:",
            "new instruction",
            "### ",
        ],
        patterns: &[
            r"<\|(im start|im end|im sep|system|user|assistant|endoftext|end of text|begin of text|start header id|eot id|end|tool|channel|message)\|>",
            r"\[/?inst\]|<<sys>>",
            r"(^|\n)\s?(#{1,4} ?|\[|\()?(system|assistant|human|developer)( message| prompt| notice| override| note| update)?(\]|\))? ?: ?(you|the user|ignore|disregard|please|do |from now|new |always|never|i |sure|ok|important|as |your|forget|override|for )",
            r"(\[|\(|<|#{2,4} ?|-{2,} ?|={2,} ?)(end of|begin new|new|begin) (the )?(system |user |tool )?(prompt|instructions?|message|output|result|document|context)\b( begins?| starts?)? ?(\]|\)|>|-{2,}|={2,}|:|\n)",
            r"\[(system|admin|developer) (message|notice|override|prompt|note|instruction)",
        ],
        negated: Negated::Counts,
    },
    Row {
        flag: Flag::Attention,
        words: &[
            "important",
            "instruct",
            "critical",
            "urgent",
            "attention",
            "mandatory",
            "override",
            "<system",
            "<secret",
            "<hidden",
            "<admin",
            "<assistant",
            "<developer",
            "<priority",
        ],
        patterns: &[
            r"</?\s?[a-z -]{0,30}(important|instructions?|critical|urgent|attention|mandatory|override)[a-z -]{0,30}>",
            r"</?(system|system[ -]prompt|system[ -]reminder|secret|hidden|admin|assistant|developer|priority)\s?>",
        ],
        negated: Negated::Counts,
    },
    Row {
        flag: Flag::Command,
        words: &[
            "curl",
            "wget",
            "powershell",
            "base64 -d",
            "rm -rf",
            "/dev/tcp",
            "iwr ",
            "invoke-webrequest",
        ],
        patterns: &[
            r"\b(run|execute|type|enter|invoke|issue|start|call)\b_\b(curl|wget)\b§\|\s?(sudo )?(ba|z|da)?sh\b",
            r"\b(run|execute|type|enter|invoke|issue|start|call)\b_(powershell|iwr |invoke-webrequest)§\b(iex|invoke-expression|downloadstring|-enc)",
            r"\b(run|execute|type|enter|invoke|issue|start|call)\b_(base64 -d|/dev/tcp/|rm -rf)",
        ],
        negated: Negated::Excuses,
    },
];

/// How much text before a match is looked at for a negation.
const REACH: usize = 24;

impl Patterns {
    /// INVARIANT: the table is ours, and a test compiles it: what is left out below is nothing.
    fn compiled() -> Self {
        let words = ROWS.iter().enumerate();
        let words = words.flat_map(|(row, it)| it.words.iter().map(move |word| (row, *word)));
        let (row_of, words): (Vec<usize>, Vec<&str>) = words.unzip();
        let rows = ROWS.iter().map(|row| {
            let patterns = row.patterns.iter().filter_map(|it| compiled(it));
            (row.flag, patterns.collect(), row.negated)
        });
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(words);
        Self {
            words: automaton.ok(),
            row_of,
            rows: rows.collect(),
        }
    }

    /// What a folded text says.
    pub(super) fn find(&self, text: &str) -> Flags {
        let mut due = vec![self.words.is_none(); self.rows.len()];
        // Words that belong together may stand on two lines.
        let line = text.replace('\n', " ");
        let hits = self
            .words
            .iter()
            .flat_map(|words| words.find_overlapping_iter(&line));
        for hit in hits {
            let row = self.row_of.get(hit.pattern().as_usize());
            if let Some(due) = row.and_then(|row| due.get_mut(*row)) {
                *due = true;
            }
        }
        let due = self.rows.iter().zip(due).filter(|(_, due)| *due);
        let matching = due.filter(|((_, patterns, negated), _)| {
            patterns
                .iter()
                .any(|pattern| matches(pattern, *negated, text))
        });
        matching.map(|((flag, _, _), _)| *flag).collect()
    }
}

fn matches(pattern: &Regex, negated: Negated, text: &str) -> bool {
    match negated {
        Negated::Counts => pattern.is_match(text),
        Negated::Excuses => pattern
            .find_iter(text)
            .any(|hit| !is_negated(text.get(..hit.start()).unwrap_or_default())),
    }
}

/// Whether the words that come last turn what follows into its opposite.
fn is_negated(before: &str) -> bool {
    let from = before.floor_char_boundary(before.len().saturating_sub(REACH));
    let near = before.get(from..).unwrap_or_default();
    let clause = near
        .rsplit(['.', ';', '!', '?', '\n', ',', ':', '(', ')', '-', '–', '—'])
        .next()
        .unwrap_or_default();
    // As a word of its own, so that nothing that merely ends like one excuses what follows.
    let clause = format!(" {clause}");
    [
        " not ",
        " never ",
        "n't ",
        " cannot ",
        " no ",
        " refuses to ",
        " unable to ",
    ]
    .iter()
    .any(|word| clause.contains(word))
}

fn compiled(pattern: &str) -> Option<Regex> {
    // A word ends where letters of ASCII do: the table has no others, and this is much faster.
    let pattern = pattern
        .replace(r"\b", r"(?-u:\b)")
        .replace('_', r"(?s:.{0,40})")
        .replace('§', r"(?s:.{0,100})")
        .replace(' ', r"\s");
    Regex::new(&pattern).ok()
}
