//! Character classes in brackets: Go reads `[` and doubled signs inside as plain characters, the `regex` crate as operators.

use super::{DIGIT, Re2Error, SPACE, Translator, WORD, push_literal};

impl Translator<'_> {
    pub(super) fn class(&mut self) -> Result<(), Re2Error> {
        self.output.push('[');
        if self.input.next_if_eq(&'^').is_some() {
            self.output.push('^');
        }
        let mut first = true;
        loop {
            let c = *self.input.peek().ok_or(Re2Error::End)?;
            if c == ']' && !first {
                self.input.next();
                self.output.push(']');
                return Ok(());
            }
            first = false;
            if !(self.posix_class() || self.escaped_class()?) {
                self.range()?;
            }
        }
    }

    /// `[:alpha:]`, `[:^alpha:]`.
    fn posix_class(&mut self) -> bool {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print",
            "punct", "space", "upper", "word", "xdigit",
        ];
        let mut ahead = self.input.clone();
        if ahead.next() != Some('[') || ahead.next() != Some(':') {
            return false;
        }
        let negated = ahead.next_if_eq(&'^').is_some();
        let mut name = String::new();
        while let Some(c) = ahead.next_if(char::is_ascii_lowercase) {
            name.push(c);
        }
        if ahead.next() != Some(':') || ahead.next() != Some(']') || !NAMES.contains(&name.as_str())
        {
            return false;
        }
        self.input = ahead;
        self.output.push_str(if negated { "[:^" } else { "[:" });
        self.output.push_str(&name);
        self.output.push_str(":]");
        true
    }

    /// `\d \D \w \W \s \S \p` within a class.
    fn escaped_class(&mut self) -> Result<bool, Re2Error> {
        let mut ahead = self.input.clone();
        if ahead.next() != Some('\\') {
            return Ok(false);
        }
        let inner = match ahead.peek() {
            Some('d') => DIGIT.to_owned(),
            Some('D') => format!("[^{DIGIT}]"),
            Some('w') => WORD.to_owned(),
            Some('W') => format!("[^{WORD}]"),
            Some('s') => SPACE.to_owned(),
            Some('S') => format!("[^{SPACE}]"),
            Some('p' | 'P') => {
                self.input = ahead;
                self.unicode_class()?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        ahead.next();
        self.input = ahead;
        self.output.push_str(&inner);
        Ok(true)
    }

    /// One character, or two with `-` between; `-` before the closing bracket is a character.
    fn range(&mut self) -> Result<(), Re2Error> {
        let low = self.class_char()?;
        push_literal(&mut self.output, low);
        let mut ahead = self.input.clone();
        if ahead.next() == Some('-') && ahead.peek().is_some_and(|c| *c != ']') {
            self.input = ahead;
            let high = self.class_char()?;
            if high < low {
                return Err(Re2Error::Range);
            }
            self.output.push('-');
            push_literal(&mut self.output, high);
        }
        Ok(())
    }

    fn class_char(&mut self) -> Result<char, Re2Error> {
        match self.input.next().ok_or(Re2Error::End)? {
            '\\' => self.escaped_char(),
            plain => Ok(plain),
        }
    }
}
