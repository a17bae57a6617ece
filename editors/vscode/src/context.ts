/**
 * The life of the daemon: found, started, connected, started again when it crashed, stopped. It knows no
 * session; `OpenSessions` opens its own again before any other request goes out.
 */

import * as fs from "node:fs";
import * as os from "node:os";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  ResponseError,
  RevealOutputChannelOn,
  type LanguageClientOptions,
  type StaticFeature,
} from "vscode-languageclient/node";
import {
  PROTOCOL_VERSION,
  type Notifications,
  type PidServerCapability,
  type SummarizeParams,
  type SummarizeResult,
} from "./protocol.gen";
import * as configuration from "./configuration";
import { traceChannel } from "./log";
import { afterCrash, type Crashes } from "./model/backOff";
import { CONNECTION_LOST, DaemonEnded, isConnectionLost, NoDaemon } from "./model/faults";
import { findDaemon } from "./model/findDaemon";
import { OpenSessions } from "./model/openSessions";
import type { Closed } from "./model/session";
import { Signal } from "./model/signal";
import { NOTICES, type Cancellation, type Method, type Notice, type Params, type Result } from "./model/wire";
import { Requests, type Line } from "./requests";

const LANGUAGE = "pid-session";
const TOO_OFTEN = "The daemon ended too often. “pid: Restart Daemon” starts it again; “pid: Show Log” may say why.";

export type Health = "stopped" | "starting" | "running" | "restarting" | "missing" | "failed";

/** Answers `pid/summarize`. */
export type Summarize = (params: SummarizeParams, token: vscode.CancellationToken) => Promise<SummarizeResult>;

export interface NoticeOf<N extends Notice = Notice> {
  readonly method: N;
  readonly params: Notifications[N]["params"];
}

export class Daemon {
  readonly requests = new Requests(() => this.start());
  readonly sessions = new OpenSessions(this.requests.send, configuration.settingsFor);
  readonly onNotice = new Signal<NoticeOf>();
  readonly onHealth = new Signal<Health>();
  /** Sessions that could not be opened again after a crash. */
  readonly onLost = new Signal<readonly Closed[]>();

  private client: LanguageClient | undefined;
  private crashes: Crashes = [];
  private state: Health = "stopped";
  /** Whether `client` is connected, and all sessions are open in it. */
  private isUp = false;

  /** @param summarize undefined: the user lets no model of the editor write summaries */
  constructor(
    private readonly channel: vscode.LogOutputChannel,
    private readonly summarize: () => Summarize | undefined,
  ) {}

  get health(): Health {
    return this.state;
  }

  /** That of the daemon that runs. */
  get version(): string | undefined {
    return this.client?.initializeResult?.serverInfo?.version;
  }

  /** Stops the daemon and starts another; all sessions are opened again. */
  async restart(): Promise<void> {
    const next = this.stop().then(() => {
      this.crashes = [];
      return this.start();
    });
    this.requests.lost(undefined, next);
    await next;
  }

