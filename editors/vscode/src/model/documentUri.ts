/**
 * What a virtual document shows, as the parts of its URI. It names sessions by their files, since handles
 * change; so a document that VS Code restores after a restart shows the same. Pure.
 */

/** Undefined `leafId`: the leaf, as it moves. Null: the place before the first entry. */
export type Shown =
  | { readonly kind: "entry"; readonly session: string; readonly id: string }
  | { readonly kind: "context"; readonly session: string; readonly leafId?: string | null }
  | { readonly kind: "plan"; readonly session: string; readonly instructions?: string }
  | { readonly kind: "prompt"; readonly cwd: string };

export interface UriParts {
  readonly scheme: "pid";
  readonly path: string;
  readonly query: string;
}

export const SCHEME = "pid";
const KINDS = ["entry", "context", "plan", "prompt"];
const MOST_TITLE = 60;

/** @param title the tab's title, without an ending */
export function uriParts(shown: Shown, title: string): UriParts {
  const name = Array.from(title.replace(/[/\\?#%\s]+/g, " ").trim())
    .slice(0, MOST_TITLE)
    .join("")
    .trim();
  return { scheme: SCHEME, path: `/${name || shown.kind}.md`, query: JSON.stringify(shown) };
}

/** Undefined for a URI that this extension did not make. */
export function shownBy(query: string): Shown | undefined {
  try {
    const value: unknown = JSON.parse(query);
    const kind = typeof value === "object" && value !== null && "kind" in value ? value.kind : undefined;
    return typeof kind === "string" && KINDS.includes(kind) ? (value as Shown) : undefined;
  } catch {
    return undefined;
  }
}
