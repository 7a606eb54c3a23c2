//! What is JSON and what is not: RFC 8259 row by row.

use crate::wire::{Document, Limits};

use super::oracle;

const ACCEPTED: Option<&str> = None;
const SYNTAX: Option<&str> = Some("syntax");

/// `refused` is the reason, or none for what must be accepted.
fn check(refused: Option<&str>, inputs: &[&[u8]]) {
    for input in inputs {
        let outcome = Document::decode(input, &Limits::default());
        let reason = outcome.as_ref().err().map(|error| error.kind.reason_code());
        assert_eq!(reason, refused, "{} {outcome:?}", input.escape_ascii());
        oracle::strict_vs_serde(input);
        oracle::canonical_roundtrip(input);
    }
}

#[test]
fn literals_are_lower_case_and_whole() {
    check(
        ACCEPTED,
        &[
            b"true",
            b"false",
            b"null",
            b"[true,false,null]",
            b"{\"a\":null}",
        ],
    );
    check(
        SYNTAX,
        &[
            b"t",
            b"tr",
            b"tru",
            b"f",
            b"fals",
            b"n",
            b"nul",
            b"True",
            b"TRUE",
            b"False",
            b"Null",
            b"NULL",
            b"nil",
            b"None",
            b"undefined",
            b"NaN",
            b"Infinity",
            b"-Infinity",
            b"yes",
            b"[tru]",
            b"[nul]",
            b"[truth]",
            b"[true1]",
            b"[truefalse]",
            b"{\"a\":nul}",
            b"{\"a\":truE}",
            b"[nulll]",
            b"[,true]",
            b"[true,,false]",
            b"'true'",
            b"[t\\u0072ue]",
        ],
    );
    check(
        Some("trailing_text"),
        &[b"true1", b"truetrue", b"nulll", b"true false", b"falsey"],
    );
}

#[test]
fn integers_have_no_leading_zero_and_no_plus() {
    check(
        ACCEPTED,
        &[
            b"0",
            b"-0",
            b"1",
            b"-1",
            b"9",
            b"10",
            b"-10",
            b"123456789",
            b"[0]",
            b"[-0]",
            b"{\"a\":0}",
            b"9007199254740991",
            b"9007199254740993",
            b"9223372036854775807",
            b"9223372036854775808",
            b"18446744073709551615",
            b"18446744073709551616",
            b"-9223372036854775808",
            b"-9223372036854775809",
            b"100000000000000000000000000000000000000000000000000000000000000000000000000000",
        ],
    );
    check(
        SYNTAX,
        &[
            b"-",
            b"+1",
            b"+0",
            b"[+1]",
            b"--1",
            b"[--1]",
            b"-a",
            b"[-]",
            b"[- 1]",
            b"[01]",
            b"[-01]",
            b"[00]",
            b"[0x1]",
            b"[0xFF]",
            b"[0b1]",
            b"[0o7]",
            b"[1_000]",
            b"[1a]",
            b"[a1]",
            b"[1 000]",
            b"[1'000]",
            b"[\xef\xbc\x91]",
            b"[\xd9\xa1]",
            b"{\"a\":01}",
            b"{\"a\":+1}",
            b"[1n]",
            b"[1L]",
            b"[--0]",
            b"[-+1]",
            b"[0-]",
            b"[1-1]",
            b"[1+1]",
            b"[-\"1\"]",
            b"[-,1]",
        ],
    );
    check(
        Some("trailing_text"),
        &[
            b"01", b"-01", b"00", b"1a", b"1 2", b"0x1", b"1,2", b"1_0", b"0-",
        ],
    );
}

#[test]
fn fractions_have_digits_on_both_sides() {
    check(
        ACCEPTED,
        &[
            b"0.0",
            b"-0.0",
            b"0.1",
            b"1.5",
            b"-1.5",
            b"10.01",
            b"[3.141592653589793]",
            b"1.0",
            b"1.000000000000000000000000000000000000000000000000000000000000000000000000000001",
            b"0.000000000000000000000000000000000000000000000000000000000000000000000000001",
            b"123123123123123123123123123123.5",
        ],
    );
    check(
        SYNTAX,
        &[
            b".",
            b".5",
            b"-.5",
            b"1.",
            b"-1.",
            b"[.5]",
            b"[1.]",
            b"[-.1]",
            b"[1..2]",
            b"[1.2.3]",
            b"[1. ]",
            b"[1 .5]",
            b"[1.a]",
            b"[.]",
            b"[0.]",
            b"[-0.]",
            b"[1,.5]",
            b"[01.5]",
            b"[00.5]",
            b"[1.-5]",
            b"[1.+5]",
            b"[1\xe2\x80\xa45]",
            b"{\"a\":.1}",
            b"{\"a\":1.}",
            b"[1.5f]",
            b"[1.5d]",
        ],
    );
}

