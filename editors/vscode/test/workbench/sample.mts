/** Session files that several tests show, and a window that has one open. */

import type { Project } from "./place.mts";
import type { SessionFile } from "./sessionFile.mts";
import { stage } from "./stage.mts";
import type { Window } from "./window.mts";

export const SESSIONS = "Sessions";
export const TREE = "Session Tree";

/** Two branches of a first answer, a tool call and a label; the leaf is at the end of the second branch. */
export function branched(project: Project): SessionFile {
  return project
    .session("branched")
    .name("n1", "Mend the parser")
    .user("q1", "Why does the parser fail on empty input?")
    .assistant("a1", "Because it reads the first token first.", 1200)
    .user("q2", "Then guard it.")
    .assistant("a2", "Guarded, in the lexer.", 2600)
    .at("a1")
    .user("q3", "Can the grammar say so instead?")
    .reads("r1", "/src/grammar.y", "start: tokens;")
    .assistant("a3", "Yes: an optional list.", 4000)
    .label("l1", "q3", "grammar")
    .write();
}

/** A session that is worth compacting: 40 turns of 1,000 tokens. */
export function long(project: Project): SessionFile {
  return project.session("long").name("n1", "A long session").turns("long", 40, 4000).write();
}

/** A window on a project, with a session of the view opened. */
export async function opened(project: Project, row: string, server = stage.server): Promise<Window> {
  const window = await stage.open(project, server);
  await window.container("Sessions");
  await window.row(SESSIONS, row).click();
  // The view selects the leaf's row at last.
  await window.view(TREE).locator(".monaco-list-row.selected").waitFor();
  return window;
}
