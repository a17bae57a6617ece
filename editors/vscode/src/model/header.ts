/** Telling session files from other JSON lines. Pure. */

/** Characters of the first line that are looked at; headers are shorter. */
export const HEADER_LENGTH = 4096;

/** Whether a first line is a session's header; `"type"` may stand anywhere in it. The daemon alone decides. */
export function isSessionHeader(line: string): boolean {
  return /^\uFEFF?\s*\{/.test(line) && /"type"\s*:\s*"session"/.test(line.slice(0, HEADER_LENGTH));
}
