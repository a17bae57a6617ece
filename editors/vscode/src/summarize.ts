/** Serves `pid/summarize` with a language model that VS Code offers, where the user allows it. */

import * as vscode from "vscode";
import { ResponseError } from "vscode-languageclient/node";
import * as configuration from "./configuration";
import type { Summarize } from "./context";
import type { SummarizeParams, SummarizeResult } from "./protocol.gen";

const INTERNAL_ERROR = -32603;
const JUSTIFICATION = "To summarise the older part of a session, which makes room in the model's window.";

/** Undefined where the setting is off, or this VS Code has no language models. */
export function summarizeWithEditor(): Summarize | undefined {
  return configuration.languageModel().enabled && "lm" in vscode ? summarize : undefined;
}

const summarize: Summarize = async (params, token) => {
  const model = await chooseModel(params);
  try {
    return await ask(model, params, token);
  } catch (error) {
    throw failure(error);
  }
};

async function chooseModel(params: SummarizeParams): Promise<vscode.LanguageModelChat> {
  const { family } = configuration.languageModel();
  const models = await vscode.lm.selectChatModels(family ? { family } : {});
  const named = models.find((model) => model.id === params.model?.modelId || model.family === params.model?.modelId);
  const model = named ?? models[0];
  if (!model) {
    const wanted = family ? ` of the family “${family}”` : "";
    throw new ResponseError(INTERNAL_ERROR, `VS Code offers no language model${wanted}.`, { reason: "model" });
  }
  return model;
}

async function ask(
  model: vscode.LanguageModelChat,
  params: SummarizeParams,
  token: vscode.CancellationToken,
): Promise<SummarizeResult> {
  // The API has no system message: the instructions come first, as the user's.
  const messages = [
    vscode.LanguageModelChatMessage.User(params.system),
    vscode.LanguageModelChatMessage.User(params.prompt),
  ];
  const response = await model.sendRequest(messages, { justification: JUSTIFICATION }, token);
  let summary = "";
  for await (const part of response.text) {
    summary += part;
  }
  return { summary, stopReason: "stop", model: { provider: model.vendor, modelId: model.id } };
}

/** What the model's refusal means to the daemon, which decides whether another summarizer takes over. */
function failure(error: unknown): unknown {
  if (!(error instanceof vscode.LanguageModelError)) {
    return error;
  }
  const reasons: Record<string, string> = { NoPermissions: "auth", NotFound: "model", Blocked: "refused" };
  return new ResponseError(INTERNAL_ERROR, error.message, { reason: reasons[error.code] ?? "error" });
}
