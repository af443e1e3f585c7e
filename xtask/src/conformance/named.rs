//! A test named by its file and its name, and a check that the file has it.

/// A named test, such as `crates/core/src/rate.rs: the_name` or `web/e2e/story.test.ts: the title`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The file's path from the repository's root, with forward slashes.
    pub path: String,
    /// The name of the function, or the title of a web test.
    pub name: String,
}

/// The tests that every store must pass. The macro in this file makes its functions tests of each store crate.
const SUITE: &str = "crates/app/src/store_suite.rs";
const SUITE_FOLDER: &str = "crates/app/src/store_suite/";

impl Named {
    /// Reads `path: name`. `None` if the text has another form or the file cannot have tests.
    pub fn read(text: &str) -> Option<Named> {
        let (path, name) = text.split_once(": ")?;
        let source = path.ends_with(".rs") || path.ends_with(".test.ts");
        (source && !name.is_empty()).then(|| Named { path: path.to_owned(), name: name.to_owned() })
    }

    /// Whether the test is in the store suite.
    pub fn of_suite(&self) -> bool {
        self.path.starts_with(SUITE_FOLDER)
    }

    /// Checks that the file has this test and does not ignore it. The error says what is wrong.
    pub fn exists(&self, read: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
        let Named { path, name } = self;
        let text = read(path).ok_or_else(|| format!("there is no {path}"))?;
        let found = if self.of_suite() {
            let listed = read(SUITE).is_some_and(|suite| {
                suite.split(|c: char| !(c == '_' || c.is_ascii_alphanumeric())).any(|word| word == name)
            });
            listed.then(|| function(&text, name)).flatten()
        } else if path.ends_with(".rs") {
            function(&text, name).filter(|attributes| attributes.iter().any(|line| is_test(line)))
        } else {
            return if title(&text, name) { Ok(()) } else { Err(format!("there is no test \"{name}\" in {path}")) };
        };
        let attributes = found.ok_or_else(|| format!("there is no test `{name}` in {path}"))?;
        match attributes.iter().any(|line| line.starts_with("#[ignore")) {
            true => Err(format!("`{name}` in {path} is ignored: it proves nothing")),
            false => Ok(()),
        }
    }
}

fn is_test(attribute: &str) -> bool {
    attribute == "#[test]" || attribute.starts_with("#[tokio::test")
}

/// The attributes of the function `name`, if the text has one.
fn function(text: &str, name: &str) -> Option<Vec<String>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let at = lines.iter().position(|line| {
        let mut rest = *line;
        for word in ["pub ", "async "] {
            rest = rest.strip_prefix(word).unwrap_or(rest);
        }
        let rest = rest.strip_prefix("fn ").and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(['(', '<']))
    })?;
    let above = lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    Some(above.filter(|line| line.starts_with("#[")).map(|line| (*line).to_owned()).collect())
}

/// Whether the text has a test of this title that isn't left out.
fn title(text: &str, name: &str) -> bool {
    ['"', '\'', '`'].iter().any(|quote| {
        let quoted = format!("{quote}{name}{quote}");
        text.match_indices(&quoted).any(|(at, _)| {
            let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
            let before = text[..at].trim_end();
            // The call may be on the line above its title.
            let start = before.rfind(['\n', ';', '{']).map_or(0, |end| end + 1);
            let call = before[start.min(line.max(start))..].trim_start();
            let runs = call.starts_with("test") || call.starts_with("it(") || call.starts_with("it.");
            runs && call.ends_with('(') && ![".skip(", ".todo("].iter().any(|out| call.contains(out))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exists(path: &str, name: &str, text: &str) -> bool {
        let named = Named { path: path.to_owned(), name: name.to_owned() };
        named.exists(&|asked| (asked == path).then(|| text.to_owned())).is_ok()
    }

    #[test]
    fn a_function_is_a_test_by_its_attribute() {
        let text = "#[test]\nfn one() {}\n\n/// Why.\n#[tokio::test(flavor = \"multi_thread\")]\n// More.\nasync fn two() {}\n\
                    fn helper() {}\n// fn three() {}\n    #[test]\n    fn one_more() {}\n#[test]\n#[ignore = \"slow\"]\nfn slow() {}\n";
        assert!(exists("a.rs", "one", text));
        assert!(exists("a.rs", "two", text));
        assert!(exists("a.rs", "one_more", text));
        for name in ["helper", "three", "on", "one_mor", "slow"] {
            assert!(!exists("a.rs", name, text), "{name}");
        }
    }

    #[test]
    fn a_title_stands_in_a_call_of_test() {
        let text = "describe(\"all\", () => {\n  test(\"it holds: always\", () => {});\n  test(\n    \"a long one\",\n  );\n\
                    // \"only told\"\n  it.skip(\"left out\", () => {});\n  test.skipIf(slow)(\"at times\", f);\n";
        for name in ["it holds: always", "a long one", "at times"] {
            assert!(exists("a.test.ts", name, text), "{name}");
        }
        for name in ["all", "only told", "left out", "it holds"] {
            assert!(!exists("a.test.ts", name, text), "{name}");
        }
    }

    #[test]
    fn a_contract_counts_once_the_suite_runs_it() {
        let named = Named { path: format!("{SUITE_FOLDER}scans.rs"), name: "a_scan_is_kept".to_owned() };
        let source = |suite: &'static str| {
            move |path: &str| match path {
                SUITE => Some(suite.to_owned()),
                _ => Some("pub async fn a_scan_is_kept(store: Arc<dyn Store>) {}".to_owned()),
            }
        };
        assert!(named.exists(&source("scans: a_scan_is_kept, other;")).is_ok());
        assert!(named.exists(&source("scans: a_scan_is_kept_twice;")).is_err());
    }
}
