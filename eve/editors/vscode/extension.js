// The extension of VS Code for Eve: it starts `eve lsp` and restarts it on command, and runs the
// file of an editor and its tests. All else is the work of the language client and of the server.
"use strict";

const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

const program = () =>
  vscode.workspace.getConfiguration("eve").get("path") || "eve";

async function start(watcher) {
  const command = program();
  const run = { command, args: ["lsp"], transport: TransportKind.stdio };
  client = new LanguageClient(
    "eve",
    "Eve",
    { run, debug: run },
    {
      documentSelector: [{ language: "eve" }],
      synchronize: { fileEvents: watcher },
    },
  );
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `Eve: ${command} lsp did not start: ${error.message}. ` +
        "The setting eve.path names the program.",
    );
  }
}

async function stop() {
  const old = client;
  client = undefined;
  if (old && old.needsStop()) await old.stop();
}

// Has eve do something with the file of the active editor, in a terminal.
async function execute(word) {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.languageId !== "eve") {
    vscode.window.showErrorMessage("Eve: open a file of Eve first.");
    return;
  }
  if (document.isDirty && !(await document.save())) return;
  const file = document.fileName;
  const task = new vscode.Task(
    { type: "eve" },
    vscode.TaskScope.Workspace,
    `${word} ${path.basename(file)}`,
    "eve",
    new vscode.ProcessExecution(program(), [word, file]),
  );
  task.presentationOptions = { clear: true };
  await vscode.tasks.executeTask(task);
}

exports.activate = async (context) => {
  const watcher = vscode.workspace.createFileSystemWatcher("**/*.eve");
  const restart = async () => {
    await stop();
    await start(watcher);
  };
  context.subscriptions.push(
    watcher,
    vscode.commands.registerCommand("eve.restart", restart),
    vscode.commands.registerCommand("eve.run", () => execute("run")),
    vscode.commands.registerCommand("eve.test", () => execute("test")),
  );
  await start(watcher);
};

exports.deactivate = stop;
