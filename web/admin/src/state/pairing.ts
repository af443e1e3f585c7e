/** Reads the code that a device shows for approval. It is a link to this app, or a text that people read out and type. */

const PREFIX = "admit_pt_";

/** The first choice of the gate: the only gate, or the one that the page asked for. Empty if a person must choose. */
export const firstGate = (gates: readonly { id: string }[], asked: string): string =>
  (gates.length === 1 ? gates : gates.filter((gate) => gate.id === asked))[0]?.id ?? "";

/** The token in a scanned, pasted or typed text. Empty if there is none. */
export function readDeviceCode(text: string): string {
  const code = text.trim();
  const fragment = /#(?:pair=)?([\w-]+)$/.exec(code)?.[1];
  const token = (fragment ?? code).replace(/[\s-]/g, "");
  if (token === "") return "";
  return token.startsWith(PREFIX) ? token : PREFIX + token.toLowerCase();
}
