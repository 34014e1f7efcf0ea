//! Errors of the command, and its exit codes.

use crate::{files::FileError, units};
use std::{fmt::Display, process::ExitCode};
use wgslice::Error;

/// The exit code of a verification or a benchmark with a wrong result.
pub(crate) const EXIT_WRONG_RESULT: u8 = 1;

/// The exit code of a comparison of arrays that differ.
pub(crate) const EXIT_DIFFERENT: u8 = 1;

/// The error of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line or a file is wrong.
    #[error("{0}")]
    Usage(String),
    /// The library returned an error.
    #[error("{context}: {problem}")]
    Refused {
        /// The subject of the error, in terms that the user knows: an input or an adapter.
        context: String,
        /// The error, in the command's terms.
        problem: String,
        error: Box<Error>,
    },
    /// The program that was reading standard output, where the result goes, has stopped.
    #[error("the reader of standard output has gone")]
    ReaderGone,
    /// There is no device, or the device does not work.
    #[error("{0}")]
    Device(String),
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        match error.is_reader_gone() {
            true => Self::ReaderGone,
            false => Self::usage(error),
        }
    }
}

/// The error of a task that both the library and the command work on.
#[derive(Debug)]
pub(crate) enum TaskError {
    Library(Error),
    Command(Failure),
}

impl From<Error> for TaskError {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<Failure> for TaskError {
    fn from(failure: Failure) -> Self {
        Self::Command(failure)
    }
}

impl TaskError {
    /// Converts this to a failure. Adds `context` to an error of the library, and translates it with `words`.
    pub(crate) fn into_failure(self, context: impl Display, words: &WordList) -> Failure {
        match self {
            Self::Library(error) => words.with_context(context)(error),
            Self::Command(failure) => failure,
        }
    }
}

/// Parts of the library's error messages, each with its replacement in the command's terms.
const REPLACED_WORDS: [(&str, &str); 42] = [
    ("entry", "item"),
    ("of shape []", "without dimensions"),
    // Exempts this phrase from the replacement of `has shape` below.
    ("the mask has shape", "the mask has shape"),
    ("1 axes", "1 axis"),
    ("has shape", "is"),
    ("multiples has", "N,... has"),
    ("paddings has", "N,N:M,... has"),
    (
        "`index` takes them: Backend::index",
        "`wgslice index` takes them",
    ),
    ("strides[", "the stride of dimension "),
    ("] is 0: a stride", " is 0: a stride"),
    (
        " (Backend::cpu), or on a backend with_fallback",
        " (--device cpu)",
    ),
    ("Backend::cpu", "--device cpu"),
    (", or stream the slice (Backend::stream)", ""),
    (" (gather without an axis takes batch_dims as the axis)", ""),
    ("axis is", "--axis is"),
    ("batch_dims", "--batch-dims"),
    ("choose another Combine", "choose another --combine"),
    ("OutOfRange::Ignore", "--out-of-range ignore"),
    ("OutOfRange::Clamp", "--out-of-range clamp"),
    ("Combine::Add", "--combine add"),
    ("Combine::Sub", "--combine sub"),
    ("Combine::Mul", "--combine mul"),
    ("Combine::Min", "--combine min"),
    ("Combine::Max", "--combine max"),
    ("Combine::Update", "--combine update"),
    ("begin_mask", "--begin-mask"),
    ("end_mask", "--end-mask"),
    ("ellipsis_mask", "--ellipsis-mask"),
    ("new_axis_mask", "--new-axis-mask"),
    ("shrink_axis_mask", "--shrink-axis-mask"),
    ("i8", "int8"),
    ("u8", "uint8"),
    ("i16", "int16"),
    ("u16", "uint16"),
    ("i32", "int32"),
    ("u32", "uint32"),
    ("i64", "int64"),
    ("u64", "uint64"),
    ("f16", "float16"),
    ("bf16", "bfloat16"),
    ("f32", "float32"),
    ("f64", "float64"),
];

/// The library's names for the arguments of an operation, each with the user's word for it, such as a file's name.
#[derive(Clone, Debug, Default)]
pub(crate) struct WordList(Vec<(String, String)>);

impl WordList {
    /// Adds the user's word for a name. If several names fit the text, the one that was added first is replaced.
    pub(crate) fn add(&mut self, library: &str, command: impl Into<String>) {
        self.0.push((library.to_owned(), command.into()));
    }

    /// Does the same as [`Self::add`], but the new name takes precedence over all others.
    pub(crate) fn put_first(&mut self, library: &str, command: impl Into<String>) {
        self.0.insert(0, (library.to_owned(), command.into()));
    }

    /// Returns the text with all phrases of this list and of `REPLACED_WORDS` replaced. Parts of words are not
    /// replaced.
    pub(crate) fn translate(&self, text: &str) -> String {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let own_words = self.0.iter().map(|(from, to)| (&from[..], &to[..]));
        let words: Vec<_> = own_words.chain(REPLACED_WORDS).collect();
        let (mut translated, mut rest, mut is_in_word) = (String::new(), text, false);
        while let Some(next_char) = rest.chars().next() {
            let is_whole_phrase = |&&(from, _): &&(&str, &str)| {
                let Some(following) = rest.strip_prefix(from) else {
                    return false;
                };
                let begins_word = !is_in_word || !from.starts_with(is_word);
                begins_word && !(from.ends_with(is_word) && following.starts_with(is_word))
            };
            let (len, replacement) = match words.iter().find(is_whole_phrase) {
                Some(&(from, to)) => (from.len(), to),
                None => (next_char.len_utf8(), &rest[..next_char.len_utf8()]),
            };
            translated.push_str(replacement);
            is_in_word = rest[..len].ends_with(is_word);
            rest = &rest[len..];
        }
        rewrite_shapes(&translated)
    }

