import { eventually } from "./processes.mts";
import { branched, opened, SESSIONS, TREE } from "./sample.mts";
import { stage } from "./stage.mts";

describe("the daemon", () => {
  it("is started again when it was killed, at the leaf that it had", async () => {
    const project = stage.place.project();
    branched(project);
    const before = stage.place.daemons().length;
    const window = await opened(project, "Mend the parser");
    await window.menu(window.row(TREE, "Then guard it."), "Move the Leaf Here");
    const leaf = async () => (await window.rows(TREE)).find(({ aria }) => aria.includes("the leaf"))?.label;
    await eventually(leaf, (label) => label === "Then guard it.", "the leaf");

    for (const daemon of stage.place.daemons().slice(before)) process.kill(daemon, "SIGKILL");
    await eventually(
      () => stage.place.daemons().length,
      (count) => count === before + 2,
      "another daemon",
    );
    await window.run("pid: Append a Message");
    await window.answer("after the crash");
    await window.until(TREE, (labels) => labels.includes("after the crash"));
  });

  it("ends with its window", async () => {
    const project = stage.place.project();
    branched(project);
    const before = stage.place.daemons().length;
    const window = await opened(project, "Mend the parser");
    const mine = stage.place.daemons().slice(before);
    await window.close();
    await eventually(
      () => stage.place.runningDaemons().filter((pid) => mine.includes(pid)),
      ({ length }) => length === 0,
      "its end",
    );
  });

  it("is told to be missing, with the command that installs it", async () => {
    const server = await stage.another("bare", { withoutDaemon: true });
    const window = await stage.open(stage.place.project(), server);
    await window.container("Sessions");
    await window
      .view(SESSIONS)
      .getByText(/pipx install/)
      .first()
      .waitFor();
    await window.run("pid: New Session");
    await window.notification(/no command “pid” on the path/).waitFor();
  });
});
