/** Adding a guest who has no ticket. */
import { plural } from "./format.ts";

export const title = "Add a guest";
export const open = "Add a guest without a ticket";
export const name = "Guest's name";
export const zone = "Entry type";
export const persons = "Persons";
export const fewer = "One fewer";
export const more = "One more";
export const added = (persons: number, number: number) => `${persons} of ${number} added at the doors`;
export const places = (places: number) => plural(places, { one: "One place left in this area", other: `${places} places left in this area` });
export const why = "The guest goes in now. Their ticket is made when this device has a network.";
/** `left`: the number of persons who may still be added. */
export const beyond = (left: number) =>
  left <= 0 ? "The number of guests who may be added is used up. The staff PIN lets more in." : `Only ${left} more may be added. The staff PIN lets more in.`;
export const ended = "The event has ended. The staff PIN lets guests in all the same.";
export const act = (persons: number) => (persons > 1 ? `Add and admit ${persons}` : "Add and admit");
/** The button below a search that found nobody. */
export const fromSearch = (name: string) => `Add “${name}” as a guest`;
