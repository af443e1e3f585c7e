/** The other tickets of a booking, offered with one of them. */
import { plural } from "./format.ts";

/** `others`: tickets of the booking that are not in yet. */
export const more = (others: number) => plural(others, { one: "One more of this booking", other: `${others} more of this booking` });
/** `tickets`: their number. `persons`: the persons on them; there are more persons than tickets if a ticket is for a party. */
export const admit = (tickets: number, persons: number) => {
  const who = tickets === 1 ? "Admit the other one" : `Admit the other ${tickets}`;
  return persons === tickets ? who : `${who} (${persons} persons)`;
};
export const others = (hidden: number) => `and ${hidden} more`;
export const alreadyIn = (tickets: number) => plural(tickets, { one: "One of the booking is in already", other: `${tickets} of the booking are in already` });
export const byThemselves = (tickets: number) =>
  plural(tickets, { one: "One of the booking needs a scan of its own", other: `${tickets} of the booking need a scan of their own` });
/** `places`: the number of persons for whom the area has room. */
export const full = (places: number) => (places === 0 ? "The area is full." : plural(places, { one: "The area has one place left.", other: `The area has ${places} places left.` }));
export const label = "Tickets of this booking";
export const undo = "Undo";
/** For a screen reader, with the guest's name or the ticket's type. */
export const undoOf = (who: string) => `Undo ${who}`;
/** In the strip at the screen's edge, after "Admit 6". */
export const letIn = "Booking";
/** Opens the list of those who were let in at once, each with an Undo of their own. */
export const undoWhom = "Undo…";
export const undoTitle = "Undo one of this booking";
/** In a search: the guest was not found by the text, but belongs to the booking above. */
export const sameBooking = "Same booking";
export const together = (others: number) => plural(others, { one: "Booked with one other", other: `Booked with ${others} others` });