  /** All that the daemon acknowledged is in the files. */
  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.isUp = false;
    this.become("stopped");
    if (client) {
      await client.start().catch(() => undefined); // one that is being started cannot be stopped yet
      await client.dispose().catch((error: unknown) => this.channel.warn(String(error)));
    }
  }

  private async start(): Promise<Line> {
    const command = this.find();
    this.become(this.crashes.length > 0 ? "restarting" : "starting");
    const client = this.connect(command);
    this.client = client;
    this.isUp = false;
    try {
      await client.start();
      return await this.begin(client, command);
    } catch (error) {
      if (this.client !== client) {
        throw new DaemonEnded("The daemon was stopped.");
      }
      this.client = undefined;
      return this.again(error);
    }
  }

  /** Opens the sessions again, before any request that waits. */
  private async begin(client: LanguageClient, command: string): Promise<Line> {
    if (!offerOf(client)) {
      void client.dispose();
      throw new Error(`${command} is no pid daemon: it does not say what it offers.`);
    }
    const line = lineOf(client);
    const lost = await this.sessions.reopen((method, asked, token) =>
      line.send(method, typeof asked === "function" ? asked() : asked, token),
    );
    this.isUp = true;
    this.become("running");
    if (lost.length > 0) {
      this.onLost.fire(lost);
    }
    return line;
  }

  /** Starts the daemon again after a while; gives up when it ended too often, or for another reason. */
  private async again(error: unknown): Promise<Line> {
    const verdict = afterCrash(this.crashes, Date.now());
    this.crashes = verdict.crashes;
    if (!isConnectionLost(error) || verdict.delayMs === undefined) {
      this.become("failed");
      throw isConnectionLost(error) ? new DaemonEnded(TOO_OFTEN) : error;
    }
    this.become("restarting");
    this.channel.error(`The daemon ended unexpectedly. It is started again in ${verdict.delayMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, verdict.delayMs));
    return this.start();
  }

  private find(): string {
    try {
      if (process.platform === "win32") {
        throw new NoDaemon("The daemon pid does not run on Windows yet. Open the folder in WSL.");
      }
      return findDaemon({
        setting: configuration.serverPath(),
        path: process.env.PATH ?? "",
        home: os.homedir(),
        isExecutable,
      });
    } catch (error) {
      this.become("missing");
      throw error;
    }
  }

  private connect(command: string): LanguageClient {
    const summarize = this.summarize();
    const client: LanguageClient = new LanguageClient(
      "pid",
      "pid",
      { command, args: ["--stdio"] },
      this.options(() => this.crashed(client)),
    );
    client.registerFeature(capabilities(summarize !== undefined));
    for (const method of NOTICES) {
      client.onNotification(method, (params: Notifications[Notice]["params"]) => {
        this.sessions.handle(method, params);
        this.onNotice.fire({ method, params });
      });
    }
    if (summarize) {
      client.onRequest("pid/summarize", summarize);
    }
    return client;
  }

  private options(onClosed: () => void): LanguageClientOptions {
    return {
      documentSelector: [{ language: LANGUAGE, scheme: "file" }],
      outputChannel: this.channel,
      traceOutputChannel: traceChannel(this.channel),
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: configuration.initializationOptions,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        // Another client is made for the next daemon, with the settings as they are then.
        closed: () => {
          onClosed();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    };
  }

  private crashed(client: LanguageClient): void {
    if (this.client === client && this.isUp) {
      this.client = undefined;
      this.isUp = false;
      this.requests.lost(undefined, this.again(new ResponseError(CONNECTION_LOST, "The daemon ended.")));
    } // else it was stopped on purpose, or ended while it was being started, which `start` sees
  }

  private become(health: Health): void {
    this.state = health;
    this.onHealth.fire(health);
  }
}

function lineOf(client: LanguageClient): Line {
  return {
    // An argument that is undefined would count as one of several params.
    send: <M extends Method>(method: M, params: Params<M>, token?: Cancellation): Promise<Result<M>> =>
      token
        ? client.sendRequest<Result<M>>(method, params, token as vscode.CancellationToken)
        : client.sendRequest<Result<M>>(method, params),
  };
}

function offerOf(client: LanguageClient | undefined): PidServerCapability | undefined {
  const experimental = client?.initializeResult?.capabilities.experimental as { pid?: PidServerCapability } | undefined;
  return experimental?.pid;
}

/** Says in `initialize` what this client wants of `pid`. */
function capabilities(summarize: boolean): StaticFeature {
  return {
    fillClientCapabilities(all) {
      const pid = {
        protocolVersion: PROTOCOL_VERSION,
        notifications: [...NOTICES],
        ...(summarize ? { summarize: true } : {}),
      };
      all.experimental = { ...(all.experimental as object | undefined), pid };
    },
    initialize: () => undefined,
    getState: () => ({ kind: "static" }),
    clear: () => undefined,
  };
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
