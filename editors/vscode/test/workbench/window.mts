/**
 * One window of the workbench in a browser, in the words of a person: the palette, a tree's rows, a menu, a
 * notification, the text in the editor. Every wait ends: after `PATIENCE_MS`, with what was to be seen.
 */

import type { Browser, Locator, Page } from "playwright-core";
import { eventually, PATIENCE_MS } from "./processes.mts";

const OPENING_MS = 60_000;

export interface Row {
  /** In pixels. */
  top: number;
  label: string;
  description: string;
  level: number;
  /** Null for a row that has nothing under it. */
  expanded: boolean | null;
  /** What a screen reader says. */
  aria: string;
}

export class Window {
  readonly page: Page;

  private constructor(page: Page) {
    this.page = page;
  }

  /** Opens a folder, or the file of a workspace of several. */
  static async open(browser: Browser, port: number, path: string): Promise<Window> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const kind = path.endsWith(".code-workspace") ? "workspace" : "folder";
    await page.goto(`http://127.0.0.1:${port}/?${new URLSearchParams({ [kind]: path }).toString()}`);
    await page.locator(".activitybar .action-item").first().waitFor({ timeout: OPENING_MS });
    return new Window(page);
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  screenshot(path: string): Promise<Buffer> {
    return this.page.screenshot({ path });
  }

  /** Opens a file by its whole path. */
  async openFile(path: string): Promise<void> {
    const row = this.quickRow(path.slice(path.lastIndexOf("/") + 1)).first();
    await eventually(
      async () => {
        await this.page.keyboard.press("Escape");
        await this.page.keyboard.press("Control+P");
        await this.quickInput.fill(path);
        return await isSoon(row);
      },
      Boolean,
      `${path} in the list of files`,
      OPENING_MS,
    );
    await row.click();
  }

  // The palette and quick picks

  /** Runs a command of the palette by its title. */
  async run(title: string): Promise<void> {
    await this.openPalette(title);
    await this.quickRow(title).first().click();
  }

  /** The rows that the palette offers for a text. */
  async offered(text: string): Promise<string[]> {
    await this.openPalette(text);
    const rows = await this.quickRows.allInnerTexts();
    await this.page.keyboard.press("Escape");
    return rows.map((row) => row.replace(/\s+/g, " ").trim());
  }

  /** A palette that is open offers nothing of an extension that came later: it is opened anew. */
  private async openPalette(text: string): Promise<void> {
    const row = this.quickRow(text).first();
    await eventually(
      async () => {
        await this.page.keyboard.press("Escape");
        await this.page.keyboard.press("F1");
        await this.quickInput.fill(`>${text}`);
        return await isSoon(row);
      },
      Boolean,
      `“${text}” in the palette`,
      OPENING_MS,
    );
  }

  /** Chooses the row of an open quick pick that has this text. */
  async choose(text: string): Promise<void> {
    await this.quickRow(text).first().click();
  }

  /** Answers an input box. */
  async answer(text: string): Promise<void> {
    const submit = async () => {
      await this.quickInput.fill(text);
      await this.page.keyboard.press("Enter");
      return await isSoon(this.quickInput, "hidden");
    };
    // A box takes no answer while it opens.
    await eventually(submit, Boolean, `the end of the box that was answered with “${text}”`);
  }

  get quickInput(): Locator {
    return this.page.locator(".quick-input-widget:visible input:visible").first();
  }

  get quickRows(): Locator {
    return this.page.locator(".quick-input-widget:visible .quick-input-list .monaco-list-row");
  }

  quickRow(text: string): Locator {
    return this.quickRows.filter({ hasText: text });
  }

  // Views

  /** Shows the container of the activity bar with this title. */
  async container(title: string): Promise<void> {
    const tab = this.page.locator(`.activitybar .action-item a[aria-label^="${title}"]`);
    await tab.waitFor({ timeout: OPENING_MS });
    if ((await tab.getAttribute("aria-expanded")) !== "true") await tab.click();
  }

  view(title: string): Locator {
    const header = this.page
      .locator(".pane-header")
      .filter({ has: this.page.locator(".title", { hasText: exactly(title) }) });
    return this.page.locator(".pane").filter({ has: header });
  }

  /** The row of a view's tree that has this text. */
  row(view: string, text: string | RegExp): Locator {
    return this.view(view).locator(".monaco-list-row").filter({ hasText: text });
  }

