/** @module `countersign mcp`: a proxy in front of an MCP server on stdio, which records every call of a tool. */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { RunId } from '../../schemas/names.ts'
import { type Effects, OFFICIAL_EFFECTS, parseEffects } from '../capture/effects.ts'
import { secretsOf } from '../capture/recorded-form.ts'
import { runMcpSession } from '../capture/session.ts'
import { type Client, createClient } from '../client/client.ts'
import { openLedger } from '../compose/compose.ts'
import { silentLog } from '../ledger/effects.ts'
import { ownProcess } from '../resources/process-identity.ts'
import { reasonOf } from '../settings/reason-of.ts'
import { applicationOver, tenantOf } from './api.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { oneLine } from './shown.ts'
import { nameOf } from './token.ts'

/** A host waits for 60 seconds as a rule, and has to be told before. */
const ANSWER_MS = 10_000
const PATIENCE_MS = 5_000
const TOKEN_AGAIN_MS = 60 * 60_000
const PARENT_MS = 1_000
const LAST_MS = 500
const SCOPES = ['runs:read', 'runs:write', 'payloads:read']
const DIGEST = /^sha256:[0-9a-f]{64}$/

export async function mcp(args: Arguments): Promise<number> {
  const command = args.positionals
  const options = optionsOf(args)
  const say = (text: string): void => void process.stderr.write(`countersign mcp: ${oneLine(text)}\n`)
  await using ledger = await ledgerOf(args)
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
  // What is still being sent to a ledger that does not answer is waited for no more.
  setTimeout(() => process.exit(), LAST_MS).unref()
  return by === 'host' ? EXIT.ok : EXIT.failed
}

function optionsOf({ text, positionals }: Arguments) {
  const run = RunId.optional().safeParse(text('run'))
  if (!run.success) throw usageFailure(`--run: ${run.error.issues[0]?.message}`, 'mcp')
  const pin = text('pin')
  if (pin !== undefined && !DIGEST.test(pin))
    throw usageFailure(
      '--pin takes a digest, sha256: and 64 hex digits, as this command says it on standard error',
      'mcp',
    )
  const [file = ''] = positionals
  const whenAway = text('when-ledger-is-away') ?? 'refuse'
  return {
    run: run.data,
    pin,
    agent: nameOf('agent', text('agent')),
    server: nameOf('server', text('server')) ?? basename(file),
    effects: effectsOf(text('effects')),
    whenAway: whenAway === 'pass' ? ('pass' as const) : ('refuse' as const),
  }
}

function effectsOf(named: string | undefined): Effects {
  if (named === undefined) return {}
  if (Object.hasOwn(OFFICIAL_EFFECTS, named)) return OFFICIAL_EFFECTS[named] ?? {}
  const read = parseEffects(textOf(named))
  if (!read.ok) throw usageFailure(`--effects: ${named}: ${read.message}`, 'mcp')
  return read.effects
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const names = Object.keys(OFFICIAL_EFFECTS).join(', ')
    throw usageFailure(
      `--effects: ${path} cannot be read (${reasonOf(error)}); it takes a file, or one of ${names}`,
      'mcp',
    )
  }
}

interface OpenedLedger extends AsyncDisposable {
  readonly client: Client
  readonly url: string | undefined
}

async function ledgerOf(args: Arguments): Promise<OpenedLedger> {
  const url = args.text('url')
  if (url === undefined) return ledgerHere(args)
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw usageFailure(`--url: "${url}" is no http(s) address`, 'mcp')
  if (args.text('tenant') !== undefined)
    throw usageFailure('--tenant: over --url the tenant is that of the token', 'mcp')
  const token = args.text('token') ?? process.env.COUNTERSIGN_TOKEN ?? ''
  if (token === '') throw usageFailure('--url needs a token: set COUNTERSIGN_TOKEN, or give --token', 'mcp')
  const client = createClient({ url, token, timeoutMs: ANSWER_MS, patienceMs: PATIENCE_MS })
  return { client, url: client.url, [Symbol.asyncDispose]: async () => undefined }
}

/** This process has the store to itself meanwhile; where another one has it, the error names that one's address. */
async function ledgerHere({ settings, text }: Arguments): Promise<OpenedLedger> {
  const tenant = tenantOf(text('tenant'))
  const opened = await openLedger(settings, silentLog)
  const held = { ledger: opened.ledger, keys: opened.keys.current() }
  const { newToken, fetch } = await applicationOver(held, tenant, { scopes: SCOPES })
  let current = { token: await newToken(), atMs: performance.now() }
  const token = async (): Promise<string> => {
    if (performance.now() - current.atMs > TOKEN_AGAIN_MS)
      current = { token: await newToken(), atMs: performance.now() }
    return current.token
  }
  const client = createClient({ url: 'http://localhost', token, fetch, timeoutMs: ANSWER_MS, patienceMs: PATIENCE_MS })
  return { client, url: undefined, [Symbol.asyncDispose]: async () => await opened[Symbol.asyncDispose]() }
}

/** The token is this program's, and no business of the server behind it. */
function withoutOwnSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('COUNTERSIGN_')))
}

/** A signal, or a host that is gone without closing what it wrote to. */
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