#[test]
fn exponents_have_digits_and_at_most_one_sign() {
    check(
        ACCEPTED,
        &[
            b"1e0",
            b"1E0",
            b"1e+0",
            b"1e-0",
            b"0e0",
            b"0e1",
            b"0E+1",
            b"-0e-0",
            b"1.5e10",
            b"1.5E-10",
            b"123e65",
            b"1e05",
            b"1e00",
            b"[1e1,1E1]",
            b"-1e-1",
            b"1e308",
            b"1e-400",
            b"2.2250738585072014e-308",
            b"0e400",
            b"-0.0e+00",
            // More than a double holds: the text is kept, and the gate does not compute with it.
            b"1e309",
            b"1e400",
            b"-1e400",
            b"1e99999",
            b"[1.5E+9999]",
            b"123456789e999999999999",
        ],
    );
    check(
        SYNTAX,
        &[
            b"1e", b"1E", b"1e+", b"1e-", b"[1e]", b"[1e+]", b"[1e-]", b"[1eE2]", b"[1e2e3]",
            b"[1e2.5]", b"[1ea]", b"[e1]", b"[.e1]", b"[1.e1]", b"[1e++1]", b"[1e+-1]", b"[1e--1]",
            b"[1 e1]", b"[1e 1]", b"[1e +1]", b"[-e1]", b"[0.3e]", b"[0.3e+]", b"[0e]", b"[0E+]",
            b"[1e1.]", b"[0.e1]", b"[01e1]", b"[1exp1]", b"[1^2]", b"[1e1_0]",
        ],
    );
}

#[test]
fn strings_take_the_eight_short_escapes_and_four_hex_digits() {
    check(
        ACCEPTED,
        &[
            br#""""#,
            br#""a""#,
            br#""\"""#,
            br#""\\""#,
            br#""\/""#,
            br#""\b""#,
            br#""\f""#,
            br#""\n""#,
            br#""\r""#,
            br#""\t""#,
            br#""\u0000""#,
            br#""\u001f""#,
            br#""\u0022""#,
            br#""\u005c""#,
            br#""\u005C""#,
            br#""\uabCD""#,
            br#""\uFFFF""#,
            br#""\ufffe""#,
            br#""\u20ac""#,
            br#""\ud834\udd1e""#,
            br#""\uD834\uDD1E""#,
            br#""\udbff\udfff""#,
            br#""\ud800\udc00""#,
            br#""\\u0041""#,
            br#""\\n""#,
            br#""\\\\""#,
            br#""\\\"""#,
            br#""a\/b\\c""#,
            br#""\u0041\u0042""#,
            br#""/""#,
            br#""'""#,
            br#"["\u0000","\n"]"#,
            br#""a\u0000b""#,
            br#""\u007f""#,
            br#""\u0080""#,
            br#""\u2028""#,
            br#""\ufeff""#,
        ],
    );
}

