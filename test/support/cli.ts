/** @module Runs the real command line in a process of its own, in a folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { BIN } from './command-line.ts'

export interface CliOptions {
  readonly cwd: string
  readonly stdin?: string | Uint8Array
  readonly env?: { readonly [name: string]: string }
}

export interface CliResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Variables of the test's own environment must not become settings. */
function environment(env: CliOptions['env']): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('COUNTERSIGN_'))
  return { ...Object.fromEntries(own), ...env }
}

export async function runCli(args: readonly string[], options: CliOptions): Promise<CliResult> {
  const child = spawn(process.execPath, [BIN, ...args], { cwd: options.cwd, env: environment(options.env) })
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)]
  child.stdin.on('error', () => {})
  child.stdin.end(options.stdin ?? '')
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout: await stdout, stderr: await stderr }
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}

export interface ServedCli extends AsyncDisposable {
  readonly url: string
  readonly child: ChildProcess
  readonly log: () => string
  /** Sends a signal; resolves with the exit code. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>
}

/** Starts `serve` on a free port and waits until it listens. Rejects with its stderr where it does not. */
export async function serveCli(options: CliOptions & { readonly args?: readonly string[] }): Promise<ServedCli> {
  const args = [BIN, 'serve', '--port', '0', ...(options.args ?? [])]
  const child = spawn(process.execPath, args, { cwd: options.cwd, env: environment(options.env) })
  let log = ''
  const exited = once(child, 'close') as Promise<[number | null]>
  const errors = textOf(child.stderr)
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      log += String(chunk)
      const found = /"url":"([^"]+)"/.exec(log)
      if (found?.[1] !== undefined) resolve(found[1])
    })
    void exited.then(async () => reject(new Error(await errors)))
  })
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    child.kill(signal)
    return (await exited)[0]
  }
  return {
    url,
    child,
    log: () => log,
    stop,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await stop('SIGKILL')
    },
  }
}
