/**
 * @module The server behind the proxy: a process group that ends with the session. A watcher outside the group ends it if this process is killed, because `npx`
 * and shells start the server as a grandchild, which signals to the child do not reach.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { withTimeout } from '../resources/with-timeout.ts'

export interface Upstream {
  readonly input: Writable
  readonly output: Readable
  /** Resolves with how the server ended: on its own, by a signal, or because it could not be started. */
  readonly ended: Promise<string>
  /** Closes the server's input and waits for its end; a process that does not end gets SIGTERM and then SIGKILL. */
  readonly close: () => Promise<void>
}

/** Together less than five seconds. */
const CLOSES_MS = 1_500
const TERMINATES_MS = 1_500
/** Maximum time to read output that a server wrote before its end. */
const OUTPUT_MS = 1_000

/** Reads until this process is gone, however it ended; the named process group then gets SIGTERM and, a second later, SIGKILL. */
const WATCH = 'cat >/dev/null; kill -TERM "-$1" 2>/dev/null; sleep 1; kill -KILL "-$1" 2>/dev/null'
const HAS_GROUPS = process.platform !== 'win32'

export function startUpstream(command: readonly string[], env: NodeJS.ProcessEnv): Upstream {
  const [file = '', ...args] = command
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'], env, detached: HAS_GROUPS, windowsHide: true })
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`${file} could not be started: ${error.message}`))
    const say = (code: number | null, signal: NodeJS.Signals | null): void =>
      resolve(signal === null ? `the server ended with code ${code}` : `the server was ended by ${signal}`)
    child.once('close', say)
    // A leftover child process may hold the output open forever.
    child.once('exit', (code, signal) => setTimeout(say, OUTPUT_MS, code, signal).unref())
  })
  const watcher = child.pid === undefined || !HAS_GROUPS ? undefined : watch(child.pid)
  const close = async (): Promise<void> => {
    child.stdin.end()
    if (!(await within(ended, CLOSES_MS))) signalGroup(child, 'SIGTERM')
    if (!(await within(ended, TERMINATES_MS))) signalGroup(child, 'SIGKILL')
    await within(ended, TERMINATES_MS)
    // Processes left behind by the server belong to its group.
    signalGroup(child, 'SIGKILL')
    watcher?.kill('SIGKILL')
  }
  // Writing to a server that has ended fails; its end is reported through `ended`.
  child.stdin.on('error', () => undefined)
  return { input: child.stdin, output: child.stdout, ended, close }
}

function watch(group: number): ChildProcess {
  const watcher = spawn('/bin/sh', ['-c', WATCH, 'countersign-mcp-watch', String(group)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watcher.on('error', () => undefined)
  watcher.stdin?.on('error', () => undefined)
  watcher.unref()
  return watcher
}

function within(ended: Promise<string>, ms: number): Promise<boolean> {
  return withTimeout(
    ended.then(() => true),
    ms,
    () => new Error('late'),
  ).catch(() => false)
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    if (HAS_GROUPS) process.kill(-child.pid, signal)
    else child.kill(signal)
  } catch {
    // The process has already ended.
  }
}
