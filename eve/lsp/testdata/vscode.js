// Plays a session by VS Code's own protocol library. usage: node vscode.js EVE FILE
"use strict";
const fs = require("node:fs");
const { spawn } = require("node:child_process");
const { pathToFileURL } = require("node:url");
const lsp = require("vscode-languageserver-protocol/node");

const [eve, file] = process.argv.slice(2);
const uri = pathToFileURL(file).href;
const text = fs.readFileSync(file, "utf8");
const textDocument = { uri };

async function session(server) {
  const connection = lsp.createProtocolConnection(
    new lsp.StreamMessageReader(server.stdout),
    new lsp.StreamMessageWriter(server.stdin),
  );
  const published = new Promise((resolve) =>
    connection.onNotification(lsp.PublishDiagnosticsNotification.type, resolve),
  );
  connection.listen();
  const { capabilities } = await connection.sendRequest(
    lsp.InitializeRequest.type,
    { processId: process.pid, rootUri: null, capabilities: {} },
  );
  console.log(capabilities.positionEncoding);
  await connection.sendNotification(lsp.InitializedNotification.type, {});
  await connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: "eve", version: 1, text },
  });
  const { diagnostics } = await published;
  console.log(diagnostics.map((d) => d.code).join());
  const position = { line: 1, character: 4 };
  const hover = await connection.sendRequest(lsp.HoverRequest.type, {
    textDocument,
    position,
  });
  console.log(hover.contents.value.split("\n")[1]);
  const references = await connection.sendRequest(lsp.ReferencesRequest.type, {
    textDocument,
    position,
    context: { includeDeclaration: true },
  });
  console.log(references.length);
  const tokens = await connection.sendRequest(lsp.SemanticTokensRequest.type, {
    textDocument,
  });
  console.log(tokens.data.length % 5);
  await connection.sendRequest(lsp.ShutdownRequest.type);
  await connection.sendNotification(lsp.ExitNotification.type);
}

const server = spawn(eve, ["lsp", "--stdio"], {
  stdio: ["pipe", "pipe", "inherit"],
});
server.on("exit", (code) => console.log(`exit ${code}`));
session(server).catch((error) => {
  console.error(error);
  server.kill();
  process.exitCode = 1;
});
