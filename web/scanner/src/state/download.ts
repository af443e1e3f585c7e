/** Hands a text file to the person: the browser saves it where it saves downloads. */
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Some browsers read the address only after the click returned.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
