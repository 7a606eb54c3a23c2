//! The table of words that instruct a model.
//!
//! Each row stands for what a tool has no reason to say, in the words of attacks that were published.
//! Rows are narrow on purpose: who quarantines what is flagged must not lose tools that only describe what
//! they do. So they ask for the imperative, and for the thing besides the verb.

use super::flag::Flag;

/// Whether a row counts where it stands behind a negation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NegationRule {
    Counts,
    Excuses,
}

pub(super) struct FlagRow {
    pub(super) flag: Flag,
    /// In texts as `fold.rs` makes them: a blank stands for a line end as well. `_` stands for any forty
    /// characters or fewer, `§` for a hundred.
    pub(super) patterns: &'static [&'static str],
    pub(super) negated: NegationRule,
}

pub(super) const ROWS: &[FlagRow] = &[
    FlagRow {
        flag: Flag::Override,
        patterns: &[
            r"\b(ignore|disregard|forget|overrule|do not follow|don't follow|stop following)( all| any| every| each| of| the| your| my| our| these| those| both){0,4}( previous| prior| above| earlier| preceding| former| existing| original| current| initial| other| foregoing| system| developer| safety| security){1,3}( user| system| safety| security)?( instructions?| prompts?| directions?| directives?| guidelines?| guardrails?)\b",
            r"\b(ignore|disregard|forget|overrule|do not follow|don't follow|stop following)( all| any| every| each| of| the| your| my| our| these| those| both){0,4}( previous| prior| above| earlier| preceding| foregoing| safety){1,2}( rules?| messages?| context| commands?| polic(y|ies)| restrictions?| conversation)\b",
            r"\b(overrides?|bypass|supersedes?)( all| any| every| of| the| your| my){0,4}( previous| prior| above| earlier| preceding| other| system| developer| safety){1,3}( system| safety)?( instructions?| prompts?| directives?| guidelines?| guardrails?)\b",
            r"\b(ignore|disregard|forget)( about)?( everything| anything| all)( that| what)?( you| i| was| has| they| the user)( have| were| been| had)? (told|said|instructed|learned|written)\b",
            r"\b(ignore|disregard|forget|override) (your|all your|the system) (instructions|prompt|guidelines|programming|training|rules)\b",
        ],
        negated: NegationRule::Excuses,
    },
    FlagRow {
        flag: Flag::Secrecy,
        patterns: &[
            r"\b(do not|don't|never|must not|mustn't|should not|shouldn't|avoid|refrain from)( ever| explicitly| under any circumstances)? (tell(ing)?|inform(ing)?|notify(ing)?|alert(ing)?)( about| of)? ((to )?the (user|human|customer|operator|developer)|them|anyone|anybody)\b( about| of| that| this| it| what| why|[.,;!]|$)",
            r"\b(do not|don't|never|must not|mustn't|should not|shouldn't|avoid|refrain from)( ever| explicitly)? (mention(ing)?|reveal(ing)?|disclos(e|ing)) (this|that|it|these|any of this|the existence|anything|what|you|your)_( to)? (the (user|human|customer|operator|developer)|them|anyone|anybody)\b",
            r"\b(do not|don't|never|must not) mention (this|that you|these (instructions|steps)|the (side ?note|instructions|existence of))",
            r"\b(do not|don't|never) let the (user|human|operator) (know|see|notice|find out)\b",
            r"\b(keep|kept|keeping) (this|it|that|these|the following|everything)( part| step| steps| instructions?)? ?(a )?(secret|hidden|confidential|concealed) from the (user|human|operator)\b",
            r"\bwithout (the |a )?(user|human|operator|customer)('s)? (knowing|knowledge|noticing|being aware|awareness)\b",
            r"\bwithout (telling|informing|notifying|alerting|mentioning (it|this) to) the (user|human|operator|customer)\b",
        ],
        negated: NegationRule::Counts,
    },
    FlagRow {
        flag: Flag::Unasked,
        patterns: &[
            r"\b(do not|don't|never|no need to)( stop to| pause to| wait to)? (ask|wait|request|seek)( the user| the human| anyone)?( for)?( any| the| their| user| explicit| further| a){0,12}('s)? (confirmation|permission|approval|consent)\b",
            r"\b(call|use|run|execute|invoke|proceed|send|delete|transfer|approve|perform|do)\b_ without (asking|requesting|seeking|waiting)( the user| the human| anyone)?( for)?( any| the| their| user){0,12} (confirmation|permission|approval|consent)\b",
        ],
        negated: NegationRule::Excuses,
    },
    FlagRow {
        flag: Flag::SensitiveFile,
        patterns: &[
            r"\b(read|open|cat|access|load|retrieve|get|fetch|upload|send|include|pass|attach|print|copy|reading|from reading|contents? (of|from))\b_(~?/?\.ssh\b|id rsa|id ed25519|\.aws/|\.env\b|mcp\.json|/etc/(passwd|shadow)|\.npmrc|\.netrc|\.git-credentials|private keys?\b|\.kube/|claude desktop config\.json|ssh keys?\b|wallet\.dat|keychain)",
        ],
        negated: NegationRule::Excuses,
    },
    FlagRow {
        flag: Flag::Conversation,
        patterns: &[
            r"\b(pass|put|include|add|provide|insert|paste|write|copy|place|encode|send|summari[sz]e|append|give|submit)\b_(the (entire|full|whole|complete)?_?(conversation|chat history|message history)|conversation history|(your|the) system (prompt|message)|(all |the )?(previous|prior|earlier) messages|(your|the) chain of thought|(a |the )?(names?|list) of (all )?(the )?(available tools|tools available))_\b(parameters?|arguments?|fields?|params?|inputs?|side ?note|call|value|request|url|query)\b",
            r"\b(reveal|repeat|print|output|show|leak|expose|send|email|post) (me )?(all of )?(your|the) (entire |full |complete |hidden |initial |original ){0,12}(system (prompt|message)|initial instructions|hidden instructions)\b",
        ],
        negated: NegationRule::Excuses,
    },
    FlagRow {
        flag: Flag::Exfiltration,
        patterns: &[
            r"\b(send|post|upload|forward|transmit|leak|exfiltrate|e-?mail|copy|submit|report|deliver|bcc)\b§\b(conversation|chat (history|log)|message history|credentials?|passwords?|secrets?|api keys?|access tokens?|private keys?|ssh keys?|environment variables|system prompt|cookies?|personal (data|information|details)|\.env|session tokens?|everything|all (the )?(files|data|messages|results|output))\b§\b(to|at|via)\b_(https?://|[a-z0-9._+-]{1,40}@[a-z0-9-]{1,40}\.|webhook|the attacker)",
            r"\b(send|post|forward|copy|e-?mail|bcc)\b_(every|each|all)( of the| the| your| of)?( user's| outgoing| incoming| sent)? (messages?|e-?mails?|results?|files?|requests?|transactions?|outputs?|responses?)\b_(to|at)\b_(https?://|[a-z0-9._+-]{1,40}@[a-z0-9-]{1,40}\.)",
            r"\b(send|post|upload|forward|transmit|submit|report|deliver|copy) (it|them|this|that|these|those|the (current |full |absolute |local |user's |home |wallet |e-?mail |ip |entire |whole )?(paths?|address(es)?|files?|contents?|names?|results?|outputs?|values?|data|text))( of [a-z0-9' ]{1,30})? (to|at|via) (https?://|[a-z0-9._+-]{1,40}@[a-z0-9-]{1,40}\.)",
        ],
        negated: NegationRule::Excuses,
    },
    FlagRow {
        flag: Flag::Image,
        patterns: &[
            r"!\[[^\]]{0,200}\]\(\s?https?://[^)\s]{1,200}[?&=/](\{|<|\[|\$|%7b|%5b|data here|base64)",
            r"\b(render|include|append|add|display|insert|show|output|end)\b§!\[[^\]]{0,200}\]\(\s?https?://[^)\s]{1,200}\?",
        ],
        negated: NegationRule::Counts,
    },
    FlagRow {
        flag: Flag::Redirection,
        patterns: &[
            r"\b(when(ever)?|if|every time|any time|each time|once)\b_\b(send|e-?mail|messag|transfer|pay|buy|order|request|quot|tool|deploy|commit)§\b(change|replace|set|use|add|modify|switch|redirect|substitute|include|must be sent|should be sent|goes)\b_\b(recipients?|(e-?mail |wallet |destination |the )address|bcc|account number|iban|wallet|proxy( number| address)?|destination)\b_\b(to|with|as|by|at|is|instead)\b",
            r"\b(send|forward|route|redirect) (all|every|any|each)( of the| the)? (e-?mails?|messages?|payments?|transfers?|transactions?)\b_\b(to|through)\b_([a-z0-9._+-]{1,40}@[a-z0-9-]{1,40}\.|instead|\+?[0-9]{7}|0x[0-9a-f]{6})",
        ],
        negated: NegationRule::Excuses,
    },
    FlagRow {
        flag: Flag::Role,
        patterns: &[
            r"\b(you are|you're) now (in |acting as |an? |the |operating )?(dan\b|developer mode|unrestricted|jailbroken|free (of|from)|root|admin(istrator)?\b|different|evil|no longer)",
            r"\bfrom now on,? (you (will|must|are|should|shall|only)|always|never|ignore|act|all (your|of your))\b",
            r"\b(act as|pretend (to be|you are|that you are)) (an? |the )?(unrestricted|uncensored|jailbroken|root|system administrator|different (ai|assistant|model)|admin)\b",
            r"\byour (new|real|actual|true) (instructions?|task|objective|goal|mission) (is|are|will be)\b",
            r"\b(enable|enter|activate|switch to) (developer|dan|god|debug|jailbreak) mode\b",
        ],
        negated: NegationRule::Excuses,
    },
    FlagRow {
        flag: Flag::Turn,
        patterns: &[
            r"<\|(im start|im end|im sep|system|user|assistant|endoftext|end of text|begin of text|start header id|eot id|end|tool|channel|message)\|>",
            r"\[/?inst\]|<<sys>>",
            r"(^|\n)\s?(#{1,4} ?|\[|\()?(system|assistant|human|developer)( message| prompt| notice| override| note| update)?(\]|\))? ?: ?(you|the user|ignore|disregard|please|do |from now|new |always|never|i |sure|ok|important|as |your|forget|override|for )",
            r"(\[|\(|<|#{2,4} ?|-{2} ?|={2} ?)(end of|begin new|new|begin) (the )?(system |user |tool )?(prompt|instructions?|message|output|result|document|context)\b( begins?| starts?)? ?(\]|\)|>|-{2}|={2}|:|\n)",
            r"\[(system|admin|developer) (message|notice|override|prompt|note|instruction)",
        ],
        negated: NegationRule::Counts,
    },
    FlagRow {
        flag: Flag::Attention,
        patterns: &[
            r"</?\s?[a-z -]{0,30}(important|instructions?|critical|urgent|attention|mandatory|override)[a-z -]{0,30}>",
            r"</?(system|system[ -]prompt|system[ -]reminder|secret|hidden|admin|assistant|developer|priority)\s?>",
        ],
        negated: NegationRule::Counts,
    },
    FlagRow {
        flag: Flag::Command,
        patterns: &[
            r"\b(run|execute|type|enter|invoke|issue|start|call)\b_\b(curl|wget)\b§\|\s?(sudo )?(ba|z|da)?sh\b",
            r"\b(run|execute|type|enter|invoke|issue|start|call)\b_(powershell|iwr |invoke-webrequest)§\b(iex|invoke-expression|downloadstring|-enc)",
            r"\b(run|execute|type|enter|invoke|issue|start|call)\b_(base64 -d|/dev/tcp/|rm -rf)",
        ],
        negated: NegationRule::Excuses,
    },
];
