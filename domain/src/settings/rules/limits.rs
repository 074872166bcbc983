//! How big a rule may be, decided on its text before the parser sees it (S20, S24).
//!
//! Parser, checker and interpreter recurse along the rule's tree, and an overflow of the stack ends the process. This file
//! counts, in one pass over the text, an upper bound of the tree's depth, so that with [`RuleLimits::DEFAULT`] each of them stays
//! within [`STACK_BYTES`]. It knows tokens, not grammar: a text that it lets through may still be no rule.

/// The stack that compiling or evaluating any accepted rule needs at most, in bytes, in builds of every profile of this
/// workspace, on a document no deeper than the limit of settings. A thread that does either must have at least this much free.
pub const STACK_BYTES: usize = 1024 * 1024;

/// The limits of one rule and of the rules of one schema (S20).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleLimits {
    /// Bytes of one expression.
    pub source_bytes: usize,
    /// Operators, selections, calls and brackets of one expression.
    pub operators: usize,
    /// Depth of one expression's tree: nested brackets and chained operators.
    pub depth: usize,
    /// Rules of one schema, all nodes together.
    pub rules: usize,
}

impl RuleLimits {
    /// The limits of the documentation.
    pub const DEFAULT: Self = Self {
        source_bytes: 4 * 1024,
        operators: 512,
        depth: 64,
        rules: 512,
    };
}

