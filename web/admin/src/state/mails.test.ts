import { expect, test } from "vitest";
import { changedTexts, defaultTexts, textsOf } from "./mails.ts";

const view = {
  own: { subject: "{{ guest }}!", text: null, html: null },
  default: { subject: "Your pass", text: "{{ pass_url }}", html: "<a href=\"{{ pass_url }}\">" },
};

test("a form shows the organisation's texts, and the server's where it has none", () => {
  expect(textsOf(view)).toEqual({ ...view.default, subject: "{{ guest }}!" });
  expect(defaultTexts(view)).toEqual(view.default);
});

test("only what was changed is sent, and the server's own text as none", () => {
  const [before, standard] = [textsOf(view), defaultTexts(view)];
  expect(changedTexts(before, before, standard)).toEqual({});
  expect(changedTexts(before, { ...before, text: "Hi {{ pass_url }}" }, standard)).toEqual({ text: "Hi {{ pass_url }}" });
  expect(changedTexts(before, { ...before, subject: "Your pass" }, standard)).toEqual({ subject: null });
});
