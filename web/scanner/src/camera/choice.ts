/** Which of a phone's cameras reads tickets best. A ticket is held at arm's length: the ordinary rear camera that focuses near. */

/** As much of a camera as is known of it: browsers give its label only once one was allowed, and few its abilities. */
export interface CameraKind {
  id: string;
  label: string;
  abilities?: { focusMode?: string[]; focusDistance?: { min?: number }; facingMode?: string[] };
}

const FRONT = /\b(?:front|user|facetime|selfie)\b/i;
/** Lenses for landscapes, distance or depth: a code at arm's length is too small, too large or a blur. */
const SPECIAL = /\b(?:ultra|tele(?:photo)?|depth|macro|infrared|ir|desk view)\b|\b0[.,]\d+\s*[x×]/i;
/** An iPhone's cameras that change the lens by themselves, to the near one when something comes close. */
const CHANGES_LENS = /\b(?:dual|triple)\b/i;
/** Android numbers its cameras; the main one of each side is the first. */
const NUMBERED = /\bcamera2? (\d+)/i;

/** Higher reads tickets better. */
export function fitness({ label, abilities }: CameraKind): number {
  let points = 0;
  if (FRONT.test(label) || (abilities?.facingMode?.includes("user") ?? false)) points -= 100;
  if (SPECIAL.test(label)) points -= 50;
  if (CHANGES_LENS.test(label)) points += 10;
  const focus = abilities?.focusMode;
  if (focus !== undefined && focus.length > 0) points += focus.includes("continuous") ? 20 : -20;
  // Metres: nearer than a hand's breadth is as good as it gets.
  const nearest = abilities?.focusDistance?.min;
  if (nearest !== undefined) points += nearest <= 0.15 ? 5 : -5;
  const number = NUMBERED.exec(label)?.[1];
  if (number !== undefined) points -= Math.min(9, Number(number));
  return points;
}

/** The best camera for tickets; of equals the first, which is the system's own order. */
export function bestCamera<Kind extends CameraKind>(cameras: readonly Kind[]): Kind | null {
  let best: Kind | null = null;
  for (const camera of cameras) if (best === null || fitness(camera) > fitness(best)) best = camera;
  return best;
}

/** Whether a person should see this camera only behind the others. */
export function isSpecial(label: string): boolean {
  return SPECIAL.test(label);
}
