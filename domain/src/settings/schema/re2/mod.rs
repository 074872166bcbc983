//! From RE2's syntax, as Go reads it, to that of the `regex` crate.
//!
//! Both engines are linear and agree on most of the syntax. Where they part, Go wins: `\d \w \s \b` are ASCII only, any
//! punctuation may be escaped, `[`, `&&`, `--` mean nothing special inside a class, `{` that opens no counter is a literal,
//! `\Q…\E` quotes, and two quantifiers in a row are an error. This file compiles nothing.

mod class;

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

/// Why a text is no RE2 expression; what the `regex` crate finds by itself is not repeated here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Re2Error {
    /// An escape that RE2 does not know, such as a back-reference.
    #[error("`\\{0}` is no escape of RE2")]
    Escape(char),
    /// The text ends within an escape, a class or a group's head.
    #[error("the pattern ends too early")]
    End,
    /// `(?=`, `(?!`, `(?<=`, a flag that RE2 does not know.
    #[error("`(?{0}` is no group of RE2: it has neither look-around nor other flags than `imsU`")]
    Group(char),
    /// `a**`, `a+{2}`.
    #[error("two quantifiers follow each other")]
    DoubleQuantifier,
    /// `a{2,1}` or a count over 1000.
    #[error("a counted repetition must be ascending and at most 1000")]
    Counter,
    /// `[z-a]`, or a class such as `\d` as a range's end.
    #[error("a range of a character class is not in order")]
    Range,
}

/// The same expression for the `regex` crate.
///
/// # Errors
/// What RE2 refuses and the `regex` crate would accept or report misleadingly.
pub fn translate(source: &str) -> Result<String, Re2Error> {
    let mut translator = Translator {
        input: source.chars().peekable(),
        output: String::with_capacity(source.len() + 16),
        quantified: false,
    };
    translator.all()?;
    Ok(translator.output)
}

struct Translator<'a> {
    input: Peekable<Chars<'a>>,
    output: String,
    /// The last thing written was a quantifier.
    quantified: bool,
}

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r"\t\n\x0C\r\x20";
/// RE2's bound of a counted repetition.
const COUNT_MAX: u32 = 1000;