    /// Returns a function that adds `context` to an error of the library.
    pub(crate) fn with_context(&self, context: impl Display) -> impl FnOnce(Error) -> Failure {
        let context = context.to_string();
        move |error| Failure::Refused {
            context,
            problem: self.describe_error(&error),
            error: Box::new(error),
        }
    }

    fn describe_error(&self, error: &Error) -> String {
        let text = error.to_string();
        match (error, text.split_once('\n')) {
            // The lines after the first line quote the user's text, so they are not translated.
            (Error::Parse(_), Some((problem, quoted))) => {
                format!("{}\n{quoted}", self.translate(problem))
            }
            _ => self.translate(&text),
        }
    }
}

/// Rewrites the library's shapes, as in `[2,3]`, in the command's form, as in `2 × 3`. A shape that follows a name is
/// put in parentheses. Keeps positions and tuples, which are also in brackets: they follow a name without a space,
/// follow `=` or a word such as `at`, or have spaces between their numbers.
fn rewrite_shapes(text: &str) -> String {
    const WORDS_BEFORE_BARE_SHAPES: [&str; 9] = [
        "shape", "is", "has", "have", "be", "to", "from", "not", "and",
    ];
    let (mut rewritten, mut rest) = (String::new(), text);
    while let Some(open) = rest.find('[') {
        let (text_before, bracket) = rest.split_at(open);
        rewritten.push_str(text_before);
        let content = bracket.split_once(']').map(|(content, _)| &content[1..]);
        let sizes = content.and_then(|content| match content {
            "" => Some(Vec::new()),
            _ => content.split(',').map(|size| size.parse().ok()).collect(),
        });
        let last_word = text_before
            .trim_end_matches(' ')
            .rsplit([' ', ':', ','])
            .next();
        let last_word = last_word.unwrap_or_default();
        let is_shape = text_before.ends_with(' ')
            && !["=", "at", "with", "sizes", "--size"].contains(&last_word);
        match sizes.filter(|_| is_shape) {
            Some(sizes) => {
                let shape = units::format_shape(&sizes);
                match WORDS_BEFORE_BARE_SHAPES.contains(&last_word) {
                    true => rewritten.push_str(&shape),
                    false => rewritten.push_str(&format!("({shape})")),
                }
                rest = bracket.split_once(']').map_or("", |(_, rest)| rest);
            }
            None => {
                rewritten.push('[');
                rest = &bracket[1..];
            }
        }
    }
    rewritten + rest
}

/// Removes the numbers that Rust adds to errors of the operating system, as in ` (os error 2)`.
pub(crate) fn without_os_error_numbers(problem: impl Display) -> String {
    let mut text = problem.to_string();
    while let Some(begin) = text.find(" (os error ")
        && let Some(len) = text[begin..].find(')')
    {
        text.replace_range(begin..=begin + len, "");
    }
    text
}

impl Failure {
    pub(crate) fn usage(problem: impl Display) -> Self {
        Self::Usage(problem.to_string())
    }

    pub(crate) fn device(problem: impl Display) -> Self {
        Self::Device(problem.to_string())
    }

    /// Returns a function that adds `context` to an error of the library.
    pub(crate) fn with_context(context: impl Display) -> impl FnOnce(Error) -> Self {
        let context = context.to_string();
        move |error| WordList::default().with_context(context)(error)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        const BAD_INPUT: u8 = 2;
        const DEVICE: u8 = 3;
        /// The exit code with which shells report that SIGPIPE ended a program.
        const SIGPIPE: u8 = 141;
        let code = match self {
            Self::Usage(_) => BAD_INPUT,
            Self::Device(_) => DEVICE,
            Self::ReaderGone => SIGPIPE,
            Self::Refused { error, .. } => match &**error {
                error if error.is_device_error() => DEVICE,
                Error::OutOfHostMemory { .. } => DEVICE,
                _ => BAD_INPUT,
            },
        };
        code.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_text_is_quoted_as_it_is() {
        let error = "[0]".parse::<wgslice::SliceSpec>().unwrap_err();
        let problem = WordList::default().describe_error(&error);
        assert!(problem.contains("\n  [0]\n"), "{problem}");
    }

    #[test]
    fn words_are_replaced_where_they_stand_alone() {
        let mut words = WordList::default();
        words.add("x", "f32.npy");
        words.add("the first at indices", "the first at i.npy");
        assert_eq!(
            words.translate(
                "u8 of x [2], box_x, x1, xu8: the first at indices[1], OutOfRange::Ignore x"
            ),
            "uint8 of f32.npy (2), box_x, x1, xu8: the first at i.npy[1], --out-of-range ignore f32.npy"
        );
    }

    #[test]
    fn shapes_have_one_notation() {
        for (text, expected) in [
            ("x has shape [2,3]", "x is 2 × 3"),
            ("x [2,3], y []: z", "x (2 × 3), y (a scalar): z"),
            ("indices[1,2] = [5] of x [4]", "indices[1,2] = [5] of x (4)"),
            ("of shape [] and [2]", "without dimensions and 2"),
            ("cannot be broadcast to [4]", "cannot be broadcast to 4"),
            (
                "begins at [9]; in [-2, 2); [1, 2]; [a",
                "begins at [9]; in [-2, 2); [1, 2]; [a",
            ),
        ] {
            assert_eq!(WordList::default().translate(text), expected);
        }
    }

    #[test]
    fn errors_of_the_system_have_no_numbers() {
        let text = without_os_error_numbers("a: no disk (os error 5); b (os error 17)");
        assert_eq!(text, "a: no disk; b");
    }
}
