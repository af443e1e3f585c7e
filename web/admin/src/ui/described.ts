/** The ids of the error and the hint of a field in `Field.svelte`, for `aria-describedby`. */
export const described = (id: string): string => `wrong-${id} hint-${id}`;
