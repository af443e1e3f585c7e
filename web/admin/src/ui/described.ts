/** What describes a field of `Field.svelte`: its message and its hint. */
export const described = (id: string): string => `wrong-${id} hint-${id}`;
