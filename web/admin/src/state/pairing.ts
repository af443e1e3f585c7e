/** What a device shows for approval: a link to this page, or its code as read out and typed. */

const PREFIX = "admit_pt_";

/** The gate that a pairing begins with: the only one, or the one that the page spoke of; empty where it is to be chosen. */
export const firstGate = (gates: readonly { id: string }[], asked: string): string =>
  (gates.length === 1 ? gates : gates.filter((gate) => gate.id === asked))[0]?.id ?? "";

/** The token in a scanned, pasted or typed text; empty where there is none. */
export function readDeviceCode(text: string): string {
  const code = text.trim();
  const fragment = /#(?:pair=)?([\w-]+)$/.exec(code)?.[1];
  const token = (fragment ?? code).replace(/[\s-]/g, "");
  if (token === "") return "";
  return token.startsWith(PREFIX) ? token : PREFIX + token.toLowerCase();
}
