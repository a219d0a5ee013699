/** @module The real command line in a process of its own. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { shippedProgram } from './program.ts'
import { within } from './within.ts'

export const BIN = shippedProgram('countersign')

const COMMAND_MAX_MS = 120_000

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface CommandResult extends Ended {
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly stdin?: string
  readonly cwd?: string
  /** Runs node under another program, such as `['prlimit', '--nofile=64']`. */
  readonly under?: readonly string[]
  /** Another user's id. */
  readonly uid?: number
}

/** A test that dies leaves no process behind. */
const living = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL')
})

export function spawnTracked(command: readonly string[], options: SpawnOptions): ChildProcess {
  const [file = '', ...args] = command
  const child = spawn(file, args, options)
  living.add(child)
  child.once('close', () => living.delete(child))
  return child
}

/** The environment without settings of whoever runs the tests. */
export function cleanEnv(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('COUNTERSIGN_'))
  return { ...Object.fromEntries(own), ...more }
}

/** Runs `countersign ...` to its end. */
export async function countersign(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const { under = [], env, cwd, uid, stdin } = options
  return runCommand([...under, process.execPath, BIN, ...args], {
    env: cleanEnv(env),
    ...(cwd !== undefined && { cwd }),
    ...(uid !== undefined && { uid, gid: uid }),
    ...(stdin !== undefined && { stdin }),
  })
}

/** Runs any program to its end. */
export async function runCommand(
  command: readonly string[],
  {
    stdin = '',
    maxMs = COMMAND_MAX_MS,
    ...options
  }: SpawnOptions & { readonly stdin?: string; readonly maxMs?: number } = {},
): Promise<CommandResult> {
  const child = spawnTracked(command, { ...options, stdio: ['pipe', 'pipe', 'pipe'] })
  const output = collected(child)
  // A program that ends without reading is no error of the test.
  child.stdin?.on('error', () => {})
  child.stdin?.end(stdin)
  try {
    const ended = await within(endOf(child), command.join(' '), maxMs)
    return { ...ended, ...output }
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

export interface Output {
  stdout: string
  stderr: string
}

/** Everything that the process says, as it says it. */
export function collected(child: ChildProcess): Output {
  const output: Output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  return output
}

/** Resolves when the process is gone and all of its output is read. */
export function endOf(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
}