impl Translator<'_> {
    fn all(&mut self) -> Result<(), Re2Error> {
        while let Some(c) = self.input.next() {
            let was_quantified = std::mem::take(&mut self.quantified);
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.group()?,
                '*' | '+' | '?' => self.quantifier(was_quantified, c)?,
                '{' => self.counter(was_quantified)?,
                '.' | '^' | '$' | '|' | ')' => self.output.push(c),
                literal => push_literal(&mut self.output, literal),
            }
        }
        Ok(())
    }

    fn quantifier(&mut self, was_quantified: bool, sign: char) -> Result<(), Re2Error> {
        if was_quantified {
            return Err(Re2Error::DoubleQuantifier);
        }
        self.output.push(sign);
        self.lazy();
        Ok(())
    }

    fn lazy(&mut self) {
        if self.input.next_if_eq(&'?').is_some() {
            self.output.push('?');
        }
        self.quantified = true;
    }

    /// `{n}`, `{n,}`, `{n,m}`; anything else behind `{` makes it a literal.
    fn counter(&mut self, was_quantified: bool) -> Result<(), Re2Error> {
        let mut ahead = self.input.clone();
        let Some((least, most)) = read_counter(&mut ahead) else {
            self.output.push_str(r"\{");
            return Ok(());
        };
        if was_quantified {
            return Err(Re2Error::DoubleQuantifier);
        }
        if least > COUNT_MAX
            || most
                .flatten()
                .is_some_and(|most| most > COUNT_MAX || most < least)
        {
            return Err(Re2Error::Counter);
        }
        self.input = ahead;
        let written = match most {
            None => write!(self.output, "{{{least}}}"),
            Some(None) => write!(self.output, "{{{least},}}"),
            Some(Some(most)) => write!(self.output, "{{{least},{most}}}"),
        };
        debug_assert!(written.is_ok());
        self.lazy();
        Ok(())
    }

    /// `(`, `(?:`, `(?P<n>`, `(?<n>`, `(?flags)`, `(?flags:`; the rest of the group goes through the main loop.
    fn group(&mut self) -> Result<(), Re2Error> {
        self.output.push('(');
        if self.input.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        self.output.push('?');
        let mut first = true;
        loop {
            let c = self.input.next().ok_or(Re2Error::End)?;
            match c {
                'P' | '<' if first => return self.named(c),
                'i' | 'm' | 's' | 'U' | '-' => self.output.push(c),
                ':' | ')' => {
                    self.output.push(c);
                    return Ok(());
                }
                other => return Err(Re2Error::Group(other)),
            }
            first = false;
        }
    }

    fn named(&mut self, first: char) -> Result<(), Re2Error> {
        if first == 'P' && self.input.next_if_eq(&'<').is_none() {
            return Err(Re2Error::Group('P'));
        }
        self.output.push_str("P<");
        loop {
            let c = self.input.next().ok_or(Re2Error::End)?;
            if !(c == '>' || c == '_' || c.is_alphanumeric()) {
                return Err(Re2Error::Group('<'));
            }
            self.output.push(c);
            if c == '>' {
                return Ok(());
            }
        }
    }

    fn escape(&mut self) -> Result<(), Re2Error> {
        let c = *self.input.peek().ok_or(Re2Error::End)?;
        let fixed = match c {
            'd' => Some(format!("[{DIGIT}]")),
            'D' => Some(format!("[^{DIGIT}]")),
            'w' => Some(format!("[{WORD}]")),
            'W' => Some(format!("[^{WORD}]")),
            's' => Some(format!("[{SPACE}]")),
            'S' => Some(format!("[^{SPACE}]")),
            'b' => Some(r"(?-u:\b)".to_owned()),
            'B' => Some(r"(?-u:\B)".to_owned()),
            'A' => Some(r"\A".to_owned()),
            'z' => Some(r"\z".to_owned()),
            _ => None,
        };
        if let Some(fixed) = fixed {
            self.input.next();
            self.output.push_str(&fixed);
            return Ok(());
        }
        match c {
            'p' | 'P' => self.unicode_class(),
            'Q' => {
                self.input.next();
                self.quoted();
                Ok(())
            }
            _ => {
                let literal = self.escaped_char()?;
                push_literal(&mut self.output, literal);
                Ok(())
            }
        }
    }

    /// `\Q…\E`; without an end it reaches to the end of the pattern.
    fn quoted(&mut self) {
        while let Some(c) = self.input.next() {
            if c == '\\' && self.input.next_if_eq(&'E').is_some() {
                return;
            }
            push_literal(&mut self.output, c);
        }
    }

    /// `\pN`, `\p{Greek}`, `\p{^Greek}`: the names are the same on both sides.
    fn unicode_class(&mut self) -> Result<(), Re2Error> {
        let sign = self.input.next().ok_or(Re2Error::End)?;
        let first = self.input.next().ok_or(Re2Error::End)?;
        if first != '{' {
            push_class(&mut self.output, sign == 'P', &first.to_string());
            return Ok(());
        }
        let mut name = String::new();
        loop {
            match self.input.next().ok_or(Re2Error::End)? {
                '}' => break,
                c if c.is_ascii_alphanumeric() || c == '_' || (c == '^' && name.is_empty()) => {
                    name.push(c);
                }
                other => return Err(Re2Error::Escape(other)),
            }
        }
        let (negated, name) = match name.strip_prefix('^') {
            Some(rest) => (sign == 'p', rest),
            None => (sign == 'P', name.as_str()),
        };
        push_class(&mut self.output, negated, name);
        Ok(())
    }

    /// What follows a backslash and stands for one character.
    fn escaped_char(&mut self) -> Result<char, Re2Error> {
        let c = self.input.next().ok_or(Re2Error::End)?;
        Ok(match c {
            'a' => '\x07',
            'f' => '\x0C',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0B',
            'x' => return self.hexadecimal(),
            '0'..='7' => return self.octal(c),
            punctuation if punctuation.is_ascii() && !punctuation.is_ascii_alphanumeric() => {
                punctuation
            }
            other => return Err(Re2Error::Escape(other)),
        })
    }

    fn hexadecimal(&mut self) -> Result<char, Re2Error> {
        let mut digits = String::new();
        if self.input.next_if_eq(&'{').is_some() {
            loop {
                match self.input.next().ok_or(Re2Error::End)? {
                    '}' => break,
                    digit => digits.push(digit),
                }
            }
        } else {
            for _ in 0..2 {
                digits.push(self.input.next().ok_or(Re2Error::End)?);
            }
        }
        let valid = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_hexdigit());
        valid
            .then(|| {
                u32::from_str_radix(&digits, 16)
                    .ok()
                    .and_then(char::from_u32)
            })
            .flatten()
            .ok_or(Re2Error::Escape('x'))
    }

    /// `\0`, `\012`, `\123`; one digit that is not 0 would be a back-reference.
    fn octal(&mut self, first: char) -> Result<char, Re2Error> {
        let mut value = first.to_digit(8).ok_or(Re2Error::Escape(first))?;
        let mut digits = 1;
        while digits < 3
            && let Some(next) = self.input.next_if(|c| c.is_digit(8))
        {
            value = value * 8 + next.to_digit(8).unwrap_or_default();
            digits += 1;
        }
        if first != '0' && digits == 1 {
            return Err(Re2Error::Escape(first));
        }
        char::from_u32(value).ok_or(Re2Error::Escape(first))
    }
}

/// The bounds of `{n}` (`None`), `{n,}` (`Some(None)`), `{n,m}`, behind the opening brace.
#[allow(clippy::option_option)]
fn read_counter(input: &mut Peekable<Chars<'_>>) -> Option<(u32, Option<Option<u32>>)> {
    let least = read_count(input)?;
    match input.next()? {
        '}' => Some((least, None)),
        ',' => {
            if input.next_if_eq(&'}').is_some() {
                return Some((least, Some(None)));
            }
            let most = read_count(input)?;
            (input.next()? == '}').then_some((least, Some(Some(most))))
        }
        _ => None,
    }
}

/// Digits; a number that is too big for the type is one over the bound.
fn read_count(input: &mut Peekable<Chars<'_>>) -> Option<u32> {
    let mut digits = String::new();
    while let Some(digit) = input.next_if(char::is_ascii_digit) {
        digits.push(digit);
    }
    (!digits.is_empty()).then(|| digits.parse().unwrap_or(u32::MAX))
}

fn push_literal(output: &mut String, c: char) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' {
        let written = write!(output, r"\x{:02X}", u32::from(c));
        debug_assert!(written.is_ok());
    } else {
        output.push(c);
    }
}

fn push_class(output: &mut String, negated: bool, name: &str) {
    output.push_str(if negated { r"\P{" } else { r"\p{" });
    output.push_str(name);
    output.push('}');
}