  /** The rows that are drawn, from the top. */
  async rows(view: string): Promise<Row[]> {
    const drawn = this.view(view).locator(".monaco-list-row");
    const rows = await drawn.evaluateAll((elements) =>
      elements.map((element) => ({
        top: element.getBoundingClientRect().top,
        label: element.querySelector(".label-name")?.textContent ?? "",
        description: element.querySelector(".label-description")?.textContent ?? "",
        level: Number(element.getAttribute("aria-level")),
        expanded: { true: true, false: false }[element.getAttribute("aria-expanded") ?? ""] ?? null,
        aria: element.getAttribute("aria-label") ?? "",
      })),
    );
    return rows.sort((a, b) => a.top - b.top);
  }

  async labels(view: string): Promise<string[]> {
    return (await this.rows(view)).map((row) => row.label);
  }

  /** Waits until the drawn rows of a view are as `holds` says; throws with the rows that there were. */
  async until(view: string, holds: (labels: string[]) => boolean, timeoutMs = PATIENCE_MS): Promise<string[]> {
    const seen = () => this.labels(view);
    return await eventually(seen, holds, `the rows of ${view}`, timeoutMs);
  }

  /** Goes to the first row of a view, by the keyboard. */
  async toTop(view: string): Promise<void> {
    await this.view(view).locator(".monaco-list").focus();
    await this.page.keyboard.press("Home");
  }

  /** Chooses from the menu of the right button on a row. */
  async menu(row: Locator, item: string): Promise<void> {
    await row.click({ button: "right" });
    const chosen = this.menuItem(item);
    await chosen.waitFor();
    const choose = async () => {
      await chosen.click();
      return await isSoon(chosen, "hidden");
    };
    // A menu takes no click while it opens.
    await eventually(choose, Boolean, `the end of the menu with “${item}”`);
  }

  async menuItems(row: Locator): Promise<string[]> {
    await row.click({ button: "right" });
    const items = this.page.locator(".monaco-menu .action-label:not(.separator)");
    await items.first().waitFor();
    const texts = await items.allInnerTexts();
    await this.page.keyboard.press("Escape");
    return texts.map((text) => text.trim());
  }

  private menuItem(item: string): Locator {
    return this.page.locator(".monaco-menu .action-item").filter({ hasText: item }).first();
  }

  // Notifications, dialogs, the status bar

  notification(text: string | RegExp): Locator {
    return this.page.locator(".notification-list-item").filter({ hasText: text });
  }

  /** Presses a button of a notification. */
  async press(text: string | RegExp, button: string): Promise<void> {
    await this.notification(text).getByRole("button", { name: button, exact: true }).click();
  }

  /** Presses a button of the modal dialog. */
  async confirm(button: string): Promise<void> {
    await this.page.locator(".monaco-dialog-box").getByRole("button", { name: button, exact: true }).click();
  }

  status(text: string | RegExp): Locator {
    return this.page.locator(".statusbar-item").filter({ hasText: text });
  }

  // The editor

  tab(title: string | RegExp): Locator {
    return this.page.locator(".tabs-container .tab").filter({ hasText: title });
  }

  /** The lines that the active editor draws. */
  async editorText(): Promise<string> {
    const lines = this.page.locator(".editor-instance .view-line");
    const drawn = await lines.evaluateAll((elements) =>
      elements.map((element) => ({ top: element.getBoundingClientRect().top, text: element.textContent })),
    );
    const text = drawn.sort((a, b) => a.top - b.top).map((line) => line.text);
    return text.join("\n").replaceAll("\u00a0", " ");
  }

  /** Waits until the editor's text has all of these. */
  async editorShows(...texts: string[]): Promise<string> {
    const seen = () => this.editorText();
    const holds = (text: string) => texts.every((wanted) => text.includes(wanted));
    return await eventually(seen, holds, `an editor with ${JSON.stringify(texts)}`);
  }
}

const SOON_MS = 1_500;

/** Whether it is to be seen, or not any more, within a second and a half. */
export async function isSoon(locator: Locator, state: "visible" | "hidden" = "visible"): Promise<boolean> {
  return await locator.waitFor({ state, timeout: SOON_MS }).then(
    () => true,
    () => false,
  );
}

const exactly = (title: string): RegExp => new RegExp(`^${title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`, "i");
