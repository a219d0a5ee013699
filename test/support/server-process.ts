/** @module A real `countersign serve`, in a process of its own, that a test starts, asks, kills and starts again. */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { readKeyFile } from '../../src/signing/key-file.ts'
import { issueToken, type TokenRequest } from '../../src/signing/tokens.ts'
import { ApiClient } from './api-client.ts'
import { BIN, cleanEnv, collected, type Ended, endOf, type Output, spawnTracked } from './command-line.ts'
import { type TempFolder, tempFolder } from './temp-folder.ts'
import { threadMode } from './thread-mode.ts'
import { eventually, within } from './within.ts'

const THREADS: NodeJS.ProcessEnv = {
  default: {},
  on: { COUNTERSIGN_READ_THREADS: '2' },
  off: { COUNTERSIGN_READ_THREADS: '0' },
}[threadMode]
const ALL_SCOPES = ['runs:write', 'runs:read', 'audit:read', 'audit:export', 'admin'] as const

export interface ServerOptions {
  /** The data folder; one of its own by default, gone with the server. */
  readonly data?: string
  readonly args?: readonly string[]
  /** For a server that is started again under the same URL. Default: any that is free, another one at each start. */
  readonly port?: number
  readonly env?: NodeJS.ProcessEnv
  readonly nodeArgs?: readonly string[]
  /** Another copy of the command line than the repository's. */
  readonly program?: string
  /** Runs node under another program that replaces itself by it, such as `['prlimit', '--nofile=64']`. */
  readonly under?: readonly string[]
  readonly uid?: number
  /** Of its tokens. Default `acme`. */
  readonly tenant?: string
}

/** Starts a server and waits until it listens. Throws with its output where it ends instead. */
export async function startServer(options: ServerOptions = {}): Promise<ServerProcess> {
  const server = new ServerProcess(options)
  try {
    await server.start()
    return server
  } catch (error) {
    await server[Symbol.asyncDispose]()
    throw error
  }
}

export class ServerProcess implements AsyncDisposable {
  readonly data: string
  readonly #options: ServerOptions
  readonly #folder: TempFolder | undefined
  readonly #clients: ApiClient[] = []
  #child: ChildProcess | undefined
  #ended: Promise<Ended> = Promise.resolve({ code: null, signal: null })
  #output: Output = { stdout: '', stderr: '' }
  /** What earlier processes of this server said. */
  #earlier = ''
  url = ''

  constructor(options: ServerOptions) {
    this.#options = options
    this.#folder = options.data === undefined ? tempFolder() : undefined
    this.data = options.data ?? this.#folder?.file('data') ?? ''
  }

  get pid(): number {
    return this.#child?.pid ?? -1
  }

  /** Standard output and error of every process so far. */
  get output(): string {
    return this.#earlier + this.#output.stdout + this.#output.stderr
  }

  get stderr(): string {
    return this.#output.stderr
  }

  /** Resolves when the present process has ended. */
  get ended(): Promise<Ended> {
    return this.#ended
  }

  /** Milliseconds from the start of the process until it listens. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<number> {
    const { under = [], nodeArgs = [], program = BIN, args = [], port = 0, uid } = this.#options
    this.#earlier = this.output
    const startedMs = performance.now()
    const child = spawnTracked(
      [...under, process.execPath, ...nodeArgs, program, 'serve', '--port', String(port), '--data', this.data, ...args],
      {
        env: cleanEnv({ ...THREADS, ...this.#options.env, ...env }),
        stdio: ['ignore', 'pipe', 'pipe'],
        ...(uid !== undefined && { uid, gid: uid }),
      },
    )
    this.#child = child
    this.#ended = endOf(child)
    this.#output = collected(child)
    this.url = await within(this.#listening(child), 'the start of the server')
    const tookMs = performance.now() - startedMs
    if (threadMode === 'on') await this.#handedOver()
    return tookMs
  }

  /** SIGKILL, then a new process on the same data. Gives the milliseconds until it listened. */
  async restart(env: NodeJS.ProcessEnv = {}): Promise<number> {
    await this.kill()
    return this.start(env)
  }

  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await within(this.#ended, 'the end after SIGKILL')
  }

  /** Sends a signal and waits for the end. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.#child?.kill(signal)
    return within(this.#ended, `the end after ${signal}`)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** A token of all scopes for the server's tenant, unless told otherwise. */
  token(claims: Partial<TokenRequest> = {}): Promise<string> {
    return issueToken({
      keys: readKeyFile(join(this.data, 'keys.json')),
      issuer: 'countersign',
      audience: 'countersign',
      subject: 'alice',
      tenant: this.#options.tenant ?? 'acme',
      scopes: ALL_SCOPES,
      ttlSeconds: 3_600,
      now: Date.now(),
      ...claims,
    })
  }

  /** A client of the present process; closed with the server. */
  async client(claims: Partial<TokenRequest> = {}, connections = 64): Promise<ApiClient> {
    return this.clientOf(await this.token(claims), connections)
  }

  clientOf(token: string, connections = 64): ApiClient {
    const client = new ApiClient({ url: this.url, token, connections })
    this.#clients.push(client)
    return client
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#ended.catch(() => undefined)
    for (const client of this.#clients) await client.close()
    this.#folder?.[Symbol.dispose]()
  }

  /** Until another thread writes the files that follow the store. */
  async #handedOver(): Promise<void> {
    const client = await this.client()
    const look = async () =>
      (await client.get('/metrics')).text.includes('countersign_indexing_threads 1\n') || undefined
    await eventually(look, 'the files with the thread of indexing')
  }

  /** The address from the log; an error with everything said where the process ends first. */
  #listening(child: ChildProcess): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const line = this.#output.stdout.split('\n').find((each) => each.includes('"listening"'))
        const url = line === undefined ? undefined : /"url":"([^"]+)"/.exec(line)?.[1]
        if (url !== undefined) resolve(url)
      }
      child.stdout?.on('data', look)
      this.#ended.then(({ code }) => reject(new ServerDidNotStart(code, this.#output)), reject)
    })
  }
}

/** The process ended before it listened. */
class ServerDidNotStart extends Error {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string

  constructor(exitCode: number | null, { stdout, stderr }: Output) {
    super(`the server ended with ${exitCode} before it listened: ${stderr}${stdout}`)
    this.name = 'ServerDidNotStart'
    this.exitCode = exitCode
    this.stdout = stdout
    this.stderr = stderr
  }
}
