/** The texts of a verdict, and of the buttons below it. */

export const label = "Verdict";
export const admit = (persons: number) => (persons > 1 ? `Admit ${persons}` : "Admit");
export const inParty = (persons: number, party: number) => `${persons} of ${party}`;
export const nobody = "Nobody went in";
export const nobodyWhy = "Recorded. The ticket stays good.";
export const byStaff = "Let in by staff";
export const howMany = "How many?";
/** The number of persons who may still enter with the ticket of a party. */
export const left = (persons: number) => `${persons} left`;
export const exit = "Exit recorded";
export const persons = (n: number) => `${n} persons`;
export const alreadyIn = "Already in";
export const inBefore = (persons: number) => `${persons} already in`;
export const allIn = (party: number) => `All ${party} of the party are in.`;
export const lastEntry = (gate: string, time: string, span: string) => `${gate}, ${time}, ${span} ago`;
export const scannedOn = (device: string) => `Scanned on ${device}`;
export const thisDevice = "this device";
export const anotherDevice = "another device";
export const deviceOf = (id: string) => `device ${id}`;
export const alreadyToday = "One entry a day: the next one is tomorrow.";
export const alreadyAtGate = "This ticket lets in once at each gate.";
export const usesSpent = "All entries of this ticket are used.";
export const ended = "The event has ended";
export const endedWhy = "Guests who leave can still be scanned out.";
export const endedNext = "Ask a supervisor before you let anybody in.";
export const practice = "Practice · nothing counts";
/** The short form, for a line with other texts. */
export const practiceShort = "Practice";
/** The name on the verdict of the sample ticket. */
export const sample = "Sample ticket";
export const tooSoon = "Coming back is allowed, but not yet.";
export const askSupervisor = "Ask a supervisor.";
export const check = "Check the guest";
/** A guest's flag as a request to staff: "ID" becomes "Check ID". A flag that names nothing to look at stays as it is. */
export const flag = (flag: string) => (thing.test(flag) ? `Check ${flag.replace(/^\p{Lu}(?=\p{Ll})/u, (first) => first.toLowerCase())}` : flag);
/** The same as a headline, which is always a request. */
export const checkFlag = (text: string) => (thing.test(text) || asks.test(text) ? flag(text) : `Check: ${text}`);
/** Recognises a flag that names something to look at: an abbreviation, or a thing that people show at a door. */
const thing = /^(?:\p{Lu}{2,4}|(?:age|passport|photo|badge|name|wristband|voucher|membership|student) ?(?:id|card|pass)?)$/iu;
/** Recognises a flag that is a request already. */
const asks = /^(?:check|ask|look|see|verify|call|give|show|stop|tell|take|bring|do not)\b/i;
/** A field of the guest, as a screen reader says it. */
export const field = (label: string, value: string) => `${label}: ${value}`;
export const checkNext = "Look first, then decide.";
export const refuse = "Do not admit";
export const causes = {
  ticket_voided: "This ticket was cancelled.",
  ticket_refunded: "This ticket was refunded.",
  ticket_already_used: "This ticket is marked as used.",
};
export const toTicketDesk = "Send the guest to the ticket desk.";
export const wrongGate = "Wrong gate";
export const goTo = (gate: string) => `Wrong gate: go to ${gate}`;
export const alsoGood = (gates: string[]) => `Also good: ${gates.join(", ")}`;
export const noGate = "No gate of this list takes this ticket. Send the guest to the ticket desk.";
export const tooEarly = "Too early";
export const tooLate = "Too late";
export const validFrom = (day: string) => `Valid from ${day}`;
export const validUntil = (day: string) => `Was valid until ${day}`;
export const comeBack = "Ask the guest to come back then.";
export const notInList = "Unknown ticket";
/** `made`: when the list was made; null where that is not known. */
export const notInListWhy = (version: number, made: string | null) =>
  `Not in this device's list (version ${version}${made === null ? "" : `, ${made}`}).`;
/** Used if the phone also asked the server. */
export const notAtServer = "The server does not know this ticket either.";
export const notInListNext = "A ticket sold since then is not here. Ask a supervisor.";
export const notATicket = "Not one of our codes";
export const notATicketWhy = "This is no ticket of any event here.";
export const notATicketNext = "Ask for the ticket.";
export const full = "Area full";
/** Some places are left, fewer than the persons who want to go in. */
export const nearlyFull = "Nearly full";
/** `places`: the number of persons for whom the area has room. `asked`: the number of persons who want to go in. */
export const fullWhy = (places: number, asked: number) =>
  places === 0 ? "Hold the queue." : `${places} ${places === 1 ? "place" : "places"} left, ${asked} asked.`;
export const fullNext = "Let people in only as others leave.";
export const sameTicket = (span: string) => `Same ticket, ${span} ago`;
export const sameTicketWhere = "On this device.";
/** The list has expired. A list expires some hours after the event's end. */
export const listExpired = "Past the event's end";
export const provisional = "Stored, will sync";
export const confirmed = "Confirmed";
export const override = "Admit anyway";
/** Looks for the guest of a code that nobody knows. */
export const searchByName = "Search by name";
export const next = "Next";
export const changed = "The verdict has changed. Look, then tap again.";
