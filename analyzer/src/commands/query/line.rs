//! One line of text while it is typed: its keys, earlier lines, and words that could follow.

use crate::commands::tui::keys::Key;

/// Longest line in characters. The rest of a paste is dropped.
const MAX_LETTERS: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Line {
    letters: Vec<char>,
    at: usize,
    history: Vec<String>,
    /// Index in the history; its length stands for the new line.
    recalled: usize,
    /// The new line while a line from the history is shown.
    kept: Vec<char>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pressed {
    Edited,
    Entered(String),
    Candidates(Vec<String>),
    Dropped,
    Ended,
}

impl Line {
    /// An empty line after this history.
    pub(super) fn new(history: Vec<String>) -> Self {
        Self {
            recalled: history.len(),
            history,
            ..Self::default()
        }
    }

    pub(super) fn history(&self) -> &[String] {
        &self.history
    }

    pub(super) fn shown(&self) -> (&[char], usize) {
        (&self.letters, self.at)
    }

    /// Handles a key. Tab completes one of `words`.
    pub(super) fn press(&mut self, key: Key, words: &[String]) -> Pressed {
        match key {
            Key::Char(letter) if self.letters.len() < MAX_LETTERS => {
                self.letters.insert(self.at, letter);
                self.at += 1;
            }
            Key::Backspace if self.at > 0 => {
                self.at -= 1;
                self.letters.remove(self.at);
            }
            Key::Left => self.at = self.at.saturating_sub(1),
            Key::Right => self.at = (self.at + 1).min(self.letters.len()),
            Key::Home => self.at = 0,
            Key::End => self.at = self.letters.len(),
            Key::Up => self.recall(self.recalled.saturating_sub(1)),
            Key::Down => self.recall((self.recalled + 1).min(self.history.len())),
            Key::Tab => return self.complete(words),
            Key::Enter => return Pressed::Entered(self.enter()),
            Key::EndOfInput if self.letters.is_empty() => return Pressed::Ended,
            Key::Quit => {
                self.set(Vec::new());
                return Pressed::Dropped;
            }
            _ => {}
        }
        Pressed::Edited
    }

    fn set(&mut self, letters: Vec<char>) {
        self.at = letters.len();
        self.letters = letters;
        self.recalled = self.history.len();
    }

    fn enter(&mut self) -> String {
        let text: String = std::mem::take(&mut self.letters).into_iter().collect();
        if !text.trim().is_empty() && self.history.last() != Some(&text) {
            self.history.push(text.clone());
        }
        self.set(Vec::new());
        text
    }

    fn recall(&mut self, to: usize) {
        if to == self.recalled {
            return;
        }
        if self.recalled == self.history.len() {
            self.kept = std::mem::take(&mut self.letters);
        }
        let letters = match self.history.get(to) {
            Some(text) => text.chars().collect(),
            None => std::mem::take(&mut self.kept),
        };
        self.set(letters);
        self.recalled = to;
    }

    /// Completes the word before the cursor up to the common prefix of all words that begin with it.
    fn complete(&mut self, words: &[String]) -> Pressed {
        let is_of_word = |letter: &&char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
        let before = self.letters[..self.at].iter().rev();
        let typed: usize = before.take_while(is_of_word).count();
        let from = self.at - typed;
        let start: String = self.letters[from..self.at].iter().collect();
        let lower = start.to_lowercase();
        let fitting = words.iter().filter(|word| {
            let head = word.get(..start.len());
            typed > 0 && head.is_some_and(|head| head.to_lowercase() == lower)
        });
        let mut fitting: Vec<String> = fitting.cloned().collect();
        fitting.sort();
        fitting.dedup();
        let Some((first, others)) = fitting.split_first() else {
            return Pressed::Edited;
        };
        let agreed = others.iter().fold(first.as_str(), |agreed, other| {
            let alike = agreed
                .chars()
                .zip(other.chars())
                .take_while(|(a, b)| a == b);
            let bytes: usize = alike.map(|(a, _)| a.len_utf8()).sum();
            &agreed[..bytes]
        });
        if agreed.chars().count() > typed || others.is_empty() {
            let agreed: Vec<char> = agreed.chars().collect();
            let end = from + agreed.len();
            self.letters.splice(from..self.at, agreed);
            self.at = end;
            return Pressed::Edited;
        }
        Pressed::Candidates(fitting)
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Pressed};
    use crate::commands::tui::keys::{Key, keys};

    fn words() -> Vec<String> {
        ["kernels", "kernel_classes", "bricks", "SELECT"]
            .map(str::to_owned)
            .to_vec()
    }

    fn type_in(line: &mut Line, text: &str) -> Vec<Pressed> {
        let pressed = keys(text.as_bytes());
        pressed
            .into_iter()
            .map(|key| line.press(key, &words()))
            .filter(|pressed| *pressed != Pressed::Edited)
            .collect()
    }

    fn entered(line: &mut Line, text: &str) -> String {
        match type_in(line, text).pop() {
            Some(Pressed::Entered(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn letters_go_where_the_cursor_is() {
        let mut line = Line::default();
        assert_eq!(entered(&mut line, "aé\x1b[Db\x7fc\r"), "acé");
        assert_eq!(entered(&mut line, "b\x1b[Ha\x1b[Fc\r"), "abc");
    }

    #[test]
    fn earlier_lines_come_back_and_so_does_the_new_one() {
        let mut line = Line::new(vec!["one".into()]);
        entered(&mut line, "two\r");
        assert_eq!(entered(&mut line, "thr\x1b[A\x1b[A\x1b[A\r"), "one");
        assert_eq!(
            entered(&mut line, "thr\x1b[A\x1b[A\x1b[B\x1b[B\x1b[Bee\r"),
            "three"
        );
        assert_eq!(line.history(), ["one", "two", "one", "three"]);
    }

    #[test]
    fn a_tab_completes_as_far_as_words_agree() {
        let mut line = Line::default();
        assert_eq!(
            entered(&mut line, "sel\t a FROM b\t\r"),
            "SELECT a FROM bricks"
        );
        let told = type_in(&mut line, "k\t\t");
        assert_eq!(
            told,
            [Pressed::Candidates(vec![
                "kernel_classes".into(),
                "kernels".into()
            ])]
        );
        assert_eq!(entered(&mut line, "s\r"), "kernels");
        // Nothing to complete.
        assert_eq!(entered(&mut line, "\t(x\t\r"), "(x");
    }

    #[test]
    fn it_ends_on_an_empty_line_only() {
        let mut line = Line::default();
        assert_eq!(type_in(&mut line, "a\x04"), []);
        assert_eq!(type_in(&mut line, "\x03"), [Pressed::Dropped]);
        assert_eq!(type_in(&mut line, "\x04"), [Pressed::Ended]);
        assert_eq!(line.press(Key::Backspace, &[]), Pressed::Edited);
    }
}
