import { expect, test } from "vitest";
import { address, placesOf, readAddress, tabsOf } from "./places.ts";

test("each role sees the pages it can use, and a phone has the daily ones as tabs", () => {
  expect(placesOf("manager").map((place) => place.id)).toEqual(["overview", "live", "review", "guests", "tickets", "passes", "import", "gates", "devices", "report"]);
  expect(placesOf("viewer").map((place) => place.id)).not.toContain("import");
  expect(placesOf("promoter").map((place) => place.id)).toEqual(["guests", "import"]);
  expect(placesOf("door").map((place) => place.id)).toEqual(["live"]);
  expect(tabsOf("owner")).toEqual(["live", "review", "guests", "devices"]);
  expect(tabsOf("promoter")).toEqual(["guests", "import"]);
  expect(tabsOf("door")).toEqual(["live"]);
});

test("an address is read as an event and a page; none that a role does not see leads anywhere", () => {
  expect(readAddress("/events/a%20b", "owner")).toEqual({ eventId: "a b", place: "overview" });
  expect(readAddress("/events/a", "promoter")).toEqual({ eventId: "a", place: "guests" });
  expect(readAddress("/events/a/review", "promoter")).toBeNull();
  expect(readAddress("/events/a/nowhere", "owner")).toBeNull();
  expect(readAddress("/events/%E0%A4%A", "owner")).toBeNull();
  expect(readAddress("/events", "owner")).toBeNull();
  expect(address("a b", "live")).toBe("/events/a%20b/live");
});
