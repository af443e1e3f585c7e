/** Finds texts in code that belong into a catalogue. Both apps run this check on their own code. */
import { type AST, parse } from "svelte/compiler";
import ts from "typescript";

/** A text that a person would see or hear, and its line, counted from 1. */
export interface Literal {
  line: number;
  text: string;
}

/** Attributes of HTML elements whose text a person sees or hears. */
const SHOWN: ReadonlySet<string> = new Set([
  "alt",
  "aria-description",
  "aria-label",
  "aria-placeholder",
  "aria-roledescription",
  "aria-valuetext",
  "label",
  "placeholder",
  "title",
]);
/** Properties of the scanner's components that hold identifiers for the program. All other properties may be shown. */
const NAMES: ReadonlySet<string> = new Set(["name", "shape"]);
/** The members of a Svelte block node that hold more markup. */
const PARTS = ["fragment", "consequent", "alternate", "body", "fallback", "pending", "then", "catch"] as const;

/** The members of an expression's node that this check reads. */
interface Expression {
  type: string;
  start: number;
  value?: unknown;
  operator?: string;
  quasis?: { start: number; value: { cooked?: string | null } }[];
  expressions?: Expression[];
  left?: Expression;
  right?: Expression;
  consequent?: Expression;
  alternate?: Expression;
  expression?: Expression;
}

/**
 * Finds the texts with letters in a component's markup: between tags, in shown attributes, and in expressions whose value is
 * shown. `names` are the properties of components that hold identifiers for the program.
 */
export function literalsInMarkup(source: string, names = NAMES): Literal[] {
  const found: Literal[] = [];
  const add = (at: number, text: unknown) => {
    if (typeof text === "string" && /\p{L}/u.test(text)) found.push({ line: source.slice(0, at).split("\n").length, text: text.trim() });
  };
  const value = (node: Expression): void => {
    for (const part of node.quasis ?? []) add(part.start, part.value.cooked);
    for (const part of node.expressions ?? []) value(part);
    if (node.type === "Literal") add(node.start, node.value);
    if (node.type === "LogicalExpression" || (node.type === "BinaryExpression" && node.operator === "+")) {
      for (const side of [node.left, node.right]) if (side !== undefined) value(side);
    }
    // The condition of `a ? b : c` is not shown, but `b` and `c` are. TypeScript's `as` and `!` wrap an inner expression.
    for (const part of [node.consequent, node.alternate, node.expression]) if (part !== undefined) value(part);
  };
  const attribute = (node: AST.Attribute): void => {
    if (node.value === true) return;
    for (const part of Array.isArray(node.value) ? node.value : [node.value]) {
      if (part.type === "Text") add(part.start, part.data);
      else value(part.expression as unknown as Expression);
    }
  };
  const markup = (fragment: AST.Fragment): void => {
    for (const node of fragment.nodes) {
      if (node.type === "Text") add(node.start, node.data);
      if (node.type === "ExpressionTag" || node.type === "HtmlTag") value(node.expression as unknown as Expression);
      const shown = node.type === "Component" ? (name: string) => !names.has(name) : (name: string) => SHOWN.has(name);
      for (const one of "attributes" in node ? node.attributes : []) if (one.type === "Attribute" && shown(one.name)) attribute(one);
      const parts = node as unknown as Partial<Record<(typeof PARTS)[number], AST.Fragment | null>>;
      for (const name of PARTS) if (parts[name]?.type === "Fragment") markup(parts[name]);
    }
  };
  markup(parse(source, { modern: true }).fragment);
  return found;
}

/**
 * Finds the texts of two words or more in a script. It leaves out imports, types, and texts for the browser alone, such as media
 * queries and names of measurements. It also leaves out texts of thrown errors, because screens replace them by words of their own.
 */
export function literalsInScript(source: string): Literal[] {
  const file = ts.createSourceFile("script.ts", source, ts.ScriptTarget.Latest, true);
  const found: Literal[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isNewExpression(node) && /(?:Error|Exception)$/.test(node.expression.getText())) return;
    if (ts.isCallExpression(node) && /^(?:super|matchMedia|performance\.measure)$/.test(node.expression.getText())) return;
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
    if (isText && /\p{L}[^\p{L}]*\s[^\p{L}]*\p{L}/u.test(node.text)) {
      found.push({ line: file.getLineAndCharacterOfPosition(node.getStart()).line + 1, text: node.text });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** The script of a component, with blank lines before it so that line numbers stay right. Empty if it has no script. */
export function scriptOf(source: string): string {
  const { instance } = parse(source, { modern: true });
  if (instance === null) return "";
  const { start, end } = instance.content as unknown as { start: number; end: number };
  return source.slice(0, start).replace(/[^\n]/g, "") + source.slice(start, end);
}
