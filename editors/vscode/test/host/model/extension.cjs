// A language model that answers by what it is asked: how many messages, and how the first one begins.
const vscode = require("vscode");

const model = {
  id: "test-model",
  name: "Test",
  family: "test",
  version: "1",
  maxInputTokens: 100_000,
  maxOutputTokens: 10_000,
  capabilities: {},
};

const textOf = (message) => message.content.map((part) => part.value ?? "").join("");

const provider = {
  provideLanguageModelChatInformation: () => [model],
  provideLanguageModelChatResponse: async (_model, messages, _options, progress) => {
    const begins = textOf(messages[0]).slice(0, 20);
    for (const text of ["## Goal\n", `Said by the editor's model to ${messages.length} messages: ${begins}`]) {
      progress.report(new vscode.LanguageModelTextPart(text));
    }
  },
  provideTokenCount: async (_model, text) => Math.ceil((typeof text === "string" ? text : textOf(text)).length / 4),
};

exports.activate = (context) => {
  context.subscriptions.push(vscode.lm.registerLanguageModelChatProvider("pid-test", provider));
};
