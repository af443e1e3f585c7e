/** A QR code as an SVG path of unit squares. The library that makes it is loaded when it is first needed. */
export interface Squares {
  /** The number of squares along a side, with the empty border around the code. */
  side: number;
  path: string;
}

const QUIET = 4;

export async function codeSquares(text: string): Promise<Squares> {
  const { default: QRCode } = await import("qrcode");
  const { modules } = QRCode.create(text, { errorCorrectionLevel: "M" });
  let path = "";
  for (let row = 0; row < modules.size; row += 1) {
    for (let column = 0; column < modules.size; column += 1) {
      if (modules.get(row, column)) path += `M${column + QUIET} ${row + QUIET}h1v1h-1z`;
    }
  }
  return { side: modules.size + 2 * QUIET, path };
}
