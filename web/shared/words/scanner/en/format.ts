/** Numbers, times, spans and sizes. */
import { formats } from "../formats.ts";

export const { count, tenths, plural, clock, day } = formats("en-GB");

export const seconds = (n: number) => `${n} s`;
export const minutes = (n: number) => `${n} min`;
export const hours = (n: number) => `${n} h`;
export const hoursMinutes = (hours: number, minutes: number) => `${hours} h ${minutes} min`;
export const megabytes = (n: number) => `${tenths(n)} MB`;
