/** Chooses the camera that reads tickets best. Tickets are held at arm's length, so that is the ordinary rear camera that focuses near. */

/** The known facts about a camera. Browsers give labels only after a person allowed a camera, and few give abilities. */
export interface CameraKind {
  id: string;
  label: string;
  abilities?: { focusMode?: string[]; focusDistance?: { min?: number }; facingMode?: string[] };
}

const FRONT = /\b(?:front|user|facetime|selfie)\b/i;
/** Labels of lenses for wide, distant, close or depth pictures. They show a code at arm's length too small, too large or blurred. */
const SPECIAL = /\b(?:ultra|tele(?:photo)?|depth|macro|infrared|ir|desk view)\b|\b0[.,]\d+\s*[x×]/i;
/** Labels of an iPhone's cameras that change to the near lens by themselves when something comes close. */
const CHANGES_LENS = /\b(?:dual|triple)\b/i;
/** Android numbers its cameras. The main camera of each side has the lowest number. */
const NUMBERED = /\bcamera2? (\d+)/i;

/** Points for a camera: the higher, the better it reads tickets. */
export function fitness({ label, abilities }: CameraKind): number {
  let points = 0;
  if (FRONT.test(label) || (abilities?.facingMode?.includes("user") ?? false)) points -= 100;
  if (SPECIAL.test(label)) points -= 50;
  if (CHANGES_LENS.test(label)) points += 10;
  const focus = abilities?.focusMode;
  if (focus !== undefined && focus.length > 0) points += focus.includes("continuous") ? 20 : -20;
  // Metres. A camera that focuses at 15 cm or nearer is near enough for tickets.
  const nearest = abilities?.focusDistance?.min;
  if (nearest !== undefined) points += nearest <= 0.15 ? 5 : -5;
  const number = NUMBERED.exec(label)?.[1];
  if (number !== undefined) points -= Math.min(9, Number(number));
  return points;
}

/** The best camera for tickets. Of cameras with equal points it is the first in the system's order. */
export function bestCamera<Kind extends CameraKind>(cameras: readonly Kind[]): Kind | null {
  let best: Kind | null = null;
  for (const camera of cameras) if (best === null || fitness(camera) > fitness(best)) best = camera;
  return best;
}

/** Whether the list of cameras shows this one after the others. */
export function isSpecial(label: string): boolean {
  return SPECIAL.test(label);
}
