import { opened, SESSIONS, TREE } from "./sample.mts";
import { stage } from "./stage.mts";

/** Figures to read, never to fail by: a machine may be slow. */
function tell(what: string, since: number): void {
  console.log(`      ${what}: ${String(Date.now() - since)} ms`);
}

describe("sizes", () => {
  it("10,000 entries", async () => {
    const project = stage.place.project();
    project.session("small").turns("small", 1).write();
    project.session("huge").turns("huge", 5000, 200).write();
    const window = await opened(project, "Question 1 of small");
    const started = Date.now();
    await window.row(SESSIONS, "Question 1 of huge").click();
    await window.until(TREE, (labels) => labels.some((label) => label.startsWith("Answer 5000 of huge")));
    tell("from the click to the leaf of 10,000 entries", started);
  });

  it("2,000 sessions", async () => {
    const here = stage.place.project();
    here.session("here").turns("here", 1).write();
    const window = await opened(here, "Question 1 of here");
    const project = stage.place.project();
    for (let n = 1; n <= 2000; n++)
      project
        .session(`s${String(n)}`)
        .turns(`session ${String(n)}`, 2)
        .write();

    const started = Date.now();
    await window.run("pid: Show Sessions of All Directories");
    await window.until(SESSIONS, (labels) => labels.includes("Question 1 of session 2000"));
    tell("from the palette to the newest of 2,000 sessions", started);
    const filtered = Date.now();
    await window.run("pid: Filter Sessions");
    await window.answer("of session 777");
    await window.until(SESSIONS, (labels) => labels.join() === "Question 1 of session 777");
    tell("from the palette to one of them, filtered", filtered);
  });
});