impl Default for RuleLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Why a text is not given to the parser.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Over [`RuleLimits::source_bytes`].
    #[error("the expression has {found} bytes, the limit is {most}: split it into several rules")]
    TooLong {
        /// Bytes found.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// Over [`RuleLimits::operators`].
    #[error("the expression has more than {most} operators: split it into several rules")]
    TooManyOperators {
        /// The limit.
        most: usize,
    },
    /// Over [`RuleLimits::depth`].
    #[error("the expression is nested deeper than {most}: split it into several rules")]
    TooDeep {
        /// The limit.
        most: usize,
    },
    /// No token of the language.
    #[error("at byte {at}: {what}")]
    Token {
        /// Offset from the start of the expression.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
}

impl SourceError {
    /// True if the rule is refused for its size, false if it is no expression at all.
    #[must_use]
    pub const fn is_limit(&self) -> bool {
        !matches!(self, Self::Token { .. })
    }
}

/// Lets a text through to the parser, or says why not.
///
/// # Errors
/// The first limit that is exceeded, or the first place that is no token.
pub fn check_source(source: &str, limits: &RuleLimits) -> Result<(), SourceError> {
    if source.len() > limits.source_bytes {
        return Err(SourceError::TooLong {
            found: source.len(),
            most: limits.source_bytes,
        });
    }
    let mut scan = Scan {
        bytes: source.as_bytes(),
        at: 0,
        unary: None,
        operand: false,
        open: vec![Level::default()],
        operators: 0,
        limits,
    };
    while scan.at < scan.bytes.len() {
        scan.token()?;
    }
    scan.depth().map(drop)
}

/// What is known of one bracket, or of the text outside all brackets.
#[derive(Default)]
struct Level {
    /// Operators since the last `,`, `&&` or `||`: each may be above all others in the tree.
    chained: usize,
    /// The deepest operand since then.
    operand: usize,
    /// The deepest of the earlier parts.
    part: usize,
    /// `&&` and `||`, which the parser balances.
    logical: usize,
}

impl Level {
    fn split(&mut self) {
        self.part = self.part.max(self.chained + self.operand);
        self.chained = 0;
        self.operand = 0;
    }

    /// Levels of a balanced tree over the logical operators, twice because `&&` and `||` balance apart.
    fn depth(mut self) -> usize {
        self.split();
        let balanced = usize::BITS - self.logical.leading_zeros();
        self.part + 2 * balanced as usize
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The `!` or `-` that the next token follows.
    unary: Option<u8>,
    /// The last token ends an operand, so that a `[` now indexes it.
    operand: bool,
    open: Vec<Level>,
    operators: usize,
    limits: &'a RuleLimits,
}

impl Scan<'_> {
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn fail(&self, what: &'static str) -> SourceError {
        SourceError::Token { at: self.at, what }
    }

    fn token(&mut self) -> Result<(), SourceError> {
        let Some(byte) = self.byte(0) else {
            return Ok(());
        };
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | 0x0C => {
                self.at += 1;
                return Ok(());
            }
            b'/' if self.byte(1) == Some(b'/') => {
                while self.byte(0).is_some_and(|byte| byte != b'\n') {
                    self.at += 1;
                }
                return Ok(());
            }
            _ => {}
        }
        let unary = self.unary.take();
        let after_operand = std::mem::replace(&mut self.operand, true);
        match byte {
            b'\'' | b'"' => self.quoted(false),
            b'0'..=b'9' => {
                self.number();
                Ok(())
            }
            b'.' if self.byte(1).is_some_and(|next| next.is_ascii_digit()) => {
                self.number();
                Ok(())
            }
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => self.word(),
            _ => {
                self.operand = matches!(byte, b')' | b']' | b'}');
                self.symbol(byte, unary, after_operand)
            }
        }
    }

    /// A string or bytes literal whose quote stands at the cursor.
    fn quoted(&mut self, raw: bool) -> Result<(), SourceError> {
        let start = self.at;
        let quote = self.byte(0);
        let long = self.byte(1) == quote && self.byte(2) == quote;
        self.at += if long { 3 } else { 1 };
        loop {
            match self.byte(0) {
                None => {
                    self.at = start;
                    return Err(self.fail("the string does not end"));
                }
                Some(b'\\') if !raw => self.at += 2,
                Some(b'\n' | b'\r') if !long => {
                    return Err(self.fail("a line ends within the string"));
                }
                byte if byte == quote && !long => {
                    self.at += 1;
                    return Ok(());
                }
                byte if byte == quote && self.byte(1) == quote && self.byte(2) == quote => {
                    self.at += 3;
                    return Ok(());
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// Digits, a fraction, an exponent with its sign, a suffix.
    fn number(&mut self) {
        let mut before = 0;
        while let Some(byte) = self.byte(0) {
            let fraction = byte == b'.' && self.byte(1).is_some_and(|next| next.is_ascii_digit());
            let sign = matches!(byte, b'+' | b'-')
                && matches!(before, b'e' | b'E')
                && self.byte(1).is_some_and(|next| next.is_ascii_digit());
            if !(byte.is_ascii_alphanumeric() || byte == b'_' || fraction || sign) {
                break;
            }
            before = byte;
            self.at += 1;
        }
    }

    /// A name, a keyword, or the prefix of a literal.
    fn word(&mut self) -> Result<(), SourceError> {
        let start = self.at;
        while self
            .byte(0)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            self.at += 1;
        }
        let word = self.bytes.get(start..self.at).unwrap_or_default();
        if matches!(self.byte(0), Some(b'\'' | b'"')) {
            match word.to_ascii_lowercase().as_slice() {
                b"r" | b"br" | b"rb" => return self.quoted(true),
                b"b" => return self.quoted(false),
                _ => {}
            }
        }
        if word == b"in" {
            self.operand = false;
            return self.operator();
        }
        // An alias of `exists_one` that the standard macros of section 5.3 do not have.
        if word == b"existsOne" && self.byte(0) == Some(b'(') {
            self.at = start;
            return Err(self.fail("there is no macro `existsOne`: write `exists_one`"));
        }
        Ok(())
    }

    fn symbol(
        &mut self,
        byte: u8,
        unary: Option<u8>,
        after_operand: bool,
    ) -> Result<(), SourceError> {
        let double = self.byte(1);
        match (byte, double) {
            (b'&', Some(b'&')) | (b'|', Some(b'|')) => {
                self.at += 2;
                self.count()?;
                if let Some(level) = self.open.last_mut() {
                    level.logical += 1;
                    level.split();
                }
                Ok(())
            }
            (b'=' | b'!' | b'<' | b'>', Some(b'=')) => {
                self.at += 2;
                self.operator()
            }
            (b'!' | b'-', _) => {
                if unary.is_some_and(|before| before != byte) {
                    return Err(self.fail("`!` and `-` cannot follow each other: use parentheses"));
                }
                self.at += 1;
                self.unary = Some(byte);
                self.operator()
            }
            (b'<' | b'>' | b'+' | b'*' | b'/' | b'%' | b'?' | b'.', _) => {
                self.at += 1;
                self.operator()
            }
            (b'(' | b'[' | b'{', _) => {
                self.at += 1;
                self.count()?;
                // `a[0][1]`: each index stands above the ones before it.
                if let (b'[', true, Some(level)) = (byte, after_operand, self.open.last_mut()) {
                    level.chained += 1;
                }
                self.open.push(Level::default());
                // Brackets open at once are nested for the parser, whatever the tree will be.
                if self.open.len() > self.limits.depth {
                    return Err(self.too_deep());
                }
                Ok(())
            }
            (b')' | b']' | b'}', _) => {
                self.at += 1;
                self.close()
            }
            (b',' | b':', _) => {
                self.at += 1;
                if let (b',', Some(level)) = (byte, self.open.last_mut()) {
                    level.split();
                }
                Ok(())
            }
            _ => Err(self.fail("no token of the language starts here")),
        }
    }

    fn count(&mut self) -> Result<(), SourceError> {
        self.operators += 1;
        if self.operators > self.limits.operators {
            return Err(SourceError::TooManyOperators {
                most: self.limits.operators,
            });
        }
        Ok(())
    }

    fn operator(&mut self) -> Result<(), SourceError> {
        self.count()?;
        if let Some(level) = self.open.last_mut() {
            level.chained += 1;
        }
        Ok(())
    }

    fn too_deep(&self) -> SourceError {
        SourceError::TooDeep {
            most: self.limits.depth,
        }
    }

    /// The innermost bracket becomes an operand of the one around it.
    fn close(&mut self) -> Result<(), SourceError> {
        if self.open.len() < 2 {
            return Err(self.fail("nothing is open that could be closed here"));
        }
        let depth = self.open.pop().map_or(0, Level::depth) + 1;
        if depth > self.limits.depth {
            return Err(self.too_deep());
        }
        if let Some(level) = self.open.last_mut() {
            level.operand = level.operand.max(depth);
        }
        Ok(())
    }

    fn depth(mut self) -> Result<usize, SourceError> {
        if self.open.len() > 1 {
            return Err(self.fail("a bracket is not closed"));
        }
        let depth = self.open.pop().map_or(0, Level::depth);
        if depth > self.limits.depth {
            return Err(self.too_deep());
        }
        Ok(depth)
    }
}
