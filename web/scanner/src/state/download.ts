/** Saves a text as a file: the browser stores it with its downloads. */
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Some browsers read the file's address only after `click()` returned.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
