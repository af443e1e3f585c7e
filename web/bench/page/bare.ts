/** The raw limit: one block of SHA-256 and a binary search over sorted prefixes of 16 bytes, in plain JavaScript. */

const K = new Uint32Array(64);
const INITIAL = new Uint32Array(8);
{
  // The fractional parts of the cube and square roots of the first primes (FIPS 180-4).
  const fraction = (value: number) => Math.floor((value - Math.floor(value)) * 2 ** 32);
  for (let found = 0, number = 2; found < 64; number += 1) {
    let prime = true;
    for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) prime = false;
    if (!prime) continue;
    if (found < 8) INITIAL[found] = fraction(Math.sqrt(number));
    K[found] = fraction(Math.cbrt(number));
    found += 1;
  }
}

const words = new Int32Array(64);
const encoder = new TextEncoder();
const block = new Uint8Array(64);
const view = new DataView(block.buffer);

/** The first four words of the hash of a text of at most 55 bytes. */
export function hash(text: string, out: Uint32Array): void {
  const { written } = encoder.encodeInto(text, block);
  block[written] = 0x80;
  block.fill(0, written + 1, 62);
  view.setUint16(62, written * 8);
  for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(i * 4);
  for (let i = 16; i < 64; i += 1) {
    const x = words[i - 15]!;
    const y = words[i - 2]!;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    words[i] = (words[i - 16]! + s0 + words[i - 7]! + s1) | 0;
  }
  let [a, b, c, d, e, f, g, h] = INITIAL as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i += 1) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i]! + words[i]!) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  out[0] = INITIAL[0]! + a;
  out[1] = INITIAL[1]! + b;
  out[2] = INITIAL[2]! + c;
  out[3] = INITIAL[3]! + d;
}

/** Prefixes as big-endian words, four each, in order. */
export function columns(bytes: ArrayBuffer): Uint32Array {
  const from = new DataView(bytes);
  return Uint32Array.from({ length: bytes.byteLength / 4 }, (_, i) => from.getUint32(i * 4));
}

/** Whether the sorted prefixes contain this one. */
export function find(prefixes: Uint32Array, wanted: Uint32Array): boolean {
  let low = 0;
  let high = prefixes.length / 4;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = middle * 4;
    let order = 0;
    for (let i = 0; i < 4 && order === 0; i += 1) {
      const one = prefixes[at + i]!;
      const two = wanted[i]!;
      order = one < two ? -1 : one > two ? 1 : 0;
    }
    if (order === 0) return true;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return false;
}
