// Activates the extension of VS Code with the parts of `vscode` that it uses, and writes what it
// does. usage: node extension.js EXTENSION
"use strict";
const Module = require("node:module");

const commands = {};
const document = {
  languageId: "eve",
  fileName: "/shop/the till.eve",
  isDirty: true,
  save: async () => console.log("saved") === undefined,
};
const vscode = {
  commands: {
    registerCommand: (name, run) => {
      commands[name] = run;
      return { dispose() {} };
    },
  },
  tasks: {
    executeTask: async ({ name, execution }) =>
      console.log(`${name}: ${JSON.stringify(execution)}`),
  },
  window: {
    activeTextEditor: { document },
    showErrorMessage: (text) => console.log(text),
  },
  workspace: {
    createFileSystemWatcher: (glob) => ({ glob }),
    getConfiguration: () => ({ get: () => "/opt/eve" }),
  },
  ProcessExecution: class {
    constructor(process, args) {
      Object.assign(this, { process, args });
    }
  },
  Task: class {
    constructor(definition, scope, name, source, execution) {
      Object.assign(this, { definition, scope, name, source, execution });
    }
  },
  TaskScope: { Workspace: 2 },
};
class LanguageClient {
  constructor(id, name, { run }) {
    this.run = run;
  }
  async start() {
    console.log(`${this.run.command} ${this.run.args}`);
  }
  needsStop() {
    return true;
  }
  async stop() {
    console.log("stopped");
  }
}
const known = {
  vscode,
  "vscode-languageclient/node": {
    LanguageClient,
    TransportKind: { stdio: 0 },
  },
};
const load = Module._load;
Module._load = (name, ...rest) => known[name] ?? load(name, ...rest);

async function play() {
  const extension = require(process.argv[2]);
  const subscriptions = [];
  await extension.activate({ subscriptions });
  await commands["eve.run"]();
  document.isDirty = false;
  await commands["eve.test"]();
  document.languageId = "go";
  await commands["eve.run"]();
  await commands["eve.restart"]();
  await extension.deactivate();
  console.log(Object.keys(commands).join());
}
play().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
