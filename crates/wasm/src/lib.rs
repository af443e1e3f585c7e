//! The core's interface for the browser. It converts, calls the core, and converts back. No rule about tickets is here
//! (law 12).
//!
//! Input and output are JSON, in the shapes of [`admit_core::wire::engine`]. The bytes of an answer or a cached body
//! are passed separately, so that a list of megabytes is never text inside text.
//!
//! `docs/glossary.md` defines the words and says what `spec §4`, S1, D3, I7 and the like are.

use admit_core::device::Engine;
use admit_core::wire::engine::{Input, Now};
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

/// The scanner engine of one tab.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct ScannerEngine(Engine);

#[wasm_bindgen]
impl ScannerEngine {
    /// A scanner that has no state yet. Its first input must be `start`.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// The version of the app, for the input `start` and for heartbeats.
    pub fn version() -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    /// Takes an `Input`, the bytes that belong to it (`undefined` if there are none) and a `Now`. Returns an array of
    /// `Effect`, which the caller carries out in order. Throws on text that does not have these shapes, and names the
    /// field. In that case nothing has changed.
    pub fn handle(&mut self, input: &str, body: Option<Vec<u8>>, now: &str) -> Result<String, JsValue> {
        handle(&mut self.0, input, &body.unwrap_or_default(), now).map_err(|message| JsError::new(&message).into())
    }

    /// Runs one file of `vectors/`. Returns the number of its cases. Throws with the names of the cases whose result
    /// differs.
    #[cfg(feature = "vectors")]
    #[wasm_bindgen(js_name = runVectors)]
    pub fn run_vectors(name: &str, json: &str) -> Result<String, JsValue> {
        match admit_core::vectors::run(name, json) {
            Ok(cases) => Ok(cases.to_string()),
            Err(message) => Err(JsError::new(&message).into()),
        }
    }
}

fn handle(engine: &mut Engine, input: &str, body: &[u8], now: &str) -> Result<String, String> {
    let now: Now = read("now", now)?;
    let input: Input = read("input", input)?;
    serde_json::to_string(&engine.handle(input, body, &now)).map_err(|error| format!("effects: {error}"))
}

fn read<T: DeserializeOwned>(what: &str, json: &str) -> Result<T, String> {
    serde_json::from_slice(json.as_bytes()).map_err(|error| format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn now() -> String {
        json!({ "wall_ms": 1_780_000_000_000_i64, "mono_ms": 5, "random": vec![7; 32] }).to_string()
    }
    fn give(engine: &mut Engine, input: Value) -> Result<Value, String> {
        let effects = handle(engine, &input.to_string(), &[], &now())?;
        serde_json::from_str(&effects).map_err(|error| error.to_string())
    }

    #[test]
    fn a_new_scanner_starts_unpaired() {
        let mut engine = Engine::new();
        let start =
            json!({ "type": "start", "session_id": "s", "rows": [], "app_version": "1", "device_type": "phone" });
        give(&mut engine, start).unwrap();
        let effects = give(&mut engine, json!({ "type": "started" })).unwrap();
        let view = effects.as_array().unwrap().iter().find(|effect| effect["type"] == "view").unwrap();
        assert_eq!(view["view"]["phase"], "unpaired");
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_name_and_changes_nothing() {
        let mut engine = Engine::new();
        let wrong = give(&mut engine, json!({ "type": "count", "scan_id": "a", "count": "two" })).unwrap_err();
        assert!(wrong.starts_with("input: "), "{wrong}");
        let wrong = handle(&mut engine, r#"{"type":"tick"}"#, &[], "{}").unwrap_err();
        assert!(wrong.contains("wall_ms"), "{wrong}");
    }
}
