#!/usr/bin/env node
/** @module The command line: finds the command, runs it, turns every end into an exit code and at most one line. */
import { describeFailure, EXIT, usageFailure } from './failure.ts'
import { COMMANDS, generalHelp, helpOf, isCommandName } from './help.ts'

/** Each command's code is loaded only when it is asked for: `token` need not wait for the server's. */
const LOADERS: Readonly<Record<string, () => Promise<(args: readonly string[]) => Promise<number>>>> = {
  serve: async () => (await import('./serve.ts')).serve,
  token: async () => (await import('./token.ts')).token,
  keys: async () => (await import('./keys.ts')).keys,
  validate: async () => (await import('./validate.ts')).validate,
  verify: async () => (await import('./verify.ts')).verify,
  checkpoint: async () => (await import('./checkpoint.ts')).checkpoint,
  proof: async () => (await import('./proof.ts')).proof,
  export: async () => (await import('./export.ts')).exportEvents,
  runs: async () => (await import('./runs.ts')).runs,
  events: async () => (await import('./audit.ts')).events,
  search: async () => (await import('./audit.ts')).search,
  audit: async () => (await import('./audit.ts')).audit,
  tail: async () => (await import('./tail.ts')).tail,
  report: async () => (await import('./report.ts')).report,
  completions: async () => (await import('./completions.ts')).completions,
  replay: async () => (await import('./replay.ts')).replay,
  import: async () => (await import('./import.ts')).importRuns,
  copy: async () => (await import('./copy.ts')).copy,
  store: async () => (await import('./store.ts')).store,
  projections: async () => (await import('./projections.ts')).projections,
  rebuild: async () => (await import('./rebuild.ts')).rebuild,
  tour: async () => (await import('./tour.ts')).tour,
  witness: async () => (await import('./witness.ts')).witness,
  version: async () => (await import('./version.ts')).version,
}

/** Of these, exit code 1 says "tampered", or that two states differ: a breakdown of their own must not. */
const PROVES = ['verify', 'replay', 'proof', 'checkpoint', 'copy', 'projections']

async function run(args: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = args
  if (name === '--version' || name === '-v') return run(['version'])
  if (name === 'help' || name === '--help' || name === '-h') return help(rest[0])
  if (rest.includes('--help') || rest.includes('-h')) return help(name)

  const load = LOADERS[name]
  if (load === undefined || !isCommandName(name)) throw usageFailure(`"${name}" is no command`)
  const command = await load()
  return await command(rest)
}

function help(name: string | undefined): number {
  if (name !== undefined && !isCommandName(name)) throw usageFailure(`"${name}" is no command`)
  process.stdout.write(name === undefined ? generalHelp() : helpOf(COMMANDS[name]))
  return EXIT.ok
}

// A reader such as `head` that has seen enough is no error; but a verdict that nobody could read is none.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (PROVES.includes(process.argv[2] ?? '')) process.exit(EXIT.unproven)
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed)
})

try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  const { message, exitCode } = describeFailure(error)
  process.stderr.write(`countersign: ${message}\n`)
  process.exitCode = exitCode === EXIT.failed && PROVES.includes(process.argv[2] ?? '') ? EXIT.unproven : exitCode
}
