import assert from "node:assert/strict";
import * as vscode from "vscode";
import { eventually } from "../workbench/processes.mts";
import { api, closeAll, project } from "./stage.mts";

const enable = (enabled: boolean | undefined) =>
  vscode.workspace.getConfiguration("pid").update("languageModel.enabled", enabled, vscode.ConfigurationTarget.Global);

describe("a summary by a language model of VS Code", () => {
  afterEach(async () => {
    await closeAll();
    await enable(undefined);
  });

  it("is not to be had where the setting is off", async () => {
    const pid = await api();
    const session = await pid.open(project.session("off").turns("off", 40, 4000).write().path);
    await assert.rejects(() => pid.compact(session, { summarizer: "client" }), { code: 1013 });
  });

  it("is written where the setting is on, and the user lets it", async () => {
    const pid = await api();
    await eventually(
      () => vscode.lm.selectChatModels({ family: "test" }),
      ({ length }) => length === 1,
      "the model of the tests",
    );
    const file = project.session("on").turns("on", 40, 4000).write();
    const session = await pid.open(file.path);
    await enable(true);
    const compact = () => pid.compact(session, { summarizer: "client" }).then(({ summary }) => summary, String);
    const summary = await eventually(compact, (answer) => answer.includes("Goal"), "a summary");
    assert.match(summary, /Said by the editor's model to 2 messages/);
    assert.equal(file.entries().filter(({ type }) => type === "compaction").length, 1);
  });
});
