/** @module `countersign mcp`: a proxy in front of an MCP server on stdio that records every tool call. */
import { basename } from 'node:path'
import { secretsOf } from '../capture/recorded-form.ts'
import { runMcpSession } from '../capture/session.ts'
import { ownProcess } from '../resources/process-identity.ts'
import type { Arguments } from './arguments.ts'
import { effectsOf, ledgerOf } from './capture-options.ts'
import { EXIT, usageFailure } from './failure.ts'
import { nameOf, runIdOf } from './name-flags.ts'
import { oneLine } from './shown.ts'

/** Hosts usually time out after 60 seconds and must get an answer before that. */
const ANSWER_MS = 10_000
const PATIENCE_MS = 5_000
const PARENT_MS = 1_000
const LAST_MS = 500
const DIGEST = /^sha256:[0-9a-f]{64}$/

export async function mcp(args: Arguments): Promise<number> {
  const command = args.positionals
  const options = optionsOf(args)
  const say = (text: string): void => void process.stderr.write(`countersign mcp: ${oneLine(text)}\n`)
  await using ledger = await ledgerOf(args, { command: 'mcp', timeoutMs: ANSWER_MS, patienceMs: PATIENCE_MS })
  const { end, stop } = signalled()
  const by = await runMcpSession({
    ...ledger,
    ...options,
    command,
    env: withoutOwnSettings(process.env),
    secrets: secretsOf(process.env),
    owner: ownProcess(),
    host: { input: process.stdin, output: process.stdout },
    ends: end,
    say,
  })
  stop()
  process.stdin.destroy()
  // Do not wait for requests to a ledger that does not respond.
  setTimeout(() => process.exit(), LAST_MS).unref()
  return by === 'host' ? EXIT.ok : EXIT.failed
}

function optionsOf({ text, positionals }: Arguments) {
  const run = runIdOf(text('run'), 'mcp')
  const pin = text('pin')
  if (pin !== undefined && !DIGEST.test(pin))
    throw usageFailure(
      '--pin takes a digest, sha256: and 64 hex digits, as this command says it on standard error',
      'mcp',
    )
  const [file = ''] = positionals
  const whenAway = text('when-ledger-is-away') ?? 'refuse'
  return {
    run,
    pin,
    agent: nameOf('agent', text('agent')),
    server: nameOf('server', text('server')) ?? basename(file),
    effects: effectsOf(text('effects'), 'mcp'),
    whenAway: whenAway === 'pass' ? ('pass' as const) : ('refuse' as const),
  }
}

/** The token belongs to this program and must not be passed to the MCP server. */
function withoutOwnSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('COUNTERSIGN_')))
}

/** Resolves on a signal, or if the host exits without closing the pipe. */
function signalled(): { readonly end: Promise<string>; readonly stop: () => void } {
  const { promise, resolve } = Promise.withResolvers<string>()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => resolve(`it was sent ${signal}`))
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid !== parent) resolve('the host is gone')
  }, PARENT_MS)
  return { end: promise, stop: () => clearInterval(timer) }
}