#[test]
fn other_escapes_and_open_strings_are_refused() {
    check(
        SYNTAX,
        &[
            br#"""#,
            br#""a"#,
            br#""\""#,
            br#""\\\""#,
            br#""\"#,
            br#""\a""#,
            br#""\v""#,
            br#""\0""#,
            br#""\x41""#,
            br#""\'""#,
            br#""\U0041""#,
            br#""\e""#,
            br#""\ ""#,
            br#""\u""#,
            br#""\u0""#,
            br#""\u00""#,
            br#""\u004""#,
            br#""\u004g""#,
            br#""\ug041""#,
            br#""\u 041""#,
            br#""\u+041""#,
            br#""\u-041""#,
            br#""\u{41}""#,
            br#""\u0x41""#,
            br#""\u00"#,
            br#""\u"#,
            br#""\ud834\u""#,
            br#""\ud834\u12""#,
            br#""\ud834\x""#,
            br#""\ud834\"#,
            br#""\ud834"#,
            br#""\ud834\udd1"#,
            br#""\N""#,
            br#""\1""#,
            br#""\.""#,
            b"\"\\\n\"",
            b"\"\\\t\"",
            b"\"\\\xc3\xa9\"",
            b"'a'",
            b"`a`",
            b"\xe2\x80\x9ca\xe2\x80\x9d",
            br#"["a]"#,
            br#"["a\"]"#,
            br#"{"a":"b}"#,
            br#"{"a"#,
            br#"{"a\"#,
            br#"["\"]"#,
            br#"["a"b"]"#,
            br#"["a""b"]"#,
            br#"["a" "b"]"#,
            br#"[\"a\"]"#,
            br#"["a" + "b"]"#,
            b"[a]",
            b"[\"a\\]",
        ],
    );
    check(
        Some("trailing_text"),
        &[br#""a""b""#, br#""a"b"#, br#""""""#, br#""a" "b""#],
    );
}

#[test]
fn half_of_a_surrogate_pair_is_refused() {
    check(
        Some("lone_surrogate"),
        &[
            br#""\ud800""#,
            br#""\udbff""#,
            br#""\udc00""#,
            br#""\udfff""#,
            br#""\uD800""#,
            br#""\ud800a""#,
            br#""a\ud800""#,
            br#""\ud800\n""#,
            br#""\ud800\\udc00""#,
            br#""\ud800\u0041""#,
            br#""\ud800\ud800""#,
            br#""\ud800\ud800\udc00""#,
            br#""\udc00\ud800""#,
            br#""\udd1e\ud834""#,
            br#""\ud834\ud834""#,
            br#""\ud800udc00""#,
            br#"["\ud800"]"#,
            br#"{"a":"\udfff"}"#,
            br#"{"\ud800":1}"#,
            br#"{"\udc00":{}}"#,
            br#""\ud834\udd1e\udd1e""#,
            br#""\ud800\t\udc00""#,
        ],
    );
}

#[test]
fn control_characters_in_strings_are_escaped() {
    // In each lane of a word, with more words after it.
    for lane in 0..16 {
        for control in 1..0x20_u8 {
            let text = ["\"", &"x".repeat(lane), &char::from(control).to_string()].concat();
            check(SYNTAX, &[format!("{text}{}\"", "y".repeat(20)).as_bytes()]);
        }
        let escape = format!("\"{}\\n{}\"", "x".repeat(lane), "é".repeat(20));
        check(ACCEPTED, &[escape.as_bytes()]);
    }
    for control in 1..0x20_u8 {
        check(
            SYNTAX,
            &[&[b'"', control, b'"'], &[b'"', b'a', control, b'b', b'"']],
        );
        check(
            SYNTAX,
            &[&[b"[\"12345678901234567", &[control][..], b"\"]"].concat()],
        );
        check(SYNTAX, &[&[b"{\"k", &[control][..], b"\":1}"].concat()]);
    }
    check(
        Some("nul_byte"),
        &[b"\"\0\"", b"\"a\0\"", b"[\"1234567890\0\"]", b"{\"a\0\":1}"],
    );
    check(
        ACCEPTED,
        &[
            b"\"\x7f\"",
            b"\"\xc2\x80\"",
            b"\"\xc2\x9f\"",
            b"\"\xe2\x80\xa8\"",
        ],
    );
}

#[test]
fn the_text_is_strict_utf8_without_a_byte_order_mark() {
    check(
        ACCEPTED,
        &[
            b"\"\xc2\xa0\"",
            b"\"\xc3\xa9\"",
            b"\"\xe2\x82\xac\"",
            b"\"\xf0\x9d\x84\x9e\"",
            b"\"\xf4\x8f\xbf\xbf\"",
            b"\"\xef\xbf\xbf\"",
            b"\"\xef\xbb\xbf\"",
            b"\"\xdf\xbf\"",
            b"\"\xe0\xa0\x80\"",
            b"\"\xed\x9f\xbf\"",
            b"\"\xee\x80\x80\"",
            b"\"\xf0\x90\x80\x80\"",
            b"{\"\xc3\xa9\":\"\xe4\xb8\xad\"}",
        ],
    );
    check(
        Some("not_utf8"),
        &[
            b"\"\x80\"",
            b"\"\xbf\"",
            b"\"\xff\"",
            b"\"\xfe\"",
            b"\"\xc0\x80\"",
            b"\"\xc0\xaf\"",
            b"\"\xc1\xa5\"",
            b"\"\xc1\xbf\"",
            b"\"\xe0\x80\xaf\"",
            b"\"\xe0\x9f\xbf\"",
            b"\"\xf0\x80\x80\xaf\"",
            b"\"\xf0\x8f\xbf\xbf\"",
            b"\"\xf4\x90\x80\x80\"",
            b"\"\xf5\x80\x80\x80\"",
            b"\"\xf8\x88\x80\x80\x80\"",
            b"\"\xfc\x84\x80\x80\x80\x80\"",
            b"\"\xed\xa0\x80\"",
            b"\"\xed\xbf\xbf\"",
            b"\"\xed\xa0\xb4\xed\xb4\x9e\"",
            b"\"\xc3\"",
            b"\"\xe2\x82\"",
            b"\"\xf0\x9d\x84\"",
            b"\"\xc3\x28\"",
            b"\"\xe2\x28\xa1\"",
            b"\"a\xff\"",
            b"[\xff]",
            b"\xff",
            b"\xff\xfe{\0}\0",
            b"\xfe\xff\0{\0}",
            b"{}\xff",
            b"{\"\xe9\":1}",
            b"\"\xc3\xa9\xa9\"",
            b"[\"caf\xe9\"]",
        ],
    );
    check(
        Some("byte_order_mark"),
        &[
            b"\xef\xbb\xbf{}",
            b"\xef\xbb\xbf",
            b"\xef\xbb\xbf\xef\xbb\xbf1",
        ],
    );
    check(
        SYNTAX,
        &[b" \xef\xbb\xbf{}", b"[\xef\xbb\xbf]", b"{\xef\xbb\xbf}"],
    );
    check(Some("trailing_text"), &[b"{}\xef\xbb\xbf"]);
    // UTF-16 and UTF-32 without a mark.
    check(
        Some("nul_byte"),
        &[
            b"{\0}\0",
            b"\0{\0}",
            b"{\0\0\0}\0\0\0",
            b"1\0",
            b"[\x001\0]\0",
        ],
    );
}

#[test]
fn arrays_have_commas_between_their_items_and_nowhere_else() {
    check(
        ACCEPTED,
        &[
            b"[]",
            b"[1]",
            b"[1,2]",
            b"[[]]",
            b"[[],[]]",
            b"[[[]],[]]",
            b"[{}]",
            b"[{},[]]",
            b"[\"\"]",
            b"[null]",
            b"[1,null,\"a\",true,{\"a\":[]}]",
            b"[0,0]",
            b"[[1,[2,[3]]]]",
        ],
    );
    check(
        SYNTAX,
        &[
            b"[",
            b"]",
            b"[[",
            b"[,]",
            b"[1,]",
            b"[,1]",
            b"[1,,2]",
            b"[1 2]",
            b"[1;2]",
            b"[1:2]",
            b"[1",
            b"[1,",
            b"[1,2",
            b"[[]",
            b"[}",
            b"[1}",
            b"[[1}",
            b"{]",
            b"[1,2}",
            b"[:]",
            b"[\"a\":1]",
            b"[\"a\",",
            b"[(1)]",
            b"[*]",
            b"[...]",
            b"[1,2,]",
            b"[[],]",
            b"[{},]",
            b"[,[]]",
            b"[1,\n2",
            b"[-",
            b"[\"",
            b"[{",
            b"[{\"a\":1]",
            b"[[[[[[[[1]]]]]]]",
            b"[}]",
            b"[{]}",
        ],
    );
    check(
        Some("trailing_text"),
        &[
            b"[]]", b"[][]", b"[],", b"[] []", b"[]{}", b"[1]2", b"[]1", b"[]\"\"",
        ],
    );
}

#[test]
fn objects_have_string_keys_colons_and_commas() {
    check(
        ACCEPTED,
        &[
            b"{}",
            b"{\"\":0}",
            b"{\"a\":1}",
            b"{\"a\":1,\"b\":2}",
            b"{\"a\":{}}",
            b"{\"a\":[]}",
            b"{\"a\":{\"a\":{\"a\":1}}}",
            b"{\"a\":\"a\",\"A\":\"a\"}",
            b"{\"\\u0061\":1,\"b\":2}",
            b"{\"a b\":1}",
            b"{\"a/b~c\":1}",
            b"{\"__proto__\":1}",
            b"{\"\xc3\xa9\":1,\"e\\u0301\":2}",
        ],
    );
    check(
        SYNTAX,
        &[
            b"{",
            b"}",
            b"{\"a\"",
            b"{\"a\":",
            b"{\"a\":1",
            b"{\"a\":1,",
            b"{\"a\":1,}",
            b"{,}",
            b"{,\"a\":1}",
            b"{\"a\"}",
            b"{\"a\":}",
            b"{:1}",
            b"{\"a\" 1}",
            b"{\"a\",1}",
            b"{\"a\"=1}",
            b"{\"a\"=>1}",
            b"{\"a\"::1}",
            b"{\"a\":1 \"b\":2}",
            b"{\"a\":1,,\"b\":2}",
            b"{\"a\":1;\"b\":2}",
            b"{a:1}",
            b"{'a':1}",
            b"{1:1}",
            b"{null:1}",
            b"{true:1}",
            b"{[]:1}",
            b"{{}:1}",
            b"{\"a\":1]",
            b"{\"a\":[}",
            b"{\"a\":[1}]",
            b"{\"a\":1:2}",
            b"{\"a\":1,\"b\"}",
            b"{\"a\":1,b:2}",
            b"{\"a\":a}",
            b"{\"a\":1,2}",
            b"{\"a\"\"b\":1}",
            b"{\"a\":\"b\",",
            b"{\"a\":{}",
            b"{\"a\":{},}",
            b"{{}}",
            b"{[]}",
            b"{\"a\":,}",
            b"{\"a\":1\"b\":2}",
            b"{-1:1}",
            b"{\"a\":{\"b\":1}",
            b"{\"a\":\"\\\"}",
            b"{\"a\n\":1}",
            b"{/**/}",
            b"{#}",
            b"{\"a\" :: 1}",
            b"{...{}}",
        ],
    );
    check(
        Some("trailing_text"),
        &[
            b"{}}", b"{}{}", b"{},", b"{} {}", b"{}[]", b"{}1", b"{}\"a\"", b"{};",
        ],
    );
}

#[test]
fn whitespace_is_space_tab_lf_and_cr() {
    check(
        ACCEPTED,
        &[
            b" 1",
            b"1 ",
            b"\t1\n",
            b"\r\n1\r\n",
            b" [ ] ",
            b" { } ",
            b"[ 1 , 2 ]",
            b"[\n1\n,\n2\n]",
            b"{ \"a\" : 1 , \"b\" : 2 }",
            b"{\r\"a\"\r:\r1\r}",
            b"\n\n\n{}\n\n\n",
            b"[\t]",
            b"{\n}",
            b" \"a b\" ",
            b"[ [ ] , { } ]",
            b"{\"a\": {\"b\": [1, 2, {\"c\": null}]}}",
            b"\r1",
            b"                                        1                                        ",
        ],
    );
    check(
        SYNTAX,
        &[
            b"",
            b" ",
            b"\n",
            b"\r\n",
            b"\t\t",
            b"\x0b1",
            b"\x0c1",
            b"[\x0b]",
            b"[\x0c]",
            b"[\xc2\xa0]",
            b"[\xc2\x85]",
            b"[\xe2\x80\xa8]",
            b"[\xe2\x80\xa9]",
            b"[\xe3\x80\x80]",
            b"[\xe2\x80\x8b]",
            b"[1\x0c,2]",
            b"{\x0b}",
            b"\xc2\xa01",
            b"[\x1f]",
            b"[\x7f]",
            b"[\x1b[0m1]",
            b"{\"a\"\x0c:1}",
            b"{\"a\":\xe2\x80\x831}",
            b"t rue",
            b"[tr ue]",
            b"[1e1 .5]",
            b"[\"a\" \"\"]",
            b"- 1",
            b"[1 1]",
        ],
    );
    check(
        Some("trailing_text"),
        &[
            b"1\x0c",
            b"1\x0b",
            b"1\xc2\xa0",
            b"{}\xe2\x80\xa8",
            b"1\x1a",
            b"{}\x04",
        ],
    );
    check(
        Some("nul_byte"),
        &[
            b"\0",
            b"\x001",
            b"1\0",
            b"{}\0",
            b"[\0]",
            b"[1\0]",
            b"{\0}",
            b"{\"a\"\0:1}",
            b"{\"a\":\0}",
        ],
    );
}

#[test]
fn extensions_of_json_are_refused() {
    check(
        SYNTAX,
        &[
            b"//a\n1",
            b"/*a*/1",
            b"#a\n1",
            b"[1,//a\n2]",
            b"[1/*a*/]",
            b"{\"a\":/**/1}",
            b"[1,#\n2]",
            b"{\"a\":'b'}",
            b"{a:'b'}",
            b"[undefined]",
            b"[NaN]",
            b"[Infinity]",
            b"[-Infinity]",
            b"[-NaN]",
            b"[nan]",
            b"[inf]",
            b"[0x1F]",
            b"[1,2,3,]",
            b"{\"a\":1,}",
            b"[\"a\\\nb\"]",
            b"[new Date(1)]",
            b"(1)",
            b"[function(){}]",
            b"[1..2]",
            b"<a/>",
            b"a: 1",
            b"---\n1",
            b"[`a`]",
            b"[\"\"\"a\"\"\"]",
            b")]}'\n{}",
            b"while(1);{}",
            b"&&{}",
            b"\x1e{}",
            b"data: {}",
            b"[r\"a\"]",
            b"[b\"a\"]",
            b"[u'a']",
            b"[True]",
            b"[None]",
            b"[:a]",
            b"[a]",
            b"?",
            b"@1",
        ],
    );
    check(
        Some("trailing_text"),
        &[
            b"1//a",
            b"1/*a*/",
            b"{}#a",
            b"{}\n---\n{}",
            b"{};",
            b"1;",
            b"{}\n{}",
            b"{}\x1e",
        ],
    );
}

#[test]
fn keys_that_repeat_are_refused_at_every_depth() {
    check(
        Some("duplicate_key"),
        &[
            br#"{"a":1,"a":1}"#, br#"{"a":1,"b":2,"a":3}"#, br#"{"":1,"":2}"#,
            br#"{"a":1,"\u0061":2}"#, br#"{"\u0061":1,"a":2}"#, br#"{"\u0061":1,"\u0061":2}"#,
            br#"{"/":1,"\/":2}"#, br#"{"\"":1,"\u0022":2}"#, br#"{"\\":1,"\u005c":2}"#,
            br#"{"\u005c":1,"\u005C":2}"#, b"{\"\xc3\xa9\":1,\"\\u00e9\":2}",
            b"{\"\xf0\x9d\x84\x9e\":1,\"\\ud834\\udd1e\":2}", br#"[{"a":1,"a":2}]"#,
            br#"{"x":{"a":1,"a":2}}"#, br#"{"a":{"a":1,"b":{"c":1,"c":2}}}"#, br#"[[[{"a":[],"a":{}}]]]"#,
            br#"{"a":{"b":1},"a":{"b":1}}"#, br#"{"a":1,"b":{},"c":[],"d":"","a":null}"#,
            br#"{ "a" : 1 , "a" : 2 }"#, b"{\"a\":1,\r\n\"a\":2}", br#"{"a":[{"b":1},{"b":1,"b":2}]}"#,
            br#"{"k0":0,"k1":0,"k2":0,"k3":0,"k4":0,"k5":0,"k6":0,"k7":0,"k8":0,"k9":0,"ka":0,"kb":0,"kc":0,"kd":0,"ke":0,"k0":0}"#,
            br#"{"k0":0,"k1":0,"k2":0,"k3":0,"k4":0,"k5":0,"k6":0,"k7":0,"k8":0,"k9":0,"ka":0,"kb":0,"kc":0,"kd":0,"ke":0,"kf":0,"k0":0}"#,
            br#"{"k0":0,"k1":0,"k2":0,"k3":0,"k4":0,"k5":0,"k6":0,"k7":0,"k8":0,"k9":0,"ka":0,"kb":0,"kc":0,"kd":0,"ke":0,"kf":0,"kg":0,"kh":0,"k\u0068":0}"#,
        ],
    );
    check(
        ACCEPTED,
        &[
            br#"{"a":1,"A":2}"#,
            br#"[{"a":1},{"a":1}]"#,
            br#"{"a":{"a":1}}"#,
            br#"{"a":1,"a ":2}"#,
            br#"{"a":"a","b":"a"}"#,
            br#"{"a":1,"\\u0061":2}"#,
            br#"{"aa":1,"a":2}"#,
            br#"["a","a"]"#,
            b"{\"\xc3\xa9\":1,\"e\xcc\x81\":2}",
            b"{\"s\":1,\"\xc5\xbf\":2}",
            br#"{"a":1,"b":{"a":1},"c":[{"a":1}]}"#,
        ],
    );
}

#[test]
fn keys_with_control_characters_are_refused() {
    check(
        Some("control_in_key"),
        &[
            br#"{"a\u0000":1}"#,
            br#"{"\u0000a":1}"#,
            br#"{"\n":1}"#,
            br#"{"a\tb":1}"#,
            br#"{"\r":1}"#,
            br#"{"\b":1}"#,
            br#"{"\f":1}"#,
            br#"{"\u001f":1}"#,
            br#"{"\u007f":1}"#,
            br#"{"\u0080":1}"#,
            br#"{"\u009f":1}"#,
            b"{\"\x7f\":1}",
            b"{\"a\xc2\x80\":1}",
            b"{\"\xc2\x9f\":1}",
            br#"[{"x":{"a\u0000":1}}]"#,
        ],
    );
    check(
        ACCEPTED,
        &[
            br#"{"a":"\u0000"}"#,
            br#"["\n"]"#,
            br#"{"\\n":1}"#,
            b"{\"\xc2\xa0\":1}",
            br#"{"\u00a0":1}"#,
            br#"{"\u0020":1}"#,
            b"{\"\xe2\x80\x8b\":1}",
            br#"{"\"":1}"#,
        ],
    );
}

#[test]
fn a_fault_of_grammar_wins_and_then_the_first_of_meaning() {
    check(
        SYNTAX,
        &[br#"{"a":1,"a":2"#, br#"{"a\n":1,}"#, br#"["\ud800",]"#],
    );
    check(Some("trailing_text"), &[br#"{"a":1,"a":2}x"#]);
    check(
        Some("lone_surrogate"),
        &[br#"{"a":1,"a":"\ud800"}"#, br#"{"a":"\ud800","b\n":1}"#],
    );
    check(Some("control_in_key"), &[br#"{"b\n":"\ud800","b\n":1}"#]);
}

#[test]
fn limits_hold_to_the_unit() {
    let limits = Limits {
        max_bytes: 20,
        max_depth: 3,
        max_nodes: 4,
    };
    let check = |input: &str, refused: Option<&str>| {
        let outcome = Document::decode(input.as_bytes(), &limits);
        let reason = outcome.err().map(|error| error.kind.reason_code());
        assert_eq!(reason, refused, "{input}");
    };
    check("12345678901234567890", None);
    check("123456789012345678901", Some("too_large"));
    check("                   1", None);
    check("                    1", Some("too_large"));
    check("[[[]]]", None);
    check("[[[1]]]", None);
    check("[[[[]]]]", Some("too_deep"));
    check("{\"a\":[{\"b\":1}]}", None);
    check("{\"a\":[[{}]]}", Some("too_deep"));
    check("[1,2,3]", None);
    check("[1,2,3,4]", Some("too_many_values"));
    check("[[],[],[]]", None);
    check("[[],[],[],[]]", Some("too_many_values"));
    check("{\"a\":1,\"b\":2}", None);
}

#[test]
fn the_default_limits_are_those_of_the_documentation() {
    let limits = Limits::default();
    let nested = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
    let many = |count: usize| format!("[{}1]", "1,".repeat(count - 2));
    let long = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2));
    for (input, accepted) in [
        (nested(64), true),
        (nested(65), false),
        (many(50_000), true),
        (many(50_001), false),
        (long(4 * 1024 * 1024), true),
        (long(4 * 1024 * 1024 + 1), false),
    ] {
        let outcome = Document::decode(input.as_bytes(), &limits);
        assert_eq!(outcome.is_ok(), accepted, "{:?}", outcome.err());
    }
}

#[test]
fn an_error_points_at_the_byte() {
    for (input, offset) in [
        ("", 0),
        ("  ", 2),
        ("[1,]", 3),
        ("[1 2]", 3),
        ("{\"a\" 1}", 5),
        ("tru", 3),
        ("trux", 3),
        ("[1.]", 3),
        ("\"a\nb\"", 2),
        ("\"12345678\u{1}\"", 9),
        ("\"\\x\"", 1),
        ("{} {}", 3),
        (" { \"a\" : 1 , \"b\" : { } , \"a\" : 2 }", 25),
        ("[ \"\\\" \" , {\"k\":\" \\\\\", \"k\":0}]", 22),
        ("[{\"\u{e9} \":1, \"\\u00e9 \":2}]", 11),
    ] {
        let error = Document::decode(input.as_bytes(), &Limits::default()).unwrap_err();
        assert_eq!(error.offset, offset, "{input:?} {error}");
    }
}
