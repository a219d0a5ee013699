/** @module A server in a separate process, as users run it: its address is read from its output, and its end is awaited. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const START_MS = 20_000
const STOP_MS = 10_000
const KIB = 1024
/** Fields of `/proc/PID/stat` after the name, and the length of a tick on Linux. */
const USER_TICKS = 11
const SYSTEM_TICKS = 12
const MS_PER_TICK = 10
/** The rate limiter stays active, with limits that one machine cannot reach. */
const RATES = ['--rate-per-second', '1000000', '--rate-burst', '10000000', '--work-ms-per-second', '1000000']

export const CLI = fileURLToPath(new URL('../programs/countersign.js', import.meta.url))

export interface ServerChild extends AsyncDisposable {
  readonly url: string
  readonly pid: number
}

/** Flags for node as in `npm start`, so that loaded servers run as users run them. */
export const START_FLAGS = ['--max-semi-space-size=64'] as const

/** `countersign serve` on a data folder. */
export function serveLedger(
  data: string,
  nodeFlags: readonly string[] = [],
  more: readonly string[] = [],
): Promise<ServerChild> {
  const own = ['--port', '0', '--data', data, '--open-metrics', 'true', ...RATES]
  return startServer([...nodeFlags, CLI, 'serve', ...own, ...more])
}

/** A child process of this folder that prints its URL in the same form. */
export function startChild(name: string, args: readonly string[]): Promise<ServerChild> {
  return startServer([...START_FLAGS, fileURLToPath(new URL(name, import.meta.url)), ...args])
}

async function startServer(args: readonly string[]): Promise<ServerChild> {
  const child = spawn(process.execPath, [...args], { stdio: ['ignore', 'pipe', 'inherit'], env: withoutSettings() })
  // However this process ends, none of its servers survives it.
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  try {
    const url = await addressOf(child)
    return { url, pid: child.pid ?? 0, [Symbol.asyncDispose]: () => stop(child) }
  } catch (error) {
    await stop(child)
    throw error
  }
}

/** The environment without the caller's settings, which must not affect the bench. */
function withoutSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('COUNTERSIGN_')))
}

/** The URL in the first line that has one; later lines are read as well, so that the child is never blocked. */
function addressOf(child: ChildProcess): Promise<string> {
  const { stdout } = child
  if (stdout === null) throw new TypeError('the child has no output')
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('the server did not start in time')), START_MS)
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
    createInterface({ input: stdout }).on('line', (line) => {
      const url = /"url":"((?:http|esdb):\/\/127\.0\.0\.1:\d+[^"]*)"/.exec(line)?.[1]
      if (url === undefined) return
      clearTimeout(late)
      resolve(url)
    })
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await ended
  clearTimeout(late)
}

/** A token made with the keys of the data folder, like an operator would. */
export function makeToken(
  data: string,
  scope: string,
  { tenant = 'default', subject = 'bench' }: { readonly tenant?: string; readonly subject?: string } = {},
): string {
  const args = [CLI, 'token', '--scope', scope, '--sub', subject, '--tenant', tenant, '--data', data]
  return execFileSync(process.execPath, args, { encoding: 'utf8', env: withoutSettings() }).trim()
}

/** Resident memory of a process in bytes; undefined if the system does not provide it. */
export function residentBytes(pid: number): number | undefined {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kib === undefined ? undefined : Number(kib) * KIB
  } catch {
    return undefined
  }
}

/** CPU time of a process in milliseconds, user and system; undefined if the system does not provide it. */
export function processorMs(pid: number): number | undefined {
  try {
    // The name of the program may contain anything, and ends at the last parenthesis (proc(5)).
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) * MS_PER_TICK
  } catch {
    return undefined
  }
}
