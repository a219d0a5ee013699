/** @module A command of the command line in this process: it takes a tenth of the time that one of its own takes, where nothing but its answer is looked at. */
import { Readable } from 'node:stream'
import { describeFailure } from '../../src/cli/failure.ts'
import { runCommandLine } from '../../src/cli/program.ts'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings } from '../../src/settings/config.ts'
import { cleanEnv } from './command-line.ts'

export interface InProcessOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  readonly stdin?: string | Uint8Array
}

export interface CommandAnswer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

// Each command that pipes to the standard output listens to it until the process ends: here many commands share one.
for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0)

/** What a command learns of its process ends with the command. */
const LISTENED = ['uncaughtException', 'SIGINT', 'SIGTERM']

/** What the command before is still doing: folder, environment and standard output belong to the whole process. */
let last: Promise<unknown> = Promise.resolve()

/** Runs `countersign ...`; one that is called meanwhile waits for its end. */
export function runInProcess(args: readonly string[], options: InProcessOptions = {}): Promise<CommandAnswer> {
  const answer = last.then(() => runNow(args, options))
  last = answer
  return answer
}

async function runNow(args: readonly string[], { cwd, env, stdin }: InProcessOptions): Promise<CommandAnswer> {
  const texts = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
  const before = {
    cwd: process.cwd(),
    env: { ...process.env },
    stdin: Object.getOwnPropertyDescriptor(process, 'stdin'),
  }
  const listeners = new Map(LISTENED.map((event) => [event, new Set(process.listeners(event as NodeJS.Signals))]))
  const writes = { stdout: process.stdout.write, stderr: process.stderr.write }
  for (const name of ['stdout', 'stderr'] as const) process[name].write = catching(texts[name], process[name])
  const textOf = (name: 'stdout' | 'stderr'): string => Buffer.concat(texts[name]).toString('utf8')
  setEnv(cleanEnv(env))
  if (cwd !== undefined) process.chdir(cwd)
  Object.defineProperty(process, 'stdin', {
    configurable: true,
    value: Readable.from(stdin ? [Buffer.from(stdin)] : []),
  })
  try {
    return { code: await runCommandLine(args), stdout: textOf('stdout'), stderr: textOf('stderr') }
  } catch (error) {
    const { message, exitCode } = describeFailure(error, args[0])
    return { code: exitCode, stdout: textOf('stdout'), stderr: `${textOf('stderr')}countersign: ${message}\n` }
  } finally {
    process.stdout.write = writes.stdout
    process.stderr.write = writes.stderr
    setEnv(before.env)
    process.chdir(before.cwd)
    for (const [event, own] of listeners) {
      for (const each of process.listeners(event as NodeJS.Signals)) if (!own.has(each)) process.off(event, each)
    }
    if (before.stdin !== undefined) Object.defineProperty(process, 'stdin', before.stdin)
  }
}

/** Name by name: what asks the system for a variable, such as `os.homedir`, sees no object that takes the place of `process.env`. */
function setEnv(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name]
  Object.assign(process.env, env)
}

/** Beginning of a warning that node gives of this process, whenever it has the time: no command said it. */
const OF_NODE = [`(node:${process.pid}) `, '(Use `node ']

function catching(parts: Buffer[], stream: NodeJS.WriteStream): typeof process.stdout.write {
  const write = stream.write.bind(stream) as (part: string) => boolean
  return (part: string | Uint8Array, ...more: readonly unknown[]): boolean => {
    if (typeof part === 'string' && OF_NODE.some((begin) => part.startsWith(begin))) return write(part)
    parts.push(Buffer.from(part as string))
    const written = more.find((each) => typeof each === 'function')
    if (written !== undefined) setImmediate(written as () => void)
    return true
  }
}

/** Makes keys and the founding event in `.countersign` of a folder, as a first start there does. */
export async function foundLedger(cwd: string): Promise<void> {
  const opened = await openLedger(readSettings({ data: `${cwd}/.countersign` }, {}), silentLog)
  await opened[Symbol.asyncDispose]()
}
