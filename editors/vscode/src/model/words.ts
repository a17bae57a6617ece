/** Times, sizes and counts in words for people. Pure: what the time is now is handed in. */

const DAY_MS = 24 * 60 * 60 * 1000;

/** "1 entry", "2 entries". */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** Tokens as people read them: 512, 18.2k, 1M. */
export function tokens(number: number): string {
  if (number < 1000) {
    return String(number);
  }
  const [scaled, unit] = number < 999_950 ? [number / 1000, "k"] : [number / 1e6, "M"];
  return scaled.toFixed(1).replace(/\.0$/, "") + unit;
}

/** A time near enough to recognise: the hour today, the weekday this week, else the date. */
export function time(iso: string | null | undefined, now: Date): string {
  const then = iso ? new Date(iso) : undefined;
  if (!then || Number.isNaN(then.getTime())) {
    return "";
  }
  const clock = then.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (then.toDateString() === now.toDateString()) {
    return clock;
  }
  const age = now.getTime() - then.getTime();
  if (age > 0 && age < 6 * DAY_MS) {
    return `${then.toLocaleDateString("en-GB", { weekday: "short" })} ${clock}`;
  }
  const isThisYear = then.getFullYear() === now.getFullYear();
  return then.toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
    ...(isThisYear ? {} : { year: "numeric" }),
  });
}

/** The whole time, for tooltips. */
export function fullTime(iso: string | null | undefined): string {
  const then = iso ? new Date(iso) : undefined;
  return then && !Number.isNaN(then.getTime()) ? then.toLocaleString("en-GB") : "";
}

/** A size in bytes. */
export function size(bytes: number): string {
  return bytes < 1024
    ? `${bytes} B`
    : bytes < 1024 ** 2
      ? `${Math.round(bytes / 1024)} KB`
      : `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}

/** The first line of a text, cut at a number of characters without splitting a surrogate pair. */
export function firstLine(text: string, most: number): string {
  const line = (/\S[^\r\n]*/.exec(text)?.[0] ?? "").trimEnd();
  const points = Array.from(line.slice(0, 2 * most + 2));
  return points.length > most ? points.slice(0, most - 1).join("") + "…" : line;
}

/** Text that Markdown takes literally. */
export function literal(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!|<>~&]/g, "\\$&");
}
