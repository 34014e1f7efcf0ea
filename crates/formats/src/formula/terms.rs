//! Terms of SMT-LIB over 32-bit words and booleans. Equal terms are stored once, and constants are folded, so that
//! loops over a known number of dimensions unroll.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write,
};

/// A term of a [`TermPool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Term(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sort {
    Word,
    Bool,
}

impl Sort {
    fn text(self) -> &'static str {
        match self {
            Self::Word => "(_ BitVec 32)",
            Self::Bool => "Bool",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Node {
    Word(u32),
    Bool(bool),
    /// A named constant, which can have any value of its sort.
    Input(String),
    /// A function of SMT-LIB, or a function declared with [`TermPool::function_term`].
    Apply(String, Vec<Term>),
}

#[derive(Debug, Default)]
pub(super) struct TermPool {
    nodes: Vec<(Node, Option<Sort>)>,
    term_of_node: HashMap<Node, Term>,
    /// The name and the number of arguments of each uninterpreted function. Such a function takes words and returns a
    /// word.
    uninterpreted_functions: BTreeSet<(String, usize)>,
}

impl TermPool {
    fn add_node(&mut self, node: Node, sort: Sort) -> Term {
        if let Some(&term) = self.term_of_node.get(&node) {
            return term;
        }
        let term = Term(self.nodes.len());
        self.nodes.push((node.clone(), Some(sort)));
        self.term_of_node.insert(node, term);
        term
    }

    pub(super) fn word_term(&mut self, value: u32) -> Term {
        self.add_node(Node::Word(value), Sort::Word)
    }

    pub(super) fn truth_term(&mut self, value: bool) -> Term {
        self.add_node(Node::Bool(value), Sort::Bool)
    }

    pub(super) fn input(&mut self, name: &str, sort: Sort) -> Term {
        self.add_node(Node::Input(name.to_owned()), sort)
    }

    /// Applies an uninterpreted function to words. A buffer, for example, is such a function of the index.
    pub(super) fn function_term(&mut self, name: &str, arguments: Vec<Term>) -> Term {
        self.uninterpreted_functions
            .insert((name.to_owned(), arguments.len()));
        self.add_node(Node::Apply(name.to_owned(), arguments), Sort::Word)
    }

    pub(super) fn known_word(&self, term: Term) -> Option<u32> {
        match self.nodes[term.0].0 {
            Node::Word(value) => Some(value),
            _ => None,
        }
    }

    fn is_known(&self, term: Term) -> bool {
        self.known_word(term).is_some()
    }

    pub(super) fn known_truth(&self, term: Term) -> Option<bool> {
        match self.nodes[term.0].0 {
            Node::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Applies a function of SMT-LIB to words. The result is a word.
    pub(super) fn word_function(&mut self, function: &str, arguments: &[Term]) -> Term {
        let known_arguments: Option<Vec<_>> = arguments
            .iter()
            .map(|&term| self.known_word(term))
            .collect();
        let folded_word = known_arguments.and_then(|known_arguments| {
            Some(match (function, &known_arguments[..]) {
                ("bvadd", [a, b]) => a.wrapping_add(*b),
                ("bvsub", [a, b]) => a.wrapping_sub(*b),
                ("bvmul", [a, b]) => a.wrapping_mul(*b),
                ("bvand", [a, b]) => a & b,
                ("bvor", [a, b]) => a | b,
                ("bvxor", [a, b]) => a ^ b,
                ("bvudiv", [a, b]) => a.checked_div(*b)?,
                ("bvurem", [a, b]) => a.checked_rem(*b)?,
                ("bvshl", [a, b]) => a.checked_shl(*b)?,
                ("bvlshr", [a, b]) => a.checked_shr(*b)?,
                ("bvnot", [a]) => !a,
                ("bvneg", [a]) => a.wrapping_neg(),
                _ => return None,
            })
        });
        match folded_word {
            Some(value) => self.word_term(value),
            // The product of two unknown words is a function that a proof can either define as the product or leave
            // uninterpreted.
            None if function == "bvmul" && !arguments.iter().any(|&term| self.is_known(term)) => {
                self.function_term("product", arguments.to_vec())
            }
            None => self.add_node(
                Node::Apply(function.to_owned(), arguments.to_vec()),
                Sort::Word,
            ),
        }
    }

    /// Compares two words. `function` is the SMT-LIB name of the comparison.
    pub(super) fn compare_words(&mut self, function: &str, [a, b]: [Term; 2]) -> Term {
        let folded_truth = match (self.known_word(a), self.known_word(b)) {
            (Some(a), Some(b)) => match function {
                "=" => Some(a == b),
                "bvult" => Some(a < b),
                "bvule" => Some(a <= b),
                "bvslt" => Some(a.cast_signed() < b.cast_signed()),
                "bvsle" => Some(a.cast_signed() <= b.cast_signed()),
                _ => None,
            },
            _ => None,
        };
        match folded_truth {
            Some(value) => self.truth_term(value),
            None => self.add_node(Node::Apply(function.to_owned(), vec![a, b]), Sort::Bool),
        }
    }

    pub(super) fn not(&mut self, term: Term) -> Term {
        match self.known_truth(term) {
            Some(value) => self.truth_term(!value),
            None => self.add_node(Node::Apply("not".to_owned(), vec![term]), Sort::Bool),
        }
    }

    pub(super) fn and(&mut self, a: Term, b: Term) -> Term {
        match (self.known_truth(a), self.known_truth(b)) {
            (Some(false), _) | (_, Some(true)) => a,
            (_, Some(false)) | (Some(true), _) => b,
            _ => self.add_node(Node::Apply("and".to_owned(), vec![a, b]), Sort::Bool),
        }
    }

    pub(super) fn or(&mut self, a: Term, b: Term) -> Term {
        let (a, b) = (self.not(a), self.not(b));
        let neither_holds = self.and(a, b);
        self.not(neither_holds)
    }

    pub(super) fn select(&mut self, condition: Term, yes: Term, no: Term) -> Term {
        match self.known_truth(condition) {
            Some(true) => yes,
            Some(false) => no,
            None if yes == no => yes,
            None => {
                let sort = self.sort(yes);
                self.add_node(
                    Node::Apply("ite".to_owned(), vec![condition, yes, no]),
                    sort,
                )
            }
        }
    }

    pub(super) fn sort(&self, term: Term) -> Sort {
        self.nodes[term.0].1.unwrap_or(Sort::Word)
    }

    /// Returns the formula that defines `outputs`, in SMT-LIB. Inputs and outputs are constants. Every term is written
    /// once, even if it occurs several times.
    pub(super) fn formula(&self, outputs: &[(String, Term)]) -> String {
        let mut needed_terms = BTreeSet::new();
        let mut unvisited: Vec<_> = outputs.iter().map(|output| output.1).collect();
        while let Some(term) = unvisited.pop() {
            if needed_terms.insert(term)
                && let Node::Apply(_, arguments) = &self.nodes[term.0].0
            {
                unvisited.extend(arguments);
            }
        }
        let mut text = String::new();
        for (name, argument_count) in &self.uninterpreted_functions {
            let sorts = vec![Sort::Word.text(); *argument_count].join(" ");
            writeln!(text, "(declare-fun {name} ({sorts}) {})", Sort::Word.text()).unwrap();
        }
        for term in needed_terms {
            let sort = self.sort(term).text();
            let definition = match &self.nodes[term.0].0 {
                Node::Word(value) => format!("#x{value:08x}"),
                Node::Bool(value) => value.to_string(),
                Node::Input(name) => {
                    writeln!(text, "(declare-const {name} {sort})").unwrap();
                    name.clone()
                }
                Node::Apply(function, arguments) => {
                    let names = arguments.iter().map(|term| format!(" t{}", term.0));
                    match arguments.is_empty() {
                        true => function.clone(),
                        false => format!("({function}{})", names.collect::<String>()),
                    }
                }
            };
            writeln!(text, "(define-fun t{} () {sort} {definition})", term.0).unwrap();
        }
        for (name, term) in outputs {
            let sort = self.sort(*term).text();
            writeln!(
                text,
                "(declare-const {name} {sort})\n(assert (= {name} t{}))",
                term.0
            )
            .unwrap();
        }
        text
    }
}
