// The extension of VS Code for Eve: it starts `eve lsp` and restarts it on command. All else is
// the work of the language client and of the server.
"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

async function start(watcher) {
  const command = vscode.workspace.getConfiguration("eve").get("path") || "eve";
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

exports.activate = async (context) => {
  const watcher = vscode.workspace.createFileSystemWatcher("**/*.eve");
  const restart = async () => {
    await stop();
    await start(watcher);
  };
  context.subscriptions.push(
    watcher,
    vscode.commands.registerCommand("eve.restart", restart),
  );
  await start(watcher);
};

exports.deactivate = stop;
