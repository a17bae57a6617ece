import assert from "node:assert/strict";
import * as vscode from "vscode";
import { eventually } from "../workbench/processes.mts";
import { api, closeAll, extension, project, says, shown } from "./stage.mts";

describe("the commands", () => {
  afterEach(closeAll);

  it("are all there, those of the package and no others", async () => {
    await api();
    const { commands } = (extension.packageJSON as { contributes: { commands: { command: string }[] } }).contributes;
    const known = new Set(await vscode.commands.getCommands(true));
    assert.deepEqual(
      commands.map(({ command }) => command).filter((command) => !known.has(command)),
      [],
    );
  });

  it("show the context, which follows the leaf, cannot be edited, and folds", async () => {
    const pid = await api();
    const session = await pid.open(project.session("context").turns("c", 2).write().path);
    await vscode.commands.executeCommand("pid.showContext");
    const document = await shown("Question 1 of c", "Answer 2 of c");
    assert.equal(document.languageId, "markdown");
    assert.equal(vscode.workspace.fs.isWritableFileSystem(document.uri.scheme) ?? false, false);
    const folds = await vscode.commands.executeCommand<vscode.FoldingRange[]>(
      "vscode.executeFoldingRangeProvider",
      document.uri,
    );
    assert.ok(folds.length >= 4, `${String(folds.length)} parts fold`);

    await pid.append(session, says("user", "and one more"));
    await shown("and one more");
    await pid.setLeaf(session, "c-q1");
    await eventually(
      () => document.getText().includes("Answer 1"),
      (there) => !there,
      "a context without the branch that was left",
    );
  });

  it("show the system prompt of the folder", async () => {
    await vscode.commands.executeCommand("pid.showSystemPrompt");
    await shown(project.folder);
  });

  it("preview a compaction, and write nothing", async () => {
    const pid = await api();
    const file = project.session("preview").turns("p", 40, 4000).write();
    await pid.open(file.path);
    await vscode.commands.executeCommand("pid.previewCompaction");
    await shown("Summarised", "Kept");
    assert.equal(file.entries().length, 80);
  });
});
