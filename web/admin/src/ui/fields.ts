/** Finds what a person changed in a form, whatever fields it has. */
type Value = string | boolean;
type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const isControl = (one: Element): one is Control => one instanceof HTMLInputElement || one instanceof HTMLSelectElement || one instanceof HTMLTextAreaElement;
const valueOf = (one: Control): Value => (one instanceof HTMLInputElement && (one.type === "checkbox" || one.type === "radio") ? one.checked : one.value);

/** Notes the first values of a form. The returned function says whether a person has changed it since. */
export function changesOf(form: HTMLFormElement): () => boolean {
  const first = new Map<Control, Value>();
  for (const one of form.elements) if (isControl(one)) first.set(one, valueOf(one));
  const touched = new Set<Control>();
  const note = (event: Event): void => {
    if (event.target instanceof Element && isControl(event.target)) touched.add(event.target);
  };
  form.addEventListener("input", note);
  form.addEventListener("change", note);
  // A field that appeared later has no first value, so any value in it is a change.
  return () => [...touched].some((one) => one.isConnected && valueOf(one) !== (first.get(one) ?? ""));
}
