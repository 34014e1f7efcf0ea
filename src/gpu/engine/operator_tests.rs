//! Tests that expressions in shaders have the parentheses that WGSL requires. naga, which parses shaders everywhere
//! except in browsers, does not check this. Tint, Chromium's compiler, rejects a shader without them.

use super::program::UniformSpace;
use super::shader_tests::all_programs;

/// Returns whether WGSL's grammar allows operators of these [kinds](operator_kind) next to each other without
/// parentheses.
fn can_be_adjacent(one: &str, other: &str) -> bool {
    match (one, other) {
        ("&&", "||") | ("||", "&&") | ("<<", "<<" | "+") | ("+", "<<") => false,
        // A bitwise operator can be next to the same operator only.
        ("&" | "|" | "^", _) | (_, "&" | "|" | "^") => one == other,
        _ => true,
    }
}

/// Returns the kind of an operator, named by one of its members: `<<` for shifts, `+` for arithmetic and `==` for
/// comparisons. Returns `None` for other tokens, including operators with one operand, such as the sign of a negative
/// number.
fn operator_kind(token: &str, ends_operand: bool) -> Option<&'static str> {
    Some(match token {
        "&&" => "&&",
        "||" => "||",
        "<<" | ">>" => "<<",
        "==" | "!=" | "<" | ">" | "<=" | ">=" => "==",
        "&" if ends_operand => "&",
        "|" if ends_operand => "|",
        "^" if ends_operand => "^",
        "+" | "-" | "*" | "/" | "%" if ends_operand => "+",
        _ => return None,
    })
}

/// WGSL names that take types as parameters.
const NAMES_WITH_TYPES: [&str; 8] = [
    "array", "atomic", "bitcast", "ptr", "var", "vec2", "vec3", "vec4",
];

/// Returns the tokens of a text, without comments and without the parameters of types, such as `<u32>`.
fn tokens_of(text: &str) -> Vec<String> {
    let text: String = text
        .lines()
        .map(|line| format!("{}\n", line.split("//").next().unwrap_or_default()))
        .collect();
    let mut tokens: Vec<String> = Vec::new();
    let mut unread_text = text.as_str();
    while let Some(first_char) = unread_text.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let length = if is_word(first_char) {
            unread_text
                .find(|c| !is_word(c))
                .unwrap_or(unread_text.len())
        } else {
            let two_char_operators = ["&&", "||", "<<", ">>", "==", "!=", "<=", ">=", "->"];
            1 + usize::from(
                two_char_operators
                    .iter()
                    .any(|operator| unread_text.starts_with(operator)),
            )
        };
        let (token, rest) = unread_text.split_at(length);
        unread_text = rest;
        if is_word(first_char) && unread_text.starts_with('<') && NAMES_WITH_TYPES.contains(&token)
        {
            let mut depth = 0;
            let end = unread_text.find(|c| {
                depth += i32::from(c == '<') - i32::from(c == '>');
                depth == 0
            });
            unread_text = &unread_text[end.expect("parameters of a type end") + 1..];
        }
        if !first_char.is_whitespace() {
            tokens.push(token.to_owned());
        }
    }
    tokens
}

/// Returns the pairs of operators in the text that are next to each other but need parentheses.
fn ambiguous_pairs(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    // The operators of the current expression so far, for each depth of brackets.
    let mut operators_by_depth: Vec<Vec<&str>> = vec![Vec::new()];
    let mut previous_token = String::new();
    let mut read_tokens: Vec<String> = Vec::new();
    for token in tokens_of(text) {
        let ends_operand = previous_token
            .ends_with(|c: char| c.is_alphanumeric() || "_.)]".contains(c))
            && !["return", "if", "else", "while", "case"].contains(&&previous_token[..]);
        read_tokens.push(token.clone());
        if let Some(operator) = operator_kind(&token, ends_operand) {
            let own_operators = operators_by_depth.last_mut().expect("brackets match");
            if let Some(other) = own_operators
                .iter()
                .find(|other| !can_be_adjacent(operator, other))
            {
                let last_tokens = read_tokens[read_tokens.len().saturating_sub(12)..].join(" ");
                faults.push(format!("{other} beside {operator}: {last_tokens}"));
            }
            own_operators.push(operator);
        }
        match &token[..] {
            "(" | "[" | "{" => operators_by_depth.push(Vec::new()),
            ")" | "]" | "}" => drop(operators_by_depth.pop()),
            _ => {}
        }
        // Brackets, assignments and the commas of a list separate expressions.
        if matches!(&token[..], "}" | ";" | "," | "=" | ":") {
            operators_by_depth
                .last_mut()
                .expect("brackets match")
                .clear();
        }
        previous_token = token;
    }
    faults
}

#[test]
fn expressions_have_the_parentheses_that_browsers_demand() {
    for program in all_programs() {
        let ambiguous = ambiguous_pairs(&program.text(UniformSpace::Uniform));
        assert!(ambiguous.is_empty(), "{program}: {ambiguous:#?}");
    }
}

#[test]
fn missing_parentheses_are_found() {
    for fault in [
        "let a = b || c && d;",
        "if a && (b) || c { }",
        "let a = b & c == d;",
        "let a = b | c & d;",
        "let a = b << c + 1u;",
        "let a = array<u32, 2>(1u, b + c >> d);",
        "return a[b & c * d];",
    ] {
        assert_eq!(
            ambiguous_pairs(fault).len(),
            1,
            "{fault}: {:?}",
            tokens_of(fault)
        );
    }
    for valid_text in [
        "let a = b || (c && d); let e = f && g;",
        "let a = (b & c) == d || f(&x, &y);",
        "var<private> a: array<vec4<u32>, 4>; fn f(a: u32) -> bool { return a << b < c; }",
        "let a = b & c & d; a[b + 1u] = -c * d; // b & c + d",
        "for (var i = 0u; i < 4u && j > 2u; i += 1u) { a += b | c; }",
    ] {
        assert!(
            ambiguous_pairs(valid_text).is_empty(),
            "{valid_text}: {:?}",
            ambiguous_pairs(valid_text)
        );
    }
}
