/** The screen until the phone has its first list. */

export const title = "Fetching the list";
export const progress = "List";
export const of = (received: string, total: string) => `${received} of ${total}`;
export const received = (received: string) => `${received} received`;
export const asking = "Asking the server";
/** The whole list is here and is being read. */
export const reading = "Reading the list";
export const after = "After this the device scans without a network.";
export const afterWhileOpen = "After this the device scans without a network, as long as this page stays open.";
export const tryNow = "Try now";
export const pairOther = "Pair with another code";
